package verify

import (
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/audit"
	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
)

// postingOf returns the key of the i-th posting of a header.
func (b book) postingOf(header table.Key, i int) table.Key {
	leg := fmt.Sprintf("Legs[%d].", i)
	return table.Posting.Key(b.text(header, leg+"Account"), b.text(header, leg+"Asset"), b.text(header, leg+"ID"))
}

// postingsOf returns the keys of all postings of a header.
func (b book) postingsOf(header table.Key) (keys []table.Key) {
	for i := range b[header]["Legs"].(*types.AttributeValueMemberL).Value {
		keys = append(keys, b.postingOf(header, i))
	}
	return keys
}

// moved returns the key that a posting would have in another account.
func moved(posting table.Key, account string) table.Key {
	return table.Key{PK: table.Account.PK(account), SK: posting.SK}
}

// transactionCorruptions are differences between headers, postings and definitions.
func (b book) transactionCorruptions() []corruption {
	inUSD := b.postingsOf(deposit) // of bank, and of jane
	inGold := b.postingsOf(gold)
	bankSegment, janeSegment := b.segments("bank", "USD")[0], b.segments("jane", "USD")[0]
	inAAPL := b.postings("market", "AAPL")
	newest := inAAPL[len(inAAPL)-1]
	copied, claiming := table.Transaction.Key("x-2"), table.Transaction.Key("d-9")
	id := string(events.FirstKSUID(time.Now().Add(-time.Minute)))
	alone := table.Posting.Key("bank", "USD", id)
	return []corruption{
		{"header that doesn't balance", add(gold, "Legs[0].Quantity", 1),
			wants{{audit.TransactionUnbalanced, gold, "Legs"}, {audit.FingerprintDiffers, gold, "Fingerprint"},
				{audit.PostingDiffers, inGold[0], ""}}},
		{"transfer of three legs", set(gold, "Kind", ddb.String("transfer")),
			append(atItems(audit.PostingDiffers, inGold...), want{audit.TransactionShape, gold, "Legs"})},
		wrong("fingerprint by the wrong rule", deposit, "Fingerprint",
			ddb.String("2"+b.text(deposit, "Fingerprint")[1:]), audit.FingerprintDiffers),
		{"metadata changed", set(gold, "Metadata.order", ddb.String("8")),
			wants{{audit.FingerprintDiffers, gold, "Fingerprint"}}},
		{"posting gone", drop(inUSD[0]),
			wants{{audit.PostingMissing, inUSD[0], ""}, {audit.AssetUnbalanced, usd, ""},
				{audit.BalanceCountsMore, bankUSD, ""}, {audit.SegmentCountsMore, bankSegment, ""}}},
		{"transaction gone", drop(inUSD[0], inUSD[1], deposit),
			wants{{audit.BalanceCountsMore, bankUSD, ""}, {audit.SegmentCountsMore, bankSegment, ""},
				{audit.BalanceCountsMore, janeUSD, ""}, {audit.SegmentCountsMore, janeSegment, ""}}},
		{"header that claims the postings of another", all(put(copied, gold), set(copied, "ID", ddb.String("x-2"))),
			wants{{audit.TransactionClaimsOthers, copied, "Legs"}}},
		{"header that claims a leg of another, and lacks one", all(put(claiming, deposit),
			set(claiming, "ID", ddb.String("d-9")), set(claiming, "Legs[1].Account", ddb.String("margin"))),
			wants{{audit.TransactionClaimsOthers, claiming, "Legs"}, {audit.FingerprintDiffers, claiming, "Fingerprint"},
				{audit.PostingMissing, moved(inUSD[1], "margin"), ""}}},
		{"posting's quantity changed", add(inUSD[0], "Quantity", 1),
			wants{{audit.PostingDiffers, inUSD[0], ""}, {audit.AssetUnbalanced, usd, ""},
				{audit.BalanceWrong, bankUSD, ""}, {audit.SegmentWrong, bankSegment, ""}}},
		{"posting's cost changed, in no segment yet", add(newest, "Cost", 1),
			wants{{audit.PostingDiffers, newest, ""}, {audit.AssetUnbalanced, table.Asset.Key("AAPL"), ""},
				{audit.BalanceWrong, table.Balance.Key("market", "AAPL"), ""}}},
		{"posting's description changed", set(inGold[1], "Description", ddb.String("Silver")),
			atItems(audit.PostingDiffers, inGold[1])},
		{"posting of no transaction", all(put(alone, inUSD[0]), set(alone, "ID", ddb.String(id)),
			set(alone, table.AttrSK2, ddb.String(table.Posting.SK2(id))),
			set(alone, "Transaction", ddb.String("nothing"))),
			wants{{audit.PostingWithoutTransaction, alone, ""}, {audit.AssetUnbalanced, usd, ""},
				{audit.BalanceBehind, bankUSD, ""}}},
		{"posting that says it is another's", set(inUSD[0], "Transaction", ddb.String("d-1")),
			wants{{audit.PostingDiffers, inUSD[0], ""}, {audit.PostingWithoutTransaction, inUSD[0], ""}}},
		{"header gone", drop(deposit), atItems(audit.PostingWithoutTransaction, inUSD...)},
		{"asset gone", drop(table.Asset.Key("AAPL")), atItems(audit.AssetMissing, table.Asset.Key("AAPL"))},
		{"account gone", drop(bank), atItems(audit.AccountMissing, bank)},
		{"asset without its currency", unset(table.Asset.Key("GOLD"), "Currency"),
			wants{{audit.CostWithoutCurrency, gold, "Legs[0]"}, {audit.CostWithoutCurrency, gold, "Legs[1]"},
				{audit.CostWithoutCurrency, gold, "Legs[2]"}}},
	}
}

// eventCorruptions are visible only by their checksums: each item is well formed and consistent with all others. An
// attacker who recomputes the checksums leaves no trace.
func (b book) eventCorruptions() []corruption {
	altered := func(name string, do change, keys ...table.Key) corruption {
		return corruption{name, do, atChecksums(audit.ChecksumDiffers, keys...)}
	}
	jane, margin := table.Account.Key("jane"), table.Account.Key("margin")
	firstGrant, newestGrant := table.Grant.Key("jane", "u-1", 1), table.Grant.Key("jane", "u-1", 3)
	revocation := table.Grant.Key("jane", "u-2", 2)
	first, second := table.Transaction.Key("d-1"), table.Transaction.Key("d-2")
	ofFirst, ofSecond := b.postingsOf(first), b.postingsOf(second)
	return []corruption{
		altered("account's profile", set(jane, "Profile", ddb.String(`{"email":"john@example.com"}`)), jane),
		altered("account's limit taken away", all(set(jane, "Overdraft", ddb.String("unlimited")),
			drop(table.Spend.Key("jane", "USD"))), jane), // with the guard, guard_unexpected would show it
		altered("account's limit raised", set(margin, "Overdraft.USD", ddb.Integer(50_001)), margin),
		altered("asset's scale", set(usd, "Scale", ddb.Integer(3)), usd),
		altered("header's actor", set(gold, "Actor", ddb.String("nobody")), gold),
		altered("grant's actor", set(newestGrant, "Actor", ddb.String("nobody")), newestGrant),
		altered("revocation's actor", set(revocation, "Actor", ddb.String("nobody")), revocation),
		{"newest grant's role", set(newestGrant, "Role", ddb.String("owner")),
			append(atChecksums(audit.ChecksumDiffers, newestGrant),
				want{audit.MembershipDiffers, table.Membership.Key("jane", "u-1"), ""})},
		altered("grant that says it is a revocation",
			all(set(firstGrant, table.AttrType, ddb.String("MemberRevoked")), unset(firstGrant, "Role")), firstGrant),
		altered("KSUIDs of two transactions exchanged", func(b book) {
			for i, posting := range ofFirst {
				id := fmt.Sprintf("Legs[%d].ID", i)
				b.set(first, id, b[ofSecond[i]]["ID"])
				b.set(second, id, b[posting]["ID"])
				b.set(posting, "Transaction", ddb.String("d-2"))
				b.set(ofSecond[i], "Transaction", ddb.String("d-1"))
			}
		}, append(slices.Concat(ofFirst, ofSecond), first, second)...),
		altered("checksum of another", set(jane, table.AttrChecksum, b[usd][table.AttrChecksum]), jane),
	}
}
