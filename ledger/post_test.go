package ledger_test

import (
	"testing"

	"ledger.example/events"
	"ledger.example/ledger"
)

// G8: a command uses the credits that it read, even if the cache evicted them.
func TestFullCacheRefusesNoDebit(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		r.fund("bob", "USD", "100")
		r.restart()
		r.CacheOnePair()
		r.journal.Project(pair("jane", "USD"), amount("0"))
		r.journal.Project(pair("bob", "USD"), amount("0"))
		r.mustPost(ledger.PostTransaction{Annotation: ledger.Annotation{ID: "t-1", Actor: "tester"}, Postings: []ledger.LegRequest{
			{Account: "jane", Asset: "USD", Quantity: amount("-100")}, {Account: "bob", Asset: "USD", Quantity: amount("-100")},
			{Account: "shop", Asset: "USD", Quantity: amount("200")},
		}})
	})
}

// An event without an actor could not be decoded.
func TestActorIsRequired(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		nobody := transfer("t-1", "bank", "jane", "1")
		nobody.Actor = ""
		_, posted := r.post(nobody)
		_, _, registered := r.RegisterAsset(t.Context(), ledger.RegisterAsset{ID: "XAU", Name: "n"})
		_, _, opened := r.OpenAccount(t.Context(), ledger.OpenAccount{ID: "x"})
		_, granted := r.Grant(t.Context(), ledger.GrantMember{Account: "jane", User: "u", Role: events.RoleOwner})
		for _, err := range []error{posted, registered, opened, granted} {
			r.refused(err, ledger.CodeInternal)
		}
		if r.journal.written != 0 || len(r.journal.sent) != 0 {
			t.Error("something was written for nobody")
		}
	})
}
