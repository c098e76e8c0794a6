package meter

import (
	"encoding/json"
	"hash/maphash"

	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
)

// indexes is the number of the table's indexes, tableIndexes.
const indexes = 2

var tableIndexes = table.Indexes()

// An image is what the price of an item depends on. The zero image is that of an absent item.
type image struct {
	bytes   int
	entries [indexes]entry
}

// An entry is what an index holds of an item: its size, 0 for none, and hashes of its keys and of its content. Of an
// index that holds whole items the content is not hashed: who writes such an item again changes it.
type entry struct {
	bytes         int
	keys, content uint64
}

// units returns the write units of a write that changed the image before into after.
func (after image) units(before image, transactional bool) int {
	units := table.TableUnits(max(before.bytes, after.bytes), transactional)
	for i, a := range after.entries {
		b := before.entries[i]
		isSame := b.content == a.content && a.content != 0
		units += table.IndexUnits(b.bytes, a.bytes, b.keys != a.keys, isSame)
	}
	return units
}

// imageOf returns the image of a whole item.
func (m *Meter) imageOf(item ddb.Item) (i image) {
	i.bytes = ddb.ItemBytes(item)
	for n, x := range tableIndexes {
		keys := ddb.Item{x.PartitionKey: item[x.PartitionKey], x.SortKey: item[x.SortKey]}
		if keys[x.PartitionKey] == nil || keys[x.SortKey] == nil {
			continue
		}
		i.entries[n] = entry{bytes: i.bytes, keys: m.cache.hash(text(keys[x.PartitionKey]), text(keys[x.SortKey]))}
		if x.Include == nil {
			continue
		}
		held := ddb.Item{}
		for _, name := range append([]string{table.AttrPK, table.AttrSK, x.PartitionKey, x.SortKey}, x.Include...) {
			if value := item[name]; value != nil {
				held[name] = value
			}
		}
		// JSON has a map's names in order. Values that have none do not occur.
		content, _ := json.Marshal(held)
		i.entries[n].bytes, i.entries[n].content = ddb.ItemBytes(held), maphash.Bytes(m.cache.seed, content)
	}
	return i
}
