package meter

import (
	"encoding/json"
	"hash/maphash"

	"ledger.example/internal/store"
)

// indexes is the number of the table's indexes.
const indexes = 2

var tableIndexes = store.Indexes()

// An image is the part of an item on which its write units depend. The zero image is that of an absent item.
type image struct {
	bytes   int
	entries [indexes]entry
}

// An entry is an item's entry in an index: its size, 0 for none, and hashes of its keys and of its content. The content
// is not hashed if the index holds whole items: every write of such an item changes it.
type entry struct {
	bytes         int
	keys, content uint64
}

// units returns the units of a write that changes before into after.
func (after image) units(before image, transactional bool) int {
	units := store.TableUnits(max(before.bytes, after.bytes), transactional)
	for i, a := range after.entries {
		b := before.entries[i]
		isSame := b.content == a.content && a.content != 0
		units += store.IndexUnits(b.bytes, a.bytes, b.keys != a.keys, isSame)
	}
	return units
}

// imageOf returns the image of a whole item.
func (m *Meter) imageOf(item store.Item) (i image) {
	i.bytes = store.SizeOf(item)
	for n, x := range tableIndexes {
		keys := store.Item{x.PartitionKey: item[x.PartitionKey], x.SortKey: item[x.SortKey]}
		if keys[x.PartitionKey] == nil || keys[x.SortKey] == nil {
			continue
		}
		i.entries[n] = entry{
			bytes: i.bytes, keys: m.cache.hash(store.TextOf(keys[x.PartitionKey]), store.TextOf(keys[x.SortKey])),
		}
		if x.Include == nil {
			continue
		}
		held := store.Item{}
		for _, name := range append([]string{store.AttrPK, store.AttrSK, x.PartitionKey, x.SortKey}, x.Include...) {
			if value := item[name]; value != nil {
				held[name] = value
			}
		}
		// JSON sorts the keys of a map, so equal content has an equal hash. Marshal cannot fail for these values.
		content, _ := json.Marshal(held)
		i.entries[n].bytes, i.entries[n].content = store.SizeOf(held), maphash.Bytes(m.cache.seed, content)
	}
	return i
}
