package repair_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/internal/watch/repair"
	"ledger.example/projections"
	"ledger.example/projections/rebuild"
	"ledger.example/projections/viewstest"
)

// orphan stores two entries that h does not have: one in bank's list, which is not in its legs, and one in the list by
// expiry at another time. It returns their keys.
func (b *book) orphan(h events.Transaction) []table.Key {
	b.Helper()
	other := h
	other.Header.ExpiresAt = h.Header.ExpiresAt.Add(time.Hour)
	other.Header.Legs = slices.Clone(h.Header.Legs)
	other.Header.Legs[1].Account = "bank"
	keys := []table.Key{table.Hold.Key("bank", string(h.Header.Legs[0].ID)), expiryOf(other)}
	for _, key := range keys {
		b.putEntry(key, other)
	}
	return keys
}

// putEntry puts the entry of a hold under key.
func (b *book) putEntry(key table.Key, h events.Transaction) {
	b.Helper()
	_, err := b.Table.Write(b.Context(), table.Write{Item: projections.HoldEntry(key, h, table.Lanes{})})
	b.Must(err)
}

// rebuildAll rebuilds bank's projections and all lists. It returns the keys of strays and of differences.
func (b *book) rebuildAll(t table.Table, scope rebuild.Scope) (strays, different []table.Key) {
	b.Helper()
	add := func(r rebuild.Report) {
		b.Must(r.Err)
		for _, s := range r.Strays {
			strays = append(strays, s.Key)
		}
		for _, d := range r.Differences {
			different = append(different, d.Key)
		}
	}
	scope.Account = "bank"
	b.Must(b.rebuilder.Account(b.Context(), scope, add))
	scope.Account = ""
	b.Must(repair.New(repair.Config{
		Table: t, Append: projections.NewLister(b.Table, nil, b.Clock, quietly).Append, ListsOnly: true,
		Scope: scope, Report: add, Log: quietly,
	}).Run(b.Context()))
	return strays, different
}

// An entry that its hold does not have is a stray. A rebuild that may drop what is missing makes it void, and lists no
// longer show it.
func TestOrphanEntriesOfHolds(t *testing.T) {
	b := newBook(t)
	h := events.Transaction{Header: viewstest.Held("h1", 1)}
	b.Place(h.Header)
	b.List(h.Header)
	orphans := b.orphan(h)
	viewstest.Same(t, "open with an orphan", b.OpenHolds(), []string{"h1", "h1"})
	for _, c := range []struct {
		scope             rebuild.Scope
		strays, different []table.Key
	}{
		{rebuild.Scope{DryRun: true}, orphans, nil},
		{rebuild.Scope{}, orphans, nil},
		{rebuild.Scope{DryRun: true, DropMissing: true}, nil, orphans},
		{rebuild.Scope{DropMissing: true}, nil, orphans},
		{rebuild.Scope{}, nil, nil},
	} {
		strays, different := b.rebuildAll(b.Table, c.scope)
		viewstest.Same(t, "strays", strays, c.strays)
		viewstest.Same(t, "differences", different, c.different)
	}
	viewstest.Same(t, "open", b.OpenHolds(), []string{"h1"})
	viewstest.Same(t, "holds of bank", b.HoldsOf("bank", ""), nil)
}

// lateHold is a table that calls afterEntry after each read of an entry by expiry and of its hold.
type lateHold struct {
	table.Table
	afterEntry func()
	read       bool // the entry, but not yet its hold
}

// Get implements table.Table.
func (l *lateHold) Get(ctx context.Context, k table.Key, c table.Consistency) (table.Item, time.Time, error) {
	_, _, l.read = table.OpenHold.Parse(k)
	return l.Table.Get(ctx, k, c)
}

// BatchGet implements table.Table.
func (l *lateHold) BatchGet(ctx context.Context, keys []table.Key, c table.Consistency) (
	[]table.Item, time.Time, error,
) {
	items, at, err := l.Table.BatchGet(ctx, keys, c)
	if l.read {
		l.read = false
		l.afterEntry()
	}
	return items, at, err
}

// A hold may be placed under the id and the expiry of an orphan just before the orphan becomes void. The lister takes
// the orphan for the hold's entry and writes nothing. So the rebuild must write the entry.
func TestHoldInPlaceOfAnOrphanIsListed(t *testing.T) {
	b := newBook(t)
	h := events.Transaction{Header: viewstest.Held("h1", 1)}
	b.putEntry(expiryOf(h), h)
	placed := false
	b.rebuildAll(&lateHold{Table: b.Table, afterEntry: func() {
		if !placed {
			placed = true
			b.Place(h.Header)
			b.List(h.Header)
		}
	}}, rebuild.Scope{DropMissing: true})
	viewstest.Same(t, "open", b.OpenHolds(), []string{"h1"})
}

// A rebuild of the lists alone lists open holds that the lister missed, and holds whose end it missed.
func TestMissingOpenHoldsAreListed(t *testing.T) {
	b := newBook(t)
	var wanted []table.Key
	for n := range 60 {
		h := viewstest.Held(fmt.Sprintf("h%02d", n), 2*n+1)
		b.Place(h)
		switch n % 3 {
		case 0:
			wanted = append(wanted, expiryOf(events.Transaction{Header: h}))
		case 1:
			b.List(h)
			b.End(h, viewstest.Ended(h, events.OutcomeReleased, 0, 2*n+2))
			wanted = append(wanted, expiryOf(events.Transaction{Header: h}))
		default:
			b.List(h)
		}
	}
	isOpen := func(k table.Key) bool { return table.OpenHold.Is(k.SK) }
	for _, c := range []struct {
		scope rebuild.Scope
		found int
	}{{rebuild.Scope{DryRun: true}, len(wanted)}, {rebuild.Scope{}, len(wanted)}, {rebuild.Scope{}, 0}} {
		_, different := b.rebuildAll(b.Table, c.scope)
		different = slices.DeleteFunc(different, func(k table.Key) bool { return !isOpen(k) })
		viewstest.Same(t, fmt.Sprintf("differences with %+v", c.scope), len(different), c.found)
	}
	viewstest.Same(t, "open", len(b.OpenHolds()), 40)
}

// A wrong entry in a list of transactions is one difference, although both the entry and its header lead to it.
func TestWrongListEntryIsReportedOnce(t *testing.T) {
	b := newBook(t)
	for n := range 8 { // some entries are on another page than their header
		h := viewstest.Held(fmt.Sprint("h", n), n+1)
		b.Place(h)
		for _, row := range projections.ListedRows(h, nil, table.Lanes{}) {
			item := row.Value.(table.Item)
			delete(item, table.AttrHeld)
			_, err := b.Table.Write(b.Context(), table.Write{Item: item})
			b.Must(err)
		}
	}
	for _, dry := range []bool{true, false} {
		_, different := b.rebuildAll(b.Table, rebuild.Scope{DryRun: dry})
		listed := slices.DeleteFunc(different, func(k table.Key) bool { return !table.Listed.Is(k.SK) })
		viewstest.Same(t, fmt.Sprint("differences in a dry run: ", dry), len(listed), 8)
	}
}

// expiryOf is the key of a hold's entry by expiry.
func expiryOf(h events.Transaction) table.Key {
	return table.OpenHold.Key(events.FormatTime(h.Header.ExpiresAt), h.Header.ID)
}
