package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/internal/forward"
	"ledger.example/internal/table"
	"ledger.example/projections"
	"ledger.example/tests/harness/system"
)

// outbox is a ledger behind HTTP with a journal of past events, and a receiver. Package tests/forward tests that none is
// lost whatever fails, and internal/forward what a delivery is.
type outbox struct {
	*system.System
	t              *testing.T
	receiver       *httptest.Server
	secret, cursor string
	listed         []string // ids of the events in the journal, in order
	now            time.Time

	mu    sync.Mutex
	got   []string                                  // ids of the events that the receiver took
	takes func(event string) (taken, answered bool) // of the receiver; nil: all
}

func newOutbox(t *testing.T) *outbox {
	t.Helper()
	o := &outbox{System: system.New(t, system.On(system.Memory(system.Tampered))), t: t,
		cursor: filepath.Join(t.TempDir(), "cursor"), secret: filepath.Join(t.TempDir(), "secret"),
		now: time.Now().Add(-5 * time.Hour).Truncate(time.Second)}
	secret := "whsec_" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32))
	if err := os.WriteFile(o.secret, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	o.receiver = httptest.NewServer(http.HandlerFunc(o.receive))
	t.Cleanup(o.receiver.Close)
	return o
}

func (o *outbox) receive(w http.ResponseWriter, r *http.Request) {
	var e client.JournalEntry
	if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
		o.t.Error(err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	taken, answered := true, true
	if o.takes != nil {
		taken, answered = o.takes(e.ID)
	}
	if !taken {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	if o.got = append(o.got, e.ID); !answered {
		panic(http.ErrAbortHandler) // the connection breaks
	}
}

// list puts events into the table and the journal. Each page is a minute later.
func (o *outbox) list(all ...events.Event) {
	o.t.Helper()
	o.now = o.now.Add(time.Minute)
	p := projections.JournalPage{ID: events.FirstKSUID(o.now)}
	for _, e := range all {
		o.Put(table.EventItem(e))
		p.Entries = append(p.Entries, projections.EntryOf(e))
		o.listed = append(o.listed, table.EventKey(e).ID())
	}
	o.Put(projections.JournalForm.Item(p))
}

// transfers lists n transactions, in pages.
func (o *outbox) transfers(n int) {
	o.t.Helper()
	for ; n > 0; n -= 30 {
		var all []events.Event
		for range min(n, 30) {
			all = append(all, o.transfer(fmt.Sprintf("t-%d", len(o.listed)+len(all)), "jane", "shop"))
		}
		o.list(all...)
	}
}

func (o *outbox) transfer(id, from, to string) events.TransactionPosted {
	o.t.Helper()
	ids, _, err := events.NewMinter(func() time.Time { return o.now }, nil).Mint(2)
	if err != nil {
		o.t.Fatal(err)
	}
	return events.TransactionPosted{
		ID: id, Kind: events.KindTransfer, Annotation: events.Annotation{Metadata: map[string]string{}},
		Fingerprint: "1:x", Actor: "test",
		Legs: []events.Leg{
			{ID: ids[0], Account: from, Asset: "USD", Quantity: events.NewAmount(-50)},
			{ID: ids[1], Account: to, Asset: "USD", Quantity: events.NewAmount(50)},
		},
	}
}

func (o *outbox) opened(id string, at time.Time) events.AccountOpened {
	return events.AccountOpened{ID: id, Name: "A", Profile: "{}", Actor: "test", At: at}
}

// forwarding are the flags of a run that ends when everything is delivered.
func (o *outbox) forwarding() forwarding {
	return forwarding{to: o.receiver.URL, secret: o.secret, cursor: o.cursor,
		pause:   func(context.Context) error { return errDelivered },
		failure: func(context.Context, forward.Round) error { return errFailed },
	}
}

// errDelivered ends a run at the newest event, and errFailed after a failure.
var errDelivered, errFailed = errors.New("everything is delivered"), errors.New("a round failed")

// run forwards, and returns the log.
func (o *outbox) run(flags forwarding) (log string, err error) {
	o.t.Helper()
	var problems bytes.Buffer
	env := &environment{url: o.URL, out: bufio.NewWriter(io.Discard), err: &problems}
	err = env.forward(o.t.Context(), flags)
	return problems.String(), err
}

// must forwards everything.
func (o *outbox) must(flags forwarding) {
	o.t.Helper()
	if log, err := o.run(flags); !errors.Is(err, errDelivered) {
		o.t.Fatalf("%v\n%s", err, log)
	}
}

// refused fails the test unless a run ends with an error that says so.
func (o *outbox) refused(flags forwarding, text string) {
	o.t.Helper()
	if _, err := o.run(flags); err == nil || !strings.Contains(err.Error(), text) {
		o.t.Errorf("%v, not %q", err, text)
	}
}

// complete fails the test unless each listed event was taken.
func (o *outbox) complete() {
	o.t.Helper()
	for _, id := range o.listed {
		if !slices.Contains(o.got, id) {
			o.t.Errorf("lost: %q", id)
		}
	}
}

// A new cursor begins at the beginning, and the next run continues at it. An event that is refused is tried again, ever
// more slowly, and no later page is sent before. One without an answer is sent again. Otherwise each is sent once.
func TestForward(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	o.transfers(250)
	refused, left, lost := o.listed[137], 3, o.listed[42]
	o.takes = func(event string) (taken, answered bool) {
		if event == refused && left > 0 {
			left--
			return false, true
		}
		return true, event != lost || slices.Contains(o.got, lost)
	}
	flags, failures := o.forwarding(), []int{}
	flags.failure = func(_ context.Context, r forward.Round) error {
		failures = append(failures, r.Failed)
		if slices.Contains(o.got, o.listed[len(o.listed)-1]) {
			t.Error("the last page was sent before the refused event")
		}
		return nil
	}
	log, err := o.run(flags)
	if !errors.Is(err, errDelivered) {
		t.Fatal(err)
	}
	says(t, log, `"msg":"events are not delivered"`, refused, "the receiver answered 500", `"failed":2`)
	if o.complete(); fmt.Sprint(failures) != "[1 1 1 2]" { // the first for a lost answer; only the last without a delivery
		t.Errorf("failures %v", failures)
	}
	if len(o.got) != len(o.listed)+1 {
		t.Errorf("%d deliveries of %d events", len(o.got), len(o.listed))
	}
	if longest := forwardBackoff.Delay(1000); longest > time.Minute || longest < forwardBackoff.Delay(1) {
		t.Errorf("it waits for %v in the end", longest)
	}
	o.transfers(10)
	sent := len(o.got)
	o.must(o.forwarding())
	o.must(o.forwarding())
	if o.complete(); len(o.got) != sent+10 {
		t.Errorf("%d deliveries of 10 events", len(o.got)-sent)
	}
	if info, err := os.Stat(o.cursor); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
}

// A receiver that refuses a request now and then gets each event once, and soon: a round in which it took something
// resets the wait. What it asks to wait for is the wait if that is longer.
func TestForwardToAFlakyReceiver(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	o.transfers(815)
	asked := 0
	o.takes = func(string) (taken, answered bool) {
		asked++
		return asked%25 > 0, true
	}
	flags, waits, longest := o.forwarding(), 0, time.Duration(0)
	flags.failure = func(_ context.Context, r forward.Round) error {
		waits++
		longest = max(longest, forwardWait(r))
		return nil
	}
	if log, err := o.run(flags); !errors.Is(err, errDelivered) {
		t.Fatalf("%v\n%s", err, log)
	}
	if o.complete(); len(o.got) != 815 || waits > 40 || longest > 2*time.Second {
		t.Errorf("%d deliveries, %d waits of at most %v", len(o.got), waits, longest)
	}
	t.Logf("%d requests, %d waits of at most %v", asked, waits, longest)
	flags.failure = func(_ context.Context, r forward.Round) error {
		if wait := forwardWait(r); wait != 90*time.Second {
			t.Errorf("it waits for %v", wait)
		}
		return errFailed
	}
	o.receiver.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "90")
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	o.transfers(3)
	if _, err := o.run(flags); !errors.Is(err, errFailed) {
		t.Error(err)
	}
}

// --rewind sends everything since a time again, and goes on. It never skips an event: one of a receiver that is far
// behind, or one that a rewind before was to send again and did not.
func TestForwardRewinds(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	o.transfers(60)
	half := o.now
	o.transfers(60)
	o.must(o.forwarding())
	o.got = nil
	flags := o.forwarding()
	flags.rewind = half.Add(time.Minute)
	o.must(flags)
	all := o.listed
	o.listed = all[60:]
	o.complete()
	o.got, o.listed = nil, all // the receiver lost all
	o.takes = func(string) (bool, bool) { return len(o.got) < 40, true }
	flags.rewind = o.now.Add(-24 * time.Hour)
	if _, err := o.run(flags); !errors.Is(err, errFailed) || len(o.got) != 40 {
		t.Fatalf("%d sent, %v", len(o.got), err)
	}
	o.takes = nil
	flags.rewind = o.now.Add(-time.Minute)
	o.refused(flags, "would skip")
	flags.rewind = o.now.Add(-24 * time.Hour)
	o.must(flags)
	o.complete()
	o.transfers(60)
	flags.rewind = o.now.Add(-30 * time.Second)
	o.refused(flags, "would skip")
	o.must(o.forwarding())
	o.complete()
}

// The time of an event is not that of its place in the journal: a lister's clock may be slow, and a rebuild lists an old
// event last. Neither makes --rewind skip an event that was not delivered, or refuse a time from which all were.
func TestForwardRewindsByTheTimeOfPlaces(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	o.transfers(3)
	recorded := o.now.Add(time.Minute + forward.Margin - time.Second) // listed a minute after o.now
	o.list(o.opened("ahead", recorded))
	o.must(o.forwarding())
	o.now = o.now.Add(-50 * time.Second) // the next page is of 10 s later
	o.list(o.opened("next", o.now))
	flags := o.forwarding()
	flags.rewind = recorded
	o.must(flags)
	o.complete()
	o.list(o.opened("missing", o.now.Add(-24*time.Hour)))
	o.must(o.forwarding())
	flags.rewind = o.now.Add(-2 * time.Minute)
	o.must(flags)
	o.complete()
}

// --from now begins a new cursor a minute ago, early enough for the clocks of listers and of this machine. The
// beginning is kept before the first delivery. It changes no other cursor.
func TestForwardFromNow(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	o.transfers(3)
	flags := o.forwarding()
	flags.isFromNow = true
	o.must(flags)
	var begins struct{ From time.Time }
	text, _ := os.ReadFile(o.cursor)
	if err := json.Unmarshal(text, &begins); err != nil || len(o.got) != 0 || time.Since(begins.From) < 30*time.Second ||
		time.Since(begins.From) > time.Hour {
		t.Errorf("%s, %v; sent %q", text, err, o.got)
	}
	flags.isFromNow = false
	flags.rewind = time.Now().Add(-time.Second)
	o.refused(flags, "would skip")
	flags.cursor, flags.rewind = filepath.Join(t.TempDir(), "other"), time.Time{}
	o.must(flags)
	o.transfers(3)
	flags.isFromNow = true
	o.must(flags)
	o.complete()
}

// --type and --account send only such events, and pass over all others.
func TestForwardFilters(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	o.list(o.opened("ann", o.now), o.opened("jane", o.now))
	o.transfers(120)
	o.list(o.transfer("ann-1", "ann", "jane"), o.transfer("x-1", "jane", "shop"),
		events.MemberGranted{Account: "ann", User: "u-1", Role: events.RoleViewer, Number: 1, Actor: "test", At: o.now})
	for _, c := range []struct {
		filter forward.Filter
		want   string
	}{
		{forward.Filter{Type: events.TypeAccountOpened}, "ACCOUNT#ann/ACCOUNT#ann ACCOUNT#jane/ACCOUNT#jane"},
		{forward.Filter{Account: "ann"}, "ACCOUNT#ann/ACCOUNT#ann ACCOUNT#ann/GRANT#u-1#000000000001 TXN#ann-1/TXN#ann-1"},
		{forward.Filter{Account: "ann", Type: events.TypePosted}, "TXN#ann-1/TXN#ann-1"},
		{forward.Filter{Account: "nobody"}, ""},
	} {
		o.got, o.cursor = nil, filepath.Join(t.TempDir(), "cursor")
		flags := o.forwarding()
		flags.filter = c.filter
		o.must(flags)
		slices.Sort(o.got)
		if got := strings.Join(o.got, " "); got != c.want {
			t.Errorf("%v: sent %s", c.filter, got)
		}
		if text, _ := os.ReadFile(o.cursor); !strings.Contains(string(text), `"after"`) { // past everything
			t.Errorf("cursor %s", text)
		}
		flags.filter.Account = "somebody"
		o.refused(flags, "the same filters")
	}
}

// What no retry can help ends with an error that says what to do, and changes nothing.
func TestForwardErrors(t *testing.T) {
	t.Parallel()
	o, other := newOutbox(t), newOutbox(t)
	o.transfers(3)
	other.now = other.now.Add(time.Second)
	other.transfers(3)
	o.must(o.forwarding())
	before, _ := os.ReadFile(o.cursor)
	flags := other.forwarding()
	flags.cursor = o.cursor
	other.refused(flags, "is not a cursor of the ledger at")
	other.refused(flags, "--rewind")
	flags.filter.Type = "transaction.past"
	flags.cursor = filepath.Join(t.TempDir(), "new")
	other.refused(flags, "type")
	held, err := forward.OpenFile(o.cursor, forward.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	o.refused(o.forwarding(), "another process")
	if err := held.Close(); err != nil {
		t.Error(err)
	}
	if after, _ := os.ReadFile(o.cursor); !bytes.Equal(before, after) || len(other.got) > 0 {
		t.Errorf("%s became %s; sent %q", before, after, other.got)
	}
}

func TestForwardUsage(t *testing.T) {
	t.Parallel()
	all := []string{"forward", "--to", "http://localhost", "--secret-file", "s", "--cursor", "c"}
	for _, more := range [][]string{{"--from", "2026-11-22"}, {"--from", "now", "--rewind", "2026-11-22"},
		{"--to", "shop.example.com"}, {"--account", "a/b"}, {"--rewind", "yesterday"}, {"x"}} {
		if code, _, problems := ledger(t, nobody, append(slices.Clone(all), more...)...); code != exitUsage {
			t.Errorf("%v: exit %d, %s", more, code, problems)
		}
	}
	for i := 1; i < len(all); i += 2 {
		if code, _, problems := ledger(t, nobody, slices.Delete(slices.Clone(all), i, i+2)...); code != exitUsage ||
			!strings.Contains(problems, strings.TrimPrefix(all[i], "--")) {
			t.Errorf("without %s: exit %d, %s", all[i], code, problems)
		}
	}
}
