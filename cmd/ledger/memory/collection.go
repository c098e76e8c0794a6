package memory

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
	"time"

	"ledger.example/ledger/table"
)

// lagMost is how far back an eventually consistent read can look: versions superseded for longer are forgotten. Real
// replicas and indexes are behind by seconds at the most.
const lagMost = 15 * time.Minute

// A row is one item through time. The last version is what strongly consistent reads see.
type row struct {
	key      table.Key
	versions []version
}

type version struct {
	item  item // nil: deleted
	bytes int  // the item's size
	at    time.Time
}

// current is the item now, nil when it isn't there.
func (r *row) current() item {
	return r.as(time.Time{}).item
}

// as is the item as it was at a time; the zero time means now.
func (r *row) as(at time.Time) version {
	if r == nil {
		return version{}
	}
	for _, v := range slices.Backward(r.versions) {
		if at.IsZero() || !v.at.After(at) {
			return v
		}
	}
	return version{}
}

// forget drops the versions that no read can ask for any more.
func (r *row) forget(horizon time.Time) (dropped []version) {
	n := 0
	for n+1 < len(r.versions) && !r.versions[n+1].at.After(horizon) {
		n++
	}
	dropped = slices.Clone(r.versions[:n])
	r.versions = slices.Delete(r.versions, 0, n)
	return dropped
}

// An entry is a row's place in a partition of the table or an index.
type entry struct {
	sort string
	row  *row
}

// A spot is where an entry is or would be in its partition.
type spot struct {
	sort string
	key  table.Key // of the table
}

func (e entry) spot() spot { return spot{e.sort, e.row.key} }

// order is that of a partition: by sort key, and in an index below that by the table's key.
func (e entry) order(s spot) int {
	if order := strings.Compare(e.sort, s.sort); order != 0 {
		return order
	}
	return cmp.Or(strings.Compare(e.row.key.PK, s.key.PK), strings.Compare(e.row.key.SK, s.key.SK))
}

// A collection is the table or an index: partitions in the order of their keys' hashes, which is that of a scan.
type collection struct {
	buckets [1 << bucketBits][]*partition
}

// bucketBits of a hash choose its bucket: so that making a partition doesn't move all others.
const bucketBits = 8

// hash scatters partition keys: FNV-1a, mixed because it is the upper bits that count here.
func hash(key string) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset)
	for i := range len(key) {
		h = (h ^ uint64(key[i])) * prime
	}
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93
	return h ^ h>>32
}

// segment tells in which of n segments of a scan a partition lies.
func segment(hash uint64, n int) int {
	high, _ := bits.Mul64(hash, uint64(n))
	return int(high)
}

func (c *collection) bucket(hash uint64) *[]*partition { return &c.buckets[hash>>(64-bucketBits)] }

// find returns where in its bucket a partition is or would be.
func (c *collection) find(key string) (bucket *[]*partition, h uint64, at int, ok bool) {
	h = hash(key)
	bucket = c.bucket(h)
	at, ok = slices.BinarySearchFunc(*bucket, partition{hash: h, key: key}, func(p *partition, q partition) int {
		return cmp.Or(cmp.Compare(p.hash, q.hash), strings.Compare(p.key, q.key))
	})
	return bucket, h, at, ok
}

// partition returns the partition of a key, nil when it is empty.
func (c *collection) partition(key string) *partition {
	bucket, _, at, ok := c.find(key)
	if !ok {
		return nil
	}
	return (*bucket)[at]
}

// row returns the row of a key of the table, nil when there is none.
func (c *collection) row(k table.Key) *row {
	p := c.partition(k.PK)
	if p == nil {
		return nil
	}
	if at, ok := p.place(spot{k.SK, k}); ok {
		return p.runs[at.run][at.index].row
	}
	return nil
}

// insert puts an entry into its partition, unless it is there.
func (c *collection) insert(key string, e entry) {
	bucket, h, at, ok := c.find(key)
	if !ok {
		*bucket = slices.Insert(*bucket, at, &partition{hash: h, key: key})
	}
	(*bucket)[at].insert(e)
}

// remove takes an entry out of its partition.
func (c *collection) remove(key string, e entry) {
	bucket, _, at, ok := c.find(key)
	if !ok {
		return
	}
	p := (*bucket)[at]
	p.remove(e)
	if len(p.runs) == 0 {
		*bucket = slices.Delete(*bucket, at, at+1)
	}
}
