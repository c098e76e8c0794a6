package verify

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/audit"
	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
	"ledger.example/ledger"
)

// gather registers the groups desk and idle, and gives them accounts and members: jane is in desk, was put into idle and
// taken out of it again, and bank was in desk; u-1 is a member of desk, u-2 was one.
func gather(ctx context.Context, l *ledger.Ledger) error {
	var errs []error
	for _, id := range []string{"desk", "idle"} {
		_, _, err := l.RegisterGroup(ctx, ledger.RegisterGroup{ID: id, Name: "Some", Actor: "tester"})
		errs = append(errs, err)
	}
	for _, r := range []ledger.GroupAccount{
		{Group: "desk", Account: "jane"}, {Group: "idle", Account: "jane"}, {Group: "idle", Account: "jane", Out: true},
		{Group: "desk", Account: "bank"}, {Group: "desk", Account: "bank", Out: true},
	} {
		r.Actor = "tester"
		_, _, err := l.GroupAccount(ctx, r)
		errs = append(errs, err)
	}
	for _, user := range []string{"u-1", "u-2"} {
		_, err := l.Grant(ctx, ledger.GrantMember{Group: "desk", User: user, Role: events.RoleOwner, Actor: "tester"})
		errs = append(errs, err)
	}
	errs = append(errs, l.Revoke(ctx, ledger.RevokeMember{Group: "desk", User: "u-2", Actor: "tester"}))
	return errors.Join(errs...)
}

// ofGroups are of groups, their accounts and their members.
func ofGroups() []corruption {
	desk, idle := table.GroupKey("desk"), table.GroupKey("idle")
	first, second := table.GroupingKey("jane", 1), table.GroupingKey("jane", 2)
	inDesk, inIdle := table.GroupedKey("jane", "desk"), table.GroupedKey("jane", "idle")
	member := table.GroupMembershipKey("desk", "u-1")
	list := func(ids ...string) types.AttributeValue {
		l := &types.AttributeValueMemberL{}
		for _, id := range ids {
			l.Value = append(l.Value, ddb.String(id))
		}
		return l
	}
	// groups gives a change other groups, which what follows may not fit, and places may not show.
	groups := func(name string, k table.Key, v types.AttributeValue, found ...want) corruption {
		return corruption{name, func(b book) []want {
			b.set(k, "Groups", v)
			return slices.Clone(found)
		}}
	}
	return []corruption{
		gone("group that was deleted", desk, audit.GroupMissing, ""),
		gone("group without members that was deleted", idle, audit.GroupMissing, ""),
		set("group of another id", desk, "ID", ddb.String("other"), audit.WrongKey, "ID"),
		unset("group outside its list", desk, table.AttrPK2, audit.WrongKey, table.AttrPK2),
		groups("groups out of order", second, list("idle", "desk"), want{audit.WrongValue, second, "Groups"}),
		groups("groups without the one that was added", second, list("desk"), want{audit.WrongValue, second, "Groups"}),
		groups("a group that nobody added", second, list("bank", "desk", "idle"),
			want{audit.GroupingWrong, second, "Groups"}, want{audit.GroupingWrong, table.GroupingKey("jane", 3), "Groups"},
			want{audit.GroupMissing, table.GroupKey("bank"), ""}),
		gone("change of groups that was deleted", first, audit.GroupingMissing, ""),
		set("change of groups of another number", first, table.AttrNumber, ddb.Integer(2), audit.WrongKey, table.AttrNumber),
		gone("place in a group that was deleted", inDesk, audit.GroupedBehind, ""),
		{"place in a group of an older change", func(b book) []want {
			b.set(inIdle, table.AttrNumber, ddb.Integer(2))
			b.set(inIdle, table.AttrPK2, ddb.String(table.GroupPK2("idle")))
			return one(audit.GroupedBehind, inIdle, "")
		}},
		set("place of a change that does not exist", inDesk, table.AttrNumber, ddb.Integer(9), audit.GroupedAlone, ""),
		{"place that was taken out, and shows otherwise", func(b book) []want {
			b.set(inIdle, table.AttrPK2, ddb.String(table.GroupPK2("idle")))
			return one(audit.GroupedDiffers, inIdle, "")
		}},
		set("place in the list of another group", inDesk, table.AttrPK2, ddb.String(table.GroupPK2("idle")), audit.WrongKey, table.AttrPK2),
		set("membership of a group with another role", member, table.AttrRole, ddb.String("viewer"), audit.MembershipDiffers, ""),
		gone("membership of a group that was deleted", member, audit.MembershipBehind, ""),
		{"grant in a group that was deleted", func(b book) []want {
			b.drop(table.GroupGrantKey("desk", "u-2", 1))
			return one(audit.GrantMissing, table.GroupGrantKey("desk", "u-2", 1), "")
		}},
		set("grant of another group", table.GroupGrantKey("desk", "u-1", 1), "Group", ddb.String("idle"), audit.WrongKey, "Group"),
	}
}
