package projections_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/internal/table"
	"ledger.example/projections"
	"ledger.example/tests/full"
)

// ether is the store of one history of the journal. Everything in it takes time, which is that of the history's
// bubble: its clock is the right one. Puts may be lost, come late, or be answered late.
type ether struct {
	mu     sync.Mutex
	random *rand.Rand
	events map[table.Key]events.Event
	pages  []projections.JournalPage // by ID
}

// chance draws a number below n.
func (e *ether) chance(n int) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.random.IntN(n)
}

// within draws a time of at most d.
func (e *ether) within(d time.Duration) time.Duration {
	return time.Duration(e.chance(int(d/time.Millisecond)+1)) * time.Millisecond
}

// takes lets at most d go by.
func (e *ether) takes(d time.Duration) { time.Sleep(e.within(d)) }

// date is the store's clock as a reply has it.
func date() time.Time { return time.Now().UTC().Truncate(store.DateStep) }

// commit makes an event visible.
func (e *ether) commit(k table.Key, event events.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.events[k] = event
}

func (e *ether) Event(_ context.Context, k table.Key) (events.Event, error) {
	e.takes(100 * time.Millisecond)
	e.mu.Lock()
	defer e.mu.Unlock()
	if event, ok := e.events[k]; ok {
		return event, nil
	}
	return nil, store.ErrAbsent
}

func (e *ether) Clock(context.Context) (time.Time, error) {
	e.takes(2 * time.Second)
	at := date()
	e.takes(2 * time.Second)
	return at, nil
}

// WriteListed takes long, or is throttled, now and then.
func (e *ether) WriteListed(context.Context, table.Key, projections.ListedEntry) (time.Time, error) {
	switch e.chance(8) {
	case 0:
		e.takes(30 * time.Second)
	case 1:
		return date(), store.ErrThrottled
	}
	return date(), nil
}

// WriteJournal puts a page: now, late and answered, late and not answered, or never.
func (e *ether) WriteJournal(ctx context.Context, p projections.JournalPage) (time.Time, error) {
	e.takes(200 * time.Millisecond)
	put := func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		at, _ := slices.BinarySearchFunc(e.pages, p.ID, func(p projections.JournalPage, id events.KSUID) int {
			return cmp.Compare(p.ID, id)
		})
		e.pages = slices.Insert(e.pages, at, p)
	}
	switch late := e.within(time.Minute); e.chance(10) {
	case 0: // lost
		<-ctx.Done()
		return time.Time{}, store.ErrUnknownOutcome
	case 1: // on its way for long
		go func() {
			time.Sleep(late)
			put()
		}()
		<-ctx.Done()
		return time.Time{}, store.ErrUnknownOutcome
	case 2: // the process stands still before it, and notices nothing
		time.Sleep(late)
		put()
	case 3: // visible at once, and answered late
		put()
		time.Sleep(late)
	case 4:
		return date(), store.ErrThrottled
	default:
		put()
	}
	return date(), nil
}

// JournalPages reads what is visible at one instant between its beginning and its end.
func (e *ether) JournalPages(_ context.Context, after string, limit int) ([]projections.JournalPage, time.Time, error) {
	e.takes(1500 * time.Millisecond)
	e.mu.Lock()
	first := slices.IndexFunc(e.pages, func(p projections.JournalPage) bool { return string(p.ID) > after })
	var pages []projections.JournalPage
	if first >= 0 {
		pages = slices.Clone(e.pages[first:min(first+limit, len(e.pages))])
	}
	e.mu.Unlock()
	e.takes(1500 * time.Millisecond)
	return pages, date(), nil
}

func (e *ether) TransactionsByID(_ context.Context, ended map[string]bool) (
	map[string]projections.Transaction, error,
) {
	e.mu.Lock()
	defer e.mu.Unlock()
	found := map[string]projections.Transaction{}
	for id := range ended {
		t := projections.Transaction{}
		t.Header, _ = e.events[table.TransactionKey(id)].(events.TransactionPosted)
		if end, ok := e.events[table.OutcomeKey(id)].(events.HoldEnded); ok {
			t.Ended = &end
		}
		found[id] = t
	}
	return found, nil
}

// history is one course of things: transactions are committed, their records are delivered to listers, and a reader
// follows the journal.
type history struct {
	*ether
	begun   time.Time
	lag     time.Duration // of the stream, at most
	listers []*projections.Lister
	seen    map[string]bool // by the reader
	posted  []string        // what was committed: event and transaction
}

// journalMorning is when histories of the journal begin.
var journalMorning = time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)

// skewed is a clock that is off by d.
func skewed(d time.Duration) func() time.Time {
	return func() time.Time { return time.Now().Add(d) }
}

// play lets everything happen, and returns what the reader missed.
func (h *history) play(t *testing.T) (missed []string) {
	const span = 100 * time.Second
	for range 3 { // the last one has a clock that is far off: it mints nothing
		skew := h.within(8*time.Second) - 4*time.Second
		if len(h.listers) == 2 {
			skew = []time.Duration{0, -30 * time.Second, 20 * time.Second}[h.chance(3)]
		}
		h.listers = append(h.listers,
			projections.NewLister(h.ether, nil, skewed(skew), slog.New(slog.DiscardHandler)))
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
			h.commit(table.TransactionKey(header.ID), header)
			working.Go(func() { h.deliver(lag[0], header, first) })
			if twice {
				working.Go(func() { h.deliver(lag[1], header, second) })
			}
			if end != nil {
				time.Sleep(time.Second)
				h.commit(table.OutcomeKey(header.ID), *end)
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

// transaction returns a header posted at a time, backdated or a hold at random, and how the hold ends.
func (h *history) transaction(id string, at time.Time) (events.TransactionPosted, *events.HoldEnded) {
	at = at.Truncate(time.Microsecond)
	header := events.TransactionPosted{ID: id, Legs: []events.Leg{{ID: events.FirstKSUID(at)}}}
	event := projections.JournalPosted
	var end *events.HoldEnded
	switch h.chance(5) {
	case 0:
		header.RecordedAt = at
		header.Legs[0].ID = events.FirstKSUID(at.Add(-h.within(1_000_000 * time.Second)))
	case 1:
		header.ExpiresAt, event = at.AddDate(0, 0, 7), projections.JournalHeld
		end = &events.HoldEnded{Transaction: id, Outcome: events.OutcomeReleased,
			Legs: []events.Leg{{ID: events.FirstKSUID(at.Add(time.Second))}}}
		h.posted = append(h.posted, string(end.Outcome)+" "+id)
	}
	h.posted = append(h.posted, event+" "+id)
	return header, end
}

// deliver hands the record of an event to listers in turn until one has listed it. The one that has it may die: then
// what it returns is not heard of, and what it was about to put may still come.
func (h *history) deliver(lag time.Duration, e events.Event, order []int) {
	time.Sleep(lag)
	key := table.Key{}
	switch e := e.(type) {
	case events.TransactionPosted:
		key = table.TransactionKey(e.ID)
	case events.HoldEnded:
		key = table.OutcomeKey(e.Transaction)
	}
	record := projections.Record{SequenceNumber: "1", PK: key.PK, SK: key.SK}
	for try := 0; ; try++ {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		dies := h.chance(8) == 0
		if dies {
			time.AfterFunc(h.within(5*time.Second), cancel)
		}
		failed, err := h.listers[order[try%len(order)]].List(ctx, []projections.Record{record})
		cancel()
		if failed == "" && err == nil && !dies {
			return
		}
		time.Sleep(time.Second)
	}
}

// follow reads the journal, and goes on from where it stopped, until all was listed and is old enough.
func (h *history) follow(t *testing.T, ended <-chan struct{}) {
	skew := []time.Duration{0, 3 * time.Second, -3 * time.Second, time.Hour, -30 * time.Second}[h.chance(5)]
	reader := projections.NewJournalReader(h.ether, skewed(skew))
	cursor := ""
	read := func() (n int) {
		page, err := reader.After(t.Context(), projections.Slice{After: cursor, Limit: 1 + h.chance(4)})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Items {
			h.seen[e.Event+" "+e.Transaction.Header.ID] = true
			if cursor = e.Position; h.chance(5) == 0 { // it dies, and goes on from the last entry that it kept
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
	time.Sleep(2 * time.Minute) // what is under way comes, and is old enough also for a slow clock
	for read() > 0 {
	}
}

// Whoever keeps the cursor of the journal misses nothing: with late commits, backdated transactions, a slow lister, a
// dying one and two at once, clocks that are off, and puts that are lost, late, or answered late.
func TestJournalMissesNothing(t *testing.T) {
	histories := 1000
	if full.Enabled() {
		histories = 10_000
	}
	for seed := range histories {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Until(journalMorning))
			h := &history{begun: time.Now(), seen: map[string]bool{}, ether: &ether{
				random: rand.New(rand.NewPCG(uint64(seed), 0)), events: map[table.Key]events.Event{},
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
