package rebuild_test

import (
	"cmp"
	"context"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/projections"
	"ledger.example/projections/rebuild"
	"ledger.example/projections/viewstest"
)

// rebuilt rebuilds jane's and the shop's projections, and returns the reports with differences or strays.
func (b *book) rebuilt(dryRun bool) (wrong []rebuild.Report) {
	b.Helper()
	for _, account := range []string{"jane", "shop"} {
		err := b.rebuilder.Account(b.Context(), rebuild.Scope{Account: account, DryRun: dryRun}, func(r rebuild.Report) {
			b.Must(r.Err)
			if len(r.Differences)+len(r.Strays) > 0 {
				wrong = append(wrong, r)
			}
		})
		b.Must(err)
	}
	return wrong
}

// A rebuild lists holds of which the projector missed the placing, the end, or both.
func TestHoldsAreRebuilt(t *testing.T) {
	b := newBook(t)
	open, captured, seen := viewstest.Held("h1", 1), viewstest.Held("h2", 2), viewstest.Held("h3", 3)
	for _, h := range []events.TransactionPosted{open, captured, seen} {
		b.Place(h)
	}
	b.Must(b.Projector.Refresh(t.Context(), holdTarget("h3"), projections.Seen{})) // only its end is missed
	b.End(captured, viewstest.Ended(captured, events.OutcomeCaptured, 20, 10))
	b.End(seen, viewstest.Ended(seen, events.OutcomeReleased, 0, 11))
	b.Time = b.Time.Add(time.Hour)

	would := b.rebuilt(true)
	viewstest.Same(t, "held after a dry run", b.HoldsOf("jane", "held"), []string{"h3"})
	did := b.rebuilt(false)
	for i, r := range did { // each item once
		viewstest.Same(t, "differences of a dry run", would[i].Differences, r.Differences)
	}
	viewstest.Same(t, "held", b.HoldsOf("jane", "held"), []string{"h1"})
	viewstest.Same(t, "captured", b.HoldsOf("jane", "captured"), []string{"h2"})
	viewstest.Same(t, "released", b.HoldsOf("jane", "released"), []string{"h3"})
	viewstest.Same(t, "open", b.OpenHolds(), []string{"h1"})
	if again := b.rebuilt(false); len(again) > 0 {
		t.Errorf("a second rebuild found %+v", again)
	}
}

// holdTarget is a hold with all its entries.
func holdTarget(id string) projections.Target {
	return projections.Target{View: projections.Holds, Hold: id}
}

// keyOf is the key of jane's entry of a hold.
func keyOf(h events.TransactionPosted) table.Key { return table.Hold.Key("jane", string(h.Legs[0].ID)) }

// hookedHolds is a table that calls afterHold after each read of a hold, and before each read of an entry. Its error
// replaces what was read.
type hookedHolds struct {
	table.Table
	afterHold func() error
}

// Get implements table.Table.
func (m hookedHolds) Get(ctx context.Context, k table.Key, c table.Consistency) (table.Item, time.Time, error) {
	_, _, ofAccount := table.Hold.Parse(k)
	if _, _, ok := table.OpenHold.Parse(k); ok || ofAccount {
		if err := m.afterHold(); err != nil {
			return nil, time.Time{}, err
		}
	}
	return m.Table.Get(ctx, k, c)
}

// BatchGet implements table.Table.
func (m hookedHolds) BatchGet(ctx context.Context, keys []table.Key, c table.Consistency) (
	[]table.Item, time.Time, error,
) {
	items, at, err := m.Table.BatchGet(ctx, keys, c)
	return items, at, cmp.Or(m.afterHold(), err)
}

// afterRead returns a book whose rebuilder calls do after the nth read of a hold or of an entry, from 0. do's error
// replaces what was read.
func afterRead(t *testing.T, nth int, do func(*book) error) (b *book, reads *int) {
	b, reads = newBook(t), new(0)
	_, b.rebuilder = on(hookedHolds{b.Table, func() error {
		if *reads++; *reads == nth+1 {
			return do(b)
		}
		return nil
	}}, b.Clock, tuning)
	return b, reads
}

// A rebuild retries any read of a hold that the store throttles.
func TestHoldsAreRebuiltWhileTheStoreThrottles(t *testing.T) {
	for nth := range 8 {
		b, _ := afterRead(t, nth, func(*book) error { return table.ErrThrottled })
		b.Place(viewstest.Held("h1", 1))
		b.rebuilt(false)
		viewstest.Same(t, "held", b.HoldsOf("jane", "held"), []string{"h1"})
	}
}

// A hold that ends during its rebuild, and whose end the projector lists, must not be listed as open again. This must
// hold if the entry was lost, and if a wrong entry with a higher version prevented the projector's write.
func TestHoldThatEndsDuringARebuildStaysEnded(t *testing.T) {
	h := viewstest.Held("h1", 1)
	for _, damaged := range []bool{false, true} {
		for nth := range 8 {
			b, reads := afterRead(t, nth, func(b *book) error {
				b.End(h, viewstest.Ended(h, events.OutcomeCaptured, 20, 10))
				return b.Projector.Refresh(t.Context(), holdTarget("h1"), projections.Seen{})
			})
			b.Place(h)
			if damaged {
				ended := events.Transaction{Header: h, Ended: new(viewstest.Ended(h, events.OutcomeReleased, 0, 9))}
				b.putEntry(keyOf(h), ended)
			}
			b.rebuilt(false)
			if *reads <= nth {
				break // there are fewer reads
			}
			viewstest.Same(t, "held", b.HoldsOf("jane", "held"), nil)
			viewstest.Same(t, "captured", b.HoldsOf("jane", "captured"), []string{"h1"})
		}
	}
}

// A hold that is placed and listed while a rebuild runs is no item that should not exist.
func TestHoldThatIsPlacedDuringARebuildIsNoStray(t *testing.T) {
	for nth := 0; ; nth++ {
		b, reads := afterRead(t, nth, func(b *book) error {
			b.Place(viewstest.Held("h2", 2))
			return b.Projector.Refresh(t.Context(), holdTarget("h2"), projections.Seen{})
		})
		b.Place(viewstest.Held("h1", 1))
		for _, r := range b.rebuilt(false) {
			if len(r.Strays) > 0 {
				t.Errorf("after read %d: %+v", nth, r)
			}
		}
		if *reads <= nth {
			return // there are fewer reads
		}
		viewstest.Same(t, "held", b.HoldsOf("jane", "held"), []string{"h2", "h1"})
	}
}

// A wrong entry is replaced. An entry without a hold is a stray.
func TestWrongEntriesOfHolds(t *testing.T) {
	b := newBook(t)
	h := viewstest.Held("h1", 1)
	b.Place(h)
	b.Must(b.Projector.Refresh(t.Context(), holdTarget("h1"), projections.Seen{}))
	b.rebuilt(false)
	stray := viewstest.Held("h9", 9)
	b.putEntry(keyOf(stray), events.Transaction{Header: stray})
	damaged := events.Transaction{Header: h}
	damaged.Ended = new(viewstest.Ended(h, events.OutcomeReleased, 0, 10))
	b.putEntry(keyOf(h), damaged)

	wrong := b.rebuilt(false)
	if len(wrong) != 2 || wrong[0].Hold != "h1" || len(wrong[0].Differences) != 1 || len(wrong[1].Strays) != 1 ||
		wrong[1].Strays[0].Key != keyOf(stray) {
		t.Errorf("found %+v", wrong)
	}
	viewstest.Same(t, "held", b.HoldsOf("jane", "held"), []string{"h9", "h1"})
}

// putEntry puts the entry of a hold under key.
func (b *book) putEntry(key table.Key, h events.Transaction) {
	b.Helper()
	_, err := b.Table.Write(b.Context(), table.Write{Item: projections.HoldEntry(key, h, table.Lanes{})})
	b.Must(err)
}

// The projector stores a place with the newest change that names its group. A rebuild asks for the same number, however
// many changes of other groups came later.
func TestPlacesOfTheProjectorAreSound(t *testing.T) {
	b := newBook(t)
	b.Time = b.Time.Add(time.Hour)
	for i, group := range []string{"a", "b", "c"} {
		b.Must(b.Put(t.Context(), events.AccountGrouped{
			Account: "jane", Number: int64(i + 1), Groups: []string{"a", "b", "c"}[:i+1], Added: group, Actor: "test",
			At: morning,
		}))
		places := projections.Target{View: projections.Places, Account: "jane"}
		b.Must(b.Projector.Refresh(t.Context(), places, projections.Seen{Lowest: int64(i + 1)}))
	}
	if wrong := b.rebuilt(true); len(wrong) > 0 {
		t.Errorf("found %+v", wrong)
	}
}
