package memory

import (
	"time"

	"ledger.example/ledger/wire"
)

// walk fills a page with one segment of the table or index, in the order of the partitions' hashes, after the starting key.
// It tells whether it stopped before the end. The lock is held.
func (s *Store) walk(r reading, p *page, startKey wire.Item, part, parts int, lag time.Duration) (full bool, err error) {
	var (
		from      uint64 // hash of the partition to begin with
		partition string
		start     spot
	)
	if startKey != nil {
		if partition, start, err = r.start(startKey); err != nil {
			return false, err
		}
		if from = hash(partition); segment(from, parts) != part {
			return false, validation("The provided starting key is invalid: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. TotalSegments: %d Segment: %d", parts, part)
		}
	}
	at := s.lagged(lag)
	for _, bucket := range r.buckets[from>>(64-bucketBits):] {
		for _, group := range bucket {
			if segment(group.hash, parts) != part || group.hash < from || group.hash == from && group.key < partition {
				continue
			}
			var begin position
			if startKey != nil && group.key == partition {
				var found bool
				if begin, found = group.place(start); found {
					begin.index++
				}
			}
			for e := range group.between(begin, group.end(), true) {
				if i, size := r.shown(group.key, e, e.row.as(at)); i != nil && !p.add(i, size) {
					return true, nil
				}
			}
		}
	}
	return false, nil
}
