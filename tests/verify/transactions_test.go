package verify

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/audit"
	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
)

// postingOf is the key of the i-th posting of a header.
func (b book) postingOf(header table.Key, i int) table.Key {
	leg := b.leg(header, i)
	return table.PostingKey(textOf(leg, "Account"), textOf(leg, "Asset"), textOf(leg, "ID"))
}

// ofTransactions are seen between headers, postings and definitions.
func ofTransactions() []corruption {
	return []corruption{
		{"header that doesn't balance", func(b book) []want {
			more(b.leg(gold, 0), "Quantity", 1)
			return []want{{audit.TransactionUnbalanced, gold, "Legs"}, {audit.FingerprintDiffers, gold, "Fingerprint"},
				{audit.PostingDiffers, b.postingOf(gold, 0), ""}}
		}},
		{"transfer of three legs", func(b book) []want {
			b.set(gold, "Kind", ddb.String("transfer"))
			wanted := one(audit.TransactionShape, gold, "Legs")
			for i := range 3 {
				wanted = append(wanted, want{audit.PostingDiffers, b.postingOf(gold, i), ""})
			}
			return wanted
		}},
		{"fingerprint by a rule that there isn't", func(b book) []want {
			b.set(deposit, "Fingerprint", ddb.String("2"+textOf(b[deposit], "Fingerprint")[1:]))
			return one(audit.FingerprintDiffers, deposit, "Fingerprint")
		}},
		inner("metadata changed", gold, "Metadata", "order", ddb.String("8"), want{audit.FingerprintDiffers, gold, "Fingerprint"}),
		{"posting gone", func(b book) []want {
			k := b.postingOf(deposit, 0)
			b.drop(k)
			return []want{{audit.PostingMissing, k, ""}, {audit.AssetUnbalanced, usd, ""},
				{audit.BalanceCountsMore, bankUSD, ""}, {audit.SegmentCountsMore, b.segments("bank", "USD")[0], ""}}
		}},
		{"transaction gone", func(b book) []want {
			for i := range 2 {
				b.drop(b.postingOf(deposit, i))
			}
			b.drop(deposit)
			return []want{{audit.BalanceCountsMore, bankUSD, ""},
				{audit.SegmentCountsMore, b.segments("bank", "USD")[0], ""},
				{audit.BalanceCountsMore, janeUSD, ""}, {audit.SegmentCountsMore, b.segments("jane", "USD")[0], ""}}
		}},
		{"header that claims the postings of another", func(b book) []want {
			k := table.TransactionKey("x-2")
			b.put(k, b[gold])
			b.set(k, "ID", ddb.String("x-2"))
			return one(audit.TransactionClaims, k, "Legs")
		}},
		{"header that claims a leg of another, and lacks one", func(b book) []want {
			k := table.TransactionKey("d-9")
			b.put(k, b[deposit])
			b.set(k, "ID", ddb.String("d-9"))
			b.leg(k, 1)["Account"] = ddb.String("margin")
			return []want{{audit.TransactionClaims, k, "Legs"}, {audit.FingerprintDiffers, k, "Fingerprint"},
				{audit.PostingMissing, b.postingOf(k, 1), ""}}
		}},
		{"posting's quantity changed", func(b book) []want {
			k := b.postingOf(deposit, 0)
			more(b[k], "Quantity", 1)
			return []want{{audit.PostingDiffers, k, ""}, {audit.AssetUnbalanced, usd, ""},
				{audit.BalanceWrong, bankUSD, ""}, {audit.SegmentWrong, b.segments("bank", "USD")[0], ""}}
		}},
		{"posting's cost changed, in no segment yet", func(b book) []want {
			postings := b.postings("market", "AAPL")
			k := postings[len(postings)-1]
			more(b[k], "Cost", 1)
			return []want{{audit.PostingDiffers, k, ""}, {audit.AssetUnbalanced, table.AssetKey("AAPL"), ""},
				{audit.BalanceWrong, table.BalanceKey("market", "AAPL"), ""}}
		}},
		{"posting's description changed", func(b book) []want {
			k := b.postingOf(gold, 1)
			b.set(k, "Description", ddb.String("Silver"))
			return one(audit.PostingDiffers, k, "")
		}},
		{"posting of no transaction", func(b book) []want {
			item := b[b.postingOf(deposit, 0)]
			id := string(events.FirstKSUID(time.Now().Add(-time.Minute)))
			k := table.PostingKey("bank", "USD", id)
			b.put(k, item)
			b.set(k, "ID", ddb.String(id))
			b.set(k, table.AttrSK2, ddb.String(table.PostingSK2(id)))
			b.set(k, "Transaction", ddb.String("nothing"))
			return []want{{audit.PostingAlone, k, ""}, {audit.AssetUnbalanced, usd, ""},
				{audit.BalanceBehind, bankUSD, ""}}
		}},
		{"posting that says it is another's", func(b book) []want {
			k := b.postingOf(deposit, 0)
			b.set(k, "Transaction", ddb.String("d-1"))
			return []want{{audit.PostingDiffers, k, ""}, {audit.PostingAlone, k, ""}}
		}},
		{"header gone", func(b book) []want {
			first, second := b.postingOf(deposit, 0), b.postingOf(deposit, 1)
			b.drop(deposit)
			return []want{{audit.PostingAlone, first, ""}, {audit.PostingAlone, second, ""}}
		}},
		gone("asset gone", table.AssetKey("AAPL"), audit.AssetMissing, ""),
		gone("account gone", bank, audit.AccountMissing, ""),
		{"asset without its currency", func(b book) []want {
			b.unset(table.AssetKey("GOLD"), "Currency")
			return []want{{audit.CostWithoutCurrency, gold, "Legs[0]"}, {audit.CostWithoutCurrency, gold, "Legs[1]"}, {audit.CostWithoutCurrency, gold, "Legs[2]"}}
		}},
	}
}

// ofEvents are seen by checksums alone: each item is well formed and agrees with all others. Who computes the
// checksums anew leaves nothing to be found.
func ofEvents() []corruption {
	field := func(name string, k table.Key, attribute string, v types.AttributeValue) corruption {
		return set(name, k, attribute, v, audit.ChecksumDiffers, table.AttrChecksum)
	}
	jane := table.AccountKey("jane")
	return []corruption{
		field("account's profile", jane, "Profile", ddb.String(`{"email":"john@example.com"}`)),
		field("account's limit taken away", jane, "Overdraft", ddb.String("unlimited")).and(func(b book) {
			b.drop(table.SpendKey("jane", "USD")) // or it is found there
		}),
		inner("account's limit raised", table.AccountKey("margin"), "Overdraft", "USD", ddb.Integer(50_001), altered(table.AccountKey("margin"))...),
		field("asset's scale", usd, "Scale", ddb.Integer(3)),
		field("header's actor", gold, "Actor", ddb.String("nobody")),
		field("grant's actor", table.GrantKey("jane", "u-1", 3), "Actor", ddb.String("nobody")),
		field("revocation's actor", table.GrantKey("jane", "u-2", 2), "Actor", ddb.String("nobody")),
		{"newest grant's role", func(b book) []want {
			k := table.GrantKey("jane", "u-1", 3)
			b.set(k, "Role", ddb.String("owner"))
			return append(altered(k), want{audit.MembershipDiffers, table.MembershipKey("jane", "u-1"), ""})
		}},
		{"grant that says it is a revocation", func(b book) []want {
			k := table.GrantKey("jane", "u-1", 1)
			b.set(k, table.AttrType, ddb.String("MemberRevoked"))
			b.unset(k, "Role")
			return altered(k)
		}},
		{"KSUIDs of two transactions exchanged", func(b book) []want {
			var wanted []want
			first, second := table.TransactionKey("d-1"), table.TransactionKey("d-2")
			for i := range 2 {
				k, l := b.postingOf(first, i), b.postingOf(second, i)
				b.leg(first, i)["ID"], b.leg(second, i)["ID"] = b[l]["ID"], b[k]["ID"]
				b.set(k, "Transaction", ddb.String("d-2"))
				b.set(l, "Transaction", ddb.String("d-1"))
				wanted = append(wanted, altered(k, l)...)
			}
			return append(wanted, altered(first, second)...)
		}},
		{"checksum of another", func(b book) []want {
			if b[jane][table.AttrChecksum] == nil {
				return nil // of version 1
			}
			b.set(jane, table.AttrChecksum, b[usd][table.AttrChecksum])
			return altered(jane)
		}},
	}
}

// altered is what is found of events that were altered.
func altered(keys ...table.Key) (wanted []want) {
	for _, k := range keys {
		wanted = append(wanted, want{audit.ChecksumDiffers, k, table.AttrChecksum})
	}
	return wanted
}

// and plants something else as well.
func (c corruption) and(also func(b book)) corruption {
	plant := c.plant
	c.plant = func(b book) []want {
		also(b)
		return plant(b)
	}
	return c
}
