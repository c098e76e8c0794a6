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

// WriteUnits returns the write units that w consumes in the table and in those indexes: of the larger of the item before
// and after, TableUnits, and IndexUnits of each index.
func WriteUnits(w Write, indexes ...Index) int {
	units := TableUnits(max(w.Before.Bytes(), w.After.Bytes()), w.Transactional)
	for _, index := range indexes {
		before, after := index.Entry(w.Before), index.Entry(w.After)
		moved := before[index.PartitionKey] != after[index.PartitionKey] || before[index.SortKey] != after[index.SortKey]
		units += IndexUnits(before.Bytes(), after.Bytes(), moved, !moved && Map(before) == Map(after))
	}
	return units
}

// TableUnits returns the write units that an item of that size consumes in the table: its started KB, at least one, and in
// a transaction twice that.
func TableUnits(bytes int, transactional bool) int {
	units := started(bytes, writeUnitBytes)
	if transactional {
		units *= 2
	}
	return units
}

// IndexUnits returns the write units that a write consumes in one index, whose entry had before bytes and has after, 0 for
// none; a transaction doesn't double them. An entry put in, changed or taken out is a write of its size, the larger one;
// one whose keys moved is taken out and put in again; one that stays the same is free.
func IndexUnits(before, after int, moved, same bool) int {
	switch {
	case before == 0 && after == 0:
		return 0
	case before == 0 || after == 0:
		return started(before+after, writeUnitBytes)
	case moved:
		return started(before, writeUnitBytes) + started(after, writeUnitBytes)
	case same:
		return 0
	}
	return started(max(before, after), writeUnitBytes)
}

// ConditionCheckUnits returns the write units of a ConditionCheck on that item, in a transaction; nil: absent.
func ConditionCheckUnits(item Item) int { return TableUnits(item.Bytes(), true) }

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
func GetHalves(item Item, c Consistency) int { return ReadHalves(item.Bytes(), c) }

// QueryHalves returns what one page of a query consumes, in halves of a read unit: the items that it went through, also
// those that a filter left out, are added up before they are rounded. In an index, pass its entries.
func QueryHalves(items []Item, c Consistency) int {
	total := 0
	for _, item := range items {
		total += item.Bytes()
	}
	return ReadHalves(total, c)
}

// ReadHalves returns what reading that many bytes consumes, in halves of a read unit. They are those of whole items,
// however little of them is shown.
func ReadHalves(bytes int, c Consistency) int { return int(c) * started(bytes, readUnitBytes) }

// started counts the started blocks in size, at least one.
func started(size, block int) int { return max(1, (size+block-1)/block) }
