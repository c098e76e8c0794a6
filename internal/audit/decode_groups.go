package audit

import (
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/store"
)

// Names of the stored events of groups.
const (
	kindGroup    = "GroupRegistered"
	kindGrouping = "AccountGrouped"
)

// groupsMax is the most groups of an account.
const groupsMax = 10

// eitherKey is a kind with two forms of keys.
func eitherKey(first, second kind) kind {
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
	g := group{event: r.event("", store.Group.PK2()), id: id}
	r.same(fieldID, id)
	r.optional().text("Name", 1, 256)
	r.description()
	r.actor()
	g.at = r.instant("At")
	return g
}

// grouping is one change of an account's groups.
type grouping struct {
	event
	account, added, removed string
	number                  int64
	groups                  []string // all groups of the account after the change
}

// changed returns the group that the account was put into or taken out of.
func (g grouping) changed() string { return g.added + g.removed }

// grouping reads the attributes of a change of groups.
func (r *reader) grouping(account string, number int64) grouping {
	g := grouping{event: r.event("", ""), account: account, number: r.counted(number, 1, grantsMax)}
	r.same(store.AttrAccount, account)
	g.added, g.removed = r.optional().id("Added"), r.optional().id("Removed")
	if g.groups = r.ids("Groups"); len(g.groups) > groupsMax {
		r.fault(WrongValue, "Groups", "at most "+strconv.Itoa(groupsMax)+" groups")
	}
	if (g.added == "") == (g.removed == "") || slices.Contains(g.groups, g.changed()) != (g.added != "") {
		r.fault(WrongValue, "Groups", "one group added or removed: an added one is in the list, a removed one is not")
	}
	r.actor()
	g.at = r.instant("At")
	return g
}

// ids reads an optional list of ids in increasing order. It is a fault if an empty list is stored.
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

// grouped is an account's place in a group: whether the account is in the group after a change of its groups.
type grouped struct {
	account, group string
	number         int64 // of the change
	in             bool
}

// grouped reads the attributes of a place in a group. It has an index key only while the account is in the group.
func (r *reader) grouped(account, group string) grouped {
	g, pk2 := grouped{account: account, group: group, in: r.has(store.AttrPK2)}, ""
	if g.in {
		pk2 = store.Grouped.PK2(group)
	}
	r.keys("", pk2)
	r.same(store.AttrAccount, account)
	g.number = r.integer(store.AttrNumber, 0, grantsMax) // 0: a rebuild found no change; it deletes no items
	return g
}

// fieldGroup is the attribute of a grant with the id of a group. Grants on accounts have store.AttrAccount instead.
const fieldGroup = "Group"

// membershipOfGroup reads the attributes of a membership of a group.
func (r *reader) membershipOfGroup(_, user string) membership { return r.membership("", user) }
