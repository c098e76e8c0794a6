package verify

import (
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/audit"
	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
)

// taken returns a copy of what a reversal took of a leg, which becomes the reversal's.
func (b book) taken(k table.Key, i int) ddb.Item {
	b[k] = maps.Clone(b[k])
	list := slices.Clone(b[k]["Taken"].(*types.AttributeValueMemberL).Value)
	copied := maps.Clone(list[i].(*types.AttributeValueMemberM).Value)
	list[i] = ddb.Map(copied)
	b.set(k, "Taken", &types.AttributeValueMemberL{Value: list})
	return copied
}

// ofReversals are seen between transactions, their reversals and the reversing transactions.
func ofReversals() []corruption {
	paid, reversing := table.TransactionKey("p-1"), table.TransactionKey("r-1")
	first, second := table.ReversalKey("p-1", 1), table.ReversalKey("p-1", 2)
	unrecorded := want{audit.ReversalUnrecorded, reversing, "Reverses"}
	exceeded := []want{{audit.ReversalExceeds, paid, "Legs[0]"}, {audit.ReversalExceeds, paid, "Legs[1]"}}
	return []corruption{
		{"first reversal gone", func(b book) []want {
			b.drop(first)
			return []want{{audit.ReversalMissing, first, ""}, unrecorded}
		}},
		gone("only reversal gone", table.ReversalKey("h-some", 1), audit.ReversalUnrecorded, "").of(table.TransactionKey("r-3"), "Reverses"),
		{"more taken back than was posted", func(b book) []want {
			more(b.taken(second, 0), "Quantity", -1)
			more(b.taken(second, 1), "Quantity", 1)
			return append(slices.Clone(exceeded), want{audit.ReversalWrong, second, ""})
		}},
		{"less taken back", func(b book) []want {
			more(b.taken(second, 0), "Quantity", 1)
			more(b.taken(second, 1), "Quantity", -1)
			return one(audit.ReversalWrong, second, "")
		}},
		{"more taken back of a captured hold than was captured", func(b book) []want {
			k := table.ReversalKey("h-some", 1)
			more(b.taken(k, 0), "Quantity", -31)
			more(b.taken(k, 1), "Quantity", 31)
			return []want{{audit.ReversalWrong, k, ""}, {audit.ReversalExceeds, table.TransactionKey("h-some"), "Legs[0]"}, {audit.ReversalExceeds, table.TransactionKey("h-some"), "Legs[1]"}}
		}},
		{"taken back with another sign", func(b book) []want {
			b.taken(first, 0)["Quantity"], b.taken(first, 1)["Quantity"] = ddb.Integer(20), ddb.Integer(-20)
			return one(audit.ReversalWrong, first, "Taken")
		}},
		{"taken back of legs that there aren't", func(b book) []want {
			list := b[first]["Taken"].(*types.AttributeValueMemberL).Value
			b.set(first, "Taken", &types.AttributeValueMemberL{Value: append(slices.Clone(list), list[0])})
			return one(audit.ReversalWrong, first, "Taken")
		}},
		{"the same taken back twice", func(b book) []want {
			k := table.ReversalKey("p-1", 3)
			b.put(k, b[first])
			b.set(k, "Number", ddb.Integer(3))
			return append(slices.Clone(exceeded), unrecorded)
		}},
		{"reversal of what was given back", func(b book) []want {
			k := table.ReversalKey("h-back", 1)
			b.put(k, b[first])
			b.set(k, "Transaction", ddb.String("h-back"))
			return one(audit.ReversalWrong, k, "Taken")
		}},
		{"number of a reversal", func(b book) []want {
			b.set(first, "Number", ddb.Integer(2))
			return one(audit.WrongKey, first, "Number")
		}},
		{"reversing transaction that names another", func(b book) []want {
			b.set(reversing, "Reverses", ddb.String("d-0"))
			return []want{{audit.ReversalWrong, first, ""}, unrecorded}
		}},
		{"reversing transaction of other legs", func(b book) []want {
			more(b.leg(reversing, 0), "Quantity", 1)
			more(b.leg(reversing, 1), "Quantity", -1)
			return append(each(audit.PostingDiffers, b.postingOf(reversing, 0), b.postingOf(reversing, 1)),
				want{audit.ReversalWrong, first, ""}, want{audit.ReversalWrong, table.ReversalKey("r-1", 1), ""},
				want{audit.ReversalExceeds, reversing, "Legs[0]"}, want{audit.ReversalExceeds, reversing, "Legs[1]"})[:3]
		}},
		{"reversing transaction gone", func(b book) []want {
			k := table.TransactionKey("r-2")
			wanted := each(audit.PostingAlone, b.postingOf(k, 0), b.postingOf(k, 1))
			b.drop(k)
			return append(wanted, want{audit.ReversalWrong, second, ""})
		}},
		set("reversing transaction that was asked for otherwise", reversing, "Fingerprint", ddb.String("2:none"), audit.FingerprintDiffers, "Fingerprint"),
	}
}

// of is what must be found, elsewhere.
func (c corruption) of(k table.Key, attribute string) corruption {
	plant := c.plant
	c.plant = func(b book) []want { return one(plant(b)[0].code, k, attribute) }
	return c
}

// changed puts a change of an account into the book, as it is now as well.
func (b book) changed(c events.AccountChanged) {
	c.Profile, c.Actor = "{}", "tester"
	k := table.ChangeKey(c.ID, c.Number)
	b[k], b[table.CurrentKey(c.ID)] = ddb.EventItem(c), ddb.NewItemEncoder(1).Current(c)
}

// ofChanges are seen between the changes of accounts, guards and postings.
func ofChanges() []corruption {
	guard, current := table.SpendKey("firm", "USD"), table.CurrentKey("firm")
	change := func(n int64) table.Key { return table.ChangeKey("firm", n) }
	oldUSD := table.BalanceKey("old", "USD")
	return []corruption{
		gone("change gone", change(2), audit.ChangeMissing, ""),
		gone("newest change gone", change(4), audit.ChangeMissing, "").also(want{audit.GuardWrong, guard, table.AttrChange}),
		gone("what an account is now gone", current, audit.AccountCurrentWrong, ""),
		set("what an account is now altered", current, "State", ddb.String("frozen"), audit.AccountCurrentWrong, table.AttrChecksum),
		{"what an account is now altered, with its checksum", func(b book) []want {
			b.set(current, "State", ddb.String("frozen"))
			item := maps.Clone(b[current])
			item[table.AttrType], item[table.AttrEventVersion] = ddb.String("AccountChanged"), ddb.Integer(3)
			b.set(current, table.AttrChecksum, ddb.String(checksumOf(item)))
			return one(audit.AccountCurrentWrong, current, "")
		}},
		{"account as it was before", func(b book) []want {
			e, _ := event(b[change(3)])
			b[current] = ddb.NewItemEncoder(1).Current(e.(events.AccountChanged))
			return one(audit.AccountCurrentWrong, current, "")
		}},
		set("limit taken away by a change", change(3), "Overdraft", ddb.String("unlimited"), audit.ChangeImpossible, ""),
		{"change of a closed account", func(b book) []want {
			b.changed(events.AccountChanged{ID: "old", Number: 4, State: events.StateOpen, At: time.Now().Add(-time.Minute)})
			b.set(table.SpendKey("old", "USD"), table.AttrChange, ddb.Integer(4))
			return one(audit.ChangeImpossible, table.ChangeKey("old", 4), "")
		}},
		set("guard that was not told", guard, table.AttrChange, ddb.Integer(3), audit.GuardBehind, table.AttrChange),
		unset("guard that was told nothing", guard, table.AttrChange, audit.GuardBehind, table.AttrChange),
		set("guard that was told of what there isn't", guard, table.AttrChange, ddb.Integer(5), audit.GuardWrong, table.AttrChange),
		inner("limit of a change lowered", change(2), "Overdraft", "USD", ddb.Integer(299), want{audit.Overdrawn, table.BalanceKey("firm", "USD"), ""}).and(func(b book) {
			b.within(change(3), "Overdraft")["USD"] = ddb.Integer(299)
		}),
		inner("limit of an asset that there isn't, by a change", change(2), "Overdraft", "EUR", ddb.Integer(1), want{audit.AssetMissing, table.AssetKey("EUR"), ""}),
		{"debit after the account was closed", func(b book) []want {
			b.set(table.ChangeKey("old", 3), "At", ddb.String(events.FormatTime(long())))
			return one(audit.DebitAfterClose, b.postingOf(table.TransactionKey("o-2"), 0), "")
		}},
		{"account that was closed with a balance and an open hold", func(b book) []want {
			b.changed(events.AccountChanged{ID: "shop", Number: 2, State: events.StateClosed, At: time.Now().Add(-50 * time.Minute)})
			b.set(table.SpendKey("shop", "USD"), table.AttrChange, ddb.Integer(2))
			return one(audit.ClosedNotEmpty, shopUSD, "")
		}},
		{"account that was closed with a balance", func(b book) []want {
			b.drop(table.PostingKey("old", "USD", textOf(b.leg(table.TransactionKey("o-2"), 0), "ID")))
			b.set(table.ChangeKey("old", 3), "At", ddb.String(events.FormatTime(time.Now().Add(-50*time.Minute))))
			k := b.postingOf(table.TransactionKey("o-2"), 0)
			return append(b.counted(k, audit.BalanceCountsMore, audit.SegmentCountsMore), want{audit.PostingMissing, k, ""},
				want{audit.AssetUnbalanced, usd, ""}, want{audit.GuardUnexpected, table.SpendKey("old", "USD"), table.AttrSpent},
				want{audit.ClosedNotEmpty, oldUSD, ""})
		}},
	}
}

// also adds to what must be found.
func (c corruption) also(more ...want) corruption {
	plant := c.plant
	c.plant = func(b book) []want { return append(plant(b), more...) }
	return c
}
