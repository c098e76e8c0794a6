package verify

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/audit"
	"ledger.example/internal/store"
	"ledger.example/ledger"
)

// registerGroups registers the groups desk and idle. jane is in desk and was in idle. bank was in desk. u-1 is a member
// of desk, and u-2 was one.
func (w writer) registerGroups() {
	for _, id := range []string{"desk", "idle"} {
		_, _, err := w.RegisterGroup(w.Context(), ledger.RegisterGroup{ID: id, Name: "Some", Actor: "tester"})
		w.check(err)
	}
	for _, r := range []ledger.GroupAccount{
		{Group: "desk", Account: "jane"}, {Group: "idle", Account: "jane"}, {Group: "idle", Account: "jane", Out: true},
		{Group: "desk", Account: "bank"}, {Group: "desk", Account: "bank", Out: true},
	} {
		r.Actor = "tester"
		_, _, err := w.GroupAccount(w.Context(), r)
		w.check(err)
	}
	for _, user := range []string{"u-1", "u-2"} {
		w.grant(ledger.GrantMember{Group: "desk", User: user, Role: events.RoleOwner})
	}
	w.check(w.Revoke(w.Context(), ledger.RevokeMember{Group: "desk", User: "u-2", Actor: "tester"}))
}

// groupCorruptions are in groups, their accounts and their members.
func (b book) groupCorruptions() []corruption {
	desk, idle := store.Group.Key("desk"), store.Group.Key("idle")
	first, second, third := store.Grouping.Key("jane", 1), store.Grouping.Key("jane", 2), store.Grouping.Key("jane", 3)
	inDesk, inIdle := store.Grouped.Key("jane", "desk"), store.Grouped.Key("jane", "idle")
	member, grant := store.GroupMembership.Key("desk", "u-1"), store.GroupGrant.Key("desk", "u-2", 1)
	idlePK2 := store.String(store.Grouped.PK2("idle"))
	list := func(ids ...string) types.AttributeValue {
		l := &types.AttributeValueMemberL{}
		for _, id := range ids {
			l.Value = append(l.Value, store.String(id))
		}
		return l
	}
	return []corruption{
		{"group that was deleted", drop(desk), atItems(audit.GroupMissing, desk)},
		{"group without members that was deleted", drop(idle), atItems(audit.GroupMissing, idle)},
		wrong("group of another id", desk, "ID", store.String("other"), audit.WrongKey),
		{"group outside its list", unset(desk, store.AttrPK2), wants{{audit.WrongKey, desk, store.AttrPK2}}},
		wrong("groups out of order", second, "Groups", list("idle", "desk"), audit.WrongValue),
		wrong("groups without the one that was added", second, "Groups", list("desk"), audit.WrongValue),
		{"a group that was never added", set(second, "Groups", list("bank", "desk", "idle")), // change 3 lacks it
			wants{{audit.GroupingWrong, second, "Groups"}, {audit.GroupingWrong, third, "Groups"},
				{audit.GroupMissing, store.Group.Key("bank"), ""}}},
		{"change of groups that was deleted", drop(first),
			wants{{audit.GroupingMissing, first, ""}, {audit.GroupedWithoutChange, inDesk, ""}}},
		wrong("change of groups of another number", first, store.AttrNumber, store.Integer(2), audit.WrongKey),
		{"place in a group that was deleted", drop(inDesk), atItems(audit.GroupedBehind, inDesk)},
		{"place in a group of an older change", all(set(inIdle, store.AttrNumber, store.Integer(2)),
			set(inIdle, store.AttrPK2, idlePK2)), atItems(audit.GroupedBehind, inIdle)},
		{"place of a change that does not exist", set(inDesk, store.AttrNumber, store.Integer(9)),
			atItems(audit.GroupedWithoutChange, inDesk)},
		{"place of a change of another group", set(inDesk, store.AttrNumber, store.Integer(3)),
			atItems(audit.GroupedWithoutChange, inDesk)},
		{"place that shows a removed account as in the group", set(inIdle, store.AttrPK2, idlePK2),
			atItems(audit.GroupedDiffers, inIdle)},
		wrong("place in the list of another group", inDesk, store.AttrPK2, idlePK2, audit.WrongKey),
		{"membership of a group with another role", set(member, store.AttrRole, store.String("viewer")),
			atItems(audit.MembershipDiffers, member)},
		{"membership of a group that was deleted", drop(member), atItems(audit.MembershipBehind, member)},
		{"grant in a group that was deleted", drop(grant), atItems(audit.GrantMissing, grant)},
		wrong("grant of another group", store.GroupGrant.Key("desk", "u-1", 1), "Group", store.String("idle"),
			audit.WrongKey),
	}
}
