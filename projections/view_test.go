package projections_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/internal/table/tabletest"
	"ledger.example/projections"
	"ledger.example/projections/rebuild"
	"ledger.example/projections/viewstest"
)

// A projection is added by its declaration alone: the projector writes its items, and a rebuild repairs them.
func TestViewIsAdded(t *testing.T) {
	b := newBook(t)
	key := table.Key{PK: table.Account.PK("jane"), SK: "STATE"}
	state := func() string {
		item, _, err := b.Table.Get(t.Context(), key, table.Strong)
		b.Must(err)
		return table.TextOf(item[table.AttrPK2]) + " " + table.DigitsOf(item[table.AttrNumber])
	}
	rebuild := func(dry, behind bool, want int) {
		t.Helper()
		var found []rebuild.Difference
		r := rebuild.NewRebuilder(b.Table, b.Clock, nil)
		b.Must(r.Account(t.Context(), rebuild.Scope{Account: "jane", DryRun: dry}, func(r rebuild.Report) {
			b.Must(r.Err)
			found = append(found, r.Differences...)
		}))
		if len(found) != want || want > 0 && (found[0].Key != key || found[0].Behind != behind) {
			t.Errorf("dry %t: %+v, want %d", dry, found, want)
		}
	}
	var changes []table.Key
	for i, s := range []events.AccountState{events.StateFrozen, events.StateOpen} {
		change := events.AccountChanged{ID: "jane", Number: int64(i + 2), State: s, Actor: "ann", At: b.Clock(), Profile: "{}"}
		b.Must(b.Put(t.Context(), change))
		changes = append(changes, table.EventKey(change))
	}
	rebuild(true, true, 1) // the projector has not seen the changes yet
	b.project(records(changes...))
	b.project(records(changes[0])) // it comes late, or again
	viewstest.Same(t, "projected", state(), "STATE#open 3")
	open, err := b.Lists.AccountsIn(t.Context(), "open", projections.Slice{Limit: 10})
	b.Must(err)
	viewstest.Same(t, "listed", open.Items, []string{"jane"})
	rebuild(false, false, 0)
	_, err = b.Table.Write(t.Context(), table.Write{Item: projections.States.Item(projections.States.None(key))})
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

// Each projection that the projector writes is a balance with its segments and summary, or an item of a view.
func TestEachProjectionHasAView(t *testing.T) {
	others := []*table.Pattern{table.Balance.Pattern, table.Segment.Pattern, table.Summary.Pattern, table.OpenHold.Pattern}
	for _, p := range table.ItemTypes() {
		hasIt := func(v *projections.View) bool { return v.Items.Contains(p.Prefix()) }
		if p.Class == "projection" && p.By == "projector" && !slices.Contains(others, p) &&
			!slices.ContainsFunc(projections.Declared, hasIt) {
			t.Errorf("internal/table/itemtypes.go has %q (%s), and no view: add its declare(&View{...}) to package projections",
				p.What, p.Prefix())
		}
	}
}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// NextAsset finds the assets of an account after malformed keys.
func TestNextAssetSkipsMalformedKeys(t *testing.T) {
	id := string(events.FirstKSUID(noon))
	for _, c := range []struct{ sks, wanted string }{
		{"", ""},
		{"POSTING#bad", ""},
		{"POSTING#A#x", ""},
		{"POSTING#USD POSTING#USD#" + id, "USD"}, // the malformed key is a prefix of the asset's keys
		{"POSTING#A#x POSTING#A#" + id, "A"},
		{"POSTING#A#" + id + "#x POSTING#B POSTING#C#" + id + " POSTING#D#" + id, "C"},
	} {
		b := newBook(t)
		for _, sk := range strings.Fields(c.sks) {
			_, err := b.Table.Write(t.Context(), table.Write{Item: table.KeyItem(table.Key{PK: "ACCOUNT#jane", SK: sk})})
			b.Must(err)
		}
		asset, err := b.NextAsset(t.Context(), "jane", "")
		if asset != c.wanted || (c.wanted == "") != errors.Is(err, table.ErrAbsent) {
			t.Errorf("%q: %q, %v; wanted %q", c.sks, asset, err, c.wanted)
		}
	}
}

// figuresOf is DynamoDB's JSON of a posting's projection by figures.
func figuresOf(p events.PostingRecorded) string {
	description := ""
	if p.Description != "" {
		description = fmt.Sprintf(`,"Description":{"S":%q}`, p.Description)
	}
	return fmt.Sprintf(`{"SK":{"S":"POSTING#%s#%s"},"Type":{"S":"PostingRecorded"},"V":{"N":"1"},"Checksum":{"S":%q},`+
		`"Quantity":{"N":"%s"},"Cost":{"N":"%s"},"Transaction":{"S":%q},"Kind":{"S":%q}%s}`,
		p.Asset, p.ID, events.Checksum(p), p.Quantity, p.Cost, p.Transaction, p.Kind, description)
}

// A posting that was altered in the table fails its checksum and is never counted.
func TestAlteredPostingsAreRefused(t *testing.T) {
	p := events.PostingRecorded{
		Leg: events.Leg{
			ID: events.FirstKSUID(noon), Account: jane.Account, Asset: jane.Asset, Quantity: events.NewAmount(25),
			Cost: events.NewAmount(-7),
		},
		Transaction: "t-1", Kind: events.KindTrade, Description: "ten",
	}
	sound := figuresOf(p)
	ask := func(item string) (postings []projections.Posting, err error) {
		_, client := tabletest.New(t, tabletest.Always(tabletest.OK(`{"Items":[`+item+`]}`)))
		var p projections.Posting
		for p, err = range projections.NewViews(table.NewTable(client, "books")).Postings(t.Context(), jane, "", "") {
			postings = append(postings, p)
		}
		return postings, err
	}
	if postings, err := ask(sound); err != nil || len(postings) != 1 || postings[0].Quantity != p.Quantity ||
		postings[0].Cost != p.Cost {
		t.Fatalf("%+v, %v", postings, err)
	}
	for _, change := range [][2]string{
		{`"N":"25"`, `"N":"26"`}, {`"N":"-7"`, `"N":"0"`}, {`"t-1"`, `"t-2"`}, {`"trade"`, `"transfer"`}, {`"ten"`,
			`"two"`},
		{string(p.ID), string(events.FirstKSUID(noon.Add(time.Hour)))}, {events.Checksum(p),
			events.Checksum(events.PostingRecorded{})},
		{fmt.Sprintf(`"Checksum":{"S":%q},`, events.Checksum(p)), ""},
	} {
		altered := strings.Replace(sound, change[0], change[1], 1)
		if postings, err := ask(altered); altered == sound || !errors.Is(err, events.ErrChecksum) {
			t.Errorf("%s was read as %+v, %v", altered, postings, err)
		}
	}
}

// grouping returns the change that adds jane to a group, or removes her if she is in it.
func grouping(before events.AccountGrouped, group string) events.AccountGrouped {
	next := events.AccountGrouped{
		Account: "jane", Number: before.Number + 1, Actor: "tester", At: time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC),
	}
	for _, id := range []string{"a", "b", "c"} {
		if before.Has(id) != (id == group) {
			next.Groups = append(next.Groups, id)
		}
	}
	if next.Added = group; before.Has(group) {
		next.Added, next.Removed = "", group
	}
	return next
}

// Projectors may write what they read late and in any order. Once every change was projected, the places in groups
// match the newest change, read by account and by group.
func TestPlacesInGroupsFollowTheNewestChange(t *testing.T) {
	rapid.Check(t, func(d *rapid.T) {
		b := newBook(t)
		var newest events.AccountGrouped
		var first int64 // the first change whose record was not delivered yet; 0: none
		var late []any  // read, but not written yet
		read := func(from int64) {
			jane := projections.Target{Account: "jane"}
			rows, err := projections.Places.Fold(t.Context(), b.Views, jane, projections.Seen{Lowest: from})
			b.Must(err)
			for _, row := range rows {
				late = append(late, row.Value)
			}
		}
		write := func(i int) {
			b.Must(b.Show(t.Context(), projections.Places, late[i]))
			late = append(late[:i], late[i+1:]...)
		}
		for range rapid.IntRange(1, 8).Draw(d, "changes") {
			newest = grouping(newest, rapid.SampledFrom([]string{"a", "b", "c"}).Draw(d, "group"))
			b.Must(b.Put(t.Context(), newest))
			if first == 0 {
				first = newest.Number
			}
			if rapid.Bool().Draw(d, "batch") { // deliver all undelivered records
				read(first)
				first = 0
			}
			if rapid.Bool().Draw(d, "again") { // redeliver a record
				read(rapid.Int64Range(1, newest.Number).Draw(d, "from"))
			}
			for len(late) > 0 && rapid.Bool().Draw(d, "write") {
				write(rapid.IntRange(0, len(late)-1).Draw(d, "which"))
			}
		}
		if first > 0 {
			read(first)
		}
		for len(late) > 0 {
			write(rapid.IntRange(0, len(late)-1).Draw(d, "which"))
		}
		listed, err := b.Lists.AccountGroups(t.Context(), "jane", projections.Slice{Limit: 10})
		b.Must(err)
		var groups []string
		for _, g := range listed.Items {
			groups = append(groups, g.Group)
		}
		if fmt.Sprint(groups) != fmt.Sprint(newest.Groups) {
			d.Fatalf("in %q, wanted %q", groups, newest.Groups)
		}
		for _, id := range []string{"a", "b", "c"} {
			accounts, err := b.Lists.GroupAccounts(t.Context(), id, projections.Slice{Limit: 10})
			b.Must(err)
			if (len(accounts.Items) == 1) != newest.Has(id) {
				d.Fatalf("%s has %v, jane is in %q", id, accounts.Items, newest.Groups)
			}
		}
	})
}

// A batch with changes of groups and grants in groups updates places and memberships. Malformed keys are counted and do
// not block the others.
func TestBatchUpdatesPlacesInGroups(t *testing.T) {
	b := newBook(t)
	var newest events.AccountGrouped
	keys := []table.Key{{PK: "GROUP#a", SK: "GROUPS#000000000001"}, {PK: "GROUP#a", SK: "GRANT#ann#1"}}
	for _, group := range []string{"a", "b", "a"} {
		newest = grouping(newest, group)
		b.Must(b.Put(t.Context(), newest))
		keys = append(keys, table.Grouping.Key("jane", newest.Number))
	}
	granted := events.MemberGranted{
		Group: "b", User: "ann", Role: events.RoleOwner, Number: 1, Actor: "tester", At: newest.At,
	}
	b.Must(b.Put(t.Context(), granted))
	b.project(records(append(keys, table.GroupGrant.Key("b", "ann", 1))...))
	if n := strings.Count(b.log.String(), "RecordsMalformed=1"); n != 2 {
		t.Errorf("%d malformed keys were counted:\n%s", n, b.log.String())
	}
	roles, err := b.Lists.AccountsOf(t.Context(), "ann", projections.Slice{Limit: 10})
	b.Must(err)
	want := projections.AccountRole{
		Membership: projections.Membership{Account: "jane", User: "ann", Role: events.RoleOwner}, Through: "b",
	}
	if len(roles.Items) != 1 || roles.Items[0] != want {
		t.Errorf("the roles of ann are %+v", roles.Items)
	}
}
