package verify

import (
	"ledger.example/internal/audit"
	"ledger.example/internal/store"
)

// uncount subtracts a posting of bank, a debit of 100,000, from the fold at a path, which ends with a dot.
func uncount(k store.Key, path string) change {
	return all(add(k, path+store.AttrCount, -1), add(k, path+store.AttrDebits, -100_000))
}

// balanceCorruptions are differences between postings and their folds.
func (b book) balanceCorruptions() []corruption {
	figure := func(fold, name string, n int64, code audit.Code) corruption {
		return corruption{name + " of the " + fold, add(janeUSD, fold+"."+name, n), atItems(code, janeUSD)}
	}
	// other replaces a fold of jane's USD.
	other := func(fold string, from store.Key, of string) change {
		return set(janeUSD, fold, b.value(from, of))
	}
	summary := store.Summary.Key("jane")
	postings, segments := b.postings("jane", "USD"), b.segments("jane", "USD")
	balances := b.in("jane", store.Balance.All().From)
	newest := b.text(postings[len(postings)-1], "ID")
	above := store.Segment.Key("jane", "USD", newest)
	bankSegment := b.segments("bank", "USD")[0]
	endOfAAPL := b.text(janeAAPL, "Base.Through")
	return []corruption{
		figure(store.AttrHead, store.AttrCredits, 1, audit.BalanceWrong),
		figure(store.AttrHead, store.AttrDebits, -1, audit.BalanceWrong),
		figure(store.AttrHead, store.AttrExpenditure, 1, audit.BalanceWrong),
		figure(store.AttrHead, store.AttrCount, -1, audit.BalanceWrong),
		figure(store.AttrSeal, store.AttrCount, 1, audit.BalanceCountsMore),
		figure(store.AttrSeal, store.AttrCredits, 7, audit.BalanceWrong),
		figure(store.AttrBase, store.AttrDebits, 1, audit.BalanceWrong),
		{"end of the head", set(janeUSD, "Head.Through", store.String(future)), atItems(audit.BalanceWrong, janeUSD)},
		{"base lost", unset(janeUSD, store.AttrBase), atItems(audit.SegmentWrong, segments...)},
		{"head older than the seal", other(store.AttrHead, janeUSD, store.AttrBase), atItems(audit.BalanceWrong, janeUSD)},
		{"head that stopped", other(store.AttrHead, janeUSD, store.AttrSeal), atItems(audit.BalanceBehind, janeUSD)},
		{"first posting", set(janeUSD, store.AttrFirst, b.value(postings[1], "ID")), atItems(audit.BalanceWrong, janeUSD)},
		{"unfinished", all(other(store.AttrHead, janeUSD, store.AttrBase),
			set(janeUSD, store.AttrUnfinished, store.Flag(true))), atItems(audit.BalanceBehind, janeUSD)},
		{"unfinished, and nothing is missing", set(janeUSD, store.AttrUnfinished, store.Flag(true)), nil},
		{"balance gone", drop(janeUSD), atItems(audit.BalanceLost, janeUSD)},
		{"all balances of an account gone", drop(balances...), atItems(audit.BalanceLost, balances...)},
		{"balance that was never projected", all(drop(janeGOLD), add(summary, store.AttrAssets, -1),
			add(summary, store.AttrHoldings, -1)), atItems(audit.BalanceBehind, janeGOLD)},
		wrong("version above the range", bankUSD, store.AttrVersion, store.Integer(store.VersionMax+1), audit.WrongValue),
		{"version at the end of its range", set(bankUSD, store.AttrVersion, store.Integer(store.VersionMax)), nil},
		wrong("count of 38 digits", bankUSD, "Head.Count", digits38, audit.WrongValue),
		{"posting that was never counted", all(uncount(bankUSD, "Base."), uncount(bankUSD, "Seal."),
			uncount(bankUSD, "Head."), uncount(bankSegment, "")),
			wants{{audit.BalanceBehind, bankUSD, ""}, {audit.SegmentBehind, bankSegment, ""}}},
		{"posting counted twice", all(add(bankUSD, "Head.Count", 1), add(bankUSD, "Head.Debits", 100_000)),
			atItems(audit.BalanceCountsMore, bankUSD)},
		{"balance of another asset's postings", all(other("Base", janeAAPL, "Base"), other("Seal", janeAAPL, "Seal"),
			other("Head", janeAAPL, "Head")),
			wants{{audit.BalanceWrong, janeUSD, ""},
				{audit.SegmentMissing, store.Segment.Key("jane", "USD", endOfAAPL), ""}}},
		{"segment's credits", add(segments[0], store.AttrCredits, 1), atItems(audit.SegmentWrong, segments[0])},
		{"segment's count", add(segments[0], store.AttrCount, 1), atItems(audit.SegmentCountsMore, segments[0])},
		wrong("segment that begins too late", segments[1], store.AttrAfter, b.value(postings[segmentPostings], "ID"),
			audit.SegmentWrong),
		{"first segment gone", drop(segments[0]), atItems(audit.SegmentMissing, segments[0])},
		{"segment above the base", all(put(above, segments[0]), set(above, store.AttrThrough, store.String(newest))),
			atItems(audit.SegmentWrong, above)},
	}
}

// accountCorruptions are in summaries, guards, limits and memberships.
func (b book) accountCorruptions() []corruption {
	summary, spend := store.Summary.Key("jane"), store.Spend.Key("jane", "USD")
	unlimited, unspent := store.Spend.Key("bank", "USD"), store.Spend.Key("jane", "AAPL")
	margin := store.Account.Key("margin")
	viewer, revoked := store.Membership.Key("jane", "u-1"), store.Membership.Key("jane", "u-2")
	alone := store.Membership.Key("jane", "u-3")
	firstGrant := store.Grant.Key("jane", "u-1", 1)
	return []corruption{
		{"holdings of a summary", add(summary, store.AttrHoldings, -1), atItems(audit.SummaryWrong, summary)},
		{"first of a summary", set(summary, store.AttrFirst, b.value(b.postings("jane", "USD")[1], "ID")),
			atItems(audit.SummaryWrong, summary)},
		{"assets of a summary", add(summary, store.AttrAssets, 1), atItems(audit.SummaryWrong, summary)},
		{"asset that a summary lacks", add(summary, store.AttrAssets, -1), atItems(audit.SummaryIncomplete, summary)},
		wrong("version of a summary", summary, store.AttrVersion, digits38, audit.WrongValue),
		{"summary gone", drop(summary), atItems(audit.SummaryIncomplete, summary)},
		{"guard too low", add(spend, store.AttrSpent, -1), wants{{audit.GuardWrong, spend, store.AttrSpent}}},
		{"guard gone", drop(spend), wants{{audit.GuardWrong, spend, store.AttrSpent}}},
		{"guard of an account without a limit", put(unlimited, spend),
			wants{{audit.GuardUnexpected, unlimited, store.AttrSpent}}},
		{"guard of an asset without debits", put(unspent, spend),
			wants{{audit.GuardUnexpected, unspent, store.AttrSpent}}},
		{"limit lowered", unset(margin, "Overdraft"), atItems(audit.Overdrawn, store.Balance.Key("margin", "USD"))},
		{"limit of an unknown asset", set(margin, "Overdraft.EUR", store.Integer(5)),
			atItems(audit.AssetMissing, store.Asset.Key("EUR"))},
		{"role of a membership", set(viewer, store.AttrRole, store.String("owner")),
			atItems(audit.MembershipDiffers, viewer)},
		{"number of a membership", add(viewer, store.AttrNumber, 1), atItems(audit.MembershipWithoutGrant, viewer)},
		wrong("membership of 38 digits", viewer, store.AttrNumber, digits38, audit.WrongValue),
		{"membership before its revocation", all(set(revoked, store.AttrNumber, store.Integer(1)),
			set(revoked, store.AttrRole, store.String("owner")),
			set(revoked, store.AttrPK2, store.String(store.Membership.PK2("u-2")))), atItems(audit.MembershipBehind, revoked)},
		{"membership gone", drop(viewer), atItems(audit.MembershipBehind, viewer)},
		{"membership without a grant", all(put(alone, viewer), set(alone, store.AttrUser, store.String("u-3")),
			set(alone, store.AttrPK2, store.String(store.Membership.PK2("u-3")))), atItems(audit.MembershipWithoutGrant, alone)},
		{"first grant gone", drop(firstGrant), atItems(audit.GrantMissing, firstGrant)},
		{"revocation gone", drop(store.Grant.Key("jane", "u-2", 2)), atItems(audit.MembershipWithoutGrant, revoked)},
	}
}
