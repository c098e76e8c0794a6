package projections_test

import (
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
	"ledger.example/internal/table/tabletest"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
)

// A list whose key is throttled for minutes delays neither the journal nor the other lists. Only its record is retried,
// and reported when the time is over.
func TestThrottledListDelaysNoOther(t *testing.T) {
	n := newListerStore(t, "order")
	tries, pages := make(map[string]int), 0
	n.beforePage = func(page projections.JournalPage) error {
		if pages++; tries["t-5"] >= 10 || len(page.Entries) != 100 {
			t.Errorf("the page of %d entries was written after %d tries", len(page.Entries), tries["t-5"])
		}
		return nil
	}
	n.beforeEntry = func(e projections.ListedEntry) error {
		if tries[e.Transaction]++; e.Transaction == "t-5" && tries["t-5"] < 100 {
			return table.ErrThrottled
		}
		return nil
	}
	var all []events.Event
	for i := range 100 {
		all = append(all, posted(fmt.Sprint("t-", i), i, map[string]string{"order": "7"}))
	}
	failed, err := n.lister.List(t.Context(), eventRecords(all...))
	if failed != "" || err != nil || tries["t-5"] != 101 || pages != 1 || len(n.ListedKeys(t)) != 200 {
		t.Errorf("failed %q, %v after %d tries, %d pages, %d entries", failed, err, tries["t-5"], pages,
			len(n.ListedKeys(t)))
	}
	tries = map[string]int{"t-5": -1000}
	failed, err = n.lister.List(t.Context(), eventRecords(all...))
	if failed != "1005" || err != nil || pages != 2 {
		t.Errorf("throttled on: failed %q, %v, %d pages", failed, err, pages)
	}
}

// List waits while the store throttles, so that throttling does not use up a record's few redeliveries.
func TestListerWaitsForAThrottledStore(t *testing.T) {
	for _, throttled := range []int{50, 1 << 30} {
		n := newListerStore(t)
		left := throttled
		throttle := func() error {
			if left--; left >= 0 {
				return fmt.Errorf("wrapped: %w", table.ErrThrottled)
			}
			return nil
		}
		n.beforeEntry = func(projections.ListedEntry) error { return throttle() }
		n.beforePage = func(projections.JournalPage) error { return throttle() }
		_, err := n.lister.List(t.Context(), eventRecords(posted("t-1", 1, nil)))
		if (err == nil) != (throttled == 50) || err != nil && !errors.Is(err, table.ErrThrottled) {
			t.Errorf("throttled %d times: %v after %d pauses", throttled, err, n.pauses)
		}
	}
}

// While a record fails, the stream delivers it again and again, with those after it. The journal of one process gets
// each event once all the same.
func TestRedeliveredEventsAreJournaledOnce(t *testing.T) {
	n := newListerStore(t)
	broken := true
	n.beforeEntry = func(e projections.ListedEntry) error {
		if e.Transaction == "b" && broken {
			return errBroken
		}
		return nil
	}
	batch := eventRecords(posted("a", 1, nil), posted("b", 2, nil), posted("c", 3, nil))
	failed, err := n.lister.List(t.Context(), batch)
	if failed != "1001" || err != nil {
		t.Fatal(failed, err)
	}
	for range 3 {
		if failed, err = n.lister.List(t.Context(), batch[1:]); failed != "" || !errors.Is(err, errBroken) {
			t.Fatal(failed, err)
		}
	}
	late := append(batch[1:], eventRecords(posted("d", 4, nil))...)
	broken = false
	for range 2 { // what succeeded is forgotten
		if failed, err = n.lister.List(t.Context(), late); failed != "" || err != nil {
			t.Fatal(failed, err)
		}
	}
	viewstest.Same(t, "journal", n.JournalText(t), []string{"a, b, c", "d", "b, c, d"})
}

// deliver delivers a batch to a lister as Lambda does: again from the first failed record on, and in halves after an
// error.
func deliver(ctx context.Context, l *projections.Lister, batch []projections.Record) {
	for range 100 {
		limited, cancel := context.WithTimeout(ctx, 2*time.Minute)
		failed, err := l.List(limited, batch)
		cancel()
		switch {
		case err != nil && len(batch) > 1:
			deliver(ctx, l, batch[:len(batch)/2])
			deliver(ctx, l, batch[len(batch)/2:])
			return
		case err != nil:
		case failed == "":
			return
		default:
			batch = batch[slices.IndexFunc(batch, func(r projections.Record) bool { return r.SequenceNumber == failed }):]
		}
	}
}

// For five minutes the store throttles all writes of one value of metadata. Balances, the journal and all other lists of
// the same records go on within a second, and so do other shards of the stream. When the store recovers, the entries
// follow within a second, and so do the later records of their shard, which wait as they do whenever a record fails.
// Nothing is lost, and the journal has each event once.
func TestKeyThrottledForMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const outage, pause, rounds = 5 * time.Minute, 20 * time.Second, 20
		time.Sleep(time.Until(journalMorning))
		n := newListerStore(t)
		n.Now = time.Now
		begun := time.Now()
		var mu sync.Mutex
		written := make(map[string]time.Duration) // when a list first had an entry
		throttled := &tabletest.Faulty{Table: n.Table, Around: func(
			ctx context.Context, c tabletest.Call, apply func(context.Context) error,
		) error {
			if c.Method != "Write" {
				return apply(ctx)
			}
			key := table.ItemKey(c.Writes[0].Item)
			if key.PK == table.ListedMetadata.PK("0", "order", "7") && time.Since(begun) < outage {
				return table.ErrThrottled
			}
			err := apply(ctx)
			list, _, _ := strings.Cut(key.PK, "#")
			if list == "METADATA" {
				list = key.PK
			}
			mu.Lock()
			defer mu.Unlock()
			name := list + " " + table.LastID(key.SK)
			if _, again := written[name]; err == nil && !again {
				written[name] = time.Since(begun)
			}
			return err
		}}
		lister := projections.NewLister(throttled, []string{"customer", "order"}, nil, slog.New(slog.DiscardHandler))
		projector := projections.NewProjector(throttled, nil, slog.New(slog.DiscardHandler))
		late := func(what string, since time.Duration) {
			if took := time.Since(begun) - since; took > time.Second {
				t.Errorf("%s took %v", what, took)
			}
		}
		var shards sync.WaitGroup
		shards.Go(func() {
			for i := range rounds { // each has a record of the throttled value in its middle
				time.Sleep(time.Until(begun.Add(time.Duration(i) * pause)))
				metadata := func(value string) map[string]string { return map[string]string{"customer": "5", "order": value} }
				deliver(t.Context(), lister, eventRecords(posted(fmt.Sprint("a-", i), 1, metadata("1")),
					posted(fmt.Sprint("hot-", i), 2, metadata("7")), posted(fmt.Sprint("b-", i), 3, metadata("2"))))
			}
			late("the rest", rounds*pause)
		})
		shards.Go(func() {
			for i := range rounds {
				arrived := time.Duration(i) * pause
				time.Sleep(time.Until(begun.Add(arrived)))
				deliver(t.Context(), lister, eventRecords(posted(fmt.Sprint("other-", i), 1, nil)))
				late("another shard", arrived)
				if err := n.Post(t.Context(), jane, posting(i, 1)); err != nil {
					t.Error(err)
				}
				failed, err := projector.Project(t.Context(), records(keysOf(jane, ksuid(i))...))
				if late("the balance", arrived); failed != "" || err != nil {
					t.Error(failed, err)
				}
			}
		})
		shards.Wait()
		for _, name := range []string{"a-0", "hot-0", "b-0"} {
			for _, list := range []string{"TRANSACTIONS", table.ListedMetadata.PK("0", "customer", "5")} {
				if at, ok := written[list+" "+name]; !ok || at > time.Second {
					t.Errorf("%s was in %s after %v", name, list, at)
				}
			}
		}
		if at := written[table.ListedMetadata.PK("0", "order", "7")+" hot-0"]; at < outage || at > outage+time.Second {
			t.Errorf("the throttled entry was written after %v", at)
		}
		pages := n.JournalText(t)
		if first := slices.Index(pages, "a-0, hot-0, b-0"); first < 0 || first > 1 { // beside that of the other shard
			t.Errorf("the first pages of the journal are %q", pages[:2])
		}
		entries := strings.Split(strings.Join(pages, ", "), ", ")
		slices.Sort(entries)
		viewstest.Same(t, "journal", len(slices.Compact(slices.Clone(entries))), 4*rounds)
		viewstest.Same(t, "journal with duplicates", len(entries), 4*rounds)
		viewstest.Same(t, "list entries", len(n.ListedKeys(t)), (4+2*3)*rounds)
	})
}
