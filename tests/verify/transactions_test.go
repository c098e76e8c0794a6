package verify

import (
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/audit"
	"ledger.example/internal/store"
)

// postingOf returns the key of the i-th posting of a header.
func (b book) postingOf(header store.Key, i int) store.Key {
	leg := fmt.Sprintf("Legs[%d].", i)
	return store.Posting.Key(b.text(header, leg+"Account"), b.text(header, leg+"Asset"), b.text(header, leg+"ID"))
}

// postingsOf returns the keys of all postings of a header.
func (b book) postingsOf(header store.Key) (keys []store.Key) {
	for i := range b[header]["Legs"].(*types.AttributeValueMemberL).Value {
		keys = append(keys, b.postingOf(header, i))
	}
	return keys
}

// moved returns the key that a posting would have in another account.
func moved(posting store.Key, account string) store.Key {
	return store.Key{PK: store.Account.PK(account), SK: posting.SK}
}

// transactionCorruptions are differences between headers, postings and definitions.
func (b book) transactionCorruptions() []corruption {
	inUSD := b.postingsOf(deposit) // of bank, and of jane
	inGold := b.postingsOf(gold)
	bankSegment, janeSegment := b.segments("bank", "USD")[0], b.segments("jane", "USD")[0]
	inAAPL := b.postings("market", "AAPL")
	newest := inAAPL[len(inAAPL)-1]
	copied, claiming := store.Transaction.Key("x-2"), store.Transaction.Key("d-9")
	id := string(events.FirstKSUID(time.Now().Add(-time.Minute)))
	alone := store.Posting.Key("bank", "USD", id)
	return []corruption{
		{"header that doesn't balance", add(gold, "Legs[0].Quantity", 1),
			wants{{audit.TransactionUnbalanced, gold, "Legs"}, {audit.FingerprintDiffers, gold, "Fingerprint"},
				{audit.PostingDiffers, inGold[0], ""}}},
		{"transfer of three legs", set(gold, "Kind", store.String("transfer")),
			append(atItems(audit.PostingDiffers, inGold...), want{audit.TransactionShape, gold, "Legs"})},
		wrong("fingerprint by the wrong rule", deposit, "Fingerprint",
			store.String("2"+b.text(deposit, "Fingerprint")[1:]), audit.FingerprintDiffers),
		{"metadata changed", set(gold, "Metadata.order", store.String("8")),
			wants{{audit.FingerprintDiffers, gold, "Fingerprint"}}},
		{"posting gone", drop(inUSD[0]),
			wants{{audit.PostingMissing, inUSD[0], ""}, {audit.AssetUnbalanced, usd, ""},
				{audit.BalanceCountsMore, bankUSD, ""}, {audit.SegmentCountsMore, bankSegment, ""}}},
		{"transaction gone", drop(inUSD[0], inUSD[1], deposit),
			wants{{audit.BalanceCountsMore, bankUSD, ""}, {audit.SegmentCountsMore, bankSegment, ""},
				{audit.BalanceCountsMore, janeUSD, ""}, {audit.SegmentCountsMore, janeSegment, ""}}},
		{"header that claims the postings of another", all(put(copied, gold), set(copied, "ID", store.String("x-2"))),
			wants{{audit.TransactionClaimsOthers, copied, "Legs"}}},
		{"header that claims a leg of another, and lacks one", all(put(claiming, deposit),
			set(claiming, "ID", store.String("d-9")), set(claiming, "Legs[1].Account", store.String("margin"))),
			wants{{audit.TransactionClaimsOthers, claiming, "Legs"}, {audit.FingerprintDiffers, claiming, "Fingerprint"},
				{audit.PostingMissing, moved(inUSD[1], "margin"), ""}}},
		{"posting's quantity changed", add(inUSD[0], "Quantity", 1),
			wants{{audit.PostingDiffers, inUSD[0], ""}, {audit.AssetUnbalanced, usd, ""},
				{audit.BalanceWrong, bankUSD, ""}, {audit.SegmentWrong, bankSegment, ""}}},
		{"posting's cost changed, in no segment yet", add(newest, "Cost", 1),
			wants{{audit.PostingDiffers, newest, ""}, {audit.AssetUnbalanced, store.Asset.Key("AAPL"), ""},
				{audit.BalanceWrong, store.Balance.Key("market", "AAPL"), ""}}},
		{"posting's description changed", set(inGold[1], "Description", store.String("Silver")),
			atItems(audit.PostingDiffers, inGold[1])},
		{"posting of no transaction", all(put(alone, inUSD[0]), set(alone, "ID", store.String(id)),
			set(alone, store.AttrSK2, store.String(store.Posting.SK2(id))),
			set(alone, "Transaction", store.String("nothing"))),
			wants{{audit.PostingWithoutTransaction, alone, ""}, {audit.AssetUnbalanced, usd, ""},
				{audit.BalanceBehind, bankUSD, ""}}},
		{"posting that says it is another's", set(inUSD[0], "Transaction", store.String("d-1")),
			wants{{audit.PostingDiffers, inUSD[0], ""}, {audit.PostingWithoutTransaction, inUSD[0], ""}}},
		{"header gone", drop(deposit), atItems(audit.PostingWithoutTransaction, inUSD...)},
		{"asset gone", drop(store.Asset.Key("AAPL")), atItems(audit.AssetMissing, store.Asset.Key("AAPL"))},
		{"account gone", drop(bank), atItems(audit.AccountMissing, bank)},
		{"asset without its currency", unset(store.Asset.Key("GOLD"), "Currency"),
			wants{{audit.CostWithoutCurrency, gold, "Legs[0]"}, {audit.CostWithoutCurrency, gold, "Legs[1]"},
				{audit.CostWithoutCurrency, gold, "Legs[2]"}}},
	}
}

// eventCorruptions are visible only by their checksums: each item is well formed and consistent with all others. An
// attacker who recomputes the checksums leaves no trace.
func (b book) eventCorruptions() []corruption {
	altered := func(name string, do change, keys ...store.Key) corruption {
		return corruption{name, do, atChecksums(audit.ChecksumDiffers, keys...)}
	}
	jane, margin := store.Account.Key("jane"), store.Account.Key("margin")
	firstGrant, newestGrant := store.Grant.Key("jane", "u-1", 1), store.Grant.Key("jane", "u-1", 3)
	revocation := store.Grant.Key("jane", "u-2", 2)
	first, second := store.Transaction.Key("d-1"), store.Transaction.Key("d-2")
	ofFirst, ofSecond := b.postingsOf(first), b.postingsOf(second)
	return []corruption{
		altered("account's profile", set(jane, "Profile", store.String(`{"email":"john@example.com"}`)), jane),
		altered("account's limit taken away", all(set(jane, "Overdraft", store.String("unlimited")),
			drop(store.Spend.Key("jane", "USD"))), jane), // with the guard, guard_unexpected would show it
		altered("account's limit raised", set(margin, "Overdraft.USD", store.Integer(50_001)), margin),
		altered("asset's scale", set(usd, "Scale", store.Integer(3)), usd),
		altered("header's actor", set(gold, "Actor", store.String("nobody")), gold),
		altered("grant's actor", set(newestGrant, "Actor", store.String("nobody")), newestGrant),
		altered("revocation's actor", set(revocation, "Actor", store.String("nobody")), revocation),
		{"newest grant's role", set(newestGrant, "Role", store.String("owner")),
			append(atChecksums(audit.ChecksumDiffers, newestGrant),
				want{audit.MembershipDiffers, store.Membership.Key("jane", "u-1"), ""})},
		altered("grant that says it is a revocation",
			all(set(firstGrant, store.AttrType, store.String("MemberRevoked")), unset(firstGrant, "Role")), firstGrant),
		altered("KSUIDs of two transactions exchanged", func(b book) {
			for i, posting := range ofFirst {
				id := fmt.Sprintf("Legs[%d].ID", i)
				b.set(first, id, b[ofSecond[i]]["ID"])
				b.set(second, id, b[posting]["ID"])
				b.set(posting, "Transaction", store.String("d-2"))
				b.set(ofSecond[i], "Transaction", store.String("d-1"))
			}
		}, append(slices.Concat(ofFirst, ofSecond), first, second)...),
		altered("checksum of another", set(jane, store.AttrChecksum, b[usd][store.AttrChecksum]), jane),
	}
}
