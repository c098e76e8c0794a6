package projections

import (
	"cmp"

	"ledger.example/events"
	"ledger.example/internal/table"
)

// Target is what one step of projecting brings up to date: the balance of an account in an asset, the membership of a
// user in an account or a group, an account's places in groups, the entries of a hold, or the lists of transactions
// with the journal.
type Target struct {
	Account, Group, Asset, User, Hold string
	Lists                             bool // a Lister writes them, a Projector all others
}

// String is "jane USD", "jane, member u-17", "group desk, member u-17", "jane, its groups", "hold h-1" or "lists of
// transactions".
func (t Target) String() string {
	switch {
	case t.Lists:
		return "lists of transactions"
	case t.Hold != "":
		return "hold " + t.Hold
	case t.Group != "":
		return "group " + t.Group + ", member " + t.User
	case t.User != "":
		return t.Account + ", member " + t.User
	case t.Asset == "":
		return t.Account + ", its groups"
	}
	return t.Account + " " + t.Asset
}

// Membership returns the membership that t is, without its role.
func (t Target) Membership() Membership {
	return Membership{Account: t.Account, Group: t.Group, User: t.User}
}

// TargetOf returns what the event under a key is projected into, the zero Target if it is not projected. ok is false if
// it is projected and its key is malformed: of the target, at most Lists is set then. No key tells of the entries of a
// hold: the posting that places or ends the hold names it.
func TargetOf(k table.Key) (t Target, ok bool) {
	switch {
	case table.IsPosting(k.SK):
		var id string
		t.Account, t.Asset, id, ok = table.ParsePosting(k)
		_, err := events.ParseKSUID(id)
		ok = ok && err == nil && events.ValidID(t.Asset) && events.ValidID(t.Account)
	case table.IsGrant(k.SK):
		if t.Account, t.User, _, ok = table.ParseGrant(k); !ok {
			t.Group, t.User, _, ok = table.ParseGroupGrant(k)
		}
		ok = ok && events.ValidID(t.User) && events.ValidID(cmp.Or(t.Account, t.Group))
	case table.IsGrouping(k.SK):
		t.Account, _, ok = table.ParseGrouping(k)
		ok = ok && events.ValidID(t.Account)
	case table.IsHeader(k.SK), table.IsOutcome(k.SK):
		id, isHeader := table.ParseTransaction(k)
		hold, isEnd := table.ParseOutcome(k)
		return Target{Lists: true}, (isHeader || isEnd) && events.ValidID(cmp.Or(id, hold))
	default:
		return Target{}, true
	}
	if !ok {
		return Target{}, false
	}
	return t, true
}
