package meter

import (
	"hash/maphash"
	"math/bits"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
)

// indexes is how many the table has.
const indexes = 2

// An image is what the costs of an item depend on. It holds no pointers, so that the collector has nothing to do with
// however many are remembered. The zero image is that of an absent item.
type image struct {
	bytes   int
	entries [indexes]entry
}

// An entry is what an index holds of an item: its size, 0 for none, and hashes of its keys and of all of it. Two entries
// that differ have the same hash once in 2⁶⁴ pairs.
type entry struct {
	bytes       int
	keys, whole uint64
}

// units returns the write units of making an item that was before this one.
func (after image) units(before image, transactional bool) int {
	units := table.TableUnits(max(before.bytes, after.bytes), transactional)
	for i, a := range after.entries {
		b := before.entries[i]
		units += table.IndexUnits(b.bytes, a.bytes, b.keys != a.keys, b.whole == a.whole)
	}
	return units
}

// An index is one of the table's: its keys, and the attributes that it holds, nil for all.
type index struct {
	name, partition, sort string
	names                 []string
}

// tableIndexes returns the table's indexes.
func tableIndexes() (all [indexes]index) {
	for i, x := range table.Indexes() {
		all[i] = index{name: x.Name, partition: x.PartitionKey, sort: x.SortKey}
		if x.Include != nil {
			names := slices.Concat([]string{table.AttrPK, table.AttrSK, x.PartitionKey, x.SortKey}, x.Include)
			slices.Sort(names)
			all[i].names = slices.Compact(names)
		}
	}
	return all
}

// holds tells whether an item is in the index.
func (x index) holds(item wire.Item) bool { return item[x.partition] != nil && item[x.sort] != nil }

// imageOf measures a whole item.
func (m *Meter) imageOf(item wire.Item) (i image) {
	seed, hashed := m.seen.seed, false
	for _, x := range m.indexes {
		hashed = hashed || x.names == nil && x.holds(item)
	}
	var whole uint64
	for name, value := range item {
		i.bytes += len(name) + bytesOf(value)
		if hashed {
			whole += pair(seed, name, value)
		}
	}
	for n, x := range m.indexes {
		if !x.holds(item) {
			continue
		}
		e := &i.entries[n]
		e.keys = pair(seed, x.partition, item[x.partition]) + pair(seed, x.sort, item[x.sort])
		if x.names == nil {
			e.bytes, e.whole = i.bytes, whole
			continue
		}
		for _, name := range x.names {
			if value := item[name]; value != nil {
				e.bytes += len(name) + bytesOf(value)
				e.whole += pair(seed, name, value)
			}
		}
	}
	return i
}

// spread is an odd number of many bits: what is multiplied by it keeps apart what was.
const spread = 0x9e3779b97f4a7c15

// pair hashes an attribute.
func pair(seed maphash.Seed, name string, value types.AttributeValue) uint64 {
	return (maphash.String(seed, name) ^ bits.RotateLeft64(hash(seed, value), 32)) * spread
}

// hash hashes a value and its type.
func hash(seed maphash.Seed, value types.AttributeValue) uint64 {
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		return maphash.String(seed, v.Value)
	case *types.AttributeValueMemberN:
		return maphash.String(seed, v.Value) + 1
	case *types.AttributeValueMemberBOOL:
		if v.Value {
			return 2
		}
		return 3
	case *types.AttributeValueMemberM:
		var all uint64
		for name, element := range v.Value {
			all += pair(seed, name, element)
		}
		return all*spread + 4
	case *types.AttributeValueMemberL:
		var all uint64
		for _, element := range v.Value {
			all = all*spread + hash(seed, element)
		}
		return all*spread + 5
	}
	return 6
}

// itemBytes is the size of an item, or of what is shown of it.
func itemBytes(item wire.Item) (bytes int) {
	for name, value := range item {
		bytes += len(name) + bytesOf(value)
	}
	return bytes
}

// bytesOf is the size of a value, by the cost model's rules. The ledger stores no sets and no binaries.
func bytesOf(value types.AttributeValue) int {
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return table.NumberBytes(v.Value)
	case *types.AttributeValueMemberM:
		bytes := table.CollectionBytes
		for name, element := range v.Value {
			bytes += len(name) + bytesOf(element) + table.ElementBytes
		}
		return bytes
	case *types.AttributeValueMemberL:
		bytes := table.CollectionBytes
		for _, element := range v.Value {
			bytes += bytesOf(element) + table.ElementBytes
		}
		return bytes
	}
	return 1 // a boolean or a null
}
