package projections_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
)

// listerStore is a store with a lister. Its hooks run around the lister's writes, one at a time, if they are not nil.
type listerStore struct {
	*viewstest.Store
	time   time.Time
	skew   time.Duration // of the lister's clock
	shift  time.Duration // of the clock that the store returns
	lister *projections.Lister
	log    bytes.Buffer
	hook   sync.Mutex // held while a hook runs, or pauses is counted
	pauses int

	beforeEntry func(projections.ListedEntry) error
	beforeOpen  func(hold string) error // the write of its entry in the list of open holds
	beforePage  func(projections.JournalPage) error
	afterPage   func(projections.JournalPage, time.Time) (time.Time, error)
}

func newListerStore(t viewstest.T, indexed ...string) *listerStore {
	n := &listerStore{time: morning.Add(time.Hour)}
	n.Store = viewstest.NewStore(t, func() time.Time { return n.time })
	n.lister = projections.NewLister(listerTable{n.Table, n}, indexed, func() time.Time { return n.time.Add(n.skew) },
		slog.New(slog.NewTextHandler(&n.log, nil)))
	n.lister.Pause(func(ctx context.Context, _ int) error {
		return n.alone(func() error { n.pauses++; return ctx.Err() })
	})
	return n
}

// alone calls a hook while no other one runs.
func (n *listerStore) alone(hook func() error) error {
	n.hook.Lock()
	defer n.hook.Unlock()
	return hook()
}

// listerTable is the table of a listerStore's lister.
type listerTable struct {
	table.Table
	n *listerStore
}

// Write implements table.Table.
func (l listerTable) Write(ctx context.Context, w table.Write) (time.Time, error) {
	n := l.n
	if entry, err := projections.DecodeListedEntry(w.Item); err == nil {
		if n.beforeEntry != nil {
			if err := n.alone(func() error { return n.beforeEntry(entry) }); err != nil {
				return time.Time{}, err
			}
		}
		at, err := l.Table.Write(ctx, w)
		return at.Add(n.shift), err
	}
	if _, hold, ok := table.OpenHold.Parse(table.ItemKey(w.Item)); ok {
		if n.beforeOpen != nil {
			if err := n.alone(func() error { return n.beforeOpen(hold) }); err != nil {
				return time.Time{}, err
			}
		}
		at, err := l.Table.Write(ctx, w)
		return at.Add(n.shift), err
	}
	if table.Tagged.Is(table.ItemKey(w.Item).SK) {
		return l.Table.Write(ctx, w)
	}
	page, err := projections.JournalForm.Decode(w.Item)
	if err == nil && n.beforePage != nil {
		err = n.alone(func() error { return n.beforePage(page) })
	}
	if err != nil {
		return time.Time{}, err
	}
	at, err := l.Table.Write(context.WithoutCancel(ctx), w)
	if n.afterPage != nil && err == nil {
		err = n.alone(func() error { at, err = n.afterPage(page, at); return err })
	}
	return at, err
}

// posted is a transaction posted at a millisecond of the morning.
func posted(id string, at int, metadata map[string]string) events.TransactionPosted {
	h := viewstest.Held(id, at)
	h.ExpiresAt, h.Metadata = time.Time{}, metadata
	return h
}

// eventRecords returns a batch of records with their events, numbered from 1000.
func eventRecords(all ...events.Event) []projections.Record {
	batch := make([]projections.Record, len(all))
	for i, e := range all {
		key := table.EventKey(e)
		batch[i] = projections.Record{SequenceNumber: fmt.Sprint(1000 + i), PK: key.PK, SK: key.SK, Event: e}
	}
	return batch
}

// The lister lists headers by time and by indexed metadata, and open holds by expiry. It adds each header and each end of
// a hold to the journal. It takes events from the record or reads the table. A hold's end does not have the expiry: the
// header has it, which is in the batch or must be read. A redelivered batch writes the same entries.
func TestTransactionsAreListed(t *testing.T) {
	for _, withEvents := range []bool{true, false} {
		n := newListerStore(t, "order", "customer")
		first := posted("t-1", 1, map[string]string{"order": "10#01", "customer": "", "other": "x"})
		hold := viewstest.Held("h-1", 2)
		hold.Metadata = map[string]string{"order": "7"}
		ended := viewstest.Ended(hold, events.OutcomeReleased, 0, 30)
		all := []events.Event{first, hold, ended}
		if err := n.Put(t.Context(), all...); err != nil {
			t.Fatal(err)
		}
		batch := eventRecords(all...)
		for i := range batch {
			if !withEvents {
				batch[i].Event = nil
			}
		}
		batch = append(batch, records(keysOf(jane, ksuid(1))...)...) // the lister skips postings
		n.Requests()
		for range 2 {
			if failed, err := n.lister.List(t.Context(), batch); failed != "" || err != nil {
				t.Fatalf("failed from %q, %v", failed, err)
			}
		}
		at := func(h events.TransactionPosted) string { return " LISTED#" + string(h.Legs[0].ID) + "#" + h.ID }
		want := []string{
			"METADATA#0#customer#" + at(first), "METADATA#0#order#10#01" + at(first),
			"METADATA#0#order#7" + at(hold) + " held", "TRANSACTIONS#0" + at(first), "TRANSACTIONS#0" + at(hold) + " held",
		}
		slices.Sort(want)
		viewstest.Same(t, "entries", n.ListedKeys(t), want)
		page := "t-1, h-1, h-1 ended"
		viewstest.Same(t, "journal", n.JournalText(t), []string{page, page})
		requests := n.Requests() // the end's entry is put once, and refused when it is there; the query is of the log of lanes
		if withEvents {
			viewstest.Same(t, "requests", requests, viewstest.Requests{Queries: 1, Puts: (3 + 2 + 1 + 1) + (3 + 2 + 1)})
		} else if requests.Gets != 2*(3+1) || requests.Puts > 14 { // with the header, and the entry of the open hold
			t.Errorf("without events %+v", requests)
		}
	}
}

// A batch with more entries than fit one page writes several. A batch with nothing to list writes none.
func TestPagesOfTheJournalAreBounded(t *testing.T) {
	n := newListerStore(t)
	var all []events.Event
	for i := range 250 {
		all = append(all, posted(fmt.Sprint("t-", i), i, nil))
	}
	if failed, err := n.lister.List(t.Context(), eventRecords(all...)); failed != "" || err != nil {
		t.Fatal(failed, err)
	}
	var sizes []int
	for _, page := range n.JournalText(t) {
		sizes = append(sizes, strings.Count(page, ",")+1)
	}
	viewstest.Same(t, "pages", sizes, []int{100, 100, 50})
	n.Requests()
	if failed, err := n.lister.List(t.Context(), records(keysOf(jane, ksuid(1))...)); failed != "" || err != nil {
		t.Fatal(failed, err)
	}
	viewstest.Same(t, "requests", n.Requests(), viewstest.Requests{})
}

// List reports the first failed record, as an error if it is the batch's first. The journal gets the entries of all
// records whose events are known, whatever happens to their lists. A record that no retry fixes is skipped and counted.
func TestListerReportsTheFirstFailure(t *testing.T) {
	altered := table.Transaction.Key("gone")
	newer := fmt.Errorf("%w of version 9", events.ErrNewerEvent)
	for _, c := range []struct {
		name      string
		broken    map[string]error // by transaction
		page      error            // of the journal
		change    func(batch []projections.Record)
		failed    string
		err       error
		journal   []string
		malformed bool
	}{
		{name: "nothing", journal: []string{"a, b, c"}},
		{name: "the middle", broken: map[string]error{"b": errBroken}, failed: "1001",
			journal: []string{"a, b, c"}},
		{name: "the lower of two", broken: map[string]error{"b": errBroken, "c": errBroken}, failed: "1001",
			journal: []string{"a, b, c"}},
		{name: "the first", broken: map[string]error{"a": errBroken}, err: errBroken, journal: []string{"a, b, c"}},
		{name: "no number", broken: map[string]error{"b": errBroken}, err: errBroken, journal: []string{"a, b, c"},
			change: func(batch []projections.Record) { batch[1].SequenceNumber = "" }},
		{name: "of newer code", broken: map[string]error{"b": newer}, failed: "1001", journal: []string{"a, b, c"}},
		{name: "a key", journal: []string{"a, c"}, malformed: true,
			change: func(batch []projections.Record) { batch[1].SK = "TXN#other" }},
		{name: "an end's key", journal: []string{"a, c"}, malformed: true,
			change: func(batch []projections.Record) { batch[1].SK = "OUTCOMES" }},
		{name: "gone", journal: []string{"a, c"}, malformed: true,
			change: func(batch []projections.Record) {
				batch[1] = projections.Record{PK: altered.PK, SK: altered.SK, SequenceNumber: "1001"}
			}},
		{name: "another event", journal: []string{"a, c"}, malformed: true,
			change: func(batch []projections.Record) { batch[1].Event = events.AssetRegistered{} }},
		{name: "removed", journal: []string{"a, c"},
			change: func(batch []projections.Record) { batch[1].Removed = true }},
		{name: "altered", journal: []string{"a, c"},
			change: func(batch []projections.Record) { batch[1].Altered = true }},
		{name: "the journal", page: errBroken, err: errBroken},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newListerStore(t)
			n.beforeEntry = func(e projections.ListedEntry) error {
				return c.broken[e.Transaction]
			}
			n.beforePage = func(projections.JournalPage) error { return c.page }
			batch := eventRecords(posted("a", 1, nil), posted("b", 2, nil), posted("c", 3, nil))
			if c.change != nil {
				c.change(batch)
			}
			failed, err := n.lister.List(t.Context(), batch)
			if failed != c.failed || !errors.Is(err, c.err) || (err != nil) != (c.err != nil) {
				t.Errorf("failed from %q, error %v", failed, err)
			}
			viewstest.Same(t, "journal", n.JournalText(t), c.journal)
			if counted := strings.Contains(n.log.String(), "RecordsMalformed=1"); counted != c.malformed {
				t.Errorf("log: %s", n.log.String())
			}
		})
	}
}

// A lister whose clock is off the store's writes no page and fails the batch. It still writes list entries, which need
// no clock. If it does not know the store's clock yet, it reads it once.
func TestListerMintsNothingWithAWrongClock(t *testing.T) {
	for skew, wanted := range map[time.Duration]bool{
		0: true, 4 * time.Second: true, -4 * time.Second: true, 7 * time.Second: false, -6 * time.Second: false,
		-time.Hour: false,
	} {
		for _, e := range []events.Event{
			posted("t-1", 1, nil), viewstest.Ended(viewstest.Held("h-1", 1), events.OutcomeExpired, 0, 2),
		} {
			n := newListerStore(t)
			if err := n.Put(t.Context(), viewstest.Held("h-1", 1)); err != nil {
				t.Fatal(err)
			}
			n.skew = skew
			failed, err := n.lister.List(t.Context(), eventRecords(e))
			if failed != "" || (err == nil) != wanted || wanted != (len(n.JournalText(t)) == 1) {
				t.Errorf("%v, %T: failed %q, %v, journal %v", skew, e, failed, err, n.JournalText(t))
			}
			if off := strings.Contains(n.log.String(), "ClockOff=1"); off == wanted {
				t.Errorf("%v: log: %s", skew, n.log.String())
			}
			gets := 0
			if _, ends := e.(events.HoldEnded); ends { // the header
				gets++
			}
			if !wanted { // the clock
				gets++
			}
			viewstest.Same(t, "reads", n.Requests().Gets, gets)
			n.skew = 0
			if failed, err := n.lister.List(t.Context(), eventRecords(e)); failed != "" || err != nil && skew <= 0 {
				t.Errorf("%v: after that: %q, %v", skew, failed, err)
			}
		}
	}
}

// A lister that minted while its clock was ahead mints nothing until the clock has caught up.
func TestListerMintsNothingUntilTheClockCatchesUp(t *testing.T) {
	n := newListerStore(t)
	for _, c := range []struct {
		ahead  time.Duration // of both clocks
		wanted bool
	}{{10 * time.Second, true}, {0, false}, {10 * time.Second, true}} {
		n.skew, n.shift = c.ahead, c.ahead
		failed, err := n.lister.List(t.Context(), eventRecords(posted("t-1", 1, nil)))
		if failed != "" || (err == nil) != c.wanted {
			t.Errorf("%v ahead: failed %q, %v", c.ahead, failed, err)
		}
	}
	viewstest.Same(t, "pages", len(n.JournalText(t)), 2)
}

// A page that is not answered in time is written again under a new KSUID, even if the first write was applied. Both the
// monotonic clock and the store's clock detect a late answer.
func TestJournalPageAnsweredLateIsWrittenAgain(t *testing.T) {
	for name, late := range map[string]func(p projections.JournalPage, at time.Time) (time.Time, error){
		"not answered": func(projections.JournalPage, time.Time) (time.Time, error) {
			return time.Time{}, table.ErrUnknownOutcome
		},
		"by the monotonic clock": func(_ projections.JournalPage, at time.Time) (time.Time, error) {
			time.Sleep(3*time.Second + time.Millisecond)
			return at, nil
		},
		"by the store's clock": func(p projections.JournalPage, _ time.Time) (time.Time, error) {
			return p.ID.Time().Add(8*time.Second + time.Millisecond), nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newListerStore(t)
				var minted []events.KSUID
				n.afterPage = func(p projections.JournalPage, at time.Time) (time.Time, error) {
					if minted = append(minted, p.ID); len(minted) == 1 {
						return late(p, at)
					}
					return at, nil
				}
				failed, err := n.lister.List(t.Context(), eventRecords(posted("t-1", 1, nil)))
				if failed != "" || err != nil {
					t.Fatalf("failed %q, %v", failed, err)
				}
				viewstest.Same(t, "journal", n.JournalText(t), []string{"t-1", "t-1"})
				if len(minted) != 2 || minted[0] >= minted[1] {
					t.Errorf("minted %v", minted)
				}
			})
		})
	}
}

// The log of a failure names the transaction, but no value of its metadata, which may be personal data.
func TestListerLogsNoMetadata(t *testing.T) {
	n := newListerStore(t, "phone")
	written := 0
	n.beforeEntry = func(projections.ListedEntry) error {
		if written++; written == 2 { // the entry by metadata
			return errBroken
		}
		return nil
	}
	_, err := n.lister.List(t.Context(), eventRecords(posted("t-1", 1, map[string]string{"phone": "555-0100"})))
	log := fmt.Sprint(err, n.log.String())
	if written < 2 || !strings.Contains(log, "t-1") || strings.Contains(log, "555-0100") {
		t.Errorf("%d entries, logged %s", written, log)
	}
}

func TestListerStopsBeforeItsDeadline(t *testing.T) {
	n := newListerStore(t)
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if failed, err := n.lister.List(ctx, eventRecords(posted("t-1", 1, nil))); failed != "" || err == nil {
		t.Errorf("failed %q, %v", failed, err)
	}
}

func TestIndexedKeys(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "order": 1, "a,b.c,d_e,f-g,5": 5, strings.Repeat("k", 40): 1,
		",": -1, "a,": -1, "a,a": -1, "a, b": -1, "a#b": -1, "é": -1, "a,b,c,d,e,f": -1, strings.Repeat("k", 41): -1,
	} {
		keys, err := projections.ParseIndexed(text)
		if (err == nil) != (want >= 0) || err == nil && (len(keys) != want || strings.Join(keys, ",") != text) {
			t.Errorf("%q: %q, %v", text, keys, err)
		}
	}
}
