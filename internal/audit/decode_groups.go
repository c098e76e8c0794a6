package audit

import (
	"fmt"
	"slices"

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

// group is the registration of a group.
type group struct {
	event
	id string
}

func readGroup(r *reader, key []string) group {
	g := group{id: key[0]}
	r.keys("", store.Group.PK2())
	r.read(
		keyed(fieldID, g.id),
		may("Name", aName, nil),
		aDescription(nil),
		anActor,
		must("At", anInstant, &g.at),
	)
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

func readGrouping(r *reader, key []string) grouping {
	g := grouping{account: key[0]}
	r.read(
		keyed(store.AttrAccount, g.account),
		must(store.AttrNumber, aGrant, &g.number),
		may("Added", anID, &g.added),
		may("Removed", anID, &g.removed),
		ids("Groups", groupsMax, &g.groups),
		anActor,
		must("At", anInstant, &g.at),
	)
	g.number = r.numbered(g.number, key)
	if (g.added == "") == (g.removed == "") || slices.Contains(g.groups, g.changed()) != (g.added != "") {
		r.fault(WrongValue, "Groups", "one group added or removed: an added one is in the list, a removed one is not")
	}
	return g
}

// ids is a row for an optional list of 1 to most ids in increasing order.
func ids(name string, most int, to *[]string) row {
	return holding(name, "a list", func(r *reader, list *types.AttributeValueMemberL) {
		isRight, before := 0 < len(list.Value) && len(list.Value) <= most, ""
		for _, element := range list.Value {
			id := textOf(element)
			isRight, before = isRight && isID(id) && before < id, id
			*to = append(*to, id)
		}
		if !isRight {
			r.fault(WrongValue, name, fmt.Sprintf("1 to %d ids in increasing order, or no such attribute", most))
		}
	}).optional()
}

// grouped is an account's place in a group: whether the account is in the group after a change of its groups.
type grouped struct {
	group string
	numbered
}

// readGrouped reads a place in a group. It has an index key only while the account is in the group.
func readGrouped(r *reader, key []string) grouped {
	g, pk2 := grouped{group: key[1]}, ""
	if r.has(store.AttrPK2) {
		g.state, pk2 = inGroup, store.Grouped.PK2(g.group)
	}
	r.keys("", pk2)
	r.read(
		keyed(store.AttrAccount, key[0]),
		must(store.AttrNumber, aShown, &g.number),
	)
	return g
}

// aShown is the number of the event that a projection shows. 0: a rebuild found no event; it deletes no items.
var aShown = integer(0, grantsMax)
