package audit

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ledger.example/internal/table"
)

// Code names a kind of finding. Codes never change.
type Code string

// CodeMeaning is a code and its meaning.
type CodeMeaning struct {
	Code    Code
	Meaning string
	// IsBehind: the item shows less than its events do, or is missing, and contradicts none of them. All other findings
	// are evidence: events contradict each other, or an item shows more or other than its events, of which each may be
	// the altered one.
	IsBehind bool
	// IsProjected: it is about a projection, not about an event, a guard, or the copy of a change.
	IsProjected bool
	IsNumbered  bool // it is of the projections of numberedKinds
}

// codes has the codes in the order of this file, and ofNumbered those of numberedKinds. newCode, newBehind and
// newNumbered append to them while the package is initialized.
var codes, ofNumbered []CodeMeaning

func newCode(code Code, meaning string) Code {
	codes = append(codes, CodeMeaning{Code: code, Meaning: meaning})
	return code
}

// newBehind is newCode for a code of items that are behind.
func newBehind(code Code, meaning string) Code {
	codes = append(codes, CodeMeaning{Code: code, Meaning: meaning, IsBehind: true, IsProjected: true})
	return code
}

// newProjected is newCode for a code of projections that show more or other than their events.
func newProjected(code Code, meaning string) Code {
	codes = append(codes, CodeMeaning{Code: code, Meaning: meaning, IsProjected: true})
	return code
}

// Rebuildable reports whether a rebuild repairs what was found, and destroys nothing that is known: all findings are
// items that are behind. An altered event also leaves items behind, for example at its new time. So if anything was
// found that is evidence, nothing is to be rebuilt before somebody has looked at it.
func (r Report) Rebuildable() bool {
	for _, c := range Codes() {
		if !c.IsBehind && r.ByCode[c.Code] > 0 {
			return false
		}
	}
	return true
}

// OnlyProjections reports whether all findings are about projections: what is stored of events, guards and copies of
// changes agrees with itself. A projection may still show an event that is not stored.
func (r Report) OnlyProjections() bool {
	for _, c := range Codes() {
		if !c.IsProjected && r.ByCode[c.Code] > 0 {
			return false
		}
	}
	return true
}

// Codes returns all codes with their meanings.
func Codes() []CodeMeaning { return slices.Concat(codes, ofNumbered) }

// The codes: single items first, then transactions and definitions, then projections, guards, groups and grants.
var (
	UnknownItem      = newCode("unknown_item", "an item with a key or a type that the ledger does not use")
	UnknownAttribute = newCode("unknown_attribute", "an attribute that items of this type do not have")
	MissingAttribute = newCode("missing_attribute", "an item without an attribute that its type must have")
	WrongType        = newCode("wrong_type", "an attribute of the wrong type")
	WrongValue       = newCode("wrong_value", "a value that is out of range or not in canonical form")
	WrongKey         = newCode("wrong_key", "a key or an index key that does not match the item's attributes")
	ChecksumDiffers  = newCode("checksum_differs", "an event that does not match its checksum: it was altered")

	TransactionUnbalanced = newCode("transaction_unbalanced",
		"a transaction, or an end of a hold, whose quantities or costs of an asset do not sum to zero")
	TransactionShape        = newCode("transaction_shape", "a transaction that no request of its kind can produce")
	FingerprintDiffers      = newCode("fingerprint_differs", "a header whose fingerprint does not match its request")
	TransactionClaimsOthers = newCode("transaction_claims_others",
		"a header whose legs have the ids of another transaction's postings")
	PostingMissing            = newCode("posting_missing", "a leg of a header or of an end without its posting")
	PostingDiffers            = newCode("posting_differs", "a posting that differs from its header")
	PostingWithoutTransaction = newCode("posting_without_transaction",
		"a posting that is not a leg of the transaction it names")
	PostingWithoutEnd = newCode("posting_without_end", "a posting that ends a hold, although no end of it is stored")
	EndWithoutHold    = newCode("end_without_hold",
		"an end of a hold whose transaction is not a hold, or does not exist")
	EndWrong = newCode("end_wrong",
		"an end that does not fit its hold: other legs, a larger amount, another sign, or an impossible time")
	ReversalMissing    = newCode("reversal_missing", "a gap in the numbers of a transaction's reversals")
	ReversalWrong      = newCode("reversal_wrong", "a reversal that differs from its reversing transaction")
	ReversalExceeds    = newCode("reversal_exceeds", "reversals that add up to more than was posted")
	ReversalUnrecorded = newCode("reversal_unrecorded",
		"a reversing transaction that is missing from the reversals of the other transaction")
	PeriodMissing = newCode("period_missing", "a gap in the numbers of closed periods")
	GrowthMissing = newCode("growth_missing", "a gap in the numbers of the growths of lanes")
	GrowthWrong   = newCode("growth_wrong",
		"a growth that has no more lanes than the one before, or is in force earlier")
	PostedInClosed = newCode("posted_in_closed_period",
		"a transaction with an effective date in a period that was closed when it was recorded")
	AssetUnbalanced     = newCode("asset_unbalanced", "an asset whose postings in the whole ledger do not sum to zero")
	AssetMissing        = newCode("asset_missing", "an asset that is used but was never registered")
	AccountMissing      = newCode("account_missing", "an account that has items but was never opened")
	CostWithoutCurrency = newCode("cost_without_currency", "a leg with a cost, whose asset has no currency")

	BalanceWrong      = newProjected("balance_wrong", "a balance that is not the sum of its postings")
	BalanceCountsMore = newProjected("balance_counts_more", "a balance that counts more postings than are stored")
	BalanceLost       = newBehind("balance_lost", "postings whose balance was deleted")
	BalanceBehind     = newBehind("balance_behind", "a balance that does not count all settled postings")
	SegmentWrong      = newProjected("segment_wrong",
		"a segment that is not the sum of its postings, or does not begin where the one before ends")
	SegmentCountsMore = newProjected("segment_counts_more", "a segment that counts more postings than are stored")
	SegmentBehind     = newBehind("segment_behind", "a segment that does not count all settled postings")
	SegmentMissing    = newBehind("segment_missing", "postings below a balance's base that no segment counts")
	SummaryWrong      = newProjected("summary_wrong",
		"a summary that counts more or other balances than its account has")
	SummaryIncomplete = newBehind("summary_incomplete", "a summary that is missing, or does not count all balances")
	GuardWrong        = newCode("guard_wrong",
		"a guard that is not the sum of the debits of its account and asset, or not what limits over time counted")
	GuardUnexpected = newCode("guard_unexpected", "a guard of an account that has no limit or had no debit")
	GuardAhead      = newCode("guard_ahead", "a guard with a version of its account that is not stored")
	GuardBehind     = newCode("guard_behind", "a guard without the newest version of its account")
	Overdrawn       = newCode("overdrawn", "an account below its limit, even below the lowest it ever had")

	ChangeMissing    = newCode("change_missing", "a gap in the numbers of an account's changes")
	ChangeImpossible = newCode("change_impossible",
		"a change of a closed account, a change between an unlimited and a limited account, or one that does not "+
			"say that an earlier version had metadata")
	AccountCurrentWrong = newCode("account_current_wrong",
		"a copy of an account's newest change that differs from that change")
	DebitAfterClose = newCode("debit_after_close",
		"a debit of an account, or a cost alone taken from it, after it was closed")
	ClosedNotEmpty = newCode("closed_not_empty", "an account that was closed with a balance or an open hold")

	HoldEntryWrong  = newProjected("hold_entry_wrong", "an entry in a list of holds that differs from its hold")
	HoldEntryBehind = newBehind("hold_entry_behind",
		"an entry in a list of holds that is missing, or does not show the hold's end")
	HoldEntryWithoutHold = newProjected("hold_entry_without_hold",
		"an entry in a list of holds whose hold or end does not exist")

	GroupMissing    = newCode("group_missing", "a group that has items or accounts but was never registered")
	GroupingMissing = newCode("grouping_missing", "a gap in the numbers of the changes of an account's groups")
	GroupingWrong   = newCode("grouping_wrong",
		"a change of an account's groups that does not follow from the one before")

	ListEntryBehind = newBehind("list_entry_behind",
		"a transaction that is missing from the list by time, or from the list of an indexed key that it has: "+
			"the list of a key that was indexed later is complete only after a rebuild")
	ListEntryWrong = newProjected("list_entry_wrong",
		"an entry in a list of transactions that shows a hold as none, or the reverse")
	ListEntryWithoutTransaction = newProjected("list_entry_without_transaction",
		"an entry in a list of transactions whose transaction does not exist, or belongs in another list")
	ListedAccountBehind = newBehind("listed_account_behind",
		"an account that is missing from the list of an indexed key that it has, or whose entry does not show its "+
			"newest version: the list of a key that was indexed later is complete only after a rebuild")
	ListedAccountDiffers = newProjected("listed_account_differs",
		"an entry in a list of accounts that differs from the version with its number")
	ListedAccountWithoutVersion = newProjected("listed_account_without_version",
		"an entry in a list of accounts whose version does not exist, or needs no entry")
	JournalBehind = newBehind("journal_behind", "an event that is missing from the journal")
	EventUnseen   = newCode("event_unseen", "an event that neither the journal nor a projection shows, although both "+
		"show later ones: somebody may have added it, so look before you rebuild")
	JournalWrong = newProjected("journal_wrong",
		"an entry in the journal whose event does not exist or has another time")
	JournalAltered = newBehind("journal_altered",
		"a page of the journal that does not match its checksum, or whose key is no possible time of its writing")
	ListsIncomplete = newBehind("lists_incomplete",
		"so many missing or wrong entries in lists or in the journal that the report names only some of them")

	GrantMissing = newCode("grant_missing", "a gap in the numbers of a user's grants")
)

// Finding is one defect: the item, the stored value, and the value that the audit computed from the events.
type Finding struct {
	Code       Code
	Key        table.Key
	Attribute  string // "" if it is about the whole item
	Stored     string
	Recomputed string
}

// gap returns a finding if numbers between newest and number, with which key ends, are missing. It names the first.
func gap(code Code, what string, newest, number int64, key table.Key) []Finding {
	if newest+1 >= number {
		return nil
	}
	missing := table.Key{PK: key.PK, SK: strings.TrimSuffix(key.SK, table.Number(number)) + table.Number(newest+1)}
	return []Finding{{code, missing, "", absent, fmt.Sprintf("a %s, because number %d exists", what, number)}}
}

// compare orders findings by key, then by code and attribute.
func (f Finding) compare(g Finding) int {
	return cmp.Or(compareKeys(f.Key, g.Key), cmp.Compare(f.Code, g.Code), cmp.Compare(f.Attribute, g.Attribute))
}

// count updates the draft of the report. It is safe for concurrent use.
func (a *Audit) count(add func(*Report)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	add(&a.draft)
}

// result returns a copy of the draft, with sorted findings.
func (a *Audit) result() Report {
	a.mu.Lock()
	defer a.mu.Unlock()
	report := a.draft
	report.ByCode, report.ByKind = maps.Clone(report.ByCode), maps.Clone(report.ByKind)
	report.Findings = slices.SortedFunc(slices.Values(report.Findings), Finding.compare)
	return report
}

// report adds findings. After the audit has ended it adds none, because a failed read may be their cause.
func (a *Audit) report(ctx context.Context, findings ...Finding) {
	if len(findings) == 0 || ctx.Err() != nil {
		return
	}
	a.count(func(r *Report) {
		for _, f := range findings {
			r.Counts.Findings++
			r.ByCode[f.Code]++
			if len(r.Findings) < a.Findings {
				r.Findings = append(r.Findings, f)
			}
		}
	})
}

// countUnsettled counts a projection that kept changing.
func (a *Audit) countUnsettled() { a.count(func(r *Report) { r.Unsettled++ }) }
