package forward

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/functions/app"
	"ledger.example/internal/forward"
	"ledger.example/internal/table"
	"ledger.example/projections"
	"ledger.example/tests/harness/inject"
	"ledger.example/tests/harness/setup"
	"ledger.example/tests/harness/system"
)

// target is a bus in this process.
type target struct {
	got    []string                          // ids of events
	before func(e client.JournalEntry) error // of taking an event; nil: nothing
}

func (b *target) deliver(_ context.Context, all []client.JournalEntry) (taken []bool, err error) {
	for _, e := range all {
		if b.before != nil {
			if err := b.before(e); err != nil {
				return taken, err
			}
		}
		b.got, taken = append(b.got, e.ID), append(taken, true)
	}
	return taken, nil
}

// The function delivers everything since its cursor, logs how far it is behind, and continues where it stopped.
func TestFunction(t *testing.T) {
	s := system.New(t, system.Metrics("Ledger/books"))
	var listed []string
	list := func(n int) {
		t.Helper()
		for range n {
			ago := time.Hour - time.Duration(len(listed))*time.Second
			listed = append(listed, setup.Listed(t, s.Plain, s.Table, ago, fmt.Sprint("a-", len(listed)))...)
		}
	}
	list(230)
	b := &target{}
	run := s.Service.Forward("events", b.deliver)
	logged := func(want string) {
		t.Helper()
		lines := strings.Split(strings.TrimSpace(s.Log.String()), "\n")
		if !strings.Contains(lines[len(lines)-1], want) {
			t.Errorf("logged %s", lines[len(lines)-1])
		}
	}
	must := func(in app.Forwarding, delivered int) {
		t.Helper()
		if all, err := run(t.Context(), in); err != nil || all.Delivered != delivered {
			t.Errorf("delivered %d, %v", all.Delivered, err)
		}
	}
	must(app.Forwarding{}, 230)
	logged(`"ForwardingLag":0`)
	must(app.Forwarding{}, 0)
	logged(`"ForwardingLag":0`)
	if !slices.Equal(b.got, listed) {
		t.Errorf("got %q", b.got)
	}
	// A refused event is tried again in each run. Its age is logged.
	list(20)
	b.before = func(e client.JournalEntry) error {
		if e.ID == listed[240] {
			return errors.New("refused")
		}
		return nil
	}
	for _, delivered := range []int{10, 0, 0} {
		if all, err := run(t.Context(), app.Forwarding{}); err == nil || all.Delivered != delivered {
			t.Errorf("delivered %d, %v", all.Delivered, err)
		}
		logged(`"ForwardingLag":33`) // 3,360 s, and what the test took
	}
	b.before = nil
	must(app.Forwarding{}, 10)
	if !slices.Equal(b.got, listed) {
		t.Errorf("got %q", b.got)
	}
	// A replay sends everything since then again. It never skips an event.
	must(app.Forwarding{Rewind: time.Now().Add(-time.Hour - time.Minute)}, 250)
	must(app.Forwarding{Rewind: time.Now().Add(-24 * time.Hour)}, 250)
	for _, to := range []time.Time{time.Now(), time.Now().Add(-30 * time.Minute), time.Now().Add(time.Minute)} {
		if _, err := run(t.Context(), app.Forwarding{Rewind: to}); err == nil || !strings.Contains(err.Error(), "skipped") {
			t.Errorf("rewound to %v: %v", to, err)
		}
	}
	// The cursor is an item that the audit knows.
	if item := s.Contents()[table.Forwarded.Key("events")]; item == nil {
		t.Error("no cursor")
	}
}

// While a run delivers, another one delivers the same and moves the cursor. The first ends without moving it.
func TestTwoRuns(t *testing.T) {
	s := system.New(t)
	setup.Listed(t, s.Plain, s.Table, time.Hour, "a-0", "a-1", "a-2", "a-3", "a-4")
	other := &target{}
	b := &target{before: func(client.JournalEntry) error {
		_, err := s.NewProcess().Service.Forward("events", other.deliver)(t.Context(), app.Forwarding{})
		return err
	}}
	if _, err := s.Service.Forward("events", b.deliver)(t.Context(), app.Forwarding{}); err != nil {
		t.Error(err)
	}
	if len(b.got) == 0 || len(other.got) != 5 {
		t.Errorf("got %q and %q", b.got, other.got)
	}
	if log := s.Log.String(); strings.Contains(log, "ForwardingLag") {
		t.Errorf("the run that did not move the cursor logs its lag: %s", log)
	}
}

// A replay is not lost when another run moves the cursor at the same time: the operator gets an error, and asks again.
// One that was asked for begins early enough for the clocks of listers.
func TestReplays(t *testing.T) {
	faults := inject.NewSet()
	s := system.New(t, system.WithFaults(faults))
	setup.Listed(t, s.Plain, s.Table, time.Hour, "a-0")
	b := &target{}
	other := s.NewProcess().Service.Forward("events", b.deliver)
	run := s.Service.Forward("events", b.deliver)
	if _, err := run(t.Context(), app.Forwarding{}); err != nil {
		t.Fatal(err)
	}
	setup.Listed(t, s.Plain, s.Table, time.Hour-time.Second, "a-1")
	faults.Next("PutItem", func(ctx context.Context, send inject.Sender) inject.Exchange {
		if _, err := other(t.Context(), app.Forwarding{}); err != nil {
			t.Error(err)
		}
		return send(ctx)
	})
	if _, err := run(t.Context(), app.Forwarding{Rewind: time.Now().Add(-2 * time.Hour)}); !errors.Is(err, forward.ErrMoved) {
		t.Errorf("the replay is lost: %v", err)
	}
	b.got = nil
	late := time.Now().Add(-time.Hour + 5*time.Second) // the lister's clock was 5 s behind
	setup.Listed(t, s.Plain, s.Table, 30*time.Minute, "a-2")
	if _, err := run(t.Context(), app.Forwarding{}); err != nil {
		t.Fatal(err)
	}
	if _, err := run(t.Context(), app.Forwarding{Rewind: late}); err != nil || len(b.got) != 4 {
		t.Errorf("got %q, %v", b.got, err)
	}
}

// Forwarding reads the journal exactly as a reader of the API does: no request more. Beside that it reads its cursor
// once a run, and moves it once a page of 100 events. A run that finds nothing takes two requests.
func TestRequests(t *testing.T) {
	s := system.New(t)
	const pages, entries = 10, 100
	for p := range pages {
		accounts := make([]string, entries)
		for i := range accounts {
			accounts[i] = fmt.Sprintf("a-%d-%d", p, i)
		}
		setup.Listed(t, s.Plain, s.Table, time.Hour-time.Duration(p)*time.Second, accounts...)
	}
	counted := func() map[string]int {
		all := make(map[string]int)
		for _, line := range system.Lines(s.Requests.Take()) {
			operation, _, _ := strings.Cut(line, " ")
			all[operation]++
		}
		return all
	}
	counted()
	path, read := "/v1/journal?limit=100", 0
	for {
		r := s.Must(200, "GET", path, "")
		next := r.Text("next_cursor")
		n := strings.Count(string(r.Body), `"canonical"`)
		if read += n; n == 0 {
			break
		}
		path = "/v1/journal?limit=100&after=" + next
	}
	reading := counted()
	b := &target{}
	run := s.Service.Forward("events", b.deliver)
	if _, err := run(t.Context(), app.Forwarding{}); err != nil || len(b.got) != read || read != pages*entries {
		t.Fatalf("%d forwarded, %d read, %v", len(b.got), read, err)
	}
	forwarding := counted()
	want := map[string]int{ // the first 100 events, then the others at once
		"GetItem": 1, "Query": 1 + 2 + 1, "BatchGetItem": reading["BatchGetItem"], "PutItem": 2,
	}
	if t.Logf("%d events: reading %v, forwarding %v", read, reading, forwarding); !maps.Equal(forwarding, want) {
		t.Errorf("forwarding takes %v, reading %v", forwarding, reading)
	}
	if _, err := run(t.Context(), app.Forwarding{}); err != nil {
		t.Error(err)
	}
	if idle := counted(); !maps.Equal(idle, map[string]int{"GetItem": 1, "Query": 1}) {
		t.Errorf("a run that finds nothing takes %v", idle)
	}
}

// The largest event that the ledger can have is below the 256 KB that an entry of EventBridge may have everywhere: the
// capture of a hold with the most legs, the longest ids and amounts, and metadata that JSON escapes twice.
func TestTheLargestEventFits(t *testing.T) {
	s := system.New(t)
	at := time.Now().Add(-time.Hour)
	ids, _, err := events.NewMinter(func() time.Time { return at }, nil).Mint(2 * events.PostingsMax)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 62)
	hold := events.TransactionPosted{ID: long, Kind: events.KindTransaction, Fingerprint: "1:" + long, Actor: long,
		Annotation: events.Annotation{Description: strings.Repeat("\x01", 256), Metadata: make(map[string]string)},
		ExpiresAt:  at.Add(time.Hour)}
	for i := range 14 {
		hold.Metadata[fmt.Sprintf("%02d", i)+strings.Repeat("\x01", 38)] = strings.Repeat("\x01", 252)
	}
	capture := events.HoldEnded{Transaction: long, Outcome: events.OutcomeCaptured, Actor: long, Description: hold.Description}
	for i := range events.PostingsMax {
		amount, err := events.ParseAmount(fmt.Sprintf("-%s", strings.Repeat("9", events.PostedDigits)), events.PostedDigits)
		if err != nil {
			t.Fatal(err)
		}
		leg := events.Leg{ID: ids[i], Account: fmt.Sprintf("%s%02d", long, i), Asset: fmt.Sprintf("%s%02d", long, i), Quantity: amount, Cost: amount}
		hold.Legs = append(hold.Legs, leg)
		leg.ID = ids[events.PostingsMax+i]
		capture.Legs = append(capture.Legs, leg)
	}
	page := projections.JournalPage{ID: events.FirstKSUID(at)}
	for _, e := range []events.Event{hold, capture} {
		s.Put(table.EventItem(e))
		page.Entries = append(page.Entries, projections.EntryOf(e))
	}
	s.Put(projections.JournalForm.Item(page))
	largest := 0
	if _, err := s.Service.Forward("events", func(_ context.Context, all []client.JournalEntry) ([]bool, error) {
		for _, e := range all {
			body, err := forward.Body(e)
			if err != nil {
				t.Error(err)
			}
			largest = max(largest, len(body))
		}
		return make([]bool, len(all)), nil
	})(t.Context(), app.Forwarding{}); err != nil {
		t.Fatal(err)
	}
	const envelope = 1 << 10 // of a CloudEvent
	if t.Logf("the largest event has %d bytes", largest); largest < 50_000 || largest+envelope > 256<<10 {
		t.Errorf("the largest event has %d bytes", largest)
	}
}
