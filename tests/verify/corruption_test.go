package verify

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/cmd/ledger/audit"
	"ledger.example/events"
	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
)

func (b book) set(k table.Key, name string, v types.AttributeValue) {
	if b[k] == nil {
		panic("there is no " + k.PK + " " + k.SK)
	}
	b[k][name] = v
}

func (b book) unset(k table.Key, name string) {
	if b[k][name] == nil {
		panic("there is no " + name + " in " + k.PK + " " + k.SK)
	}
	delete(b[k], name)
}

// drop removes an item and returns it.
func (b book) drop(k table.Key) wire.Item {
	item := b[k]
	if item == nil {
		panic("there is no " + k.PK + " " + k.SK)
	}
	delete(b, k)
	return item
}

func (b book) put(k table.Key, item wire.Item) {
	copied := maps.Clone(item)
	copied[table.AttrPK], copied[table.AttrSK] = wire.String(k.PK), wire.String(k.SK)
	b[k] = copied
}

// within returns a copy of a map in an item, which becomes the item's.
func (b book) within(k table.Key, name string) wire.Item {
	copied := maps.Clone(b[k][name].(*types.AttributeValueMemberM).Value)
	b.set(k, name, wire.Map(copied))
	return copied
}

// leg returns a copy of a header's leg, which becomes the header's.
func (b book) leg(k table.Key, i int) wire.Item {
	legs := slices.Clone(b[k]["Legs"].(*types.AttributeValueMemberL).Value)
	copied := maps.Clone(legs[i].(*types.AttributeValueMemberM).Value)
	legs[i] = wire.Map(copied)
	b.set(k, "Legs", &types.AttributeValueMemberL{Value: legs})
	return copied
}

// more adds to a number.
func more(item wire.Item, name string, n int64) {
	stored, err := events.ParseAmount(item[name].(*types.AttributeValueMemberN).Value, events.FoldedDigits)
	if err != nil {
		panic(err)
	}
	sum, err := stored.Add(events.NewAmount(n))
	if err != nil {
		panic(err)
	}
	item[name] = wire.Amount(sum)
}

func textOf(item wire.Item, name string) string {
	return item[name].(*types.AttributeValueMemberS).Value
}

// in returns the keys of an account's items whose sort keys begin alike, in order.
func (b book) in(account, prefix string) []table.Key {
	var keys []table.Key
	for k := range b {
		if k.PK == table.AccountKey(account).PK && strings.HasPrefix(k.SK, prefix) {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(k, l table.Key) int { return strings.Compare(k.SK, l.SK) })
	return keys
}

func (b book) postings(account, asset string) []table.Key {
	return b.in(account, table.PostingsOfAsset(asset).From)
}

func (b book) segments(account, asset string) []table.Key {
	return b.in(account, table.SegmentsFrom(asset, "").From)
}

// Keys of the book.
var (
	bank     = table.AccountKey("bank")
	usd      = table.AssetKey("USD")
	gold     = table.TransactionKey("x-1")
	deposit  = table.TransactionKey("d-0")
	bankUSD  = table.BalanceKey("bank", "USD")
	janeUSD  = table.BalanceKey("jane", "USD")
	janeAAPL = table.BalanceKey("jane", "AAPL")
)

// future is a KSUID that nobody has minted yet.
var future = string(events.FirstKSUID(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)))

// want is a finding: its code, item and attribute.
type want struct {
	code      audit.Code
	key       table.Key
	attribute string
}

func one(code audit.Code, k table.Key, attribute string) []want { return []want{{code, k, attribute}} }

// corruption is something planted, and all that must be found.
type corruption struct {
	name  string
	plant func(b book) []want
}

func corruptions() []corruption {
	return slices.Concat(ofItems(), ofTransactions(), ofBalances(), ofAccounts())
}

// expect fails t unless a report's findings are those, in any order.
func expect(t *testing.T, report audit.Report, wanted []want) {
	t.Helper()
	var found []want
	for _, f := range report.Findings {
		found = append(found, want{f.Code, f.Key, f.Attribute})
		if f.Stored == f.Recomputed {
			t.Errorf("%s: both are %q", f.Code, f.Stored)
		}
	}
	order := func(a, b want) int {
		return strings.Compare(a.key.PK+a.key.SK+string(a.code)+a.attribute, b.key.PK+b.key.SK+string(b.code)+b.attribute)
	}
	slices.SortFunc(found, order)
	slices.SortFunc(wanted, order)
	if !slices.Equal(found, wanted) {
		t.Errorf("wanted %q", wanted)
		for _, f := range report.Findings {
			t.Errorf("found %+v", f)
		}
	}
}

func TestEachCorruptionIsFoundAndNamed(t *testing.T) {
	planted := make(map[audit.Code]bool)
	for _, c := range corruptions() {
		t.Run(c.name, func(t *testing.T) {
			b := copyOfBook(t)
			wanted := c.plant(b)
			client := b.client(t)
			expect(t, verify(t, client, 0), wanted)
			// What is so young may still be counted; what nothing can make right is found all the same.
			lasting := slices.DeleteFunc(slices.Clone(wanted), func(w want) bool { return strings.HasSuffix(string(w.code), "_behind") })
			report := verify(t, client, 2*time.Hour)
			expect(t, report, lasting)
			if moves := slices.ContainsFunc(wanted, func(w want) bool { return w.code == audit.BalanceBehind }); moves && len(lasting) == 0 && report.Unsettled == 0 {
				t.Error("nothing is said to be unsettled")
			}
			for _, w := range wanted {
				planted[w.code] = true
			}
		})
	}
	for _, code := range audit.Codes() {
		if !planted[code.Code] {
			t.Errorf("%s is never planted", code.Code)
		}
	}
}

// ofItems are seen in one item by itself.
func ofItems() []corruption {
	grant := table.GrantKey("jane", "u-1", 1)
	return []corruption{
		{"unknown kind of item", func(b book) []want {
			k := table.Key{PK: bank.PK, SK: "NOTE#1"}
			b.put(k, wire.Item{table.AttrType: wire.String("Note")})
			return one(audit.UnknownItem, k, table.AttrType)
		}},
		{"type of another item", func(b book) []want {
			k := table.SummaryKey("bank")
			b.set(k, table.AttrType, wire.String(table.KindBalance))
			return one(audit.UnknownItem, k, table.AttrType)
		}},
		{"unknown attribute of a posting", func(b book) []want {
			k := b.postings("bank", "USD")[0]
			b.set(k, "Note", wire.String("mine"))
			return one(audit.UnknownAttribute, k, "Note")
		}},
		{"unknown attribute of a fold", func(b book) []want {
			b.within(bankUSD, table.AttrHead)["Note"] = wire.String("mine")
			return one(audit.UnknownAttribute, bankUSD, "Head.Note")
		}},
		{"header without an actor", func(b book) []want {
			b.unset(gold, "Actor")
			return one(audit.MissingAttribute, gold, "Actor")
		}},
		{"kind that is a number", func(b book) []want {
			b.set(gold, "Kind", wire.Integer(1))
			return one(audit.WrongType, gold, "Kind")
		}},
		{"spent that is a text", func(b book) []want {
			k := table.SpendKey("jane", "USD")
			b.set(k, table.AttrSpent, wire.String("8000"))
			return one(audit.WrongType, k, table.AttrSpent)
		}},
		{"quantity that is not whole", func(b book) []want {
			k := b.postings("bank", "USD")[0]
			b.set(k, "Quantity", &types.AttributeValueMemberN{Value: "-100000.5"})
			return one(audit.WrongValue, k, "Quantity")
		}},
		{"quantity of 29 digits", func(b book) []want {
			k := b.postings("bank", "USD")[0]
			b.set(k, "Quantity", &types.AttributeValueMemberN{Value: strings.Repeat("9", 29)})
			return one(audit.WrongValue, k, "Quantity")
		}},
		{"empty text that should be absent", func(b book) []want {
			b.set(usd, "Description", wire.String(""))
			return one(audit.WrongValue, usd, "Description")
		}},
		{"time without its decimals", func(b book) []want {
			b.set(grant, "At", wire.String("2026-11-21T09:06:39Z"))
			return one(audit.WrongValue, grant, "At")
		}},
		{"profile that is not compact", func(b book) []want {
			k := table.AccountKey("jane")
			b.set(k, "Profile", wire.String(`{"email": "jane@example.com"}`))
			return one(audit.WrongValue, k, "Profile")
		}},
		{"KSUID that nobody can have minted", func(b book) []want {
			b.leg(gold, 2)["ID"] = wire.String("zzzzzzzzzzzzzzzzzzzzzzzzzzz")
			return one(audit.WrongValue, gold, "Legs[2].ID")
		}},
		{"legs of two instants", func(b book) []want {
			b.leg(gold, 2)["ID"] = wire.String(future)
			return one(audit.WrongValue, gold, "Legs[2].ID")
		}},
		{"version of a future form", func(b book) []want {
			k := b.postings("bank", "USD")[0]
			b.set(k, table.AttrEventVersion, wire.Integer(2))
			return one(audit.WrongValue, k, table.AttrEventVersion)
		}},
		{"unfinished that is false", func(b book) []want {
			b.set(bankUSD, table.AttrUnfinished, wire.Flag(false))
			return one(audit.WrongValue, bankUSD, table.AttrUnfinished)
		}},
		{"posting of another account", func(b book) []want {
			k := b.postings("bank", "USD")[0]
			b.set(k, "Account", wire.String("jane"))
			return one(audit.WrongKey, k, "Account")
		}},
		{"posting elsewhere in the history", func(b book) []want {
			k := b.postings("bank", "USD")[0]
			b.set(k, table.AttrSK2, wire.String(table.PostingSK2("000000000000000000000000000")))
			return one(audit.WrongKey, k, table.AttrSK2)
		}},
		{"balance outside the inverse index", func(b book) []want {
			b.unset(bankUSD, table.AttrPK2)
			return one(audit.WrongKey, bankUSD, table.AttrPK2)
		}},
		{"revoked membership in the inverse index", func(b book) []want {
			k := table.MembershipKey("jane", "u-2")
			b.set(k, table.AttrPK2, wire.String(table.UserPK2("u-2")))
			return one(audit.WrongKey, k, table.AttrPK2)
		}},
		{"header of another id", func(b book) []want {
			b.set(gold, "ID", wire.String("x-2"))
			return one(audit.WrongKey, gold, "ID")
		}},
		{"id that is none", func(b book) []want {
			k := table.AccountKey("no one")
			b.put(k, b[bank])
			b.set(k, "ID", wire.String("no one"))
			return one(audit.WrongKey, k, table.AttrSK)
		}},
	}
}
