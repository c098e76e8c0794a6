package verify

import (
	"time"

	"ledger.example/cmd/ledger/audit"
	"ledger.example/events"
	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
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
			return []want{{audit.TransactionUnbalanced, gold, "Legs"}, {audit.FingerprintDiffers, gold, "Fingerprint"}, {audit.PostingDiffers, b.postingOf(gold, 0), ""}}
		}},
		{"costs that don't balance", func(b book) []want {
			more(b.leg(gold, 1), "Cost", -1)
			return []want{{audit.TransactionUnbalanced, gold, "Legs"}, {audit.FingerprintDiffers, gold, "Fingerprint"}, {audit.PostingDiffers, b.postingOf(gold, 1), ""}}
		}},
		{"transfer of three legs", func(b book) []want {
			b.set(gold, "Kind", wire.String("transfer"))
			wanted := one(audit.TransactionShape, gold, "Legs")
			for i := range 3 {
				wanted = append(wanted, want{audit.PostingDiffers, b.postingOf(gold, i), ""})
			}
			return wanted
		}},
		{"fingerprint of another request", func(b book) []want {
			b.set(gold, "Fingerprint", b[deposit]["Fingerprint"])
			return one(audit.FingerprintDiffers, gold, "Fingerprint")
		}},
		{"fingerprint by a rule that there isn't", func(b book) []want {
			b.set(deposit, "Fingerprint", wire.String("2"+textOf(b[deposit], "Fingerprint")[1:]))
			return one(audit.FingerprintDiffers, deposit, "Fingerprint")
		}},
		{"metadata changed", func(b book) []want {
			b.within(gold, "Metadata")["order"] = wire.String("8")
			return one(audit.FingerprintDiffers, gold, "Fingerprint")
		}},
		{"posting gone", func(b book) []want {
			k := b.postingOf(deposit, 0)
			b.drop(k)
			return []want{{audit.PostingMissing, k, ""}, {audit.AssetUnbalanced, usd, ""}, {audit.BalanceWrong, bankUSD, ""}, {audit.SegmentWrong, b.segments("bank", "USD")[0], ""}}
		}},
		{"posting's quantity changed", func(b book) []want {
			k := b.postingOf(deposit, 0)
			more(b[k], "Quantity", 1)
			return []want{{audit.PostingDiffers, k, ""}, {audit.AssetUnbalanced, usd, ""}, {audit.BalanceWrong, bankUSD, ""}, {audit.SegmentWrong, b.segments("bank", "USD")[0], ""}}
		}},
		{"posting's cost changed, in no segment yet", func(b book) []want {
			postings := b.postings("market", "AAPL")
			k := postings[len(postings)-1]
			more(b[k], "Cost", 1)
			return []want{{audit.PostingDiffers, k, ""}, {audit.AssetUnbalanced, table.AssetKey("AAPL"), ""}, {audit.BalanceWrong, table.BalanceKey("market", "AAPL"), ""}}
		}},
		{"posting's description changed", func(b book) []want {
			k := b.postingOf(gold, 1)
			b.set(k, "Description", wire.String("Silver"))
			return one(audit.PostingDiffers, k, "")
		}},
		{"posting of no transaction", func(b book) []want {
			item := b[b.postingOf(deposit, 0)]
			id := string(events.FirstKSUID(time.Now().Add(-time.Minute)))
			k := table.PostingKey("bank", "USD", id)
			b.put(k, item)
			b.set(k, "ID", wire.String(id))
			b.set(k, table.AttrSK2, wire.String(table.PostingSK2(id)))
			b.set(k, "Transaction", wire.String("nothing"))
			return []want{{audit.PostingAlone, k, ""}, {audit.AssetUnbalanced, usd, ""}, {audit.BalanceBehind, bankUSD, ""}}
		}},
		{"posting that says it is another's", func(b book) []want {
			k := b.postingOf(deposit, 0)
			b.set(k, "Transaction", wire.String("d-1"))
			return []want{{audit.PostingDiffers, k, ""}, {audit.PostingAlone, k, ""}}
		}},
		{"header gone", func(b book) []want {
			first, second := b.postingOf(deposit, 0), b.postingOf(deposit, 1)
			b.drop(deposit)
			return []want{{audit.PostingAlone, first, ""}, {audit.PostingAlone, second, ""}}
		}},
		{"asset gone", func(b book) []want {
			b.drop(table.AssetKey("AAPL"))
			return one(audit.AssetMissing, table.AssetKey("AAPL"), "")
		}},
		{"account gone", func(b book) []want {
			b.drop(bank)
			return one(audit.AccountMissing, bank, "")
		}},
		{"asset without its currency", func(b book) []want {
			b.unset(table.AssetKey("GOLD"), "Currency")
			return []want{{audit.CostWithoutCurrency, gold, "Legs[0]"}, {audit.CostWithoutCurrency, gold, "Legs[1]"}, {audit.CostWithoutCurrency, gold, "Legs[2]"}}
		}},
	}
}
