package audit

import (
	"context"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"ledger.example/ledger/table"
)

const (
	// againItems is about how many legs and postings are held while the transactions of some buckets are told apart.
	againItems = 50_000
	// sumScans is how often the sums of assets are made again at most: a commit that came late may fall into each scan.
	sumScans = 3
)

// resolve looks at what the scan left open: transactions seen by half, buckets that don't come out, and assets that don't
// sum to zero. The last two cost another scan.
func (j *journal) resolve(ctx context.Context) error {
	if err := j.examineAll(ctx, j.halves); err != nil {
		return err
	}
	j.halves = nil
	var dirty []int
	for i := range j.buckets {
		if b := &j.buckets[i]; b.sums[0].Load() != 0 || b.sums[1].Load() != 0 {
			dirty = append(dirty, i)
		}
	}
	open := j.unbalanced()
	for scans := 1; len(dirty) > 0 || len(open) > 0; scans++ {
		var now map[int]bool
		now, dirty = j.group(dirty)
		again := secondLook{journal: j, buckets: now, halves: make(map[string]*half), sums: make(map[string]*sums)}
		if err := j.scan(ctx, again.look); err != nil {
			return err
		}
		if err := j.examineAll(ctx, again.halves); err != nil {
			return err
		}
		open = j.judge(open, again.sums, scans >= sumScans)
	}
	return nil
}

// unbalanced returns the sums of assets that are not zero.
func (j *journal) unbalanced() map[string]*sums {
	open := make(map[string]*sums)
	for id, s := range j.assets {
		if !j.unknown[id] && (s.quantity.Sign() != 0 || s.cost.Sign() != 0) {
			open[id] = s
		}
	}
	return open
}

// judge compares the sums of assets that were open with those of the next scan. What came out the same twice, or is the
// last word, is reported; what is zero now was a commit under way.
func (j *journal) judge(open, again map[string]*sums, last bool) map[string]*sums {
	still := make(map[string]*sums)
	for _, id := range slices.Sorted(maps.Keys(open)) {
		now := again[id]
		switch {
		case now == nil || now.quantity.Sign() == 0 && now.cost.Sign() == 0:
		case last || now.String() == open[id].String():
			j.report(Finding{Code: AssetUnbalanced, Key: table.AssetKey(id), Stored: now.String(), Recomputed: noSum})
		default:
			still[id] = now
		}
	}
	return still
}

// group takes as many buckets as can be told apart at a time.
func (j *journal) group(dirty []int) (now map[int]bool, later []int) {
	now, items := make(map[int]bool), uint32(0)
	for i, b := range dirty {
		if items += j.buckets[b].items.Load(); items > againItems && len(now) > 0 {
			return now, dirty[i:]
		}
		now[b] = true
	}
	return now, nil
}

// examineAll examines all that is left by half.
func (j *journal) examineAll(ctx context.Context, halves map[string]*half) error {
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(j.Segments)
	for id, h := range halves {
		if h.left != (digest{}) {
			all.Go(func() error { return j.examine(ctx, id, h.postings) })
		}
	}
	return all.Wait()
}

// secondLook tells the transactions of some buckets apart, and sums up the assets that are open.
type secondLook struct {
	*journal
	buckets map[int]bool

	mu     sync.Mutex
	halves map[string]*half
	sums   map[string]*sums
}

func (s *secondLook) look(_ context.Context, item attributes) error {
	value, _ := decode(item)
	switch v := value.(type) {
	case header:
		var all digest
		for i := range v.legs {
			all.add(s.digestOf(v.posting(i)))
		}
		s.note(v.id, all)
	case posting:
		s.note(v.transaction, s.digestOf(v).negated(), keyOf(item))
		s.sum(v)
	}
	return nil
}

func (s *secondLook) note(transaction string, d digest, postings ...table.Key) {
	if !s.buckets[s.bucketOf(transaction)] {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.halves[transaction]
	if h == nil {
		h = new(half)
		s.halves[transaction] = h
	}
	if h.note(d, postings); h.left == (digest{}) {
		delete(s.halves, transaction)
	}
}

func (s *secondLook) sum(p posting) {
	if at, ok := instantOf(p.ksuid); !ok || !at.Before(s.sumBefore) {
		return
	}
	id := p.asset
	if s.assets[id] == nil {
		id = "" // those beyond assetsMax
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sums[id] == nil {
		s.sums[id] = new(sums)
	}
	s.sums[id].add(p.leg)
}
