package audit

import (
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/table"
)

// Names of the stored events of groups.
const (
	kindGroup    = "GroupRegistered"
	kindGrouping = "AccountGrouped"
)

// groupsMax is the most groups of an account.
const groupsMax = 10

// either is a kind that has a key of one of two kinds.
func either(first, second kind) kind {
	return func(r *reader) (any, bool) {
		if value, known := first(r); known {
			return value, true
		}
		return second(r)
	}
}

// group is the registration of a group.
type group struct {
	event
	id string
}

// group reads the attributes of a group.
func (r *reader) group(id string) group {
	g := group{event: r.event("", table.GroupsPK2), id: id}
	r.same(fieldID, id)
	r.optional().text("Name", 1, 256)
	r.description()
	r.actor()
	g.at = r.instant("At")
	return g
}

// grouping is one change of an account's groups: it says all of them.
type grouping struct {
	event
	account, added, removed string
	number                  int64
	groups                  []string
}

// changed returns the group that the account was put into or taken out of.
func (g grouping) changed() string { return g.added + g.removed }

// grouping reads the attributes of a change of groups.
func (r *reader) grouping(account string, number int64) grouping {
	g := grouping{event: r.event("", ""), account: account, number: r.counted(number, grantsMax)}
	r.same(table.AttrAccount, account)
	g.added, g.removed = r.optional().id("Added"), r.optional().id("Removed")
	if g.groups = r.ids("Groups"); len(g.groups) > groupsMax {
		r.fault(WrongValue, "Groups", "at most "+strconv.Itoa(groupsMax)+" groups")
	}
	if (g.added == "") == (g.removed == "") || slices.Contains(g.groups, g.changed()) != (g.added != "") {
		r.fault(WrongValue, "Groups", "the groups with one that was added, or without one that was removed")
	}
	r.actor()
	g.at = r.instant("At")
	return g
}

// ids reads an optional list of ids in increasing order; an empty one must be absent.
func (r *reader) ids(name string) (all []string) {
	list, ok := take[*types.AttributeValueMemberL](r.optional(), name, "a list")
	if !ok {
		return nil
	}
	for _, element := range list.Value {
		all = append(all, textOf(element))
	}
	isWrong := func(id string) bool { return !isID(id) }
	isOrdered := slices.IsSorted(all) && len(slices.Compact(slices.Clone(all))) == len(all)
	if len(all) == 0 || slices.ContainsFunc(all, isWrong) || !isOrdered {
		r.fault(WrongValue, name, "ids in increasing order, or no such attribute")
	}
	return all
}

// grouped is an account's place in a group, as the newest change of the account's groups has it.
type grouped struct {
	account, group string
	number         int64
	in             bool
}

// grouped reads the attributes of a place in a group. One that was taken out is in no index.
func (r *reader) grouped(account, group string) grouped {
	g, pk2 := grouped{account: account, group: group, in: r.has(table.AttrPK2)}, ""
	if g.in {
		pk2 = table.GroupPK2(group)
	}
	r.keys("", pk2)
	r.same(table.AttrAccount, account)
	g.number = r.integer(table.AttrNumber, 0, grantsMax) // 0: a rebuild found no change for it; nothing deletes it
	return g
}

// fieldGroup is the field of a grant that names a group, in place of an account.
const fieldGroup = "Group"

// membershipOfGroup reads the attributes of a membership of a group.
func (r *reader) membershipOfGroup(_, user string) membership { return r.membership("", user) }
