package audit

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"ledger.example/ledger/table"
)

// Code names a kind of finding. Codes are stable.
type Code string

// The codes.
const (
	UnknownItem      Code = "unknown_item"
	UnknownAttribute Code = "unknown_attribute"
	MissingAttribute Code = "missing_attribute"
	WrongType        Code = "wrong_type"
	WrongValue       Code = "wrong_value"
	WrongKey         Code = "wrong_key"

	TransactionUnbalanced Code = "transaction_unbalanced"
	TransactionShape      Code = "transaction_shape"
	FingerprintDiffers    Code = "fingerprint_differs"
	PostingMissing        Code = "posting_missing"
	PostingDiffers        Code = "posting_differs"
	PostingAlone          Code = "posting_without_transaction"
	AssetUnbalanced       Code = "asset_unbalanced"
	AssetMissing          Code = "asset_missing"
	AccountMissing        Code = "account_missing"
	CostWithoutCurrency   Code = "cost_without_currency"

	BalanceWrong     Code = "balance_wrong"
	BalanceBehind    Code = "balance_behind"
	SegmentWrong     Code = "segment_wrong"
	SegmentBehind    Code = "segment_behind"
	SegmentMissing   Code = "segment_missing"
	SummaryWrong     Code = "summary_wrong"
	GuardWrong       Code = "guard_wrong"
	GuardUnexpected  Code = "guard_unexpected"
	Overdrawn        Code = "overdrawn"
	GrantMissing     Code = "grant_missing"
	MembershipWrong  Code = "membership_wrong"
	MembershipBehind Code = "membership_behind"
)

// Codes lists all codes with their meaning, in the order of this file.
func Codes() []struct {
	Code    Code
	Meaning string
} {
	return []struct {
		Code    Code
		Meaning string
	}{
		{UnknownItem, "an item whose key or type the ledger does not have"},
		{UnknownAttribute, "an attribute that such an item does not have"},
		{MissingAttribute, "an attribute that such an item must have"},
		{WrongType, "an attribute of another type"},
		{WrongValue, "a value out of range, or not in its one canonical form"},
		{WrongKey, "keys, secondary ones included, that are not those of the item's own fields"},
		{TransactionUnbalanced, "a transaction whose quantities or costs of an asset do not sum to zero"},
		{TransactionShape, "legs that a request of this kind cannot have made"},
		{FingerprintDiffers, "a header whose fingerprint is not that of the request that it tells"},
		{PostingMissing, "a header's leg without its posting"},
		{PostingDiffers, "a posting that says something else than its header"},
		{PostingAlone, "a posting that no header has"},
		{AssetUnbalanced, "an asset whose postings, over the whole ledger, do not sum to zero"},
		{AssetMissing, "an asset that is named and was never registered"},
		{AccountMissing, "an account that has items and was never opened"},
		{CostWithoutCurrency, "a cost of an asset that has no currency"},
		{BalanceWrong, "a balance that is not the fold of its postings"},
		{BalanceBehind, "a balance that has not counted settled postings"},
		{SegmentWrong, "a segment that is not the fold of its stretch, or does not meet the one before"},
		{SegmentBehind, "a segment that has not counted settled postings"},
		{SegmentMissing, "a stretch below a balance's base that no segment holds"},
		{SummaryWrong, "a summary that does not count its account's balances"},
		{GuardWrong, "a guard that is not the gross debits of its account and asset"},
		{GuardUnexpected, "a guard of an account without a limit, or of one that never spent"},
		{Overdrawn, "an account below its limit"},
		{GrantMissing, "a gap in the numbers of a user's grants"},
		{MembershipWrong, "a membership that is not the newest grant"},
		{MembershipBehind, "a membership that shows an earlier grant than the newest"},
	}
}

// Finding is one thing that is wrong: the item, what is stored there and what is right by recomputation.
type Finding struct {
	Code       Code
	Key        table.Key
	Attribute  string // "" when it is about the whole item
	Stored     string
	Recomputed string
}

func (f Finding) compare(g Finding) int {
	return cmp.Or(cmp.Compare(f.Key.PK, g.Key.PK), cmp.Compare(f.Key.SK, g.Key.SK), cmp.Compare(f.Code, g.Code), cmp.Compare(f.Attribute, g.Attribute))
}

// log keeps the first findings and counts all. It is safe for concurrent use.
type log struct {
	most int

	mu    sync.Mutex
	first []Finding
	count map[Code]int64
}

func (l *log) add(f Finding) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count == nil {
		l.count = make(map[Code]int64)
	}
	l.count[f.Code]++
	if len(l.first) < l.most {
		l.first = append(l.first, f)
	}
}

func (l *log) byCode() map[Code]int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count == nil {
		return map[Code]int64{}
	}
	return maps.Clone(l.count)
}

func (l *log) shown() []Finding {
	l.mu.Lock()
	defer l.mu.Unlock()
	shown := slices.Clone(l.first)
	slices.SortFunc(shown, Finding.compare)
	return shown
}

func (a *Audit) report(findings ...Finding) {
	for _, f := range findings {
		a.found.add(f)
		a.counts.findings.Add(1)
	}
}

type counters struct {
	items, transactions, postings, accounts, findings, unsettled atomic.Int64
}

func (c *counters) now() Counts {
	return Counts{
		Items: c.items.Load(), Transactions: c.transactions.Load(), Postings: c.postings.Load(),
		Accounts: c.accounts.Load(), Findings: c.findings.Load(),
	}
}
