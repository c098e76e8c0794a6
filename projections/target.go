package projections

import (
	"cmp"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// Target names the projection that a stream record affects: the balance of an account in an asset, the membership of a
// user on an account or in a group, an account's places in groups, the entries of a hold, or the lists of transactions
// with the journal.
type Target struct {
	Account, Group, Asset, User, Hold string
	Lists                             bool // a Lister writes these, a Projector all others
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

// Membership returns the membership that t names, without its role.
func (t Target) Membership() Membership {
	return Membership{Account: t.Account, Group: t.Group, User: t.User}
}

// TargetOf returns the target of the event with a key, the zero Target if the event is not projected. ok is false if it
// is projected and its key is malformed; then at most Lists is set. The target is never a hold: no key contains a
// hold's id, but the figures of the postings that place or end the hold do.
func TargetOf(k store.Key) (t Target, ok bool) {
	switch {
	case store.Posting.Is(k.SK):
		var id string
		t.Account, t.Asset, id, ok = store.Posting.Parse(k)
		_, err := events.ParseKSUID(id)
		ok = ok && err == nil && events.ValidID(t.Asset) && events.ValidID(t.Account)
	case store.Grant.Is(k.SK):
		if t.Account, t.User, _, ok = store.Grant.Parse(k); !ok {
			t.Group, t.User, _, ok = store.GroupGrant.Parse(k)
		}
		ok = ok && events.ValidID(t.User) && events.ValidID(cmp.Or(t.Account, t.Group))
	case store.Grouping.Is(k.SK):
		t.Account, _, ok = store.Grouping.Parse(k)
		ok = ok && events.ValidID(t.Account)
	case store.Transaction.Is(k.SK), store.Outcome.Is(k.SK):
		id, isHeader := store.Transaction.Parse(k)
		hold, isEnd := store.Outcome.Parse(k)
		return Target{Lists: true}, (isHeader || isEnd) && events.ValidID(cmp.Or(id, hold))
	default:
		return Target{}, true
	}
	if !ok {
		return Target{}, false
	}
	return t, true
}
