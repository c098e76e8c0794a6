package memdb

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/btree"

	"ledger.example/internal/table"
)

// maxLag bounds the lag of eventually consistent reads. Versions that were replaced before are dropped. In AWS,
// replicas and indexes lag by seconds at most.
const maxLag = 15 * time.Minute

// A row has the versions of one item. Strongly consistent reads see the last version.
type row struct {
	key      table.Key
	versions []version
}

type version struct {
	item packed // "": deleted
	at   time.Time
}

// at returns the item as of a time. The zero time means now.
func (r *row) at(at time.Time) packed {
	if r == nil {
		return ""
	}
	for _, v := range slices.Backward(r.versions) {
		if at.IsZero() || !v.at.After(at) {
			return v.item
		}
	}
	return ""
}

// current returns the current item.
func (r *row) current() packed { return r.at(time.Time{}) }

// trim drops the versions that no read as of the horizon or later can see, and returns them.
func (r *row) trim(horizon time.Time) (dropped []version) {
	n := 0
	for n+1 < len(r.versions) && !r.versions[n+1].at.After(horizon) {
		n++
	}
	dropped = slices.Clone(r.versions[:n])
	r.versions = slices.Delete(r.versions, 0, n)
	return dropped
}

// An entry is the position of a row in the table or in an index. Entries are ordered by the hash of the partition key,
// which is the order of a scan, then by sort key, and in an index by the table's key.
type entry struct {
	hash            uint64
	partition, sort string
	row             *row
}

// less orders entries.
func (e entry) less(f entry) bool {
	return cmp.Or(
		cmp.Compare(e.hash, f.hash), strings.Compare(e.partition, f.partition), strings.Compare(e.sort, f.sort),
		strings.Compare(e.row.key.PK, f.row.key.PK), strings.Compare(e.row.key.SK, f.row.key.SK),
	) < 0
}

// afterAll sorts after every key: keys are valid UTF-8, and it is not.
const afterAll = "\xff"

// firstRow and lastRow order an entry before or after all entries with the same sort key.
var firstRow, lastRow = &row{}, &row{key: table.Key{PK: afterAll, SK: afterAll}}

func newEntry(partition, sort string, r *row) entry {
	return entry{hash(partition), partition, sort, r}
}

// An index holds the rows of a table in the order of two keys: the table's own, or those of a global secondary index.
type index struct {
	name                  string // "": the table itself
	partitionKey, sortKey string
	keys                  map[string]bool // attributes of a LastEvaluatedKey
	projected             map[string]bool // attributes in the index; nil: all
	entries               *btree.BTreeG[entry]
}

func newTree() *btree.BTreeG[entry] {
	return btree.NewBTreeGOptions(entry.less, btree.Options{NoLocks: true}) // the store has a lock
}

// entryFor returns an item's entry. ok is false if the item is not in the index.
func (x *index) entryFor(r *row, i packed) (e entry, ok bool) {
	partition, sort := i.get(x.partitionKey), i.get(x.sortKey)
	return newEntry(partition.text, sort.text, r), partition.letter == packedText && sort.letter == packedText
}

// reindex adds the entry of a row's newest version, and removes entries that only dropped versions had. The entries of
// older versions that are not dropped remain for eventually consistent reads.
func (x *index) reindex(r *row, dropped []version) {
	if e, ok := x.entryFor(r, r.current()); ok {
		x.entries.Set(e)
	}
	for _, v := range dropped {
		e, ok := x.entryFor(r, v.item)
		if ok && !slices.ContainsFunc(r.versions, func(v version) bool { return x.matches(e, v.item) }) {
			x.entries.Delete(e)
		}
	}
}

// matches reports whether an entry is the entry of that version of its row.
func (x *index) matches(e entry, i packed) bool {
	f, ok := x.entryFor(e.row, i)
	return ok && f == e
}

// visit calls each for the entries from one to another, in order or in reverse order, until each returns false.
func (x *index) visit(from, to entry, forward bool, each func(entry) bool) {
	if forward {
		x.entries.Ascend(from, func(e entry) bool { return !to.less(e) && each(e) })
	} else {
		x.entries.Descend(to, func(e entry) bool { return !e.less(from) && each(e) })
	}
}

// hash returns the FNV-1a hash of a key.
func hash(key string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(key) {
		h = (h ^ uint64(key[i])) * 1099511628211
	}
	return h
}
