package lanes

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ledger.example/client"
	"ledger.example/functions/app"
	"ledger.example/internal/table"
	"ledger.example/internal/watch/audit"
	"ledger.example/internal/watch/digest"
	"ledger.example/internal/watch/lanes"
	"ledger.example/internal/watch/repair"
	"ledger.example/projections"
	"ledger.example/projections/rebuild"
	"ledger.example/tests/harness/system"
)

// live is a whole ledger that grows while it is used. Requests are posted for liveTime.
type live struct {
	*system.System
	table table.Table

	mu     sync.Mutex
	posted map[string]time.Time // when transactions were acknowledged
	holds  map[string]bool      // those that are open until the end
	events map[string]int       // how often the target of forwarding got them
}

const (
	liveTime = 24 * time.Minute
	// listedWithin is when a list has a transaction at the latest. Records come within moments here.
	listedWithin = 10 * time.Second
)

// post posts requests until the end: transfers, some with metadata, some backdated, and holds, of which some expire
// soon.
func (l *live) post(worker int, end time.Time) {
	for n := 0; time.Now().Before(end); n++ {
		id, more := fmt.Sprintf("t-%d-%03d", worker, n), ""
		switch n % 5 {
		case 0:
			more = `,"metadata":{"order":"the same"}`
		case 1:
			more = fmt.Sprintf(`,"hold":{"expires_at":%q}`, time.Now().Add(90*time.Second).UTC().Format(time.RFC3339))
		case 2:
			more = `,"hold":{}`
		case 3:
			more = fmt.Sprintf(`,"effective_at":%q`, time.Now().Add(-time.Hour).UTC().Format(time.RFC3339))
		}
		l.Must(201, "POST", "/v1/transfers", fmt.Sprintf(
			`{"id":%q,"from":"bank","to":"market","asset":"USD","quantity":"1"%s}`, id, more))
		l.mu.Lock()
		if l.posted[id] = time.Now(); n%5 == 2 {
			l.holds[id] = true
		}
		l.mu.Unlock()
		time.Sleep(11 * time.Second)
	}
}

// walk pages through a list. It must show once what was acknowledged some time before.
func (l *live) walk(path string, limit int, isIn func(id string) bool) {
	missing := make(map[string]bool)
	l.mu.Lock()
	for id, at := range l.posted {
		if isIn(id) && time.Since(at) > listedWithin {
			missing[id] = true
		}
	}
	l.mu.Unlock()
	seen := make(map[string]bool)
	for _, id := range l.ids(path, limit) {
		if seen[id] {
			l.T.Errorf("%s shows %s twice", path, id)
		}
		seen[id] = true
		delete(missing, id)
	}
	if len(missing) > 0 {
		l.T.Errorf("%s misses %v at %s", path, missing, time.Now())
	}
}

func (l *live) ids(path string, limit int) (ids []string) {
	for _, item := range l.All(path, limit) {
		ids = append(ids, fmt.Sprint(item["id"]))
	}
	return ids
}

// walkAll pages through each list, in both directions.
func (l *live) walkAll() {
	all := func(string) bool { return true }
	l.walk("/v1/transactions", 30, all)
	l.walk("/v1/transactions?order=asc", 60, all)
	l.walk("/v1/transactions?metadata.order=the%20same", 20, func(id string) bool {
		var worker, n int
		_, err := fmt.Sscanf(id, "t-%d-%d", &worker, &n)
		return err == nil && n%5 == 0
	})
	l.walk("/v1/holds", 20, func(id string) bool { return l.holds[id] })
}

// follow reads the journal until ended is closed, and then to its end. It returns how often it has seen each event.
func (l *live) follow(ended <-chan struct{}) map[string]int {
	seen, after := make(map[string]int), ""
	for isEnding := false; ; {
		r := l.Must(200, "GET", "/v1/journal?limit=40"+after, "")
		for _, id := range r.Each("id", "data") {
			seen[fmt.Sprint(id)]++
		}
		after = "&after=" + r.Text("next_cursor")
		if len(r.Each("id", "data")) > 0 {
			continue
		}
		if isEnding {
			return seen
		}
		select {
		case <-ended:
			isEnding = true
			time.Sleep(time.Minute)
		case <-time.After(7 * time.Second):
		}
	}
}

// each does something at an interval, until ended is closed.
func each(ended <-chan struct{}, every time.Duration, do func()) {
	for {
		do()
		select {
		case <-ended:
			return
		case <-time.After(every):
		}
	}
}

// rebuild rebuilds all accounts, lists and the journal.
func (l *live) rebuild() {
	err := repair.New(repair.Config{Table: l.table, Indexed: []string{indexed}, Log: quiet,
		Append: projections.NewLister(l.table, nil, nil, quiet).Append, Report: func(r rebuild.Report) {
			if r.Err != nil {
				l.T.Errorf("rebuild: %v", r.Err)
			}
		}}).Run(context.Background())
	if err != nil {
		l.T.Errorf("rebuild: %v", err)
	}
}

// forward runs the function that forwards events.
func (l *live) forward() {
	run := l.Service.Forward("events", func(_ context.Context, all []client.JournalEntry) ([]bool, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, e := range all {
			l.events[e.ID]++
		}
		return slices.Repeat([]bool{true}, len(all)), nil
	})
	if _, err := run(context.Background(), app.Forwarding{}); err != nil {
		l.T.Errorf("forward: %v", err)
	}
}

// A whole ledger grows from 1 to 4 and to 32 lanes while it is used: posts and holds go on, and so do sweeps, pages in
// both directions, followers, forwarding, digests and a rebuild. Nothing is missed, lists show nothing twice, and the
// audit is sound.
func TestLedgerLivesThroughGrowths(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)))
		l := &live{System: system.New(t, system.Direct, system.Pumped, system.Indexed(indexed)),
			posted: make(map[string]time.Time), holds: make(map[string]bool), events: make(map[string]int)}
		l.table = table.NewTable(l.Plain, l.Table)
		l.OpenRegister()
		c := digest.Config{Table: l.table, Dir: t.TempDir()}
		if err := digest.NewKey(c.Dir, "example"); err != nil {
			t.Fatal(err)
		}
		posting, reading, ended := sync.WaitGroup{}, sync.WaitGroup{}, make(chan struct{})
		end := time.Now().Add(liveTime)
		for worker := range 3 {
			posting.Go(func() { l.post(worker, end) })
		}
		followers := make([]map[string]int, 2)
		for i := range followers {
			reading.Go(func() { followers[i] = l.follow(ended) })
		}
		reading.Go(func() { each(ended, 150*time.Second, l.walkAll) })
		reading.Go(func() { each(ended, time.Minute, l.forward) })
		reading.Go(func() {
			each(ended, 3*time.Minute, func() {
				if _, err := digest.Run(context.Background(), c); err != nil {
					t.Errorf("digest: %v", err)
				}
			})
		})
		reading.Go(func() {
			each(ended, time.Minute, func() {
				if swept, err := l.Service.Sweep(context.Background(), nil); err != nil || swept.Failed > 0 {
					t.Errorf("sweep: %+v, %v", swept, err)
				}
			})
		})
		for at, n := range map[time.Duration]int{time.Minute: 4, 5 * time.Minute: 32} {
			posting.Go(func() {
				time.Sleep(at)
				if _, _, err := lanes.Grow(context.Background(), l.table, n); err != nil {
					t.Error(err)
				}
			})
		}
		for _, at := range []time.Duration{9 * time.Minute, 13 * time.Minute, 17 * time.Minute} {
			posting.Go(func() {
				time.Sleep(at)
				l.rebuild()
			})
		}
		posting.Wait()
		time.Sleep(3 * time.Minute) // the last holds expire
		close(ended)
		reading.Wait()
		l.forward()
		l.walkAll()
		l.check(c, followers)
	})
}

// check checks what is to be seen at the end.
func (l *live) check(c digest.Config, followers []map[string]int) {
	t := l.T
	for id := range l.posted {
		event := table.Transaction.Key(id).ID()
		for i, seen := range append(followers, l.events) {
			if seen[event] == 0 {
				t.Errorf("consumer %d of the journal missed %s", i, id)
			}
		}
		if r := l.Must(200, "GET", "/v1/transactions/"+id, ""); r.Text("status") == "held" && !l.holds[id] {
			t.Errorf("hold %s has not expired", id)
		}
	}
	if _, err := digest.Run(context.Background(), c); err != nil {
		t.Error(err)
	}
	if r, err := digest.Check(context.Background(), c); err != nil || len(r.Findings) > 0 {
		t.Errorf("the digest: %+v, %v", r.Findings, err)
	}
	report, err := audit.New(audit.Options{Store: l.Plain, Table: l.Table, Findings: 10, Indexed: []string{indexed},
		Settle: time.Second}).Run(context.Background())
	if err != nil || !report.Sound() {
		t.Errorf("the audit: %+v, %v", report.Findings, err)
	}
	used := make(map[string]map[string]bool)
	scan, err := l.table.Scan(context.Background(), table.Scan{Consistency: table.Strong})
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range scan.Items {
		for _, pk := range []string{table.TextOf(item[table.AttrPK]), table.TextOf(item[table.AttrPK2])} {
			if kind, lane, ok := strings.Cut(pk, "#"); ok && strings.Contains("TRANSACTIONS JOURNAL OPEN_HOLDS", kind) {
				if used[kind] == nil {
					used[kind] = make(map[string]bool)
				}
				used[kind][lane] = true
			}
		}
	}
	t.Logf("%d transactions; keys: %d of the list by time, %d of open holds, %d of the journal", len(l.posted),
		len(used["TRANSACTIONS"]), len(used["OPEN_HOLDS"]), len(used["JOURNAL"]))
	if scan.Next == nil && (len(used["TRANSACTIONS"]) != 32 || len(used["JOURNAL"]) != 2) {
		t.Error("not all lanes are used")
	}
}
