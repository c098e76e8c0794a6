package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/forward"
)

// --rewind sends everything since a time again, with the same ids, and goes on. It never skips an event.
func TestForwardRewinds(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	o.transfers(90)
	half := o.now
	o.transfers(60)
	o.must(o.forwarding())
	o.got = nil
	flags := o.forwarding()
	flags.rewind = half.Add(time.Minute)
	o.must(flags)
	all := o.listed
	o.listed = all[90:]
	o.complete()
	o.got, o.listed = nil, all
	flags.rewind = o.now.Add(-24 * time.Hour)
	o.must(flags)
	o.complete()
	if len(o.got) != len(all) {
		t.Errorf("%d deliveries of %d events", len(o.got), len(all))
	}
	// The receiver is far behind: a time after its last event would skip some.
	o.transfers(60)
	o.fails = func(w http.ResponseWriter, _ string) bool { w.WriteHeader(500); return true }
	flags.rewind = o.now.Add(-30 * time.Second)
	if _, err := o.run(flags); err == nil || !strings.Contains(err.Error(), "would skip") {
		t.Errorf("%v", err)
	}
	o.fails = nil
	o.must(o.forwarding())
	o.complete()
}

// The time of an event is not that of its place in the journal: a lister's clock may be slow, and a rebuild lists an old
// event last. Neither makes --rewind skip an event that was not delivered, or refuse a time from which all were.
func TestForwardRewindsByTheTimeOfPlaces(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	o.transfers(30)
	opened := func(id string, at time.Time) events.Event {
		return events.AccountOpened{ID: id, Name: "A", Profile: "{}", Actor: "test", At: at}
	}
	recorded := o.now.Add(time.Minute + forward.Margin - time.Second) // listed a minute after o.now
	o.list(opened("ahead", recorded))
	o.must(o.forwarding())
	o.now = o.now.Add(-50 * time.Second) // the next page is of 10 s later
	o.list(opened("next", o.now))
	flags := o.forwarding()
	flags.rewind = recorded
	o.must(flags)
	o.complete()
	o.list(opened("missing", o.now.Add(-24*time.Hour)))
	o.must(o.forwarding())
	flags.rewind = o.now.Add(-2 * time.Minute)
	o.must(flags)
	o.complete()
}

// What a rewind is to send again is not skipped by another one, if the first was broken off.
func TestForwardRewindsABrokenRewind(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	o.transfers(300)
	o.must(o.forwarding())
	o.got = nil // the receiver lost all
	o.fails = func(w http.ResponseWriter, _ string) bool {
		if len(o.got) < 40 {
			return false
		}
		w.WriteHeader(500)
		return true
	}
	flags := o.forwarding()
	flags.failure = func(context.Context, int) error { return errDelivered }
	flags.rewind = o.now.Add(-24 * time.Hour)
	if _, err := o.run(flags); !errors.Is(err, errDelivered) || len(o.got) != 40 {
		t.Fatalf("%d sent, %v", len(o.got), err)
	}
	o.fails = nil
	flags = o.forwarding()
	flags.rewind = o.now.Add(-3 * time.Minute)
	if _, err := o.run(flags); err == nil || !strings.Contains(err.Error(), "would skip") {
		t.Errorf("%v", err)
	}
	o.must(o.forwarding())
	o.complete()
}

// --from now begins a new cursor at the newest event, and changes no other. The beginning is kept before the first
// delivery.
func TestForwardFromNow(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	o.transfers(30)
	flags := o.forwarding()
	flags.isFromNow = true
	o.must(flags)
	if len(o.got) != 0 {
		t.Errorf("sent %q", o.got)
	}
	text, err := os.ReadFile(o.cursor)
	if err != nil || !strings.Contains(string(text), `"from":"`+time.Now().Format("2006-")) {
		t.Errorf("%s, %v", text, err)
	}
	var begins struct{ From time.Time } // early enough for the clocks of listers, and of this machine
	if err := json.Unmarshal(text, &begins); err != nil || time.Since(begins.From) < 30*time.Second {
		t.Errorf("%s, %v", text, err)
	}
	other := newOutbox(t)
	other.transfers(30)
	other.must(other.forwarding())
	other.transfers(30)
	flags = other.forwarding()
	flags.isFromNow = true
	other.must(flags)
	other.complete()
}

// --type and --account send only such events, and pass over all others.
func TestForwardFilters(t *testing.T) {
	t.Parallel()
	o := newOutbox(t)
	o.list(events.AccountOpened{ID: "ann", Name: "Ann", Profile: "{}", Actor: "test", At: o.now},
		events.AccountOpened{ID: "jane", Name: "Jane", Profile: "{}", Actor: "test", At: o.now})
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
		// The cursor is past everything, and belongs to the filter.
		if text, _ := os.ReadFile(o.cursor); !strings.Contains(string(text), `"after"`) {
			t.Errorf("cursor %s", text)
		}
		flags.filter.Account = "somebody"
		if _, err := o.run(flags); err == nil || !strings.Contains(err.Error(), "the same filters") {
			t.Errorf("%v: %v", c.filter, err)
		}
	}
}

// What no retry can help ends with an error that says what to do, and changes nothing.
func TestForwardErrors(t *testing.T) {
	t.Parallel()
	o, other := newOutbox(t), newOutbox(t)
	o.transfers(3)
	other.transfers(3)
	o.must(o.forwarding())
	before, _ := os.ReadFile(o.cursor)
	flags := other.forwarding()
	flags.cursor = o.cursor
	if _, err := other.run(flags); err == nil || !strings.Contains(err.Error(), "is not a cursor of the ledger at") {
		t.Errorf("the cursor of another ledger: %v", err)
	}
	flags.filter.Type = "transaction.past"
	flags.cursor = filepath.Join(t.TempDir(), "new")
	if _, err := other.run(flags); err == nil || !strings.Contains(err.Error(), "type") {
		t.Errorf("an unknown type: %v", err)
	}
	held, err := forward.OpenFile(o.cursor, forward.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.run(o.forwarding()); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("two forwarders: %v", err)
	}
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
