package projections_test

import (
	"context"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strconv"
	"time"

	"ledger.example/events"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
)

// world is the store, its time, and what is known of everything that was posted to it. Of every history that runs in it:
// a transaction has at most one leg in each balance, and the leg's cost is a power of two of the transaction's own. So
// the expenditure of a fold tells which postings it counts.
type world struct {
	*scheduler
	defect string
	store  *viewstest.Memory
	now    time.Time
	speed  float64         // most seconds that pass between two steps
	skews  []time.Duration // of the clocks of those who post
	lag    int             // steps that a record takes to the stream, at most
	rate   float64         // chance of a new transaction at each step
	spread float64         // chance that a transaction has a leg in each balance after the first

	stretch  int64 // postings that close a segment
	segments int   // segments that one change carries
	settled  int   // settled postings that may be left above the seal

	born       map[events.KSUID]time.Time                // when a posting became visible
	posted     map[projections.Key][]projections.Posting // in no order
	there      map[projections.Key]uint64                // their transactions
	bits       map[events.KSUID]uint64                   // a posting's transaction
	stream     []record                                  // not yet projected
	acked      map[projections.Key]uint64                // transactions that were answered
	shown      map[projections.Key]uint64                // what the heads counted at the last look
	committing int                                       // transactions being made visible
	faultless  bool                                      // requests do what they say
	wounds     int                                       // damages done
	hurt       bool                                      // projections were damaged: no rule holds
	err        error                                     // the first broken rule
	stats      stats
}

type record struct {
	key     projections.Key
	id      events.KSUID
	figures projections.Figures
}

type stats struct {
	steps, writes, unfinished, corrections, lateInSegment, lateInSeal, crashes, conflicts, mended, given int
}

var keys = []projections.Key{{Account: "jane", Asset: "A"}, {Account: "jane", Asset: "B"}, {Account: "shop", Asset: "A"}}

func newWorld(seed uint64, defect string) *world {
	rng := rand.New(rand.NewPCG(seed, 7))
	w := &world{
		scheduler: newScheduler(rng), defect: defect, store: viewstest.NewMemory(),
		now:   time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC),
		speed: []float64{.05, .2, 1, 3}[rng.IntN(4)],
		skews: [][]time.Duration{
			{0, 0, -3 * second, 3 * second, -60 * second, 60 * second, -300 * second},
			{0, 0, -12 * second, -13 * second, -14 * second, -20 * second},
			{0, -60 * second, -300 * second},
		}[rng.IntN(3)],
		lag:     []int{0, 100}[rng.IntN(2)],
		rate:    []float64{.02, .05, .2}[rng.IntN(3)],
		spread:  []float64{0, .4, .8}[rng.IntN(3)],
		stretch: []int64{1, 2, 4}[rng.IntN(3)], segments: 1 + rng.IntN(3), settled: []int{0, 1, 4}[rng.IntN(3)],
		born:   make(map[events.KSUID]time.Time),
		posted: make(map[projections.Key][]projections.Posting),
		there:  make(map[projections.Key]uint64),
		bits:   make(map[events.KSUID]uint64),
		acked:  make(map[projections.Key]uint64),
		shown:  make(map[projections.Key]uint64),
	}
	if defect == "window0" {
		w.speed = .05 // what is slower is made sure of, and hides it
	}
	w.store.Now, w.store.Page, w.store.Order = func() time.Time { return w.now }, 3, rng.Shuffle
	w.store.Between = func() {
		pauses := 25
		if w.chance(.8) {
			pauses = 4
		}
		for range w.rng.IntN(pauses) {
			w.yield()
		}
	}
	return w
}

func (w *world) chance(p float64) bool { return w.rng.Float64() < p }

// storeTime is the store's clock as its replies tell it.
func (w *world) storeTime() time.Time { return w.now.Truncate(time.Second) }

func (w *world) broken(format string, values ...any) {
	if w.err == nil && !w.hurt {
		w.err = fmt.Errorf(format, values...)
	}
}

// put makes a posting visible.
func (w *world) put(k projections.Key, p projections.Posting) {
	if err := w.store.Post(context.Background(), k, p); err != nil {
		w.broken("post: %w", err)
	}
	switch b := w.balance(k); {
	case p.ID <= b.Base.Through:
		w.stats.lateInSegment++
	case p.ID <= b.Seal.Through:
		w.stats.lateInSeal++
	}
	w.posted[k] = append(w.posted[k], p)
	w.born[p.ID] = w.now
	w.bits[p.ID], _ = strconv.ParseUint(p.Cost.String(), 10, 64)
	w.there[k] |= w.bits[p.ID]
	w.start(1, func() {
		for n := w.rng.IntN(w.lag + 1); n > 0 && !w.stopping; n-- {
			w.yield()
		}
		w.stream = append(w.stream, record{k, p.ID, projections.Figures{Quantity: p.Quantity, Cost: p.Cost}})
	})
}

func (w *world) balance(k projections.Key) projections.Balance {
	b, _, err := w.store.Balance(context.Background(), k)
	if err != nil {
		w.broken("balance: %w", err)
	}
	return b
}

// counted returns the transactions that f counts, and complains when f counts one twice, or one that isn't there.
func (w *world) counted(k projections.Key, what string, f projections.Fold) uint64 {
	counted, err := strconv.ParseUint(f.Expenditure.String(), 10, 64)
	if err != nil || bits.OnesCount64(counted) != int(f.Count) || counted&^w.there[k] != 0 {
		w.broken("%s of %v counts something twice or from nowhere: %b of %b, count %d (%v)", what, k, counted, w.there[k], f.Count, err)
	}
	return counted
}

// sum is the fold of what was posted through k ("": of all), and the first posting, added up in a way of its own.
func (w *world) sum(k projections.Key, through events.KSUID) (f projections.Fold, first events.KSUID) {
	var credits, debits, cost int64
	for _, p := range w.posted[k] {
		if through != "" && p.ID > through {
			continue
		}
		if q, _ := strconv.ParseInt(p.Quantity.String(), 10, 64); q > 0 {
			credits += q
		} else {
			debits -= q
		}
		cost += int64(w.bits[p.ID])
		f.Count++
		f.Through = max(f.Through, p.ID)
		if first == "" || p.ID < first {
			first = p.ID
		}
	}
	f.Credits, f.Debits, f.Expenditure = events.NewAmount(credits), events.NewAmount(debits), events.NewAmount(cost)
	return f, first
}

// readable checks that a strong read at this instant would find everything acknowledged: it may begin at any time.
func (w *world) readable() {
	for _, k := range keys {
		b := w.balance(k)
		found := w.counted(k, "seal", b.Seal)
		for _, p := range w.posted[k] {
			if p.ID > b.Seal.Through {
				found |= w.bits[p.ID]
			}
		}
		if missing := w.acked[k] &^ found; missing != 0 {
			w.broken("a strong read of %v would miss acknowledged transactions %b", k, missing)
		}
	}
}

// sound checks what holds after every write, most of it only when no transaction is being made visible.
func (w *world) sound() {
	w.readable()
	if w.committing > 0 {
		return
	}
	wanted := make(map[string]projections.Summary)
	for _, k := range keys {
		b := w.balance(k)
		base, seal, head := w.counted(k, "base", b.Base), w.counted(k, "seal", b.Seal), w.counted(k, "head", b.Head)
		if base&^seal != 0 || seal&^head != 0 && !b.Unfinished {
			w.broken("folds of %v do not nest: %b, %b, %b, unfinished %v", k, base, seal, head, b.Unfinished)
		}
		if w.shown[k]&^head != 0 {
			w.broken("what is shown of %v went back from %b to %b", k, w.shown[k], head)
		}
		w.shown[k] = head
		if b.Unfinished {
			w.stats.unfinished++
		}
		var sum projections.Fold
		for _, s := range w.store.Segments(k) {
			if s.After != sum.Through {
				w.broken("segments of %v do not meet: one ends at %s, the next is after %s", k, sum.Through, s.After)
			}
			sum = plus(sum, s.Fold)
		}
		if sum != b.Base {
			w.broken("segments of %v do not add up to the base: %+v, %+v", k, sum, b.Base)
		}
		s := wanted[k.Account]
		if b.Head.Count > 0 {
			s.Assets++
			if s.First == "" || b.First < s.First {
				s.First = b.First
			}
			if b.Head.Credits != b.Head.Debits {
				s.Holdings++
			}
		}
		wanted[k.Account] = s
	}
	for account, s := range wanted {
		got, err := w.store.Summary(context.Background(), account)
		if s.Account, s.Version = account, got.Version; err != nil || got != s {
			w.broken("summary of %s is %+v, wanted %+v (%v)", account, got, s, err)
		}
	}
}

func plus(a, b projections.Fold) projections.Fold {
	add := func(a, b events.Amount) events.Amount {
		sum, err := a.Add(b)
		if err != nil {
			panic(err)
		}
		return sum
	}
	return projections.Fold{
		Through: b.Through, Credits: add(a.Credits, b.Credits), Debits: add(a.Debits, b.Debits),
		Expenditure: add(a.Expenditure, b.Expenditure), Count: a.Count + b.Count,
	}
}

// exact checks what holds when everything came to rest.
func (w *world) exact() {
	w.sound()
	for _, k := range keys {
		b := w.balance(k)
		head, first := w.sum(k, "")
		if b.Head != head || b.First != first {
			w.broken("balance of %v is wrong: %+v, first %s, wanted %+v, first %s", k, b.Head, b.First, head, first)
		}
		if seal, _ := w.sum(k, b.Seal.Through); b.Seal.Through != "" && b.Seal != seal {
			w.broken("seal of %v is wrong: %+v, wanted %+v", k, b.Seal, seal)
		}
		var prefix projections.Fold
		for _, s := range w.store.Segments(k) {
			prefix = plus(prefix, s.Fold)
			if wanted, _ := w.sum(k, s.Through); prefix != wanted {
				w.broken("segment of %v through %s is wrong: %+v, wanted %+v", k, s.Through, prefix, wanted)
			}
		}
	}
}
