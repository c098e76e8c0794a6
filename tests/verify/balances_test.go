package verify

import (
	"maps"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/cmd/ledger/audit"
	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
)

// uncount takes a posting of bank's, a debit of 100,000, out of a fold.
func uncount(f wire.Item) {
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
	return []corruption{
		figure(table.AttrHead, table.AttrCredits, 1, audit.BalanceWrong),
		figure(table.AttrHead, table.AttrDebits, -1, audit.BalanceWrong),
		figure(table.AttrHead, table.AttrExpenditure, 1, audit.BalanceWrong),
		figure(table.AttrHead, table.AttrCount, -1, audit.BalanceWrong),
		figure(table.AttrSeal, table.AttrCount, 1, audit.BalanceWrong),
		figure(table.AttrSeal, table.AttrCredits, 7, audit.BalanceWrong),
		figure(table.AttrBase, table.AttrDebits, 1, audit.BalanceWrong),
		{"end of the head", func(b book) []want {
			b.within(janeUSD, table.AttrHead)[table.AttrThrough] = wire.String(future)
			return one(audit.BalanceWrong, janeUSD, "")
		}},
		{"end of the seal", func(b book) []want {
			b.within(janeUSD, table.AttrSeal)[table.AttrThrough] = wire.String(future)
			return one(audit.BalanceWrong, janeUSD, "")
		}},
		{"base lost", func(b book) []want {
			b.unset(janeUSD, table.AttrBase)
			var wanted []want
			for _, k := range b.segments("jane", "USD") {
				wanted = append(wanted, want{audit.SegmentWrong, k, ""})
			}
			return wanted
		}},
		{"head older than the seal", func(b book) []want {
			b.set(janeUSD, table.AttrHead, b[janeUSD][table.AttrBase])
			return one(audit.BalanceWrong, janeUSD, "")
		}},
		{"head that stopped", func(b book) []want {
			b.set(janeUSD, table.AttrHead, b[janeUSD][table.AttrSeal])
			return one(audit.BalanceBehind, janeUSD, "")
		}},
		{"first posting", func(b book) []want {
			b.set(janeUSD, table.AttrFirst, b[b.postings("jane", "USD")[1]]["ID"])
			return one(audit.BalanceWrong, janeUSD, "")
		}},
		{"unfinished", func(b book) []want {
			b.set(janeUSD, table.AttrUnfinished, wire.Flag(true))
			b.set(janeUSD, table.AttrHead, b[janeUSD][table.AttrBase])
			return one(audit.BalanceBehind, janeUSD, "")
		}},
		{"unfinished, and nothing is missing", func(b book) []want {
			b.set(janeUSD, table.AttrUnfinished, wire.Flag(true))
			return nil
		}},
		{"balance gone", func(b book) []want {
			b.drop(janeUSD)
			return one(audit.BalanceBehind, janeUSD, "")
		}},
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
			return one(audit.BalanceWrong, bankUSD, "")
		}},
		{"balance of another asset's postings", func(b book) []want {
			for _, fold := range []string{table.AttrBase, table.AttrSeal, table.AttrHead} {
				b.set(janeUSD, fold, b[janeAAPL][fold])
			}
			end := textOf(b.within(janeAAPL, table.AttrBase), table.AttrThrough)
			return []want{{audit.BalanceWrong, janeUSD, ""}, {audit.SegmentMissing, table.SegmentKey("jane", "USD", end), ""}}
		}},
		{"segment's credits", func(b book) []want {
			k := b.segments("jane", "USD")[0]
			more(b[k], table.AttrCredits, 1)
			return one(audit.SegmentWrong, k, "")
		}},
		{"segment that begins too late", func(b book) []want {
			k := b.segments("jane", "USD")[1]
			b.set(k, table.AttrAfter, b[b.postings("jane", "USD")[stretch]]["ID"])
			return one(audit.SegmentWrong, k, table.AttrAfter)
		}},
		{"segment that begins too early", func(b book) []want {
			k := b.segments("jane", "USD")[1]
			b.unset(k, table.AttrAfter)
			return one(audit.SegmentWrong, k, table.AttrAfter)
		}},
		{"first segment gone", func(b book) []want {
			k := b.segments("jane", "USD")[0]
			b.drop(k)
			return one(audit.SegmentMissing, k, "")
		}},
		{"last segment gone", func(b book) []want {
			all := b.segments("jane", "USD")
			k := all[len(all)-1]
			b.drop(k)
			return one(audit.SegmentMissing, k, "")
		}},
		{"segment above the base", func(b book) []want {
			postings := b.postings("jane", "USD")
			newest := b[postings[len(postings)-1]]["ID"].(*types.AttributeValueMemberS).Value
			k := table.SegmentKey("jane", "USD", newest)
			item := maps.Clone(b[b.segments("jane", "USD")[0]])
			item[table.AttrThrough] = wire.String(newest)
			b.put(k, item)
			return one(audit.SegmentWrong, k, "")
		}},
	}
}
