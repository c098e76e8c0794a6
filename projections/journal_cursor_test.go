package projections_test

import (
	"fmt"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
)

// Whatever the limit, the positions of answers and of entries lead through all entries of all pages, each once and in
// order: an answer that ends within a page of the journal is continued within that page.
func TestJournalCursorContinuesWithinAPage(t *testing.T) {
	b := newBook(t)
	var wanted []string
	for page, size := range []int{3, 1, 0, 5, 2} { // the third is void
		p := projections.JournalPage{ID: ksuid(10 * (page + 1)), Void: size == 0}
		for i := range size {
			id := fmt.Sprintf("t-%d-%d", page, i)
			h := events.TransactionPosted{
				ID: id, Kind: events.KindTransfer, Metadata: map[string]string{}, Fingerprint: "2:x", Actor: "test",
				Legs: viewstest.Held(id, 1+page*5+i).Legs,
			}
			b.Must(b.Put(t.Context(), h))
			p.Entries = append(p.Entries, projections.EntryOf(h))
			wanted = append(wanted, id)
		}
		_, err := b.Table.Write(t.Context(), store.Write{Item: projections.JournalForm.Item(p)})
		b.Must(err)
	}
	reader := projections.NewJournalReader(b.Table, b.Clock)
	// follow reads the rest of the journal, and returns the ids and the position of each.
	follow := func(after string, limit int) (ids, positions []string) {
		for range len(wanted) + 1 {
			page, err := reader.After(t.Context(), projections.Slice{After: after, Limit: limit}, "")
			b.Must(err)
			for _, e := range page.Items {
				ids, positions = append(ids, store.FirstID(e.Event.SK)), append(positions, e.Position)
			}
			after = page.Next
		}
		return ids, positions
	}
	b.Time = b.Time.Add(time.Minute)
	for limit := range len(wanted) + 2 {
		ids, positions := follow("", limit+1)
		viewstest.Same(t, fmt.Sprintf("in steps of %d", limit+1), ids, wanted)
		for i, position := range positions {
			rest, _ := follow(position, limit+1)
			viewstest.Same(t, "after "+ids[i], fmt.Sprint(rest), fmt.Sprint(wanted[i+1:]))
		}
	}
}
