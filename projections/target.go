package projections

import (
	"ledger.example/events"
	"ledger.example/internal/store"
)

// Target names what a stream record affects: the balance of an account in an asset, items of a View, or the lists of
// transactions with the journal.
type Target struct {
	View                              *View // nil: a balance or the lists
	Account, Group, Asset, User, Hold string
	Lists                             bool // a Lister writes these and the journal, a Projector all others
}

// String is "jane USD", "jane, member u-17", "group desk, member u-17", "jane, its groups", "hold h-1" or "lists and
// journal".
func (t Target) String() string {
	switch {
	case t.Lists:
		return "lists and journal"
	case t.Hold != "":
		return "hold " + t.Hold
	case t.Group != "" && t.User != "":
		return "group " + t.Group + ", member " + t.User
	case t.User != "":
		return t.Account + ", member " + t.User
	case t.View != nil:
		return t.Account + ", its " + t.View.Name
	}
	return t.Account + " " + t.Asset
}

// lane returns the key that serializes work: targets with the same lane are processed one after another.
func (t Target) lane() string {
	switch {
	case t.Hold != "":
		return "#" + t.Hold // # and % never begin the id of an account
	case t.Account == "":
		return "%" + t.Group
	}
	return t.Account
}

// TargetOf returns the first target of the event with a key, and the lists if it has no other; the journal may list an
// event with another target, too. It is the zero Target if the event is not projected. ok is false if it is projected
// and its key is malformed; then at most Lists is set. The target is never a hold: no key contains a hold's id, but the
// figures of the postings that place or end the hold do.
func TargetOf(k store.Key) (t Target, ok bool) {
	ok = eachTarget(Record{PK: k.PK, SK: k.SK}, func(found Target, _ int64) {
		if t == (Target{}) {
			t = found
		}
	})
	if ok && t == (Target{}) && store.IsJournaled(k.SK) {
		return Target{Lists: true}, store.IsEventKey(k)
	}
	return t, ok
}

// eachTarget calls touch for each balance and each target of a view that the event of a record touches, with the number
// that View.Of gives. It returns false if the event is projected and its key is malformed.
func eachTarget(r Record, touch func(t Target, number int64)) (ok bool) {
	if store.Posting.Is(r.SK) {
		account, asset, id, ok := store.Posting.Parse(store.Key{PK: r.PK, SK: r.SK})
		if _, err := events.ParseKSUID(id); !ok || err != nil || !events.ValidID(asset) || !events.ValidID(account) {
			return false
		}
		touch(Target{Account: account, Asset: asset}, 0)
	}
	for _, view := range Declared {
		t, number, ok := view.Of(r)
		switch {
		case !ok:
			return false
		case t != Target{}:
			t.View = view
			touch(t, number)
		}
	}
	return true
}
