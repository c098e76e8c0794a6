package projections_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/projections"
)

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
	keys := []store.Key{{PK: "GROUP#a", SK: "GROUPS#000000000001"}, {PK: "GROUP#a", SK: "GRANT#ann#1"}}
	for _, group := range []string{"a", "b", "a"} {
		newest = grouping(newest, group)
		b.Must(b.Put(t.Context(), newest))
		keys = append(keys, store.Grouping.Key("jane", newest.Number))
	}
	granted := events.MemberGranted{
		Group: "b", User: "ann", Role: events.RoleOwner, Number: 1, Actor: "tester", At: newest.At,
	}
	b.Must(b.Put(t.Context(), granted))
	b.project(records(append(keys, store.GroupGrant.Key("b", "ann", 1))...))
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
