package table_test

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ledger.example/internal/table"
	_ "ledger.example/tests/full" // fixes the seed
)

// ids draws ids of the whole alphabet, and often ones that begin alike: "A", "A:B", "A-".
func ids() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9._:@-]{0,63}`),
		rapid.StringMatching(`[A0z][A0z._:@-]{0,3}`),
		rapid.SampledFrom([]string{"A", "A:B", "A-", "A.", "A0", "AA", "Az", "a", "A@", "A_"}),
	)
}

func ksuids() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringMatching(`[0-9A-Za-z]{27}`),
		rapid.StringMatching(`0{25}[09Az][0-9A-Za-z]`), // near each other
		rapid.SampledFrom([]string{"000000000000000000000000000", "aWgEPTl1tmebfsQzFP4bxwgy80V"}),
	)
}

// item is one key with what it was built from.
type item struct {
	kind, first, second, third string
	key                        table.Key
}

// values draws values of metadata, which may be any text.
func values() *rapid.Generator[string] {
	return rapid.OneOf(rapid.SampledFrom([]string{"", "#", "a#LISTED#b", "1001"}), rapid.String())
}

// kinds build and parse the key of each kind of item.
var kinds = map[string]struct {
	build func(i item) table.Key
	parse func(table.Key) (first, second, third string, ok bool)
}{
	"asset":       {func(i item) table.Key { return table.AssetKey(i.first) }, one(table.ParseAsset)},
	"account":     {func(i item) table.Key { return table.AccountKey(i.first) }, one(table.ParseAccount)},
	"transaction": {func(i item) table.Key { return table.TransactionKey(i.first) }, one(table.ParseTransaction)},
	"summary":     {func(i item) table.Key { return table.SummaryKey(i.first) }, one(table.ParseSummary)},
	"spend":       {func(i item) table.Key { return table.SpendKey(i.first, i.second) }, two(table.ParseSpend)},
	"balance":     {func(i item) table.Key { return table.BalanceKey(i.first, i.second) }, two(table.ParseBalance)},
	"membership": {func(i item) table.Key { return table.MembershipKey(i.first, i.second) },
		two(table.ParseMembership)},
	"posting": {func(i item) table.Key { return table.PostingKey(i.first, i.second, i.third) }, table.ParsePosting},
	"segment": {func(i item) table.Key { return table.SegmentKey(i.first, i.second, i.third) }, table.ParseSegment},
	"listed": {func(i item) table.Key { return table.ListedKey(i.second, i.first) },
		func(k table.Key) (string, string, string, bool) {
			ksuid, transaction, ok := table.ParseListed(k)
			return transaction, ksuid, "", ok
		}},
	"metadata": {func(i item) table.Key {
		key, value, _ := strings.Cut(i.third, "#")
		return table.Key{PK: table.MetadataPK(key, value), SK: table.ListedSK(i.second, i.first)}
	}, func(k table.Key) (string, string, string, bool) {
		key, value, ksuid, transaction, ok := table.ParseListedMetadata(k)
		if !ok {
			return transaction, ksuid, key + value, false
		}
		return transaction, ksuid, key + "#" + value, true
	}},
	"journal": {func(i item) table.Key { return table.JournalKey(i.first) }, one(table.ParseJournal)},
	"group":   {func(i item) table.Key { return table.GroupKey(i.first) }, one(table.ParseGroup)},
	"grouped": {func(i item) table.Key { return table.GroupedKey(i.first, i.second) }, two(table.ParseGrouped)},
	"of a group": {func(i item) table.Key { return table.GroupMembershipKey(i.first, i.second) },
		two(table.ParseGroupMembership)},
	"grouping": {func(i item) table.Key {
		number, _ := strconv.ParseInt(i.third, 10, 64)
		return table.GroupingKey(i.first, number)
	}, func(k table.Key) (string, string, string, bool) {
		account, number, ok := table.ParseGrouping(k)
		return account, "", strconv.FormatInt(number, 10), ok
	}},
	"grant in a group": {func(i item) table.Key {
		number, _ := strconv.ParseInt(i.third, 10, 64)
		return table.GroupGrantKey(i.first, i.second, number)
	}, func(k table.Key) (string, string, string, bool) {
		group, user, number, ok := table.ParseGroupGrant(k)
		return group, user, strconv.FormatInt(number, 10), ok
	}},
	"grant": {func(i item) table.Key {
		number, _ := strconv.ParseInt(i.third, 10, 64)
		return table.GrantKey(i.first, i.second, number)
	}, func(k table.Key) (string, string, string, bool) {
		account, user, number, ok := table.ParseGrant(k)
		return account, user, strconv.FormatInt(number, 10), ok
	}},
}

func one(parse func(table.Key) (string, bool)) func(table.Key) (string, string, string, bool) {
	return func(k table.Key) (string, string, string, bool) {
		first, ok := parse(k)
		return first, "", "", ok
	}
}

func two(parse func(table.Key) (string, string, bool)) func(table.Key) (string, string, string, bool) {
	return func(k table.Key) (string, string, string, bool) {
		first, second, ok := parse(k)
		return first, second, "", ok
	}
}

// drawItem draws an item of any kind, and builds its key.
func drawItem(t *rapid.T) item {
	kind := rapid.SampledFrom(slices.Sorted(maps.Keys(kinds))).Draw(t, "kind")
	i := item{kind: kind, first: ids().Draw(t, "first")}
	switch kind {
	case "posting", "segment":
		i.second, i.third = ids().Draw(t, "second"), ksuids().Draw(t, "ksuid")
	case "grant", "grant in a group", "grouping":
		number := rapid.Int64Range(1, 999_999_999_999).Draw(t, "number")
		if i.third = strconv.FormatInt(number, 10); kind != "grouping" {
			i.second = ids().Draw(t, "second")
		}
	case "listed", "metadata":
		i.second = ksuids().Draw(t, "ksuid")
		if kind == "metadata" {
			i.third = rapid.StringMatching(`[A-Za-z0-9_.-]{1,40}`).Draw(t, "key") + "#" + values().Draw(t, "value")
		}
	case "spend", "balance", "membership", "of a group", "grouped":
		i.second = ids().Draw(t, "second")
	}
	i.key = kinds[kind].build(i)
	return i
}

// A key parses to the ids that it was built from, and as no other kind of item. So no two items have the same key.
func TestKeysRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawItem(t)
		for kind, k := range kinds {
			first, second, third, ok := k.parse(want.key)
			if got := (item{kind, first, second, third, want.key}); ok != (kind == want.kind) || ok && got != want {
				t.Fatalf("%+v parsed as a %s: %+v, %v", want, kind, got, ok)
			}
		}
		sk := want.key.SK
		if account, ok := table.ParseOwner(want.key); ok != strings.HasPrefix(want.key.PK, "ACCOUNT#") || ok &&
			account != want.first {
			t.Fatalf("%v is of %q, %v", want.key, account, ok)
		}
		inAccount := strings.HasPrefix(want.key.PK, "ACCOUNT#")
		if inAccount && want.second != "" && table.FirstID(sk) != want.second || want.kind == "segment" &&
			table.LastID(sk) != want.third {
			t.Fatalf("%s has the ids %q and %q", sk, table.FirstID(sk), table.LastID(sk))
		}
		isGrant := want.kind == "grant" || want.kind == "grant in a group"
		if table.IsPosting(sk) != (want.kind == "posting") || table.IsGrant(sk) != isGrant ||
			table.IsGrouping(sk) != (want.kind == "grouping") {
			t.Fatalf("%s of kind %s: posting %v, grant %v, grouping %v", sk, want.kind, table.IsPosting(sk),
				table.IsGrant(sk), table.IsGrouping(sk))
		}
		isEvent := isGrant || slices.Contains([]string{
			"asset", "account", "transaction", "posting", "group", "grouping",
		}, want.kind)
		if table.IsEvent(sk) != isEvent { // the SK, which nobody can change, distinguishes events from projections
			t.Fatalf("%s of kind %s: event %v", sk, want.kind, table.IsEvent(sk))
		}
	})
}

// Every value of metadata has a key that DynamoDB accepts, and different values have different keys.
func TestMetadataOfAnyLengthIsListed(t *testing.T) {
	known := make(map[string]string)
	for length := range 1100 {
		for _, value := range []string{strings.Repeat("v", length), strings.Repeat("v", length) + "w"} {
			pk := table.MetadataPK("order", value)
			if before, ok := known[pk]; len(pk) > table.IndexKeyBytes || ok && before != value {
				t.Fatalf("%q and %q are listed at %q", before, value, pk)
			}
			known[pk] = value
			if key, _, _, _, ok := table.ParseListedMetadata(table.Key{PK: pk, SK: table.ListedSK("k", "t")}); key != "order" || !ok {
				t.Fatalf("%q is listed by %q, %v", pk, key, ok)
			}
		}
	}
}

// Every key that parses is one that a Key function builds. Parsing never panics.
func FuzzParse(f *testing.F) {
	f.Add("ACCOUNT#jane", "POSTING#AAPL#2h3vKAaVzJZ8mP0eMqk1kT9xYzA")
	f.Add("ACCOUNT#jane", "GRANT#u-17#000000000007")
	f.Add("ACCOUNT#jane", "GRANT#u-17#-00000000007")
	f.Add("ACCOUNT#jane", "GRANT#u-17#0000000000071")
	f.Add("ACCOUNT#jane", "ACCOUNT_SUMMARY")
	f.Add("ACCOUNT#", "BALANCE#")
	f.Add("ASSET#a#b", "ASSET#a#b")
	f.Add("TXN#1", "TXN#1")
	f.Add("ACCOUNT#x", "SEGMENT#a##")
	f.Add("ACCOUNT#x", "MEMBER#u")
	f.Add("ACCOUNT#x", "SPEND#USD")
	f.Add("ACCOUNT#x", "ACCOUNT#y")
	f.Add("ASSET#x", "ACCOUNT_SUMMARY")
	f.Add("ACCOUNT#x", "POSTING##k")
	f.Add("ACCOUNT#x", "POSTING#a#k#l")
	f.Add("ACCOUNT#x", "GRANT#u#000000000000")
	f.Add("GROUP#g", "GRANT#u#000000000001")
	f.Add("GROUP#g", "GROUP#g")
	f.Add("ACCOUNT#x", "GROUPS#000000000001")
	f.Add("ACCOUNT#x", "GROUPED#g")
	f.Add("ACCOUNT#x", "GRANT#u#+00000000007")
	f.Add("TRANSACTIONS#0", "LISTED#2h3vKAaVzJZ8mP0eMqk1kT9xYzA#order-1001")
	f.Add("TRANSACTIONS#3", "LISTED#2h3vKAaVzJZ8mP0eMqk1kT9xYzA#order-1001")
	f.Add("METADATA#order#10#01", "LISTED#2h3vKAaVzJZ8mP0eMqk1kT9xYzA#order-1001")
	f.Add("METADATA#"+strings.Repeat("k", 1100)+"#", "LISTED#2h3vKAaVzJZ8mP0eMqk1kT9xYzA#order-1001")
	f.Add("METADATA#order", "LISTED#2h3vKAaVzJZ8mP0eMqk1kT9xYzA#order-1001")
	f.Add("JOURNAL", "ENTRIES#2h3vKAaVzJZ8mP0eMqk1kT9xYzA")
	f.Add("JOURNAL", "ENTRIES#a#b")
	f.Fuzz(func(t *testing.T, pk, sk string) {
		k := table.Key{PK: pk, SK: sk}
		for kind, of := range kinds {
			first, second, third, ok := of.parse(k)
			if !ok && (first != "" || second != "" || third != "" && third != "0") {
				t.Fatalf("%+v is refused as %s, yet parts are returned: %s %s %s", k, kind, first, second, third)
			}
			if built := of.build(item{"", first, second, third, k}); ok && built != k {
				t.Fatalf("%+v parsed as a %s, whose key is %+v", k, kind, built)
			}
		}
	})
}
