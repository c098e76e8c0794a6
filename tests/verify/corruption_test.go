package verify

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/audit"
	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
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
func (b book) drop(k table.Key) ddb.Item {
	item := b[k]
	if item == nil {
		panic("there is no " + k.PK + " " + k.SK)
	}
	delete(b, k)
	return item
}

func (b book) put(k table.Key, item ddb.Item) {
	copied := maps.Clone(item)
	copied[table.AttrPK], copied[table.AttrSK] = ddb.String(k.PK), ddb.String(k.SK)
	b[k] = copied
}

// within returns a copy of a map in an item, which becomes the item's.
func (b book) within(k table.Key, name string) ddb.Item {
	copied := maps.Clone(b[k][name].(*types.AttributeValueMemberM).Value)
	b.set(k, name, ddb.Map(copied))
	return copied
}

// leg returns a copy of a header's leg, which becomes the header's.
func (b book) leg(k table.Key, i int) ddb.Item {
	legs := slices.Clone(b[k]["Legs"].(*types.AttributeValueMemberL).Value)
	copied := maps.Clone(legs[i].(*types.AttributeValueMemberM).Value)
	legs[i] = ddb.Map(copied)
	b.set(k, "Legs", &types.AttributeValueMemberL{Value: legs})
	return copied
}

// more adds to a number.
func more(item ddb.Item, name string, n int64) {
	stored, err := events.ParseAmount(item[name].(*types.AttributeValueMemberN).Value, events.FoldedDigits)
	if err != nil {
		panic(err)
	}
	sum, err := stored.Add(events.NewAmount(n))
	if err != nil {
		panic(err)
	}
	item[name] = ddb.Amount(sum)
}

func textOf(item ddb.Item, name string) string {
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
	return b.in(account, table.PostingsAfter(asset, "", "").From)
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
	janeGOLD = table.BalanceKey("jane", "GOLD")
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

// set is an attribute of an item with another value, which is what must be found.
func set(name string, k table.Key, attribute string, v types.AttributeValue, code audit.Code, found string) corruption {
	return corruption{name, func(b book) []want {
		b.set(k, attribute, v)
		return one(code, k, found)
	}}
}

// unset is an item without one of its attributes.
func unset(name string, k table.Key, attribute string, code audit.Code, found string) corruption {
	return corruption{name, func(b book) []want {
		b.unset(k, attribute)
		return one(code, k, found)
	}}
}

// inner is an attribute of a map in an item with another value.
func inner(name string, k table.Key, within, attribute string, v types.AttributeValue, wanted ...want) corruption {
	return corruption{name, func(b book) []want {
		b.within(k, within)[attribute] = v
		return slices.Clone(wanted)
	}}
}

// digits38 is more than any count or version can be.
var digits38 = &types.AttributeValueMemberN{Value: strings.Repeat("9", 38)}

// add is a number of an item with n added.
func add(name string, k table.Key, attribute string, n int64, code audit.Code, found string) corruption {
	return corruption{name, func(b book) []want {
		more(b[k], attribute, n)
		return one(code, k, found)
	}}
}

// gone is an item that is not there any more.
func gone(name string, k table.Key, code audit.Code, found string) corruption {
	return corruption{name, func(b book) []want {
		b.drop(k)
		return one(code, k, found)
	}}
}

func corruptions() []corruption {
	return slices.Concat(ofItems(), ofEvents(), ofDowngrades(), ofTransactions(), ofBalances(), ofAccounts(),
		ofHolds(), ofHoldEntries(), ofReversals(), ofEffectiveDates(), ofChanges(), ofGroups(), ofLists())
}

var minusZero = regexp.MustCompile(`(^|[^0-9A-Za-z_-])-0([^0-9A-Za-z_-]|$)`)

// expect fails t unless a report's findings are those, in any order.
func expect(t *testing.T, report audit.Report, wanted []want) {
	t.Helper()
	var found []want
	isOfLists := func(w want) bool { return slices.Contains(ofListCodes, w.code) }
	for _, f := range report.Findings {
		if isOfLists(want{code: f.Code}) && !slices.ContainsFunc(wanted, isOfLists) {
			continue // of a header or an end that was altered: its lists still show what it was
		}
		found = append(found, want{f.Code, f.Key, f.Attribute})
		if f.Stored == f.Recomputed {
			t.Errorf("%s: both are %q", f.Code, f.Stored)
		}
		if minusZero.MatchString(f.Stored + " " + f.Recomputed) {
			t.Errorf("%+v shows -0", f)
		}
	}
	order := func(a, b want) int {
		return strings.Compare(a.key.PK+a.key.SK+string(a.code)+a.attribute,
			b.key.PK+b.key.SK+string(b.code)+b.attribute)
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

// each does something to every event of the book.
func (b book) each(do func(k table.Key, e events.Event)) {
	for k, item := range b {
		if e, ok := event(item); ok {
			do(k, e)
		}
	}
}

// unsealed is what must be found of events that were altered and whose checksums were not, or were taken away.
func (b book) unsealed() (wanted []want) {
	b.each(func(k table.Key, e events.Event) {
		switch {
		case b[k][table.AttrChecksum] == nil:
			wanted = append(wanted, want{audit.ChecksumMissing, k, table.AttrChecksum})
		case textOf(b[k], table.AttrChecksum) != events.Checksum(e):
			wanted = append(wanted, want{audit.ChecksumDiffers, k, table.AttrChecksum})
		}
	})
	return wanted
}

// unmarked leaves out what only a checksum shows.
func unmarked(wanted []want) []want {
	return slices.DeleteFunc(wanted, func(w want) bool {
		return w.code == audit.ChecksumDiffers || w.code == audit.ChecksumMissing
	})
}

// What somebody alters who knows of checksums is found as well, and so it is in books that have none.
func TestEachCorruptionIsFoundWithoutChecksums(t *testing.T) {
	for _, c := range corruptions() {
		sealed, old := copyOfBook(t), copyOfBook(t)
		wanted := unmarked(c.plant(sealed))
		if len(sealed.unsealed()) == 0 {
			continue // no event was altered
		}
		t.Run(c.name, func(t *testing.T) {
			sealed.seal()
			expect(t, verify(t, sealed.client(t), 0), wanted)
			old.downgradeAll()
			report := verify(t, old.client(t), 0)
			if !report.Sound() || report.WithoutChecksum == 0 {
				t.Fatalf("%+v", report)
			}
			wanted := unmarked(c.plant(old))
			for _, w := range old.unsealed() {
				if w.code == audit.ChecksumDiffers {
					wanted = append(wanted, w) // of an event of a version that always had one
				}
			}
			expect(t, verify(t, old.client(t), 0), wanted)
		})
	}
}

func TestEachCorruptionIsFoundAndNamed(t *testing.T) {
	planted := make(map[audit.Code]bool)
	for _, c := range corruptions() {
		t.Run(c.name, func(t *testing.T) {
			b := copyOfBook(t)
			wanted := c.plant(b)
			wanted = append(unmarked(wanted), b.unsealed()...)
			client := b.client(t)
			expect(t, verify(t, client, 0), wanted)
			// What is so young may still be counted; what nothing can make right is found all the same.
			lasting := slices.DeleteFunc(slices.Clone(wanted),
				func(w want) bool { return strings.HasSuffix(string(w.code), "_behind") })
			report := verify(t, client, 2*time.Hour)
			expect(t, report, lasting)
			if moves := slices.ContainsFunc(wanted,
				func(w want) bool { return w.code == audit.BalanceBehind }); moves && len(lasting) == 0 &&
				report.Unsettled == 0 {
				t.Error("nothing is said to be unsettled")
			}
			for _, w := range wanted {
				planted[w.code] = true
			}
		})
	}
	for _, code := range audit.Codes() {
		if !planted[code.Code] && code.Code != audit.ListsIncomplete { // which takes thousands
			t.Errorf("%s is never planted", code.Code)
		}
	}
}

// ofItems are seen in one item by itself.
func ofItems() []corruption {
	grant := table.GrantKey("jane", "u-1", 1)
	posting := func(name, attribute string, v types.AttributeValue, code audit.Code) corruption {
		return corruption{name, func(b book) []want {
			k := b.postings("bank", "USD")[0]
			b.set(k, attribute, v)
			return one(code, k, attribute)
		}}
	}
	lastLeg := func(name, ksuid string) corruption {
		return corruption{name, func(b book) []want {
			b.leg(gold, 2)["ID"] = ddb.String(ksuid)
			return one(audit.WrongValue, gold, "Legs[2].ID")
		}}
	}
	return []corruption{
		{"unknown kind of item", func(b book) []want {
			k := table.Key{PK: bank.PK, SK: "NOTE#1"}
			b.put(k, ddb.Item{table.AttrType: ddb.String("Note")})
			return one(audit.UnknownItem, k, table.AttrType)
		}},
		set("type of another item", table.SummaryKey("bank"), table.AttrType, ddb.String(table.KindBalance), audit.UnknownItem, table.AttrType),
		inner("unknown attribute of a fold", bankUSD, table.AttrHead, "Note", ddb.String("mine"), want{audit.UnknownAttribute, bankUSD, "Head.Note"}),
		unset("header without an actor", gold, "Actor", audit.MissingAttribute, "Actor"),
		set("kind that is a number", gold, "Kind", ddb.Integer(1), audit.WrongType, "Kind"),
		posting("quantity that is not whole", "Quantity", &types.AttributeValueMemberN{Value: "-100000.5"}, audit.WrongValue),
		set("empty text that should be absent", usd, "Description", ddb.String(""), audit.WrongValue, "Description"),
		set("time without its decimals", grant, "At", ddb.String("2026-11-21T09:06:39Z"), audit.WrongValue, "At"),
		set("profile that is not compact", table.AccountKey("jane"), "Profile", ddb.String(`{"email": "jane@example.com"}`), audit.WrongValue, "Profile"),
		lastLeg("KSUID that nobody can have minted", strings.Repeat("z", 27)),
		lastLeg("legs of two instants", future),
		posting("version of a future form", table.AttrEventVersion, ddb.Integer(3), audit.WrongValue),
		set("unfinished that is false", bankUSD, table.AttrUnfinished, ddb.Flag(false), audit.WrongValue, table.AttrUnfinished),
		posting("posting elsewhere in the history", table.AttrSK2, ddb.String(table.PostingSK2(strings.Repeat("0", 27))), audit.WrongKey),
		unset("balance outside the inverse index", bankUSD, table.AttrPK2, audit.WrongKey, table.AttrPK2),
		set("revoked membership in the inverse index", table.MembershipKey("jane", "u-2"), table.AttrPK2, ddb.String(table.UserPK2("u-2")), audit.WrongKey, table.AttrPK2),
		set("header of another id", gold, "ID", ddb.String("x-2"), audit.WrongKey, "ID"),
		{"id that is none", func(b book) []want {
			k := table.AccountKey("no one")
			b.put(k, b[bank])
			b.set(k, "ID", ddb.String("no one"))
			return one(audit.WrongKey, k, table.AttrSK)
		}},
	}
}
