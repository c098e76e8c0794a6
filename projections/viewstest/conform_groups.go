package viewstest

import (
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/internal/table"
	"ledger.example/projections"
)

// grouped puts changes of jane's groups: into a, into b, out of a.
func (c *conformance) grouped() {
	for i, change := range []events.AccountGrouped{
		{Groups: []string{"a"}, Added: "a"}, {Groups: []string{"a", "b"}, Added: "b"},
		{Groups: []string{"b"}, Removed: "a"},
	} {
		change.Account, change.Number, change.Actor, change.At = "jane", int64(i+1), "test", Morning
		c.must(c.seed.Put(c.ctx, change))
	}
}

func (c *conformance) groups() {
	_, err := c.GroupedSince(c.ctx, "jane", 1)
	c.is("account without changes of groups", err, store.ErrAbsent)
	c.grouped()
	outOfA := projections.GroupedAccount{Account: "jane", Group: "a", Out: true, Number: 3, At: Morning}
	inB := projections.GroupedAccount{Account: "jane", Group: "b", Number: 2, At: Morning}
	for from, wanted := range map[int64][]projections.GroupedAccount{
		1: {outOfA, inB},
		2: {outOfA, inB},
		3: {outOfA},
	} {
		got, err := c.GroupedSince(c.ctx, "jane", from)
		c.must(err)
		Same(c.T, "places", got, wanted)
	}
	_, err = c.GroupedSince(c.ctx, "jane", 4)
	c.is("changes after the newest", err, store.ErrAbsent)
	shown := projections.GroupedAccount{}
	for _, step := range []struct {
		number int64
		out    bool
	}{{2, false}, {1, true}, {2, true}, {4, true}, {3, false}, {5, false}} {
		put := projections.GroupedAccount{Account: "jane", Group: "a", Out: step.out, Number: step.number}
		c.must(c.WriteGrouped(c.ctx, put))
		if step.number > shown.Number {
			shown = put
		}
		found, err := c.StoredGrouped(c.ctx, "jane", "a")
		c.must(err)
		Same(c.T, "place", found.Value, shown)
	}
	granted := events.MemberGranted{
		Group: "a", User: "ann", Role: events.RoleOwner, Number: 3, Actor: "test",
		At: time.Unix(1_700_000_000, 0).UTC(),
	}
	c.must(c.seed.Put(c.ctx, granted))
	newest, err := c.NewestGrant(c.ctx, projections.Membership{Group: "a", User: "ann"})
	c.must(err)
	Same(c.T, "newest grant in a group", newest,
		projections.Membership{Group: "a", User: "ann", Role: events.RoleOwner, Number: 3, At: granted.At})
	_, err = c.NewestGrant(c.ctx, projections.Membership{Group: "a", User: "an"})
	c.is("grant of another user", err, store.ErrAbsent)
}

func (c *conformance) storedGroups() {
	place := projections.GroupedAccount{Account: "jane", Group: "a", Number: 9}
	absent, err := c.StoredGrouped(c.ctx, "jane", "a")
	c.must(err)
	if absent.Exists || absent.Fault != nil {
		c.Errorf("an absent place was read as %+v", absent)
	}
	c.must(c.PutGrouped(c.ctx, place, absent.Revision))
	c.is("a place on the absent revision", c.PutGrouped(c.ctx, place, absent.Revision), store.ErrConflict)
	found, err := c.StoredGrouped(c.ctx, "jane", "a")
	c.must(err)
	if !found.Exists || found.Fault != nil || found.Value != place {
		c.Errorf("the place was read as %+v", found)
	}
	m := projections.Membership{Group: "a", User: "ann", Role: events.RoleViewer, Number: 2}
	c.must(c.WriteMembership(c.ctx, m))
	stored, err := c.StoredMembership(c.ctx, projections.Membership{Group: "a", User: "ann"})
	c.must(err)
	if !stored.Exists || stored.Fault != nil || stored.Value != m {
		c.Errorf("the membership was read as %+v", stored)
	}
	c.must(c.seed.Put(c.ctx, events.GroupRegistered{
		ID: "a", Actor: "test", At: time.Unix(1_700_000_000, 0).UTC(),
	}))
	groups, next, err := c.GroupsAfter(c.ctx, "")
	c.must(err)
	Same(c.T, "groups", groups, []string{"a"})
	Same(c.T, "next", next, "")
	key, err := c.FirstKey(c.ctx, table.Group.PK("a"), table.Membership.NextAfter(""))
	c.must(err)
	Same(c.T, "first member", key, table.GroupMembership.Key("a", "ann"))
	_, err = c.FirstKey(c.ctx, table.Group.PK("a"), table.Membership.NextAfter("ann"))
	c.is("a member after the last", err, store.ErrAbsent)
}
