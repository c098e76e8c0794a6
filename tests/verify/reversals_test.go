package verify

import (
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/audit"
	"ledger.example/internal/store"
)

// reversalCorruptions are differences between transactions, their reversals and the reversing transactions.
func (b book) reversalCorruptions() []corruption {
	paid, reversing, last := store.Transaction.Key("p-1"), store.Transaction.Key("r-1"), store.Transaction.Key("r-2")
	first, second, third := store.Reversal.Key("p-1", 1), store.Reversal.Key("p-1", 2), store.Reversal.Key("p-1", 3)
	held, ofHeld, ofBack := store.Transaction.Key("h-some"), store.Reversal.Key("h-some", 1), store.Reversal.Key("h-back", 1)
	ofReversing, ofLast := b.postingsOf(reversing), b.postingsOf(last)
	unrecorded := want{audit.ReversalUnrecorded, reversing, "Reverses"}
	exceeded := func(of store.Key) wants {
		return wants{{audit.ReversalExceeds, of, "Legs[0]"}, {audit.ReversalExceeds, of, "Legs[1]"}}
	}
	// more increases the reversed amounts of both legs by n.
	more := func(k store.Key, n int64) change {
		return all(add(k, "Taken[0].Quantity", -n), add(k, "Taken[1].Quantity", n))
	}
	return []corruption{
		{"first reversal gone", drop(first), wants{{audit.ReversalMissing, first, ""}, unrecorded}},
		{"only reversal gone", drop(ofHeld),
			wants{{audit.ReversalUnrecorded, store.Transaction.Key("r-3"), "Reverses"}}},
		{"more taken back than was posted", more(second, 1),
			append(exceeded(paid), want{audit.ReversalWrong, second, ""})},
		{"less taken back", more(second, -1), atItems(audit.ReversalWrong, second)},
		{"more taken back of a captured hold than was captured", more(ofHeld, 31),
			append(exceeded(held), want{audit.ReversalWrong, ofHeld, ""})},
		{"taken back with another sign", all(set(first, "Taken[0].Quantity", store.Integer(20)),
			set(first, "Taken[1].Quantity", store.Integer(-20))), wants{{audit.ReversalWrong, first, "Taken"}}},
		{"taken back of more legs than the transaction has", func(b book) {
			list := b[first]["Taken"].(*types.AttributeValueMemberL).Value
			b.set(first, "Taken", &types.AttributeValueMemberL{Value: append(slices.Clone(list), list[0])})
		}, wants{{audit.ReversalWrong, first, "Taken"}}},
		{"the same taken back twice", all(put(third, first), set(third, "Number", store.Integer(3))),
			append(exceeded(paid), unrecorded)},
		{"reversal of a released hold", all(put(ofBack, first), set(ofBack, "Transaction", store.String("h-back"))),
			wants{{audit.ReversalWrong, ofBack, "Taken"}}},
		wrong("number of a reversal", first, "Number", store.Integer(2), audit.WrongKey),
		{"reversing transaction that names another", set(reversing, "Reverses", store.String("d-0")),
			wants{{audit.ReversalWrong, first, ""}, unrecorded}},
		{"reversing transaction of other legs", all(add(reversing, "Legs[0].Quantity", 1),
			add(reversing, "Legs[1].Quantity", -1)),
			append(atItems(audit.PostingDiffers, ofReversing...), want{audit.ReversalWrong, first, ""})},
		{"reversing transaction gone", drop(last),
			append(atItems(audit.PostingWithoutTransaction, ofLast...), want{audit.ReversalWrong, second, ""})},
		wrong("reversing transaction with the fingerprint of another request", reversing, "Fingerprint", store.String("1:none"),
			audit.FingerprintDiffers),
	}
}

// withChange adds a change of an account to the book, makes it the current account, and sets its number in a guard.
func withChange(c events.AccountChanged, guard store.Key) change {
	c.Profile, c.Actor = "{}", "tester"
	return func(b book) {
		b[store.Change.Key(c.ID, c.Number)] = store.EventItem(c)
		b[store.Current.Key(c.ID)] = store.NewItemEncoder(1).Current(c)
		b.set(guard, store.AttrChange, store.Integer(c.Number))
	}
}

// changeCorruptions are differences between the changes of accounts, guards and postings.
func (b book) changeCorruptions() []corruption {
	guard, current := store.Spend.Key("firm", "USD"), store.Current.Key("firm")
	second, third, fourth := store.Change.Key("firm", 2), store.Change.Key("firm", 3), store.Change.Key("firm", 4)
	guardOfOld, guardOfShop := store.Spend.Key("old", "USD"), store.Spend.Key("shop", "USD")
	closing, beyond := store.Change.Key("old", 3), store.Change.Key("old", 4)
	paidOut := b.postingOf(store.Transaction.Key("o-2"), 0)
	soon := time.Now().Add(-50 * time.Minute)
	return []corruption{
		{"change gone", drop(second), atItems(audit.ChangeMissing, second)},
		{"newest change gone", drop(fourth),
			wants{{audit.ChangeMissing, fourth, ""}, {audit.GuardAhead, guard, store.AttrChange}}},
		{"current account gone", drop(current), atItems(audit.AccountCurrentWrong, current)},
		{"current account altered", set(current, "State", store.String("frozen")),
			wants{{audit.AccountCurrentWrong, current, store.AttrChecksum}}},
		wrong("current account of a newer form", current, store.AttrForm, store.Integer(2), audit.WrongValue),
		{"current account altered, with its checksum", func(b book) {
			b.set(current, "State", store.String("frozen"))
			item := maps.Clone(b[current])
			item[store.AttrType] = store.String("AccountChanged")
			b.set(current, store.AttrChecksum, store.String(checksumOf(item)))
		}, atItems(audit.AccountCurrentWrong, current)},
		{"current account older than its newest change", func(b book) {
			e, _ := event(b[third])
			b[current] = store.NewItemEncoder(1).Current(e.(events.AccountChanged))
		}, atItems(audit.AccountCurrentWrong, current)},
		{"limit taken away by a change", set(third, "Overdraft", store.String("unlimited")),
			atItems(audit.ChangeImpossible, third)},
		{"change of a closed account", withChange(events.AccountChanged{ID: "old", Number: 4, State: events.StateOpen,
			At: time.Now().Add(-time.Minute)}, guardOfOld), atItems(audit.ChangeImpossible, beyond)},
		wrong("guard without the newest version", guard, store.AttrChange, store.Integer(3), audit.GuardBehind),
		{"guard without a version", unset(guard, store.AttrChange),
			wants{{audit.GuardWrong, guard, store.AttrChange}}},
		wrong("guard with an unknown version", guard, store.AttrChange, store.Integer(5), audit.GuardAhead),
		{"limit of a change lowered", all(set(second, "Overdraft.USD", store.Integer(299)),
			set(third, "Overdraft.USD", store.Integer(299))),
			wants{{audit.Overdrawn, store.Balance.Key("firm", "USD"), ""}, {audit.ChangeImpossible, fourth, "Highest"}}},
		{"earlier limit forgotten by a change", unset(fourth, "Highest"), wants{{audit.ChangeImpossible, fourth, "Highest"}}},
		{"closing by a change to open", set(fourth, "Closing", &types.AttributeValueMemberBOOL{Value: true}),
			wants{{audit.WrongValue, fourth, "Closing"}}},
		{"change with a limit of an unknown asset", set(second, "Overdraft.EUR", store.Integer(1)),
			wants{{audit.AssetMissing, store.Asset.Key("EUR"), ""}, {audit.ChangeImpossible, third, "Highest"}}},
		{"debit after the account was closed", set(closing, "At", store.String(events.FormatTime(longAgo()))),
			atItems(audit.DebitAfterClose, paidOut)},
		{"account that was closed with a balance and an open hold", withChange(events.AccountChanged{ID: "shop",
			Number: 2, State: events.StateClosed, At: soon}, guardOfShop), atItems(audit.ClosedNotEmpty, shopUSD)},
		{"account that was closed with a balance", all(drop(paidOut),
			set(closing, "At", store.String(events.FormatTime(soon)))), append(b.deletedPostingFindings(paidOut),
			want{audit.PostingMissing, paidOut, ""}, want{audit.AssetUnbalanced, usd, ""},
			want{audit.GuardUnexpected, guardOfOld, store.AttrSpent},
			want{audit.ClosedNotEmpty, store.Balance.Key("old", "USD"), ""})},
	}
}
