package projections_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
	"ledger.example/tests/harness/full"
)

// journalStore is the table of one history of the journal. Its requests take time on the clock of the history's
// synctest bubble, which is also the store's clock. Puts may be lost, applied late, or answered late.
type journalStore struct {
	table.Table // nil: a lister and a reader make no other requests

	mu     sync.Mutex
	random *rand.Rand
	events map[table.Key]table.Item
	pages  map[string]table.Item // by SK
}

// chance draws a number below n.
func (s *journalStore) chance(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.random.IntN(n)
}

// within draws a duration of at most d.
func (s *journalStore) within(d time.Duration) time.Duration {
	return time.Duration(s.chance(int(d/time.Millisecond)+1)) * time.Millisecond
}

// takes sleeps for at most d.
func (s *journalStore) takes(d time.Duration) { time.Sleep(s.within(d)) }

// date is the store's clock as in the Date header of a reply.
func date() time.Time { return time.Now().UTC().Truncate(table.DateStep) }

// commit makes an event visible.
func (s *journalStore) commit(event events.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events[table.EventKey(event)] = table.EventItem(event)
}

// Get reads an event or, of an item that never exists, only the clock.
func (s *journalStore) Get(_ context.Context, k table.Key, _ table.Consistency) (table.Item, time.Time, error) {
	if table.Journal.Is(k.SK) {
		s.takes(2 * time.Second)
		at := date()
		s.takes(2 * time.Second)
		return nil, at, nil
	}
	s.takes(100 * time.Millisecond)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.events[k], date(), nil
}

// Write puts an entry in a list or a page of the journal.
func (s *journalStore) Write(ctx context.Context, w table.Write) (time.Time, error) {
	if table.TextOf(w.Item[table.AttrType]) == table.Journal.Type {
		return s.writePage(ctx, w.Item)
	}
	switch s.chance(8) {
	case 0:
		s.takes(30 * time.Second)
	case 1:
		return date(), table.ErrThrottled
	}
	return date(), nil
}

// writePage puts a page: at once, late with or without an answer, or never.
func (s *journalStore) writePage(ctx context.Context, page table.Item) (time.Time, error) {
	s.takes(200 * time.Millisecond)
	put := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.pages[table.TextOf(page[table.AttrSK])] = page
	}
	switch late := s.within(time.Minute); s.chance(10) {
	case 0: // lost
		<-ctx.Done()
		return time.Time{}, table.ErrUnknownOutcome
	case 1: // applied after the deadline
		go func() {
			time.Sleep(late)
			put()
		}()
		<-ctx.Done()
		return time.Time{}, table.ErrUnknownOutcome
	case 2: // the process pauses before the put without noticing
		time.Sleep(late)
		put()
	case 3: // visible at once, but answered late
		put()
		time.Sleep(late)
	case 4:
		return date(), table.ErrThrottled
	default:
		put()
	}
	return date(), nil
}

// Query reads the pages of the journal that are visible at one instant during the request.
func (s *journalStore) Query(_ context.Context, q table.Query) (page table.Page, err error) {
	s.takes(1500 * time.Millisecond)
	s.mu.Lock()
	for _, sk := range slices.Sorted(maps.Keys(s.pages)) {
		if q.Within.From <= sk && sk <= q.Within.To && len(page.Items) < q.Limit {
			page.Items = append(page.Items, s.pages[sk])
		}
	}
	s.mu.Unlock()
	s.takes(1500 * time.Millisecond)
	page.At = date()
	return page, nil
}

// BatchGet reads headers and ends of holds.
func (s *journalStore) BatchGet(_ context.Context, keys []table.Key, _ table.Consistency) (
	items []table.Item, at time.Time, err error,
) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range keys {
		if item, ok := s.events[k]; ok {
			items = append(items, item)
		}
	}
	return items, date(), nil
}

// history is one random run: transactions are committed, their records are delivered to listers, and a reader follows
// the journal.
type history struct {
	*journalStore
	begun   time.Time
	lag     time.Duration // maximum of the stream
	listers []*projections.Lister
	seen    map[table.Key]bool // by the reader
	posted  []table.Key        // the events that were committed
}

// journalMorning is when histories of the journal begin.
var journalMorning = time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)

// skewed is a clock that is off by d.
func skewed(d time.Duration) func() time.Time {
	return func() time.Time { return time.Now().Add(d) }
}

// play runs the history, and returns the entries that the reader missed.
func (h *history) play(t *testing.T) (missed []table.Key) {
	const span = 100 * time.Second
	for range 3 { // the last one has a clock that is far off: it mints nothing
		skew := h.within(8*time.Second) - 4*time.Second
		if len(h.listers) == 2 {
			skew = []time.Duration{0, -30 * time.Second, 20 * time.Second}[h.chance(3)]
		}
		h.listers = append(h.listers,
			projections.NewLister(h.journalStore, nil, skewed(skew), slog.New(slog.DiscardHandler)))
	}
	h.lag = []time.Duration{0, time.Second, 5 * time.Second, time.Minute, time.Hour}[h.chance(5)]
	var working sync.WaitGroup
	for i := range 12 {
		header, end := h.transaction(fmt.Sprintf("t-%d", i), h.begun.Add(h.within(span)))
		late, lag := h.lateness(), []time.Duration{h.within(h.lag), h.within(h.lag)}
		first, second := h.random.Perm(3), h.random.Perm(3)
		twice := h.chance(4) == 0
		working.Go(func() {
			time.Sleep(time.Until(header.Recorded().Add(late)))
			h.commit(header)
			working.Go(func() { h.deliver(lag[0], header, first) })
			if twice {
				working.Go(func() { h.deliver(lag[1], header, second) })
			}
			if end != nil {
				time.Sleep(time.Second)
				h.commit(*end)
				working.Go(func() { h.deliver(lag[1], *end, second) })
			}
		})
	}
	ended := make(chan struct{})
	go func() {
		working.Wait()
		close(ended)
	}()
	h.follow(t, ended)
	for _, what := range h.posted {
		if !h.seen[what] {
			missed = append(missed, what)
		}
	}
	return missed
}

// lateness is how long after its time a transaction is committed.
func (h *history) lateness() time.Duration {
	switch h.chance(20) {
	case 0:
		return h.within(time.Minute)
	case 1, 2, 3:
		return h.within(8 * time.Second)
	}
	return h.within(100 * time.Millisecond)
}

// transaction returns a header posted at a time. At random it is backdated or a hold; end is the hold's end.
func (h *history) transaction(id string, at time.Time) (events.TransactionPosted, *events.HoldEnded) {
	at = at.Truncate(time.Microsecond)
	header := posted(id, 0, map[string]string{})
	header.Legs = legsAt(header.Legs, at)
	var end *events.HoldEnded
	switch h.chance(5) {
	case 0:
		header.RecordedAt = at
		header.Legs = legsAt(header.Legs, at.Add(-h.within(1_000_000*time.Second)))
	case 1:
		header.ExpiresAt = at.AddDate(0, 0, 7)
		end = new(viewstest.Ended(header, events.OutcomeReleased, 0, 0))
		end.Legs = legsAt(end.Legs, at.Add(time.Second))
		h.posted = append(h.posted, table.EventKey(*end))
	}
	h.posted = append(h.posted, table.EventKey(header))
	return header, end
}

// legsAt returns two legs with KSUIDs of an instant.
func legsAt(legs []events.Leg, at time.Time) []events.Leg {
	legs = slices.Clone(legs)
	legs[0].ID, legs[1].ID = events.FirstKSUID(at), events.LastKSUIDBefore(at.Add(time.Microsecond))
	return legs
}

// deliver delivers the record of an event to the listers in turn until one has listed it. A lister may crash: then its
// result is lost, and its puts may still be applied.
func (h *history) deliver(lag time.Duration, e events.Event, order []int) {
	time.Sleep(lag)
	key := table.EventKey(e)
	record := projections.Record{SequenceNumber: "1", PK: key.PK, SK: key.SK}
	for try := 0; ; try++ {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		crashes := h.chance(8) == 0
		if crashes {
			time.AfterFunc(h.within(5*time.Second), cancel)
		}
		failed, err := h.listers[order[try%len(order)]].List(ctx, []projections.Record{record})
		cancel()
		if failed == "" && err == nil && !crashes {
			return
		}
		time.Sleep(time.Second)
	}
}

// follow reads the journal from its last position on, until everything was listed and is older than the trail.
func (h *history) follow(t *testing.T, ended <-chan struct{}) {
	skew := []time.Duration{0, 3 * time.Second, -3 * time.Second, time.Hour, -30 * time.Second}[h.chance(5)]
	reader := projections.NewJournalReader(h.journalStore, skewed(skew))
	cursor := ""
	read := func() (n int) {
		page, err := reader.After(t.Context(), projections.Slice{After: cursor, Limit: 1 + h.chance(4)}, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Items {
			h.seen[e.Event] = true
			if cursor = e.Position; h.chance(5) == 0 { // it crashes, and resumes at the last entry that it saved
				return len(page.Items)
			}
		}
		cursor = page.Next
		return len(page.Items)
	}
	for isEnding := false; ; {
		select {
		case <-ended:
			isEnding = true
		default:
		}
		if isEnding {
			break
		}
		h.takes(10 * time.Second)
		read()
	}
	time.Sleep(2 * time.Minute) // late puts are applied, and older than the trail even for a slow clock
	for read() > 0 {
	}
}

// A reader that follows the journal by its cursor misses nothing: with late commits, backdated transactions, slow,
// crashing and concurrent listers, wrong clocks, and puts that are lost, late, or answered late.
func TestJournalMissesNothing(t *testing.T) {
	for seed := range full.Count(100, 1000) {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Until(journalMorning))
			h := &history{begun: time.Now(), seen: map[table.Key]bool{}, journalStore: &journalStore{
				random: rand.New(rand.NewPCG(uint64(seed), 0)), events: map[table.Key]table.Item{}, pages: map[string]table.Item{},
			}}
			if missed := h.play(t); len(missed) > 0 {
				t.Fatalf("seed %d: missed %q", seed, missed)
			}
		})
		if t.Failed() {
			return
		}
	}
}
