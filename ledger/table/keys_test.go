package table_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ledger.example/ledger/table"
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

// parsers try a key as each kind of item.
var parsers = map[string]func(table.Key) (item, bool){
	"asset": func(k table.Key) (i item, ok bool) {
		i.first, ok = table.ParseAsset(k)
		return i, ok
	},
	"account": func(k table.Key) (i item, ok bool) {
		i.first, ok = table.ParseAccount(k)
		return i, ok
	},
	"transaction": func(k table.Key) (i item, ok bool) {
		i.first, ok = table.ParseTransaction(k)
		return i, ok
	},
	"posting": func(k table.Key) (i item, ok bool) {
		i.first, i.second, i.third, ok = table.ParsePosting(k)
		return i, ok
	},
	"grant": func(k table.Key) (i item, ok bool) {
		var number int64
		i.first, i.second, number, ok = table.ParseGrant(k)
		i.third = fmt.Sprint(number)
		return i, ok
	},
	"spend": func(k table.Key) (i item, ok bool) {
		i.first, i.second, ok = table.ParseSpend(k)
		return i, ok
	},
	"balance": func(k table.Key) (i item, ok bool) {
		i.first, i.second, ok = table.ParseBalance(k)
		return i, ok
	},
	"segment": func(k table.Key) (i item, ok bool) {
		i.first, i.second, i.third, ok = table.ParseSegment(k)
		return i, ok
	},
	"summary": func(k table.Key) (i item, ok bool) {
		i.first, ok = table.ParseSummary(k)
		return i, ok
	},
	"membership": func(k table.Key) (i item, ok bool) {
		i.first, i.second, ok = table.ParseMembership(k)
		return i, ok
	},
}

// drawItem draws an item of any kind, and builds its key.
func drawItem(t *rapid.T) item {
	kind := rapid.SampledFrom([]string{
		"asset", "account", "transaction", "posting", "grant", "spend", "balance", "segment", "summary", "membership",
	}).Draw(t, "kind")
	i := item{kind: kind, first: ids().Draw(t, "first")}
	switch kind {
	case "posting", "segment":
		i.second, i.third = ids().Draw(t, "second"), ksuids().Draw(t, "ksuid")
	case "grant":
		number := rapid.Int64Range(1, 999_999_999_999).Draw(t, "number")
		i.second, i.third = ids().Draw(t, "second"), fmt.Sprint(number)
	case "spend", "balance", "membership":
		i.second = ids().Draw(t, "second")
	}
	i.key = build(kind, i)
	return i
}

// A key tells all that it was built from, and no other kind of item has it: so two items never share a key.
func TestKeysRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawItem(t)
		for kind, parse := range parsers {
			got, ok := parse(want.key)
			got.kind, got.key = kind, want.key
			if ok != (kind == want.kind) {
				t.Fatalf("%v of kind %s parsed as a %s: %v", want.key, want.kind, kind, ok)
			}
			if ok && got != want {
				t.Fatalf("parsed %+v, want %+v", got, want)
			}
		}
		sk := want.key.SK
		if account, ok := table.ParseOwner(want.key); ok != strings.HasPrefix(want.key.PK, "ACCOUNT#") || ok && account != want.first {
			t.Fatalf("%v is of %q, %v", want.key, account, ok)
		}
		if want.second != "" && table.FirstID(sk) != want.second || want.kind == "segment" && table.LastID(sk) != want.third {
			t.Fatalf("%s has the ids %q and %q", sk, table.FirstID(sk), table.LastID(sk))
		}
		if table.IsPosting(sk) != (want.kind == "posting") || table.IsGrant(sk) != (want.kind == "grant") {
			t.Fatalf("%s of kind %s: posting %v, grant %v", sk, want.kind, table.IsPosting(sk), table.IsGrant(sk))
		}
	})
}

func TestKeysInjective(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawItem(t), drawItem(t)
		if (a.key == b.key) != (a == b) {
			t.Fatalf("%+v and %+v", a, b)
		}
	})
}

func TestSecondaryKeysInjective(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := ids().Draw(t, "a"), ids().Draw(t, "b")
		seen := []string{table.HoldersPK2(a), table.UserPK2(a), table.AssetsPK2, table.AccountsPK2}
		for i, x := range seen {
			for _, y := range seen[i+1:] {
				if x == y {
					t.Fatalf("two partitions are one: %s", x)
				}
			}
		}
		if a != b && (table.HoldersPK2(a) == table.HoldersPK2(b) || table.UserPK2(a) == table.UserPK2(b)) {
			t.Fatalf("%s and %s share a partition", a, b)
		}
	})
}

// Keys that nothing builds are no kind of item.
func TestParseRefuses(t *testing.T) {
	for _, k := range []table.Key{
		{},
		{PK: "ACCOUNT#", SK: "ACCOUNT#"},
		{PK: "ACCOUNT#x", SK: "ACCOUNT#y"},
		{PK: "ACCOUNT#x#y", SK: "ACCOUNT#x#y"},
		{PK: "ASSET#x", SK: "ACCOUNT_SUMMARY"},
		{PK: "ASSET#x", SK: "BALANCE#a"},
		{PK: "ACCOUNT#x", SK: "BALANCE#"},
		{PK: "ACCOUNT#x", SK: "BALANCE#a#b"},
		{PK: "ACCOUNT#x", SK: "POSTING#a"},
		{PK: "ACCOUNT#x", SK: "POSTING#a#"},
		{PK: "ACCOUNT#x", SK: "POSTING##k"},
		{PK: "ACCOUNT#x", SK: "POSTING#a#k#l"},
		{PK: "ACCOUNT#x", SK: "GRANT#u#000000000000"},
		{PK: "ACCOUNT#x", SK: "GRANT#u#00000000007"},
		{PK: "ACCOUNT#x", SK: "GRANT#u#0000000000007"},
		{PK: "ACCOUNT#x", SK: "GRANT#u#-00000000007"},
		{PK: "ACCOUNT#x", SK: "GRANT#u#+00000000007"},
		{PK: "ACCOUNT#x", SK: "GRANT#u#00000000000x"},
		{PK: "ACCOUNT#x", SK: "LATER#a"},
	} {
		for kind, parse := range parsers {
			if _, ok := parse(k); ok {
				t.Errorf("%+v parsed as a %s", k, kind)
			}
		}
	}
}

// Whatever parses is exactly a key that would be built, and nothing panics.
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
	f.Fuzz(func(t *testing.T, pk, sk string) {
		k := table.Key{PK: pk, SK: sk}
		for kind, parse := range parsers {
			i, ok := parse(k)
			if !ok {
				if i.first != "" || i.second != "" || (i.third != "" && i.third != "0") {
					t.Fatalf("%+v refused as %s, yet parts returned: %+v", k, kind, i)
				}
				continue
			}
			if built := build(kind, i); built != k {
				t.Fatalf("%+v parsed as %s %+v, whose key is %+v", k, kind, i, built)
			}
		}
	})
}

func build(kind string, i item) table.Key {
	switch kind {
	case "asset":
		return table.AssetKey(i.first)
	case "account":
		return table.AccountKey(i.first)
	case "transaction":
		return table.TransactionKey(i.first)
	case "posting":
		return table.PostingKey(i.first, i.second, i.third)
	case "grant":
		var number int64
		fmt.Sscan(i.third, &number)
		return table.GrantKey(i.first, i.second, number)
	case "spend":
		return table.SpendKey(i.first, i.second)
	case "balance":
		return table.BalanceKey(i.first, i.second)
	case "segment":
		return table.SegmentKey(i.first, i.second, i.third)
	case "summary":
		return table.SummaryKey(i.first)
	}
	return table.MembershipKey(i.first, i.second)
}
