package verify

import (
	"ledger.example/internal/audit"
	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
)

// uncount subtracts a posting of bank, a debit of 100,000, from the fold at a path, which ends with a dot.
func uncount(k table.Key, path string) change {
	return all(add(k, path+table.AttrCount, -1), add(k, path+table.AttrDebits, -100_000))
}

// balanceCorruptions are differences between postings and their folds.
func (b book) balanceCorruptions() []corruption {
	figure := func(fold, name string, n int64, code audit.Code) corruption {
		return corruption{name + " of the " + fold, add(janeUSD, fold+"."+name, n), atItems(code, janeUSD)}
	}
	// other replaces a fold of jane's USD.
	other := func(fold string, from table.Key, of string) change {
		return set(janeUSD, fold, b.value(from, of))
	}
	summary := table.Summary.Key("jane")
	postings, segments := b.postings("jane", "USD"), b.segments("jane", "USD")
	balances := b.in("jane", table.Balance.All().From)
	newest := b.text(postings[len(postings)-1], "ID")
	above := table.Segment.Key("jane", "USD", newest)
	bankSegment := b.segments("bank", "USD")[0]
	endOfAAPL := b.text(janeAAPL, "Base.Through")
	return []corruption{
		figure(table.AttrHead, table.AttrCredits, 1, audit.BalanceWrong),
		figure(table.AttrHead, table.AttrDebits, -1, audit.BalanceWrong),
		figure(table.AttrHead, table.AttrExpenditure, 1, audit.BalanceWrong),
		figure(table.AttrHead, table.AttrCount, -1, audit.BalanceWrong),
		figure(table.AttrSeal, table.AttrCount, 1, audit.BalanceCountsMore),
		figure(table.AttrSeal, table.AttrCredits, 7, audit.BalanceWrong),
		figure(table.AttrBase, table.AttrDebits, 1, audit.BalanceWrong),
		{"end of the head", set(janeUSD, "Head.Through", ddb.String(future)), atItems(audit.BalanceWrong, janeUSD)},
		{"base lost", unset(janeUSD, table.AttrBase), atItems(audit.SegmentWrong, segments...)},
		{"head older than the seal", other(table.AttrHead, janeUSD, table.AttrBase), atItems(audit.BalanceWrong, janeUSD)},
		{"head that stopped", other(table.AttrHead, janeUSD, table.AttrSeal), atItems(audit.BalanceBehind, janeUSD)},
		{"first posting", set(janeUSD, table.AttrFirst, b.value(postings[1], "ID")), atItems(audit.BalanceWrong, janeUSD)},
		{"unfinished", all(other(table.AttrHead, janeUSD, table.AttrBase),
			set(janeUSD, table.AttrUnfinished, ddb.Flag(true))), atItems(audit.BalanceBehind, janeUSD)},
		{"unfinished, and nothing is missing", set(janeUSD, table.AttrUnfinished, ddb.Flag(true)), nil},
		{"balance gone", drop(janeUSD), atItems(audit.BalanceLost, janeUSD)},
		{"all balances of an account gone", drop(balances...), atItems(audit.BalanceLost, balances...)},
		{"balance that was never projected", all(drop(janeGOLD), add(summary, table.AttrAssets, -1),
			add(summary, table.AttrHoldings, -1)), atItems(audit.BalanceBehind, janeGOLD)},
		wrong("version above the range", bankUSD, table.AttrVersion, ddb.Integer(table.VersionMax+1), audit.WrongValue),
		{"version at the end of its range", set(bankUSD, table.AttrVersion, ddb.Integer(table.VersionMax)), nil},
		wrong("count of 38 digits", bankUSD, "Head.Count", digits38, audit.WrongValue),
		{"posting that was never counted", all(uncount(bankUSD, "Base."), uncount(bankUSD, "Seal."),
			uncount(bankUSD, "Head."), uncount(bankSegment, "")),
			wants{{audit.BalanceBehind, bankUSD, ""}, {audit.SegmentBehind, bankSegment, ""}}},
		{"posting counted twice", all(add(bankUSD, "Head.Count", 1), add(bankUSD, "Head.Debits", 100_000)),
			atItems(audit.BalanceCountsMore, bankUSD)},
		{"balance of another asset's postings", all(other("Base", janeAAPL, "Base"), other("Seal", janeAAPL, "Seal"),
			other("Head", janeAAPL, "Head")),
			wants{{audit.BalanceWrong, janeUSD, ""},
				{audit.SegmentMissing, table.Segment.Key("jane", "USD", endOfAAPL), ""}}},
		{"segment's credits", add(segments[0], table.AttrCredits, 1), atItems(audit.SegmentWrong, segments[0])},
		{"segment's count", add(segments[0], table.AttrCount, 1), atItems(audit.SegmentCountsMore, segments[0])},
		wrong("segment that begins too late", segments[1], table.AttrAfter, b.value(postings[segmentPostings], "ID"),
			audit.SegmentWrong),
		{"first segment gone", drop(segments[0]), atItems(audit.SegmentMissing, segments[0])},
		{"segment above the base", all(put(above, segments[0]), set(above, table.AttrThrough, ddb.String(newest))),
			atItems(audit.SegmentWrong, above)},
	}
}

// accountCorruptions are in summaries, guards, limits and memberships.
func (b book) accountCorruptions() []corruption {
	summary, spend := table.Summary.Key("jane"), table.Spend.Key("jane", "USD")
	unlimited, unspent := table.Spend.Key("bank", "USD"), table.Spend.Key("jane", "AAPL")
	margin := table.Account.Key("margin")
	viewer, revoked := table.Membership.Key("jane", "u-1"), table.Membership.Key("jane", "u-2")
	alone := table.Membership.Key("jane", "u-3")
	firstGrant := table.Grant.Key("jane", "u-1", 1)
	return []corruption{
		{"holdings of a summary", add(summary, table.AttrHoldings, -1), atItems(audit.SummaryWrong, summary)},
		{"first of a summary", set(summary, table.AttrFirst, b.value(b.postings("jane", "USD")[1], "ID")),
			atItems(audit.SummaryWrong, summary)},
		{"assets of a summary", add(summary, table.AttrAssets, 1), atItems(audit.SummaryWrong, summary)},
		{"asset that a summary lacks", add(summary, table.AttrAssets, -1), atItems(audit.SummaryIncomplete, summary)},
		wrong("version of a summary", summary, table.AttrVersion, digits38, audit.WrongValue),
		{"summary gone", drop(summary), atItems(audit.SummaryIncomplete, summary)},
		{"guard too low", add(spend, table.AttrSpent, -1), wants{{audit.GuardWrong, spend, table.AttrSpent}}},
		{"guard gone", drop(spend), wants{{audit.GuardWrong, spend, table.AttrSpent}}},
		{"guard of an account without a limit", put(unlimited, spend),
			wants{{audit.GuardUnexpected, unlimited, table.AttrSpent}}},
		{"guard of an asset without debits", put(unspent, spend),
			wants{{audit.GuardUnexpected, unspent, table.AttrSpent}}},
		{"limit lowered", unset(margin, "Overdraft"), atItems(audit.Overdrawn, table.Balance.Key("margin", "USD"))},
		{"limit of an unknown asset", set(margin, "Overdraft.EUR", ddb.Integer(5)),
			atItems(audit.AssetMissing, table.Asset.Key("EUR"))},
		{"role of a membership", set(viewer, table.AttrRole, ddb.String("owner")),
			atItems(audit.MembershipDiffers, viewer)},
		{"number of a membership", add(viewer, table.AttrNumber, 1), atItems(audit.MembershipWithoutGrant, viewer)},
		wrong("membership of 38 digits", viewer, table.AttrNumber, digits38, audit.WrongValue),
		{"membership before its revocation", all(set(revoked, table.AttrNumber, ddb.Integer(1)),
			set(revoked, table.AttrRole, ddb.String("owner")),
			set(revoked, table.AttrPK2, ddb.String(table.Membership.PK2("u-2")))), atItems(audit.MembershipBehind, revoked)},
		{"membership gone", drop(viewer), atItems(audit.MembershipBehind, viewer)},
		{"membership without a grant", all(put(alone, viewer), set(alone, table.AttrUser, ddb.String("u-3")),
			set(alone, table.AttrPK2, ddb.String(table.Membership.PK2("u-3")))), atItems(audit.MembershipWithoutGrant, alone)},
		{"first grant gone", drop(firstGrant), atItems(audit.GrantMissing, firstGrant)},
		{"revocation gone", drop(table.Grant.Key("jane", "u-2", 2)), atItems(audit.MembershipWithoutGrant, revoked)},
	}
}
