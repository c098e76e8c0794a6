package verify

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/audit"
	"ledger.example/internal/store"
	"ledger.example/projections"
	"ledger.example/projections/repair"
	"ledger.example/tests/system"
)

// pagedBook returns a sound book whose journal has several pages of a few entries.
func pagedBook(t *testing.T) book {
	t.Helper()
	b := copyOfBook(t)
	var all []projections.JournalEntry
	for _, k := range b.journalPages() {
		all = append(all, b.page(k).Entries...)
		b.drop(k)
	}
	client, at := b.client(t), time.Now().Add(-time.Minute)
	for entries := range slices.Chunk(all, 5) {
		at = at.Add(time.Second)
		page := projections.JournalPage{ID: events.FirstKSUID(at), Entries: entries}
		write := store.Write{Item: projections.JournalForm.Item(page)}
		if _, err := store.NewTable(client, books).Write(t.Context(), write); err != nil {
			t.Fatal(err)
		}
	}
	return system.Contents(t, client, books)
}

// movedTo moves a page of the journal to another key.
func movedTo(page, to store.Key) change { return inOrder(put(to, page), drop(page)) }

// swapped swaps an attribute of two pages.
func swapped(p, q store.Key, attributes ...string) change {
	return func(b book) {
		for _, name := range attributes {
			b[p][name], b[q][name] = b[q][name], b[p][name]
		}
	}
}

// page decodes a page of the journal without checking its checksum.
func (b book) page(k store.Key) projections.JournalPage {
	p := projections.JournalPage{ID: events.KSUID(store.FirstID(k.SK))}
	for _, element := range b.entriesIn(k) {
		entry := store.Read(element.(*types.AttributeValueMemberM).Value)
		at, _ := events.ParseTime(entry.Text(store.AttrAt))
		p.Entries = append(p.Entries, projections.JournalEntry{Event: entry.Text(store.AttrEvent), At: at,
			Transaction: entry.Text(store.AttrTransaction)})
	}
	return p
}

// listed returns the entries of the journal's pages that are neither void nor altered.
func (b book) listed() map[projections.JournalEntry]bool {
	found := make(map[projections.JournalEntry]bool)
	for _, k := range b.journalPages() {
		p := b.page(k)
		if b[k][store.AttrVoid] == nil && b.text(k, store.AttrChecksum) == p.Checksum() && !p.Misplaced(time.Now()) {
			for _, e := range p.Entries {
				found[e] = true
			}
		}
	}
	return found
}

// A page of the journal that was moved, or that has other entries than were written, hides events from readers. A
// rebuild appends its entries again.
func TestAlteredPagesOfTheJournal(t *testing.T) {
	pages := pagedBook(t)
	keys := pages.journalPages()
	first, second := keys[1], keys[2]
	wanted := pages.listed()
	ahead, past := store.Journal.Key(future), store.Journal.Key(string(events.FirstKSUID(longAgo())))
	for _, c := range []struct {
		name   string
		plant  change
		wanted []store.Key
	}{
		{"moved to the future", movedTo(first, ahead), []store.Key{ahead}},
		{"moved to the past", movedTo(first, past), []store.Key{past}},
		{"copied", put(past, first), []store.Key{past}},
		{"entries of two pages swapped", swapped(first, second, store.AttrEntries), []store.Key{first, second}},
		{"two pages swapped", swapped(first, second, store.AttrEntries, store.AttrChecksum),
			[]store.Key{first, second}},
		{"entries reversed", func(b book) { slices.Reverse(b.entriesIn(first)) }, []store.Key{first}},
		{"checksum removed", unset(first, store.AttrChecksum), []store.Key{first}},
		{"moved to the future with its checksum", inOrder(movedTo(first, ahead), sealed(ahead, "")), []store.Key{ahead}},
		{"moved to the past with its checksum", inOrder(movedTo(first, past), sealed(past, "")), []store.Key{past}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := maps.Clone(pages)
			for k := range b {
				b[k] = maps.Clone(b[k])
			}
			c.plant(b)
			client := b.client(t)
			expect(t, verify(t, client, 0), atItems(audit.JournalAltered, c.wanted...))
			for again := range 2 {
				differences := 0
				count := func(r repair.Report) { differences += len(r.Differences) }
				if err := list(t, client, nil, repair.Scope{}, count); err != nil {
					t.Fatal(err)
				}
				if (again == 1) != (differences == 0) {
					t.Errorf("run %d repairs %d items", again+1, differences)
				}
			}
			expect(t, verify(t, client, 0), nil)
			if again := book(system.Contents(t, client, books)).listed(); !maps.Equal(again, wanted) {
				t.Errorf("the journal has %v, want %v", again, wanted)
			}
		})
	}
}
