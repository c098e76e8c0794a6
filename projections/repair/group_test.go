package repair_test

import (
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/projections"
	"ledger.example/projections/repair"
)

// A run over all accounts rebuilds the memberships of groups and the places in them. A dry run before it reports the
// same differences and writes nothing, and a second run finds none.
func TestRunRebuildsGroups(t *testing.T) {
	m, _ := books(t)
	ctx, at := t.Context(), time.Now().UTC().Truncate(time.Microsecond).Add(-time.Hour)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(m.Put(ctx, events.GroupRegistered{ID: "desk", Actor: "test", At: at},
		events.MemberGranted{Group: "desk", User: "ann", Role: events.RoleOwner, Number: 1, Actor: "test", At: at},
		events.AccountGrouped{
			Account: "a00", Number: 1, Groups: []string{"desk"}, Added: "desk", Actor: "test", At: at,
		}))
	// A place without a change, and a membership without a grant.
	must(m.Show(ctx, projections.Places, projections.GroupedAccount{Account: "a01", Group: "desk", Number: 7}))
	must(m.Show(ctx, projections.Members, projections.Membership{Group: "desk", User: "bob", Role: events.RoleViewer, Number: 3}))
	ran(t, repair.Config{Table: m.Table, Scope: repair.Scope{Account: "a19"}}) // does not rebuild groups
	for _, c := range []struct {
		dry       bool
		different int64
	}{{true, 4 + 19}, {false, 4 + 19}, {false, 0}} { // and the balances of the other accounts
		n := ran(t, repair.Config{Table: m.Table, Scope: repair.Scope{DryRun: c.dry}}).Counts()
		if n.Different != c.different || n.Memberships != 4 || n.Failed+n.Strays > 0 {
			t.Errorf("%+v: %+v", c, n)
		}
		_, err := m.Membership(ctx, "a00", "ann")
		if err == nil {
			t.Error("a membership of an account was created")
		}
	}
	accounts, err := m.Lists.AccountsOf(ctx, "ann", projections.Slice{Limit: 10})
	must(err)
	if len(accounts.Items) != 1 || accounts.Items[0].Account != "a00" || accounts.Items[0].Through != "desk" {
		t.Errorf("the roles of ann are %+v", accounts.Items)
	}
	members, err := m.Lists.GroupMembers(ctx, "desk", projections.Slice{Limit: 10})
	must(err)
	if len(members.Items) != 1 || members.Items[0].User != "ann" {
		t.Errorf("members %+v", members.Items)
	}
	// The first change replaces a place that was rebuilt without any change.
	must(m.Show(ctx, projections.Places, projections.GroupedAccount{Account: "a01", Group: "desk", Number: 1}))
	places, err := m.Lists.GroupAccounts(ctx, "desk", projections.Slice{Limit: 10})
	must(err)
	if len(places.Items) != 2 {
		t.Errorf("places %+v", places.Items)
	}
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
