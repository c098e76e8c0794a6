package audit

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"ledger.example/internal/table"
)

// Code names a kind of finding. Codes never change.
type Code string

// CodeMeaning is a code with what it means.
type CodeMeaning struct {
	Code    Code
	Meaning string
}

// codes are all codes in the order of this file. newCode adds to them while the package is initialized.
var codes []CodeMeaning

func newCode(code Code, meaning string) Code {
	codes = append(codes, CodeMeaning{code, meaning})
	return code
}

// Codes returns all codes with their meanings, in the order of this file.
func Codes() []CodeMeaning { return slices.Clone(codes) }

// The codes: of single items, of transactions and definitions, and of projections, guards, groups and grants.
var (
	UnknownItem      = newCode("unknown_item", "an item whose key or type the ledger does not have")
	UnknownAttribute = newCode("unknown_attribute", "an attribute that such an item does not have")
	MissingAttribute = newCode("missing_attribute", "an attribute that such an item must have")
	WrongType        = newCode("wrong_type", "an attribute of the wrong type")
	WrongValue       = newCode("wrong_value", "a value that is out of range or not in canonical form")
	WrongKey         = newCode("wrong_key", "keys, index keys included, that differ from the item's own fields")
	ChecksumDiffers  = newCode("checksum_differs", "an event that does not match its checksum: it was altered")
	ChecksumMissing  = newCode("checksum_missing",
		"an event without a checksum, though its age or its transaction shows that it had one")

	TransactionUnbalanced = newCode("transaction_unbalanced",
		"a transaction, or an end of a hold, whose quantities or costs of an asset do not sum to zero")
	TransactionShape        = newCode("transaction_shape", "legs that no request of this kind can produce")
	FingerprintDiffers      = newCode("fingerprint_differs", "a header whose fingerprint does not match its request")
	TransactionClaimsOthers = newCode("transaction_claims_others",
		"a header whose legs are the postings of another transaction")
	PostingMissing            = newCode("posting_missing", "a header's leg without its posting")
	PostingDiffers            = newCode("posting_differs", "a posting that differs from its header")
	PostingWithoutTransaction = newCode("posting_without_transaction", "a posting that is in no header")
	PostingWithoutEnd         = newCode("posting_without_end", "a posting that ends a hold of which no end is stored")
	EndWithoutHold            = newCode("end_without_hold", "an end of a transaction that is no hold, or does not exist")
	EndWrong                  = newCode("end_wrong",
		"an end that its hold cannot have: other legs, more than was held, another sign, or another time")
	ReversalMissing    = newCode("reversal_missing", "a gap in the numbers of a transaction's reversals")
	ReversalWrong      = newCode("reversal_wrong", "a reversal that differs from its reversing transaction")
	ReversalExceeds    = newCode("reversal_exceeds", "reversals that took back more than was posted")
	ReversalUnrecorded = newCode("reversal_unrecorded",
		"a reversing transaction that is not among the reversals of what it reverses")
	AssetUnbalanced = newCode("asset_unbalanced",
		"an asset whose postings, over the whole ledger, do not sum to zero")
	AssetMissing        = newCode("asset_missing", "an asset that is used but was never registered")
	AccountMissing      = newCode("account_missing", "an account that has items but was never opened")
	CostWithoutCurrency = newCode("cost_without_currency", "a cost in an asset that has no currency")

	BalanceWrong      = newCode("balance_wrong", "a balance that is not the sum of its postings")
	BalanceCountsMore = newCode("balance_counts_more", "a balance that counts more postings than exist")
	BalanceLost       = newCode("balance_lost", "postings whose balance was deleted")
	BalanceBehind     = newCode("balance_behind", "a balance that has not counted settled postings")
	SegmentWrong      = newCode("segment_wrong",
		"a segment that is not the sum of its postings, or is not adjacent to the one before")
	SegmentCountsMore = newCode("segment_counts_more", "a segment that counts more postings than exist")
	SegmentBehind     = newCode("segment_behind", "a segment that has not counted settled postings")
	SegmentMissing    = newCode("segment_missing", "postings below a balance's base that are in no segment")
	SummaryWrong      = newCode("summary_wrong", "a summary that does not match its account's balances")
	GuardWrong        = newCode("guard_wrong", "a guard that is not the sum of the debits of its account and asset")
	GuardUnexpected   = newCode("guard_unexpected", "a guard of an account that has no limit or never spent")
	GuardBehind       = newCode("guard_behind", "a guard that was not told of the newest change of its account")
	Overdrawn         = newCode("overdrawn", "an account below every limit that it ever had")

	ChangeMissing    = newCode("change_missing", "a gap in the numbers of an account's changes")
	ChangeImpossible = newCode("change_impossible",
		"a change of a closed account, or one that gives an account a limit or takes its limit away")
	AccountCurrentWrong = newCode("account_current_wrong",
		"what an account is now, which differs from its newest change")
	DebitAfterClose = newCode("debit_after_close", "a debit of an account after it was closed")
	ClosedNotEmpty  = newCode("closed_not_empty", "an account that was closed with a balance or an open hold")

	HoldEntryWrong  = newCode("hold_entry_wrong", "an entry in a list of holds that differs from its hold")
	HoldEntryBehind = newCode("hold_entry_behind",
		"an entry in a list of holds that is missing, or does not show the hold's end")
	HoldEntryWithoutHold = newCode("hold_entry_without_hold",
		"an entry in a list of holds, of a hold or of an end that does not exist")

	GroupMissing    = newCode("group_missing", "a group that has items or accounts but was never registered")
	GroupingMissing = newCode("grouping_missing", "a gap in the numbers of the changes of an account's groups")
	GroupingWrong   = newCode("grouping_wrong",
		"a change of an account's groups that does not follow from the one before")
	GroupedDiffers       = newCode("grouped_differs", "a place in a group that differs from the change with its number")
	GroupedWithoutChange = newCode("grouped_without_change", "a place in a group whose change does not exist")
	GroupedBehind        = newCode("grouped_behind", "a place in a group that does not show the newest change of it")

	ListEntryBehind = newCode("list_entry_behind",
		"a transaction that is not in the list by time, or not in that of an indexed key that it has: one that was "+
			"indexed later is complete only after a rebuild")
	ListEntryWrong              = newCode("list_entry_wrong", "an entry in a list of transactions that does not show a hold as one")
	ListEntryWithoutTransaction = newCode("list_entry_without_transaction",
		"an entry in a list of transactions, of one that does not exist, or that does not belong there")
	JournalBehind   = newCode("journal_behind", "a transaction, or an end of a hold, that is not in the journal")
	JournalWrong    = newCode("journal_wrong", "an entry in the journal of what did not happen, or not then")
	ListsIncomplete = newCode("lists_incomplete",
		"more entries of lists or of the journal missing, or wrong, than can be named")

	GrantMissing           = newCode("grant_missing", "a gap in the numbers of a user's grants")
	MembershipDiffers      = newCode("membership_differs", "a membership that differs from the grant with its number")
	MembershipWithoutGrant = newCode("membership_without_grant", "a membership whose grant does not exist")
	MembershipBehind       = newCode("membership_behind", "a membership that shows a grant older than the newest")
)

// Finding is one defect: the item, what is stored there, and what is right by recomputation.
type Finding struct {
	Code       Code
	Key        table.Key
	Attribute  string // "" if it is about the whole item
	Stored     string
	Recomputed string
}

// compare orders findings by their items.
func (f Finding) compare(g Finding) int {
	return cmp.Or(cmp.Compare(f.Key.PK, g.Key.PK), cmp.Compare(f.Key.SK, g.Key.SK), cmp.Compare(f.Code, g.Code),
		cmp.Compare(f.Attribute, g.Attribute))
}

// count adds to the report in the making.
func (a *Audit) count(add func(*Report)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	add(&a.made)
}

// soFar returns a copy of the report in the making, with sorted findings.
func (a *Audit) soFar() Report {
	a.mu.Lock()
	defer a.mu.Unlock()
	report := a.made
	report.ByCode, report.ByKind = maps.Clone(report.ByCode), maps.Clone(report.ByKind)
	report.Findings = slices.SortedFunc(slices.Values(report.Findings), Finding.compare)
	return report
}

// report adds findings. It adds none after the audit has failed: a failed read may be their cause.
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

// noteUnsettled counts a balance or a summary that kept changing.
func (a *Audit) noteUnsettled() { a.count(func(r *Report) { r.Unsettled++ }) }
