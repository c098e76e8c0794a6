package table

import (
	"context"
	"strings"
)

// The cost model: what a request consumes in DynamoDB's capacity units, by AWS's published rules ("DynamoDB item sizes
// and formats", "DynamoDB read and write operations", "Managing complex workflows with transactions", "Global
// secondary indexes: considerations for provisioned throughput"). The built-in store counts with it, because it has the
// items before and after each write.

const (
	writeUnitBytes = 1 << 10 // one write unit writes an item of up to 1 KB
	readUnitBytes  = 4 << 10 // one read unit reads up to 4 KB strongly
)

// Overheads of lists and maps: once for each, and once for each of their elements.
const (
	CollectionBytes = 3
	ElementBytes    = 1
)

// NumberBytes returns the size of a decimal number without an exponent: one byte for every two significant digits, one
// more, and one more if it is negative. AWS calls its own rule approximate.
func NumberBytes(decimal string) int {
	digits, negative := strings.CutPrefix(decimal, "-")
	before, after, _ := strings.Cut(digits, ".")
	significant := strings.Trim(before+after, "0")
	if significant == "" {
		return 1
	}
	size := (len(significant)+1)/2 + 1
	if negative {
		size++
	}
	return size
}

// TableUnits returns the write units that a write of an item consumes in the table: one for every started KB, at least
// one, and twice that in a transaction. bytes is the larger of the item's sizes before and after the write. A condition
// check in a transaction costs the same.
func TableUnits(bytes int, transactional bool) int {
	units := started(bytes, writeUnitBytes)
	if transactional {
		units *= 2
	}
	return units
}

// IndexUnits returns the write units that a write consumes in one index. The index's entry had before bytes and has
// after, 0 for none. To add, change or remove an entry is one write of its larger size. An entry with new keys is
// removed and added. An unchanged entry is free. A transaction does not double these units.
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

// ReadKind is the consistency of a read. Its value is the price of 4 KB, in halves of a read unit.
type ReadKind int

// The consistencies of reads.
const (
	EventualRead      ReadKind = 1
	StrongRead        ReadKind = 2
	TransactionalRead ReadKind = 4 // TransactGetItems
)

// ReadKind returns the kind of a read of one item, or of a query.
func (c Consistency) ReadKind() ReadKind {
	if c == Strong {
		return StrongRead
	}
	return EventualRead
}

// ReadHalves returns the cost of a read, in halves of a read unit. bytes is the size of complete items, even if a
// projection returns only a part of them. A read of a single item is rounded up; an absent item has 0 bytes and costs
// as much as the smallest one. For a page of a query, bytes is the sum over all items examined, including filtered
// ones.
func ReadHalves(bytes int, c ReadKind) int { return int(c) * started(bytes, readUnitBytes) }

// started returns the number of started blocks in size, at least one.
func started(size, block int) int { return max(1, (size+block-1)/block) }

// Used is what requests consumed.
type Used struct {
	Units
	ByKey map[PartitionKey]Units // the same units by the key that they were for; nil: these are not counted
}

// Units are write units, and halves of read units.
type Units struct{ WriteUnits, ReadHalves int64 }

// Add adds other units.
func (u *Units) Add(other Units) {
	u.WriteUnits += other.WriteUnits
	u.ReadHalves += other.ReadHalves
}

// PartitionKey is a partition key of the table, or of an index: what a partition of DynamoDB serves.
type PartitionKey struct{ Index, Key string } // Index "": the table

// Count adds the units of a key. A scan is for no key: it counts in all units only.
func (u *Used) Count(k PartitionKey, units Units) {
	u.Units.Add(units)
	if u.ByKey != nil && k.Key != "" {
		sum := u.ByKey[k]
		sum.Add(units)
		u.ByKey[k] = sum
	}
}

type usedKey struct{}

// WithUsed returns a context for one request. A store that counts units adds those of the request to u.
func WithUsed(ctx context.Context, u *Used) context.Context {
	return context.WithValue(ctx, usedKey{}, u)
}

// UsedOf returns the counts of WithUsed, or nil if nobody counts.
func UsedOf(ctx context.Context) *Used {
	u, _ := ctx.Value(usedKey{}).(*Used)
	return u
}
