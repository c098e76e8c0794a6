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
	"ledger.example/internal/store"
	"ledger.example/projections"
	"ledger.example/tests/system"
)

// outbox is a ledger behind HTTP with a journal of past events, and a receiver.
type outbox struct {
	*system.System
	t        *testing.T
	receiver *httptest.Server
	secret   string
	cursor   string
	listed   []string // ids of the events in the journal, in order
	now      time.Time

	mu    sync.Mutex
	got   []string                                       // ids of the events that the receiver took
	ids   map[string]string                              // their webhook-ids
	fails func(w http.ResponseWriter, event string) bool // of the receiver, before it takes an event
	after func(event string) bool                        // of the receiver: it took the event, and does not answer
}

func newOutbox(t *testing.T) *outbox {
	o := &outbox{System: system.New(t, system.On(system.Memory(system.Tampered))), t: t, ids: make(map[string]string),
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
	text, _ := io.ReadAll(r.Body)
	var e client.JournalEntry
	if err := json.Unmarshal(text, &e); err != nil {
		o.t.Error(err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	id := r.Header.Get("webhook-id")
	if known, ok := o.ids[e.ID]; ok && known != id {
		o.t.Errorf("%s is %s and %s", e.ID, known, id)
	}
	o.ids[e.ID] = id
	if o.fails != nil && o.fails(w, e.ID) {
		return
	}
	o.got = append(o.got, e.ID)
	if o.after != nil && o.after(e.ID) {
		panic(http.ErrAbortHandler) // the connection breaks
	}
}

// list puts events into the table and the journal. Each page is a minute later.
func (o *outbox) list(all ...events.Event) {
	o.t.Helper()
	o.now = o.now.Add(time.Minute)
	p := projections.JournalPage{ID: events.FirstKSUID(o.now)}
	for _, e := range all {
		o.Put(store.EventItem(e))
		p.Entries = append(p.Entries, projections.EntryOf(e))
		o.listed = append(o.listed, store.EventKey(e).ID())
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
		ID: id, Kind: events.KindTransfer, Metadata: map[string]string{}, Fingerprint: "1:x", Actor: "test",
		Legs: []events.Leg{
			{ID: ids[0], Account: from, Asset: "USD", Quantity: events.NewAmount(-50)},
			{ID: ids[1], Account: to, Asset: "USD", Quantity: events.NewAmount(50)},
		},
	}
}

// forwarding are the flags of a run that ends when everything is delivered.
func (o *outbox) forwarding() forwarding {
	return forwarding{to: o.receiver.URL, secret: o.secret, cursor: o.cursor,
		pause: func(context.Context, int) error { return errDelivered },
		failure: func(_ context.Context, failed int) error {
			if failed > 1000 {
				return errors.New("too many failures in a row")
			}
			return nil
		},
	}
}

// errDelivered ends a run at the newest event.
var errDelivered = errors.New("everything is delivered")

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

// complete fails the test unless each listed event was taken.
func (o *outbox) complete() {
	o.t.Helper()
	if lost := slices.DeleteFunc(slices.Clone(o.listed), func(id string) bool { return slices.Contains(o.got, id) }); len(lost) > 0 {
		o.t.Errorf("lost: %q", lost)
	}
}

// A new cursor begins at the beginning. A run continues at the cursor of the one before: each event is delivered once,
// if nothing fails, in requests for pages as of a reader of the journal.
func TestForward(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	o.list(events.AssetRegistered{ID: "USD", Name: "US dollar", Scale: 2, Actor: "test", At: o.now},
		events.AccountOpened{ID: "jane", Name: "Jane", Profile: "{}", Actor: "test", At: o.now})
	o.transfers(250)
	o.must(o.forwarding())
	o.complete()
	o.transfers(10)
	o.must(o.forwarding())
	o.must(o.forwarding())
	o.complete()
	if len(o.got) != len(o.listed) {
		t.Errorf("%d deliveries of %d events", len(o.got), len(o.listed))
	}
	if info, err := os.Stat(o.cursor); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
}

// A receiver is down for an hour. Nothing is lost, nothing is skipped, and forward tries once a minute at least.
func TestForwardToAReceiverThatIsDown(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	o.transfers(250)
	down, asked := time.Duration(0), 0
	o.fails = func(w http.ResponseWriter, _ string) bool {
		isDown := len(o.got) >= 40 && down < time.Hour
		if isDown {
			asked++
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return isDown
	}
	waits := forwardBackoff
	flags := o.forwarding()
	flags.failure = func(_ context.Context, failed int) error {
		down += waits.Delay(failed)
		return nil
	}
	o.must(flags)
	o.complete()
	if down < time.Hour || asked < 60 || asked > 2000 {
		t.Errorf("down for %v, asked %d times", down, asked)
	}
}

// One event is answered with 500 a hundred times. Nothing behind it is passed over.
func TestForwardStopsAtAnEventThatIsRefused(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	o.transfers(250)
	refused, left := o.listed[137], 100
	o.fails = func(w http.ResponseWriter, event string) bool {
		isRefused := event == refused && left > 0
		if isRefused {
			left--
			w.WriteHeader(http.StatusInternalServerError)
		}
		return isRefused
	}
	flags := o.forwarding()
	var log string
	flags.failure = func(context.Context, int) error { return errDelivered }
	log, err := o.run(flags)
	says(t, log, `"msg":"events are not delivered"`, refused, "the receiver answered 500", `"failed":1`)
	for _, later := range o.listed[200:] {
		if slices.Contains(o.got, later) {
			t.Errorf("%s, of a later page, was sent, %v", later, err)
		}
	}
	o.must(o.forwarding())
	o.complete()
	if left != 0 {
		t.Errorf("%d refusals are left", left)
	}
}

// Each tenth event is taken, and the connection breaks before the answer. It is sent again, with the same id.
func TestForwardToAReceiverThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	o.transfers(250)
	broken := make(map[string]bool)
	o.after = func(event string) bool {
		breaks := !broken[event] && strings.HasSuffix(event, "7")
		broken[event] = true
		return breaks
	}
	o.must(o.forwarding())
	o.complete()
	if len(o.got) < len(o.listed)+20 {
		t.Errorf("%d deliveries of %d events", len(o.got), len(o.listed))
	}
}
