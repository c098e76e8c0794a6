package projections_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/projections"
	"ledger.example/projections/repair"
	"ledger.example/projections/viewstest"
)

// A projection is added by its declaration alone: the projector writes its items, and a rebuild repairs them.
func TestViewIsAdded(t *testing.T) {
	declared := projections.Declared
	projections.Declared = append(slices.Clone(declared), projections.States)
	t.Cleanup(func() { projections.Declared = declared })
	b := newBook(t)
	key := store.Key{PK: store.Account.PK("jane"), SK: "STATE"}
	state := func() string {
		item, _, err := b.Table.Get(t.Context(), key, store.Strong)
		b.Must(err)
		return store.TextOf(item[store.AttrPK2]) + " " + store.DigitsOf(item[store.AttrNumber])
	}
	rebuild := func(dry, behind bool, want int) {
		t.Helper()
		var found []repair.Difference
		r := repair.NewRebuilder(b.Table, b.Clock, nil)
		b.Must(r.Account(t.Context(), repair.Scope{Account: "jane", DryRun: dry}, func(r repair.Report) {
			b.Must(r.Err)
			found = append(found, r.Differences...)
		}))
		if len(found) != want || want > 0 && (found[0].Key != key || found[0].Behind != behind) {
			t.Errorf("dry %t: %+v, want %d", dry, found, want)
		}
	}
	var changes []store.Key
	for i, s := range []events.AccountState{events.StateFrozen, events.StateOpen} {
		change := events.AccountChanged{ID: "jane", Number: int64(i + 2), State: s, Actor: "ann", At: b.Clock(), Profile: "{}"}
		b.Must(b.Put(t.Context(), change))
		changes = append(changes, store.EventKey(change))
	}
	rebuild(true, true, 1) // the projector has not seen the changes yet
	b.project(records(changes...))
	b.project(records(changes[0])) // it comes late, or again
	viewstest.Same(t, "projected", state(), "STATE#open 3")
	rebuild(false, false, 0)
	_, err := b.Table.Write(t.Context(), store.Write{Item: projections.States.Item(projections.States.None(key))})
	b.Must(err)
	rebuild(true, false, 1)
	rebuild(false, false, 1)
	viewstest.Same(t, "rebuilt", state(), "STATE#open 3")
}

// CONTRIBUTING.md shows the declaration as it is.
func TestViewIsShown(t *testing.T) {
	source, err := os.ReadFile("states_view_test.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, declaration, _ := strings.Cut(string(source), "// States is")
	if !strings.Contains(string(page), "```go\n// States is"+declaration+"```\n") {
		t.Error("CONTRIBUTING.md does not show states_view_test.go from its first comment on")
	}
}
