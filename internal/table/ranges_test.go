package table_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ledger.example/internal/table"
)

// A range of an asset's postings contains exactly these, and no other items of the account, even if one asset's id is a
// prefix of another's.
func TestPostingRanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		asset, k := ids().Draw(t, "asset"), ksuids().Draw(t, "ksuid")
		bound := rapid.OneOf(rapid.Just(""), rapid.Just(k), ksuids())
		low, high := bound.Draw(t, "low"), bound.Draw(t, "high")
		other := drawItem(t)
		own := table.PostingKey("x", asset, k).SK

		is := func(what string, r table.Range, key string, want bool) {
			t.Helper()
			if got := r.Contains(key); got != want {
				t.Fatalf("%s %q contains %s: %v", what, r, key, got)
			}
			if want && r.Empty() {
				t.Fatalf("%s %q calls itself empty", what, r)
			}
		}
		is("(after, through]", table.PostingsAfter(asset, low, high), own, k > low && (high == "" || k <= high))
		is("[from, to)", table.PostingsBetween(asset, low, high), own, k >= low && (high == "" || k < high))
		is("all", table.PostingsAfter(asset, "", ""), own, true)
		is("segments from", table.SegmentsFrom(asset, low), table.SegmentKey("x", asset, k).SK, k >= low)
		is("segments through", table.SegmentsThrough(asset, low, k), table.SegmentKey("x", asset, k).SK, k > low)
		is("segments through", table.SegmentsThrough(asset, "", low), table.SegmentKey("x", asset, k).SK, low == "" || k <= low)
		is("history", table.HistoryRange(low, high), table.PostingSK2(k), k >= low && (high == "" || k < high))
		is("history", table.HistoryRange(low, high), table.ProfileSK2, false)
		if other.kind != "posting" || other.second != asset {
			is("(after, through]", table.PostingsAfter(asset, low, high), other.key.SK, false)
			is("[from, to)", table.PostingsBetween(asset, low, high), other.key.SK, false)
		}
		if other.kind != "segment" || other.second != asset {
			is("segments from", table.SegmentsFrom(asset, low), other.key.SK, false)
			is("segments through", table.SegmentsThrough(asset, low, k), other.key.SK, false)
		}
		skip := table.PostingAssetAfter(asset)
		is("skip", skip, own, false)
		is("skip", skip, other.key.SK, other.kind == "posting" && other.second > asset)
		is("skip from the first", table.PostingAssetAfter(""), other.key.SK, other.kind == "posting")
	})
}

// A range of a list contains exactly the items of its kind with greater ids.
func TestListRanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		i := drawItem(t)
		alike := i.second[:min(1, len(i.second))] // begins as the second id does
		last := rapid.SampledFrom([]string{"", i.first, i.second, alike, ids().Draw(t, "other")}).Draw(t, "last")
		prefix := rapid.OneOf(rapid.Just(""), rapid.Just(i.first[:1]), rapid.Just(i.first), ids()).Draw(t, "prefix")
		is := func(what string, r table.Range, key string, want bool) {
			t.Helper()
			if got := r.Contains(key); got != want {
				t.Fatalf("%s %q contains %s: %v", what, r, key, got)
			}
		}
		is("balances", table.BalancesRange(last), i.key.SK, i.kind == "balance" && i.second > last)
		is("skip balances", table.BalanceAfter(last), i.key.SK, i.kind == "balance" && i.second > last)
		is("skip segments", table.SegmentAssetAfter(last), i.key.SK, i.kind == "segment" && i.second > last)
		isMember := i.kind == "membership" || i.kind == "of a group"
		isGrant := i.kind == "grant" || i.kind == "grant in a group"
		is("skip grants", table.GrantUserAfter(last), i.key.SK, isGrant && i.second > last)
		is("skip members", table.MembershipAfter(last), i.key.SK, isMember && i.second > last)
		is("skip groups", table.GroupedAfter(last), i.key.SK, i.kind == "grouped" && i.second > last)
		is("groups", table.GroupedRange(last), i.key.SK, i.kind == "grouped" && i.second > last)
		is("changes of groups", table.GroupingsFrom(1), i.key.SK, i.kind == "grouping")
		is("segments after", table.SegmentsAfter(last, i.third), i.key.SK, false)
		is("segments", table.SegmentsAfter(last, ""), i.key.SK, i.kind == "segment" && i.second == last)
		is("members", table.MembersRange(last), i.key.SK, isMember && i.second > last)
		is("grants", table.GrantsOf(last), i.key.SK, isGrant && i.second == last)
		if strings.HasPrefix(i.key.PK, "ACCOUNT#") {
			is("page", table.PageRange(), i.key.SK, i.kind == "account" || i.kind == "summary" || i.kind == "balance")
		}

		listed := strings.HasPrefix(i.first, prefix) && i.first > last
		is("accounts", table.AccountsRange(prefix, last), table.AccountKey(i.first).PK, listed)
		is("assets", table.AssetsRange(prefix, last), table.AssetKey(i.first).PK, listed)
		is("groups", table.GroupsRange(prefix, last), table.GroupKey(i.first).PK, listed)
		is("accounts alone", table.AccountsRange("", ""), table.GroupKey(i.first).PK, false)
		is("groups alone", table.GroupsRange("", ""), table.AccountKey(i.first).PK, false)
	})
}

// Keys sort in the order of the ids, KSUIDs and times in them, which lists and histories rely on.
func TestKeyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := ids().Draw(t, "a"), ids().Draw(t, "b")
		k, l := ksuids().Draw(t, "k"), ksuids().Draw(t, "l")
		m, n := rapid.Int64Range(1, 1e12-1).Draw(t, "m"), rapid.Int64Range(1, 1e12-1).Draw(t, "n")
		ordered := func(what string, less bool, x, y string) {
			t.Helper()
			if less != (x < y) {
				t.Fatalf("%s: %s and %s", what, x, y)
			}
		}
		ordered("assets", a < b, table.BalanceKey("x", a).SK, table.BalanceKey("x", b).SK)
		ordered("accounts", a < b, table.AccountKey(a).PK, table.AccountKey(b).PK)
		ordered("assets' postings", a < b || a == b &&
			k < l, table.PostingKey("x", a, k).SK, table.PostingKey("x", b, l).SK)
		ordered("segments", k < l, table.SegmentKey("x", a, k).SK, table.SegmentKey("x", a, l).SK)
		ordered("grants", m < n, table.GrantKey("x", a, m).SK, table.GrantKey("x", a, n).SK)
		ordered("changes of groups", m < n, table.GroupingKey("x", m).SK, table.GroupingKey("x", n).SK)

		ordered("profile above postings", true, table.PostingSK2(k), table.ProfileSK2)
		ordered("account before summary", true, table.AccountKey(a).SK, table.SummaryKey(a).SK)
		ordered("summary before balances", true, table.SummaryKey(a).SK, table.BalanceKey(a, b).SK)
	})
}

// Ranges of lists of transactions and of the journal contain exactly the documented entries.
func TestListedRanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k, id := ksuids().Draw(t, "ksuid"), ids().Draw(t, "transaction")
		position := k + "#" + id
		bound := rapid.OneOf(rapid.Just(""), rapid.Just(k), ksuids(), rapid.Just(position),
			rapid.Custom(func(t *rapid.T) string { return k + "#" + ids().Draw(t, "other") }))
		low, high := bound.Draw(t, "low"), bound.Draw(t, "high")
		is := func(what string, r table.Range, key string, want bool) {
			t.Helper()
			if got := r.Contains(key); got != want {
				t.Fatalf("%s %q contains %s: %v", what, r, key, got)
			}
		}
		entry, page := table.ListedSK(k, id), table.JournalKey(k).SK
		is("[from, to)", table.ListedBetween(low, high), entry, low <= position && (high == "" || position < high))
		is("(last, to)", table.ListedAfter(low, high), entry, low < position && (high == "" || position < high))
		is("journal", table.JournalAfter(low, high), page, low < k && (high == "" || k < high))
		if other := drawItem(t); other.kind != "listed" && other.kind != "metadata" {
			is("all", table.ListedBetween("", ""), other.key.SK, false)
			is("all pages", table.JournalAfter("", ""), other.key.SK, other.kind == "journal")
		}
	})
}

// A key without an id is skipped. It has no next id, so a reader would find it again without end.
func TestSkippingPassesKeysWithoutAnID(t *testing.T) {
	for name, c := range map[string]struct {
		skip table.Range
		sk   string
	}{
		"posting": {table.PostingAssetAfter(""), "POSTING##k"},
		"balance": {table.BalanceAfter(""), "BALANCE#"},
		"segment": {table.SegmentAssetAfter(""), "SEGMENT##k"},
		"grant":   {table.GrantUserAfter(""), "GRANT##1"},
		"grouped": {table.GroupedAfter(""), "GROUPED#"},
		"member":  {table.MembershipAfter(""), "MEMBER#"},
	} {
		if c.skip.Contains(c.sk) {
			t.Errorf("%s: %q contains %q", name, c.skip, c.sk)
		}
	}
}
