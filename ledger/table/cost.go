package table

// The cost model: what a request consumes in DynamoDB's units of capacity, by AWS's published rules ("DynamoDB
// read/write capacity units", "Managing complex workflows with transactions", "Global secondary indexes: considerations
// for provisioned throughput"). DynamoDB Local misreports the units of transactions, so they are computed from what was
// sent and never measured there.

const (
	writeUnitBytes = 1 << 10 // one write unit writes an item of up to 1 KB
	readUnitBytes  = 4 << 10 // one read unit reads up to 4 KB strongly
)

// A Write is a put, an update or a deletion of one item. Its conditions cost nothing.
type Write struct {
	Before        Item // the whole item as it was; nil: it was absent
	After         Item // the whole item as it became; nil: deleted
	Transactional bool // an action of a TransactWriteItems
}

// WriteUnits returns the write units that w consumes in the table and in those indexes. The larger of the item before and
// after counts, in started KB; a transaction doubles that, but not what indexes consume.
func WriteUnits(w Write, indexes ...Index) int {
	units := started(max(w.Before.Bytes(), w.After.Bytes()), writeUnitBytes)
	if w.Transactional {
		units *= 2
	}
	for _, index := range indexes {
		units += indexUnits(w, index)
	}
	return units
}

// ConditionCheckUnits returns the write units of a ConditionCheck on that item, in a transaction; nil: absent.
func ConditionCheckUnits(item Item) int { return 2 * started(item.Bytes(), writeUnitBytes) }

// indexUnits returns what w consumes in one index: an entry put in, changed or taken out is a write of its size; one
// whose keys change is taken out and put in again; one that stays the same is free.
func indexUnits(w Write, index Index) int {
	before, after := index.Entry(w.Before), index.Entry(w.After)
	switch {
	case before == nil && after == nil:
		return 0
	case before == nil:
		return started(after.Bytes(), writeUnitBytes)
	case after == nil:
		return started(before.Bytes(), writeUnitBytes)
	case before[index.PartitionKey] != after[index.PartitionKey] || before[index.SortKey] != after[index.SortKey]:
		return started(before.Bytes(), writeUnitBytes) + started(after.Bytes(), writeUnitBytes)
	case Map(before) == Map(after):
		return 0
	}
	return started(max(before.Bytes(), after.Bytes()), writeUnitBytes)
}

// Entry returns what the index holds of item; nil if nothing.
func (x Index) Entry(item Item) Item {
	_, partition := item[x.PartitionKey]
	_, sort := item[x.SortKey]
	if !partition || !sort {
		return nil
	}
	if x.Include == nil {
		return item
	}
	entry := make(Item)
	for _, names := range [][]string{{AttrPK, AttrSK, x.PartitionKey, x.SortKey}, x.Include} {
		for _, name := range names {
			if value, ok := item[name]; ok {
				entry[name] = value
			}
		}
	}
	return entry
}

// Consistency is how a read is made.
type Consistency int

// The ways to read, and with them the price of 4 KB in halves of a read unit.
const (
	Eventual      Consistency = 1
	Strong        Consistency = 2
	Transactional Consistency = 4 // TransactGetItems
)

// GetHalves returns what reading one item consumes, in halves of a read unit: with GetItem, or as one of a BatchGetItem or
// a TransactGetItems, where each item is rounded up by itself. nil: absent, which costs as much as the smallest.
func GetHalves(item Item, c Consistency) int { return int(c) * started(item.Bytes(), readUnitBytes) }

// QueryHalves returns what one page of a query consumes, in halves of a read unit: the items that it went through, also
// those that a filter left out, are added up before they are rounded. In an index, pass its entries.
func QueryHalves(items []Item, c Consistency) int {
	total := 0
	for _, item := range items {
		total += item.Bytes()
	}
	return int(c) * started(total, readUnitBytes)
}

// started counts the started blocks in size, at least one.
func started(size, block int) int { return max(1, (size+block-1)/block) }
