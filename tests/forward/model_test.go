// Package forward tests that each event reaches a receiver at least once, whatever fails, and that each rule of
// forwarding is needed: a history in which it is missing loses an event, or delivers it as another one.
package forward

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/internal/forward"
	"ledger.example/internal/local/dynamolocal"
	"ledger.example/internal/local/memdb"
	"ledger.example/internal/table"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
)

// history is a random run of a ledger's listers, of forwarders to one receiver, and of an operator who sets the cursor
// back. Time is the test's.
type history struct {
	*rapid.T
	ctx   context.Context
	table table.Table
	now   time.Time

	serial   int
	late     []page          // pages that listers wrote and that are not in the table yet
	missing  []events.Event  // recorded, and not listed: a rebuild lists them
	recorded map[string]bool // ids of all events
	got      map[string]int  // ids of deliveries, by their events
	ids      map[string]string
	replayed map[string]bool // events that must be delivered again; nil: there was no replay
	down     int             // of ten deliveries, how many fail
	depth    int             // of forwarders within forwarders
}

type page struct {
	lands time.Time
	page  projections.JournalPage
}

// tolerance and longestPut are bounds of the lister: of its clock, and of a put that is answered.
const tolerance, longestPut = 5 * time.Second, 3 * time.Second

func newHistory(t *rapid.T, ctx context.Context) *history {
	h := &history{T: t, ctx: ctx, now: viewstest.Morning, recorded: make(map[string]bool), got: make(map[string]int),
		ids: make(map[string]string)}
	db := memdb.New(memdb.Options{Now: func() time.Time { return h.now }, Violation: func(error) {}})
	if _, err := dynamolocal.CreateTable(ctx, db.DynamoDB(), "books"); err != nil {
		t.Fatal(err)
	}
	h.table = table.NewTable(db.DynamoDB(), "books")
	return h
}

func (h *history) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

func (h *history) one(of int) bool { return rapid.IntRange(0, of-1).Draw(h.T, "one of") == 0 }

// seconds draws a duration, in tenths of a second.
func (h *history) seconds(least, most time.Duration) time.Duration {
	const tenth = 100 * time.Millisecond
	return time.Duration(rapid.Int64Range(int64(least/tenth), int64(most/tenth)).Draw(h.T, "tenths")) * tenth
}

// record records events, which a lister lists, late and twice, or not at all.
func (h *history) record() {
	var all []events.Event
	for range rapid.IntRange(1, 3).Draw(h.T, "events") {
		h.serial++
		e := posted(fmt.Sprintf("t-%d", h.serial), h.now)
		h.must(h.put(table.EventItem(e)))
		h.recorded[table.EventKey(e).ID()] = true
		all = append(all, e)
	}
	if h.one(12) {
		h.missing = append(h.missing, all...)
		return
	}
	h.list(all)
}

func posted(id string, at time.Time) events.TransactionPosted {
	e := viewstest.Held(id, 1)
	e.ExpiresAt, e.RecordedAt = time.Time{}, time.Time{}
	ids, _, err := events.NewMinter(func() time.Time { return at }, nil).Mint(len(e.Legs))
	if err != nil {
		panic(err)
	}
	e.Legs = slices.Clone(e.Legs)
	for i := range e.Legs {
		e.Legs[i].ID = ids[i]
	}
	return e
}

// list writes a page under the clock of one of the listers. The put may take its time, or be repeated under a new KSUID
// as it was not answered.
func (h *history) list(all []events.Event) {
	clock := h.seconds(-tolerance, tolerance)
	put := func(minted time.Time, takes time.Duration) {
		h.serial++
		p := projections.JournalPage{ID: events.FirstKSUID(minted.Add(clock + time.Duration(h.serial)*time.Microsecond))}
		for _, e := range all {
			p.Entries = append(p.Entries, projections.EntryOf(e))
		}
		h.late = append(h.late, page{minted.Add(takes), p})
	}
	if !h.one(8) {
		put(h.now, h.seconds(0, longestPut))
		return
	}
	if h.one(2) {
		put(h.now, h.seconds(0, longestPut))
	}
	put(h.now.Add(longestPut), h.seconds(0, time.Second))
}

func (h *history) put(item table.Item) error {
	_, err := h.table.Write(h.ctx, table.Write{Item: item})
	return err
}

// pass lets time pass. Pages land.
func (h *history) pass(d time.Duration) {
	h.now = h.now.Add(d)
	h.late = slices.DeleteFunc(h.late, func(p page) bool {
		lands := !p.lands.After(h.now)
		if lands {
			h.must(h.put(projections.JournalForm.Item(p.page)))
		}
		return lands
	})
}

// rebuild lists what is missing, as `ledger rebuild` does.
func (h *history) rebuild() {
	if len(h.missing) > 0 {
		h.list(h.missing)
		h.missing = nil
	}
}

// entries are those that a forwarder could deliver after a position.
func (h *history) entries(after string) map[string]bool {
	found := make(map[string]bool)
	for {
		p, err := h.read(h.ctx, forward.Cursor{After: after})
		h.must(err)
		for _, e := range p.Data {
			found[e.ID] = true
		}
		if p.NextCursor == after {
			return found
		}
		after = p.NextCursor
	}
}

func (h *history) read(ctx context.Context, c forward.Cursor) (client.JournalPage, error) {
	r := projections.NewJournalReader(h.table, func() time.Time { return h.now })
	listed, err := r.After(ctx, projections.Slice{After: c.After, Limit: 4}, "")
	p := client.JournalPage{NextCursor: listed.Next}
	for _, e := range listed.Items {
		p.Data = append(p.Data, client.JournalEntry{ID: e.Event.ID(), Type: e.Type, At: events.FormatTime(e.At),
			Cursor: e.Position})
	}
	return p, err
}

// rewind is an operator who sets the cursor back to a time.
func (h *history) rewind() {
	keep := forward.NewItem(h.table, "events")
	c, err := keep.Load(h.ctx)
	h.must(err)
	to := projections.JournalFrom(h.now.Add(-h.seconds(0, 5*time.Minute)))
	at, _ := projections.ParseJournalPosition(c.After)
	if c.After == "" || to.KSUID > at.KSUID {
		return
	}
	h.must(keep.Store(h.ctx, forward.Cursor{After: to.String()}))
	h.replayed = h.entries(to.String())
}

var errEnd = errors.New("end")

// forward runs a forwarder, which may be killed, for some pages. While it delivers, time passes, others forward to the
// same receiver, and the operator acts.
func (h *history) forward(pages int) {
	h.depth++
	defer func() { h.depth-- }()
	mine := make(map[string]bool) // places in the journal whose events this process knows to be taken
	f := forward.Forwarder{
		Keep: mortal{forward.NewItem(h.table, "events"), h}, Read: h.read, Log: slog.New(slog.DiscardHandler),
		Deliver: func(_ context.Context, all []client.JournalEntry) (taken []bool, err error) {
			for _, e := range all {
				if h.depth < 3 && h.down > 0 && h.one(6) {
					h.anything()
				}
				if mine[e.Cursor] {
					h.Fatalf("%s was taken, and is sent again by the same process", e.ID)
				}
				failure := rapid.IntRange(0, 9).Draw(h.T, "delivery")
				isDown := failure < h.down // taken, and not answered if it is 0
				if taken = append(taken, !isDown); isDown {
					err = errors.Join(err, errors.New("down"))
				}
				if !isDown || failure == 0 {
					h.receive(e)
				}
				if !isDown {
					delete(h.replayed, e.ID)
					mine[e.Cursor] = true
				} else if h.one(2) {
					break
				}
			}
			return taken, err
		},
	}
	err := f.Run(h.ctx, func(_ context.Context, r forward.Round) error {
		if pages--; pages == 0 || errors.Is(r.Err, errEnd) || r.Err == nil && !r.More {
			return errEnd
		}
		return nil
	})
	if !errors.Is(err, errEnd) && !errors.Is(err, forward.ErrMoved) {
		h.Fatal(err)
	}
}

// mortal is a keeper of a process that may be killed between the delivery and the cursor.
type mortal struct {
	forward.Keeper
	h *history
}

// Store implements forward.Keeper.
func (m mortal) Store(ctx context.Context, c forward.Cursor) error {
	if m.h.down > 0 && m.h.one(8) {
		return errEnd
	}
	return m.Keeper.Store(ctx, c)
}

func (h *history) receive(e client.JournalEntry) {
	id := forward.ID(e)
	if known, ok := h.ids[e.ID]; ok && known != id {
		h.Fatalf("%s was delivered as %s and as %s", e.ID, known, id)
	}
	h.ids[e.ID] = id
	h.got[id]++
}

func (h *history) anything() {
	switch rapid.IntRange(0, 9).Draw(h.T, "step") {
	case 0, 1, 2:
		h.record()
	case 3, 4, 5:
		h.forward(rapid.IntRange(1, 3).Draw(h.T, "pages"))
	case 6:
		h.rewind()
	case 7:
		h.rebuild()
	case 8:
		h.down = rapid.SampledFrom([]int{1, 1, 3, 10}).Draw(h.T, "down")
	}
	h.pass(rapid.SampledFrom([]time.Duration{0, 100 * time.Millisecond, time.Second, 9 * time.Second}).Draw(h.T, "passes"))
}

// Nothing is lost and nothing is skipped, with listers late and twice, a rebuild, forwarders that meet and are killed, a
// receiver that fails or takes an event and does not answer, and an operator who sets the cursor back.
func TestNothingIsLost(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		h := newHistory(r, t.Context())
		h.down = 1
		for range rapid.IntRange(10, 40).Draw(r, "steps") {
			h.anything()
		}
		h.down = 0
		h.pass(time.Minute)
		h.rebuild()
		h.pass(time.Minute)
		h.pass(time.Minute)
		h.forward(-1)
		for id := range h.recorded {
			if h.got[h.ids[id]] == 0 {
				r.Errorf("%s is lost", id)
			}
		}
		if len(h.replayed) > 0 {
			r.Errorf("not delivered again: %q", slices.Sorted(maps.Keys(h.replayed)))
		}
	})
}

// Of two forwarders with one cursor, only the first to deliver moves it. The other one does not take back what the
// operator set in between.
func TestACursorIsMovedOnce(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		h := newHistory(r, t.Context())
		first, second := forward.NewItem(h.table, "events"), forward.NewItem(h.table, "events")
		for _, k := range []*forward.Item{first, second} {
			if c, err := k.Load(h.ctx); err != nil || c != (forward.Cursor{}) {
				r.Fatal(c, err)
			}
		}
		want := forward.Cursor{After: string(events.FirstKSUID(h.now)) + "#3", At: h.now}
		h.must(first.Store(h.ctx, want))
		late := forward.Cursor{After: string(events.FirstKSUID(h.now))}
		if err := second.Store(h.ctx, late); !errors.Is(err, forward.ErrMoved) {
			r.Errorf("a new cursor is made twice: %v", err)
		}
		if c, err := second.Load(h.ctx); err != nil || c != want {
			r.Errorf("%v, %v", c, err)
		}
		h.must(second.Store(h.ctx, late))
		if err := first.Store(h.ctx, want); !errors.Is(err, forward.ErrMoved) {
			r.Errorf("a cursor is moved twice: %v", err)
		}
		other := forward.NewItem(h.table, "others")
		if c, err := other.Load(h.ctx); err != nil || c != (forward.Cursor{}) {
			r.Errorf("another target: %v, %v", c, err)
		}
	})
}
