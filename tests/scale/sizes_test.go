package scale

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
	"ledger.example/ledger/wire/wiretest"
	"ledger.example/projections"
	views "ledger.example/projections/dynamo"
)

// A filling is how long what callers choose is.
type filling struct {
	id             func(name string) string
	text           func(everyday string, most int) string // of so many characters at most
	actor, profile string
	posted, folded events.Amount
	count          int64
	limits         int // of an overdraft
	metadata       map[string]string
	fingerprint    string
}

func parsed(text string, digits int) events.Amount {
	a, err := events.ParseAmount(text, digits)
	if err != nil {
		panic(err) // of a constant
	}
	return a
}

func everyday() filling {
	return filling{
		id:      func(name string) string { return name },
		text:    func(everyday string, _ int) string { return everyday },
		actor:   "arn:aws:sts::123456789012:assumed-role/trading-desk/i-0123456789abcdef0",
		profile: `{"email":"jane@example.com","addresses":[{"street":"1 Main St","city":"Springfield","country":"US"}]}`,
		posted:  events.NewAmount(-125_000), folded: events.NewAmount(123_456_789_01), count: 123_456,
		metadata: map[string]string{"order": "1001"}, fingerprint: "1:" + strings.Repeat("f", 64),
	}
}

func longest() filling {
	const widest = "𝄞" // four bytes of UTF-8
	metadata := make(map[string]string, events.MetadataPairs)
	for left := events.MetadataBytes; len(metadata) < events.MetadataPairs; {
		key := fmt.Sprintf("%0*d", events.MetadataKeyChars, len(metadata))
		n := left/(events.MetadataPairs-len(metadata)) - len(key)
		metadata[key] = strings.Repeat("v", n)
		left -= len(key) + n
	}
	return filling{
		id:      func(name string) string { return name + strings.Repeat("x", events.IDChars-len(name)) },
		text:    func(_ string, most int) string { return strings.Repeat(widest, most) },
		actor:   strings.Repeat(widest, events.ActorChars),
		profile: `{"x":"` + strings.Repeat("x", events.ProfileBytes-len(`{"x":""}`)) + `"}`,
		posted:  parsed("-"+strings.Repeat("9", events.PostedDigits), events.PostedDigits),
		folded:  parsed(strings.Repeat("9", events.FoldedDigits), events.FoldedDigits), count: 1<<63 - 1,
		limits: events.OverdraftAssets, metadata: metadata, fingerprint: strings.Repeat("f", events.FingerprintChars),
	}
}

func (f filling) leg(n int) events.Leg {
	return events.Leg{
		ID: events.FirstKSUID(time.Now()), Account: f.id(fmt.Sprintf("customers:%08d", n)), Asset: f.id("AAPL"),
		Quantity: f.posted, Cost: f.posted,
	}
}

// items returns one item of each kind, as the code that writes them makes them.
func (f filling) items(t *testing.T) (kinds []string, items []wire.Item) {
	t.Helper()
	add := func(kind string, item wire.Item) { kinds, items = append(kinds, kind), append(items, item) }
	leg, now := f.leg(17), time.Now().UTC().Truncate(time.Microsecond)
	id, asset := leg.Account, leg.Asset
	user := f.id("u-17")
	transaction := func(legs int) wire.Item {
		e := events.TransactionPosted{
			ID: f.id("orders:000001001"), Kind: events.KindTransaction, Description: f.text("Card order", events.DescriptionChars),
			Metadata: f.metadata, Fingerprint: f.fingerprint, Actor: f.actor,
		}
		for n := range legs {
			e.Legs = append(e.Legs, f.leg(n))
		}
		return wire.EventItem(e)
	}
	for _, legs := range []int{2, 4, events.PostingsMax} {
		add(fmt.Sprintf("header of %d postings", legs), transaction(legs))
	}
	add("posting", wire.EventItem(events.PostingRecorded{
		Leg: leg, Transaction: f.id("orders:000001001"), Kind: events.KindTransaction, Description: f.text("Card order", events.DescriptionChars),
	}))
	overdraft := events.Overdraft{}
	for n := range f.limits {
		if n == 0 {
			overdraft.Limits = make(map[string]events.Amount)
		}
		overdraft.Limits[f.id(fmt.Sprintf("A%05d", n))] = f.posted.Abs()
	}
	add("account", wire.EventItem(events.AccountOpened{
		ID: id, Name: f.text("Jane Doe", events.NameChars), Profile: f.profile, Overdraft: overdraft, Actor: f.actor, At: now,
	}))
	add("asset", wire.EventItem(events.AssetRegistered{
		ID: asset, Name: f.text("Apple Inc.", events.NameChars), Description: f.text("Common stock", events.DescriptionChars),
		Scale: events.ScaleMax, Currency: f.id("USD"), Actor: f.actor, At: now,
	}))
	add("grant", wire.EventItem(events.MemberGranted{Account: id, User: user, Role: events.RoleOperator, Number: events.MemberNumberMax, Actor: f.actor, At: now}))

	b := newBank(t)
	fold := projections.Fold{Through: leg.ID, Credits: f.folded, Debits: f.folded, Expenditure: f.folded.Neg(), Count: f.count}
	balance := projections.Balance{Key: projections.Key{Account: id, Asset: asset}, Base: fold, Seal: fold, Head: fold, First: leg.ID}
	v := views.NewViews(b.plain, books)
	if err := v.Write(t.Context(), projections.Change{
		Balance:  balance,
		Segments: []projections.Segment{{Key: balance.Key, After: leg.ID, Fold: fold}},
		Summary:  &projections.Summary{Account: id, Assets: f.count, Holdings: f.count, First: leg.ID},
	}); err != nil {
		t.Fatal(err)
	}
	if err := v.WriteMembership(t.Context(), projections.Membership{Account: id, User: user, Role: events.RoleOperator, Number: events.MemberNumberMax}); err != nil {
		t.Fatal(err)
	}
	add("balance", b.item(table.BalanceKey(id, asset)))
	add("segment, of 256 postings", b.item(table.SegmentKey(id, asset, string(leg.ID))))
	add("summary", b.item(table.SummaryKey(id)))
	add("membership", b.item(table.MembershipKey(id, user)))
	guard := wire.Key(table.SpendKey(id, asset))
	guard[table.AttrType], guard[table.AttrSpent] = wire.String(table.KindSpend), wire.Amount(f.folded)
	add("guard", guard)
	return kinds, items
}

// TestItemSizes tells how large an item of each kind is.
func TestItemSizes(t *testing.T) {
	f := figures{heading: "Sizes of items", of: "item"}
	for _, filled := range []struct {
		name string
		filling
	}{{"everyday", everyday()}, {"longest", longest()}} {
		kinds, items := filled.items(t)
		var inTable, inIndexes []string
		for i, item := range items {
			sized := wiretest.Sized(t, item)
			if sized.Bytes() > table.ItemBytes {
				t.Errorf("%s: %d bytes", kinds[i], sized.Bytes())
			}
			entries := 0
			for _, index := range table.Indexes() {
				entries += index.Entry(sized).Bytes()
			}
			inTable, inIndexes = append(inTable, thousands(sized.Bytes())), append(inIndexes, thousands(entries))
		}
		f.add(filled.name, true, kinds, inTable)
		f.add("in indexes, "+filled.name, true, kinds, inIndexes)
	}
	f.check(t)
}
