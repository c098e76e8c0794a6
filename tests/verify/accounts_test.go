package verify

import (
	"ledger.example/cmd/ledger/audit"
	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
)

// ofAccounts are seen in summaries, guards, limits and memberships.
func ofAccounts() []corruption {
	summary, spend := table.SummaryKey("jane"), table.SpendKey("jane", "USD")
	viewer, revoked := table.MembershipKey("jane", "u-1"), table.MembershipKey("jane", "u-2")
	return []corruption{
		{"holdings of a summary", func(b book) []want {
			more(b[summary], table.AttrHoldings, -1)
			return one(audit.SummaryWrong, summary, "")
		}},
		{"assets of a summary", func(b book) []want {
			more(b[summary], table.AttrAssets, 1)
			return one(audit.SummaryWrong, summary, "")
		}},
		{"first of a summary", func(b book) []want {
			b.set(summary, table.AttrFirst, b[b.postings("jane", "USD")[1]]["ID"])
			return one(audit.SummaryWrong, summary, "")
		}},
		{"summary gone", func(b book) []want {
			b.drop(summary)
			return one(audit.SummaryWrong, summary, "")
		}},
		{"guard too low", func(b book) []want {
			more(b[spend], table.AttrSpent, -1)
			return one(audit.GuardWrong, spend, table.AttrSpent)
		}},
		{"guard too high", func(b book) []want {
			more(b[spend], table.AttrSpent, 1_000)
			return one(audit.GuardWrong, spend, table.AttrSpent)
		}},
		{"guard gone", func(b book) []want {
			b.drop(spend)
			return one(audit.GuardWrong, spend, table.AttrSpent)
		}},
		{"guard of an account without a limit", func(b book) []want {
			k := table.SpendKey("bank", "USD")
			b.put(k, b[spend])
			return one(audit.GuardUnexpected, k, table.AttrSpent)
		}},
		{"guard of what was never spent", func(b book) []want {
			k := table.SpendKey("jane", "AAPL")
			b.put(k, b[spend])
			return one(audit.GuardUnexpected, k, table.AttrSpent)
		}},
		{"limit lowered", func(b book) []want {
			b.unset(table.AccountKey("margin"), "Overdraft")
			return one(audit.Overdrawn, table.BalanceKey("margin", "USD"), "")
		}},
		{"limit of an asset that there isn't", func(b book) []want {
			k := table.AssetKey("EUR")
			b.within(table.AccountKey("margin"), "Overdraft")["EUR"] = wire.Integer(5)
			return one(audit.AssetMissing, k, "")
		}},
		{"role of a membership", func(b book) []want {
			b.set(viewer, table.AttrRole, wire.String("owner"))
			return one(audit.MembershipWrong, viewer, "")
		}},
		{"number of a membership", func(b book) []want {
			more(b[viewer], table.AttrNumber, 1)
			return one(audit.MembershipWrong, viewer, "")
		}},
		{"membership before its revocation", func(b book) []want {
			b.set(revoked, table.AttrNumber, wire.Integer(1))
			b.set(revoked, table.AttrRole, wire.String("owner"))
			b.set(revoked, table.AttrPK2, wire.String(table.UserPK2("u-2")))
			return one(audit.MembershipBehind, revoked, "")
		}},
		{"membership gone", func(b book) []want {
			b.drop(viewer)
			return one(audit.MembershipBehind, viewer, "")
		}},
		{"membership that nobody granted", func(b book) []want {
			k := table.MembershipKey("jane", "u-3")
			b.put(k, b[viewer])
			b.set(k, table.AttrUser, wire.String("u-3"))
			b.set(k, table.AttrPK2, wire.String(table.UserPK2("u-3")))
			return one(audit.MembershipWrong, k, "")
		}},
		{"first grant gone", func(b book) []want {
			k := table.GrantKey("jane", "u-1", 1)
			b.drop(k)
			return one(audit.GrantMissing, k, "")
		}},
		{"revocation gone", func(b book) []want {
			b.drop(table.GrantKey("jane", "u-2", 2))
			return one(audit.MembershipWrong, revoked, "")
		}},
	}
}
