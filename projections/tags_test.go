package projections_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
)

// openedAs is the opening of an account with metadata.
func openedAs(id string, metadata map[string]string) events.AccountOpened {
	return events.AccountOpened{ID: id, Profile: "{}", Metadata: metadata, Actor: "a", At: morning}
}

// changedTo is a change of an account that has or had metadata.
func changedTo(id string, number int64, metadata map[string]string) events.AccountChanged {
	return events.AccountChanged{
		ID: id, Number: number, Profile: "{}", Metadata: metadata, Tagged: true, State: events.StateOpen, Actor: "a", At: morning,
	}
}

// put stores events, and the copy of the newest change of each account.
func (n *listerStore) put(t *testing.T, all ...events.Event) {
	t.Helper()
	if err := n.Put(t.Context(), all...); err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if c, ok := e.(events.AccountChanged); ok {
			if _, err := n.Table.Write(t.Context(), table.Write{Item: table.NewItemEncoder(1).Current(c)}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// list lists events, as one batch.
func (n *listerStore) list(t *testing.T, all ...events.Event) {
	t.Helper()
	if failed, err := n.lister.List(t.Context(), eventRecords(all...)); failed != "" || err != nil {
		t.Fatalf("failed %q: %v", failed, err)
	}
}

// tags returns the lists with the entries of an account, by metadata key.
func (n *listerStore) tags(t *testing.T, account string, keys ...string) map[string]string {
	t.Helper()
	found := make(map[string]string)
	for _, key := range keys {
		item, _, err := n.Table.Get(t.Context(), table.Tagged.Key(account, key), table.Strong)
		if err != nil {
			t.Fatal(err)
		}
		if item != nil {
			found[key] = table.TextOf(item[table.AttrPK2])
		}
	}
	return found
}

// Whatever the order in which a lister gets the versions of an account, and how often, the lists by metadata have what
// the newest version says. It takes them from the records, or reads the table.
func TestAccountsAreListedByMetadata(t *testing.T) {
	opened := openedAs("ida", map[string]string{"tier": "gold", "other": "x"})
	versions := []events.Event{
		opened,
		changedTo("ida", 2, map[string]string{"tier": "new", "region": "a#b"}),
		changedTo("ida", 3, map[string]string{"region": "a#b"}),
	}
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0, 1}, {2, 0, 0}, {0, 2}} {
		for _, withEvents := range []bool{true, false} {
			n := newListerStore(t, "tier", "region")
			n.put(t, versions...)
			for _, i := range order {
				batch := eventRecords(versions[i])
				if !withEvents {
					batch[0].Event = nil
				}
				if failed, err := n.lister.List(t.Context(), batch); failed != "" || err != nil {
					t.Fatalf("order %v: %q, %v", order, failed, err)
				}
			}
			want := map[string]string{"tier": "", "region": table.Tagged.PK2("region", "a#b")}
			if got := n.tags(t, "ida", "tier", "region", "other"); !maps.Equal(got, want) {
				t.Errorf("order %v: listed %v, want %v", order, got, want)
			}
		}
	}
	n := newListerStore(t, "tier", "region")
	n.put(t, opened)
	n.list(t, opened)
	want := map[string]string{"tier": table.Tagged.PK2("tier", "gold")}
	if got := n.tags(t, "ida", "tier", "region", "other"); !maps.Equal(got, want) {
		t.Errorf("an opening: listed %v, want %v", got, want)
	}
}

// An account that never had metadata writes no entry, whatever changes.
func TestAccountsWithoutMetadataAreInNoList(t *testing.T) {
	n := newListerStore(t, "tier")
	never := changedTo("ida", 2, nil)
	never.Tagged = false
	all := []events.Event{openedAs("ida", nil), never}
	n.put(t, all...)
	n.Requests()
	n.list(t, all...)
	if got := n.Requests().Writes(); got != 1 {
		t.Errorf("%d writes, want one page of the journal", got)
	}
}

// tagged lists all accounts with a pair and a prefix, limit to a page.
func (n *listerStore) tagged(t *testing.T, key, value, prefix string, limit int) (ids []string) {
	t.Helper()
	for s, more := (projections.Slice{Limit: limit}), true; more; {
		page, err := n.Lists.TaggedAccounts(t.Context(), key, value, prefix, s)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Items) > limit || page.Next != "" && page.Next <= s.After {
			t.Fatalf("a page of %d after %q, next %q", len(page.Items), s.After, page.Next)
		}
		for _, h := range page.Items {
			ids = append(ids, h.Opened.ID)
		}
		s.After, more = page.Next, page.Next != ""
	}
	return ids
}

// The list of a pair has the accounts whose newest version has it, by id, also behind a prefix and in pages. It leaves
// out entries that contradict their account: a lister may not have caught up, or may not index the key any more.
func TestTaggedAccounts(t *testing.T) {
	n := newListerStore(t, "tier")
	var gold []string
	long := strings.Repeat("ü", events.MetadataValueChars)
	for i := range 24 {
		id := fmt.Sprintf("%c:%02d", "ab"[i%2], i)
		opened := openedAs(id, map[string]string{"tier": []string{"gold", "#", long}[i%3]})
		n.put(t, opened)
		n.list(t, opened)
		if i%3 == 0 {
			gold = append(gold, id)
		}
	}
	slices.Sort(gold)
	for _, limit := range []int{1, 3, 100} {
		viewstest.Same(t, "gold", n.tagged(t, "tier", "gold", "", limit), gold)
		viewstest.Same(t, "gold of b:", n.tagged(t, "tier", "gold", "b:", limit), gold[4:])
	}
	viewstest.Same(t, "values", len(n.tagged(t, "tier", "#", "", 100))+len(n.tagged(t, "tier", long, "", 100)), 16)
	for _, none := range [][3]string{
		{"tier", "gol", ""}, {"tier", "gold#", ""}, {"tie", "r#gold", ""}, {"tier", "gold", "c"}, {"tier", "", ""},
	} {
		if got := n.tagged(t, none[0], none[1], none[2], 100); len(got) > 0 {
			t.Errorf("%q has %q", none, got)
		}
	}

	behind := []events.Event{ // a lister has not caught up
		changedTo(gold[0], 2, map[string]string{"tier": "silver"}), changedTo(gold[1], 2, nil),
		changedTo(gold[2], 2, map[string]string{"tier": "gold", "other": "x"}),
	}
	n.put(t, behind...)
	for _, limit := range []int{1, 2, 100} {
		viewstest.Same(t, "gold, behind", n.tagged(t, "tier", "gold", "", limit), gold[2:])
	}
	viewstest.Same(t, "silver, behind", len(n.tagged(t, "tier", "silver", "", 100)), 0)
	n.list(t, behind...)
	viewstest.Same(t, "gold", n.tagged(t, "tier", "gold", "", 100), gold[2:])
	viewstest.Same(t, "silver", n.tagged(t, "tier", "silver", "", 100), gold[:1])
}

// An entry without its account is left out.
func TestTaggedAccountThatDoesNotExist(t *testing.T) {
	n := newListerStore(t, "tier")
	n.list(t, openedAs("ghost", map[string]string{"tier": "gold"}))
	if got := n.tagged(t, "tier", "gold", "", 100); len(got) > 0 {
		t.Errorf("listed %q", got)
	}
}
