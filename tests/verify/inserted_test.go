package verify

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/internal/watch/audit"
)

// forgedAt is a time at which the book was quiet, between its holds and its newest transactions.
func forgedAt() time.Time {
	return tableBegan.Add(-45 * time.Minute).UTC().Truncate(time.Microsecond)
}

// forgedTransfer returns the items of a whole transfer, as somebody makes who knows the forms and the checksums.
func forgedTransfer(id string, at time.Time, from, to string) (items []table.Item) {
	text := func(s string) string { return fmt.Sprintf("%d:%s", len(s), s) }
	hash := sha256.Sum256([]byte(text("transfer") + text("") + "0;" + text(from) + text(to) + text("USD") + "70;" +
		text("false") + text("") + text("") + text("") + text("")))
	h := events.TransactionPosted{ID: id, Kind: events.KindTransfer, Actor: "nobody",
		Fingerprint: "1:" + base64.RawURLEncoding.EncodeToString(hash[:])}
	ids := []events.KSUID{events.FirstKSUID(at), events.LastKSUIDBefore(at.Add(time.Microsecond))}
	for i, account := range []string{from, to} {
		leg := events.Leg{ID: ids[i], Account: account, Asset: "USD", Quantity: amount(int64(i*2-1) * 70)}
		h.Legs = append(h.Legs, leg)
		items = append(items, table.EventItem(events.PostingRecorded{Leg: leg, Transaction: id, Kind: h.Kind}))
	}
	return append(items, table.EventItem(h))
}

// insertions are events that somebody adds, by name, each with all of its items.
func insertions(at time.Time) map[string][]table.Item {
	transfers := slices.Concat(forgedTransfer("z-1", at, "bank", "jane"),
		forgedTransfer("z-2", at.Add(time.Second), "bank", "jane"),
		forgedTransfer("z-3", at.Add(time.Minute), "bank", "jane"))
	one := func(e events.Event) []table.Item { return []table.Item{table.EventItem(e)} }
	return map[string][]table.Item{
		"three transfers": transfers,
		"an asset":        one(events.AssetRegistered{ID: "EUR", Name: "Euro", Actor: "nobody", At: at}),
		"an account":      one(events.AccountOpened{ID: "thief", Actor: "nobody", At: at}),
		"a group":         one(events.GroupRegistered{ID: "thieves", Actor: "nobody", At: at}),
		"a grant": one(events.MemberGranted{Account: "jane", User: "u-1", Number: 4, Role: events.RoleOwner,
			Actor: "nobody", At: at}),
		"a grant to another": one(events.MemberGranted{Account: "jane", User: "u-7", Number: 1, Role: events.RoleOwner,
			Actor: "nobody", At: at}),
		"a grant in a group": one(events.MemberGranted{Group: "desk", User: "u-7", Number: 1, Role: events.RoleOwner,
			Actor: "nobody", At: at}),
		"a place in a group": one(events.AccountGrouped{Account: "ann", Number: 1, Added: "desk", Groups: []string{"desk"},
			Actor: "nobody", At: at}),
	}
}

func (b book) insert(items ...table.Item) {
	for _, item := range items {
		b[table.ItemKey(item)] = item
	}
}

// unseen returns the keys of the events that a report names as unseen.
func unseen(r audit.Report) (keys []table.Key) {
	for _, f := range r.Findings {
		if f.Code == audit.EventUnseen {
			keys = append(keys, f.Key)
		}
	}
	return slices.SortedFunc(slices.Values(keys), compareKeys)
}

// An event that somebody adds among the others is named, and nothing is to be rebuilt before somebody has looked.
func TestInsertedEventsAreNamed(t *testing.T) {
	for name, items := range insertions(forgedAt()) {
		b := copyOfBook(t)
		b.insert(items...)
		var want []table.Key
		for _, item := range items {
			if k := table.ItemKey(item); !table.Posting.Is(k.SK) {
				want = append(want, k)
			}
		}
		slices.SortFunc(want, compareKeys)
		r := verify(t, b.client(t), 0)
		if got := unseen(r); !slices.Equal(got, want) || r.Rebuildable() {
			t.Errorf("%s: %v, want %v, rebuildable %t\n%s", name, got, want, r.Rebuildable(), some(r.Findings))
		}
		if delete(r.ByCode, audit.EventUnseen); !r.Rebuildable() {
			t.Errorf("%s: something else shows it: %s", name, some(r.Findings))
		}
	}
}

// without returns a copy of the book without the pages of the journal, and without the entries in lists, that a lister
// has not written. keep tells by the number of a page.
func (b book) without(keep func(page int) bool) book {
	b = maps.Clone(b)
	for i, k := range b.journalPages() {
		if keep(i) {
			continue
		}
		for _, entry := range b.entriesIn(k) {
			if id, ok := table.Transaction.Parse(eventOf(entry)); ok {
				delete(b, b.listKey(id))
			}
		}
		delete(b, k)
	}
	return b
}

// A lister that is behind, a table without a lister or with a late one, a page that is lost, and a projector that is
// behind do not make any event look added.
func TestWhatIsLateIsNotNamed(t *testing.T) {
	sound := copyOfBook(t)
	last := len(sound.journalPages()) - 1
	late := copyOfBook(t)
	for k := range late {
		if table.Balance.Is(k.SK) || table.Segment.Is(k.SK) || table.Membership.Is(k.SK) || table.Summary.Is(k.SK) ||
			table.Grouped.Is(k.SK) {
			delete(late, k)
		}
	}
	cases := map[string]book{
		"no lister":          sound.without(func(int) bool { return false }),
		"late lister":        sound.without(func(page int) bool { return page == last }),
		"lister behind":      sound.without(func(page int) bool { return page == 0 }),
		"no projector":       late,
		"neither":            late.without(func(int) bool { return false }),
		"both are behind":    late.without(func(page int) bool { return page == 0 }),
		"projector, no page": late.without(func(page int) bool { return page != 1 }),
	}
	opened := func(b book, at time.Time) book { // apart from all other events
		b.insert(table.EventItem(events.AccountOpened{ID: "lone", Actor: "tester", At: at}))
		return b
	}
	cases["account before the lister"] = opened(copyOfBook(t), forgedAt().Add(-3*time.Hour))
	cases["account, lister behind"] = opened(sound.without(func(page int) bool { return page < last }), forgedAt())
	for page := range last + 1 {
		cases[fmt.Sprint("page lost: ", page)] = sound.without(func(i int) bool { return i != page })
	}
	for name, b := range cases {
		if got := unseen(verify(t, b.client(t), 0)); len(got) > 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
}
