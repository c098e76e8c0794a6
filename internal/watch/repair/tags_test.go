package repair_test

import (
	"fmt"
	"testing"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/internal/watch/repair"
	"ledger.example/projections"
	"ledger.example/projections/rebuild"
	"ledger.example/projections/viewstest"
)

// open stores an account with metadata, its changes and the copy of the newest one. A nil map is a change without
// metadata.
func (b *book) open(id string, versions ...map[string]string) {
	b.Helper()
	b.Must(b.Put(b.Context(), events.AccountOpened{
		ID: id, Profile: "{}", Metadata: versions[0], Actor: "a", At: b.Time,
	}))
	for i, metadata := range versions[1:] {
		c := events.AccountChanged{ID: id, Number: int64(i) + 2, Profile: "{}", Metadata: metadata, Tagged: true,
			State: events.StateOpen, Actor: "a", At: b.Time}
		b.Must(b.Put(b.Context(), c))
		_, err := b.Table.Write(b.Context(), table.Write{Item: table.NewItemEncoder(1).Current(c)})
		b.Must(err)
	}
}

// tagged lists the accounts with a pair.
func (b *book) tagged(key, value string) (ids []string) {
	b.Helper()
	page, err := b.Lists.TaggedAccounts(b.Context(), key, value, "", projections.Slice{Limit: 100})
	b.Must(err)
	for _, h := range page.Items {
		ids = append(ids, h.Opened.ID)
	}
	return ids
}

// A key may be indexed after the accounts have it. Then only a rebuild lists them, as it does transactions. A dry run
// before it finds the same differences and writes nothing, and a second rebuild finds none. Accounts without metadata
// cost it nothing.
func TestRebuildListsAccountsByAKeyIndexedLater(t *testing.T) {
	b := newBook(t)
	gold, silver := map[string]string{"tier": "gold", "region": "eu"}, map[string]string{"tier": "silver"}
	var wanted []string
	for n := range 60 {
		id := fmt.Sprintf("a:%02d", n)
		switch n % 4 {
		case 0:
			b.open(id, gold)
			wanted = append(wanted, id)
		case 1:
			b.open(id, gold, silver)
		case 2:
			b.open(id, silver, nil, silver, gold)
			wanted = append(wanted, id)
		default:
			b.open(id, nil)
		}
	}
	for _, c := range []struct {
		indexed   []string
		dry       bool
		different int
	}{
		{nil, false, 0}, {[]string{"tier"}, true, 45}, {[]string{"tier"}, false, 45}, {[]string{"tier"}, false, 0},
		{[]string{"tier", "region"}, true, 45}, {[]string{"tier", "region"}, false, 45}, {[]string{"tier", "region"}, false, 0},
	} {
		tags := 0
		b.Requests()
		b.Must(repair.New(repair.Config{
			Table: b.Table, Append: projections.NewLister(b.Table, nil, b.Clock, quietly).Append, Indexed: c.indexed,
			ListsOnly: true, Scope: rebuild.Scope{DryRun: c.dry}, Log: quietly,
			Report: func(r rebuild.Report) {
				b.Must(r.Err)
				for _, d := range r.Differences {
					if table.Tagged.Is(d.Key.SK) {
						tags++
					}
				}
			},
		}).Run(t.Context()))
		viewstest.Same(t, fmt.Sprintf("differences with %+v", c), tags, c.different)
		if writes := b.Requests().Writes(); c.dry && writes > 0 {
			t.Errorf("%+v: %d writes", c, writes)
		}
	}
	viewstest.Same(t, "gold", b.tagged("tier", "gold"), wanted)
	viewstest.Same(t, "in the EU", b.tagged("region", "eu"), wanted)
}
