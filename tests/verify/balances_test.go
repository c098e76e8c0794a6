package verify

import (
	"maps"

	"ledger.example/internal/audit"
	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
)

// uncount takes a posting of bank's, a debit of 100,000, out of a fold.
func uncount(f ddb.Item) {
	more(f, table.AttrCount, -1)
	more(f, table.AttrDebits, -100_000)
}

// ofBalances are seen between postings and their folds.
func ofBalances() []corruption {
	figure := func(fold, name string, n int64, code audit.Code) corruption {
		return corruption{name + " of the " + fold, func(b book) []want {
			more(b.within(janeUSD, fold), name, n)
			return one(code, janeUSD, "")
		}}
	}
	// older is a head that is another of the balance's folds.
	older := func(name, fold string, code audit.Code) corruption {
		return corruption{name, func(b book) []want {
			b.set(janeUSD, table.AttrHead, b[janeUSD][fold])
			return one(code, janeUSD, "")
		}}
	}
	segment := func(name string, code audit.Code, do func(b book, k table.Key)) corruption {
		return corruption{name, func(b book) []want {
			k := b.segments("jane", "USD")[0]
			do(b, k)
			return one(code, k, "")
		}}
	}
	return []corruption{
		figure(table.AttrHead, table.AttrCredits, 1, audit.BalanceWrong),
		figure(table.AttrHead, table.AttrDebits, -1, audit.BalanceWrong),
		figure(table.AttrHead, table.AttrExpenditure, 1, audit.BalanceWrong),
		figure(table.AttrHead, table.AttrCount, -1, audit.BalanceWrong),
		figure(table.AttrSeal, table.AttrCount, 1, audit.BalanceCountsMore),
		figure(table.AttrSeal, table.AttrCredits, 7, audit.BalanceWrong),
		figure(table.AttrBase, table.AttrDebits, 1, audit.BalanceWrong),
		inner("end of the head", janeUSD, table.AttrHead, table.AttrThrough, ddb.String(future), want{audit.BalanceWrong, janeUSD, ""}),
		{"base lost", func(b book) []want {
			b.unset(janeUSD, table.AttrBase)
			var wanted []want
			for _, k := range b.segments("jane", "USD") {
				wanted = append(wanted, want{audit.SegmentWrong, k, ""})
			}
			return wanted
		}},
		older("head older than the seal", table.AttrBase, audit.BalanceWrong),
		older("head that stopped", table.AttrSeal, audit.BalanceBehind),
		{"first posting", func(b book) []want {
			b.set(janeUSD, table.AttrFirst, b[b.postings("jane", "USD")[1]]["ID"])
			return one(audit.BalanceWrong, janeUSD, "")
		}},
		older("unfinished", table.AttrBase, audit.BalanceBehind).and(func(b book) {
			b.set(janeUSD, table.AttrUnfinished, ddb.Flag(true))
		}),
		{"unfinished, and nothing is missing", func(b book) []want {
			b.set(janeUSD, table.AttrUnfinished, ddb.Flag(true))
			return nil
		}},
		gone("balance gone", janeUSD, audit.BalanceLost, ""),
		{"all balances of an account gone", func(b book) []want {
			var wanted []want
			for _, k := range b.in("jane", table.BalancesRange("").From) {
				b.drop(k)
				wanted = append(wanted, want{audit.BalanceLost, k, ""})
			}
			return wanted
		}},
		{"balance that was never made", func(b book) []want {
			b.drop(janeGOLD)
			summary := b[table.SummaryKey("jane")]
			more(summary, table.AttrAssets, -1)
			more(summary, table.AttrHoldings, -1)
			return one(audit.BalanceBehind, janeGOLD, "")
		}},
		set("version above the range", bankUSD, table.AttrVersion, ddb.Integer(table.VersionMax+1), audit.WrongValue, table.AttrVersion),
		{"version at the end of its range", func(b book) []want {
			b.set(bankUSD, table.AttrVersion, ddb.Integer(table.VersionMax))
			return nil
		}},
		inner("count of 38 digits", bankUSD, table.AttrHead, table.AttrCount, digits38, want{audit.WrongValue, bankUSD, "Head.Count"}),
		{"posting that nobody counted", func(b book) []want {
			for _, fold := range []string{table.AttrBase, table.AttrSeal, table.AttrHead} {
				uncount(b.within(bankUSD, fold))
			}
			k := b.segments("bank", "USD")[0]
			uncount(b[k])
			return []want{{audit.BalanceBehind, bankUSD, ""}, {audit.SegmentBehind, k, ""}}
		}},
		{"posting counted twice", func(b book) []want {
			head := b.within(bankUSD, table.AttrHead)
			more(head, table.AttrCount, 1)
			more(head, table.AttrDebits, 100_000)
			return one(audit.BalanceCountsMore, bankUSD, "")
		}},
		{"balance of another asset's postings", func(b book) []want {
			for _, fold := range []string{table.AttrBase, table.AttrSeal, table.AttrHead} {
				b.set(janeUSD, fold, b[janeAAPL][fold])
			}
			end := textOf(b.within(janeAAPL, table.AttrBase), table.AttrThrough)
			return []want{{audit.BalanceWrong, janeUSD, ""},
				{audit.SegmentMissing, table.SegmentKey("jane", "USD", end), ""}}
		}},
		segment("segment's credits", audit.SegmentWrong, func(b book, k table.Key) { more(b[k], table.AttrCredits, 1) }),
		segment("segment's count", audit.SegmentCountsMore, func(b book, k table.Key) { more(b[k], table.AttrCount, 1) }),
		{"segment that begins too late", func(b book) []want {
			k := b.segments("jane", "USD")[1]
			b.set(k, table.AttrAfter, b[b.postings("jane", "USD")[stretch]]["ID"])
			return one(audit.SegmentWrong, k, table.AttrAfter)
		}},
		segment("first segment gone", audit.SegmentMissing, func(b book, k table.Key) { b.drop(k) }),
		{"segment above the base", func(b book) []want {
			postings := b.postings("jane", "USD")
			newest := textOf(b[postings[len(postings)-1]], "ID")
			k := table.SegmentKey("jane", "USD", newest)
			item := maps.Clone(b[b.segments("jane", "USD")[0]])
			item[table.AttrThrough] = ddb.String(newest)
			b.put(k, item)
			return one(audit.SegmentWrong, k, "")
		}},
	}
}

// ofAccounts are seen in summaries, guards, limits and memberships.
func ofAccounts() []corruption {
	summary, spend := table.SummaryKey("jane"), table.SpendKey("jane", "USD")
	viewer, revoked := table.MembershipKey("jane", "u-1"), table.MembershipKey("jane", "u-2")
	unexpected := func(name string, k table.Key) corruption {
		return corruption{name, func(b book) []want {
			b.put(k, b[spend])
			return one(audit.GuardUnexpected, k, table.AttrSpent)
		}}
	}
	return []corruption{
		add("holdings of a summary", summary, table.AttrHoldings, -1, audit.SummaryWrong, ""),
		{"first of a summary", func(b book) []want {
			b.set(summary, table.AttrFirst, b[b.postings("jane", "USD")[1]]["ID"])
			return one(audit.SummaryWrong, summary, "")
		}},
		set("version of a summary", summary, table.AttrVersion, digits38, audit.WrongValue, table.AttrVersion),
		gone("summary gone", summary, audit.SummaryWrong, ""),
		add("guard too low", spend, table.AttrSpent, -1, audit.GuardWrong, table.AttrSpent),
		gone("guard gone", spend, audit.GuardWrong, table.AttrSpent),
		unexpected("guard of an account without a limit", table.SpendKey("bank", "USD")),
		unexpected("guard of what was never spent", table.SpendKey("jane", "AAPL")),
		{"limit lowered", func(b book) []want {
			b.unset(table.AccountKey("margin"), "Overdraft")
			return one(audit.Overdrawn, table.BalanceKey("margin", "USD"), "")
		}},
		inner("limit of an asset that there isn't", table.AccountKey("margin"), "Overdraft", "EUR", ddb.Integer(5), want{audit.AssetMissing, table.AssetKey("EUR"), ""}),
		set("role of a membership", viewer, table.AttrRole, ddb.String("owner"), audit.MembershipDiffers, ""),
		add("number of a membership", viewer, table.AttrNumber, 1, audit.MembershipAlone, ""),
		set("membership of 38 digits", viewer, table.AttrNumber, digits38, audit.WrongValue, table.AttrNumber),
		{"membership before its revocation", func(b book) []want {
			b.set(revoked, table.AttrNumber, ddb.Integer(1))
			b.set(revoked, table.AttrRole, ddb.String("owner"))
			b.set(revoked, table.AttrPK2, ddb.String(table.UserPK2("u-2")))
			return one(audit.MembershipBehind, revoked, "")
		}},
		gone("membership gone", viewer, audit.MembershipBehind, ""),
		{"membership that nobody granted", func(b book) []want {
			k := table.MembershipKey("jane", "u-3")
			b.put(k, b[viewer])
			b.set(k, table.AttrUser, ddb.String("u-3"))
			b.set(k, table.AttrPK2, ddb.String(table.UserPK2("u-3")))
			return one(audit.MembershipAlone, k, "")
		}},
		gone("first grant gone", table.GrantKey("jane", "u-1", 1), audit.GrantMissing, ""),
		{"revocation gone", func(b book) []want {
			b.drop(table.GrantKey("jane", "u-2", 2))
			return one(audit.MembershipAlone, revoked, "")
		}},
	}
}
