package cost

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/internal/table/tabletest"
	"ledger.example/ledger"
	"ledger.example/projections"
)

// inputs has the values that callers choose, of a certain length.
type inputs struct {
	id             func(name string) string
	text           func(everyday string, most int) string // of at most this many characters
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

func typicalInputs() inputs {
	return inputs{
		id:      func(name string) string { return name },
		text:    func(everyday string, _ int) string { return everyday },
		actor:   "arn:aws:sts::123456789012:assumed-role/trading-desk/i-0123456789abcdef0",
		profile: `{"email":"jane@example.com","addresses":[{"street":"1 Main St","city":"Springfield","country":"US"}]}`,
		posted:  events.NewAmount(-125_000), folded: events.NewAmount(123_456_789_01), count: 123_456,
		metadata: map[string]string{"order": "1001"}, fingerprint: "1:" + strings.Repeat("f", 64),
	}
}

func longestInputs() inputs {
	const widest = "𝄞" // four bytes of UTF-8
	metadata := make(map[string]string, events.MetadataPairs)
	for left := events.MetadataBytes; len(metadata) < events.MetadataPairs; {
		key := fmt.Sprintf("%0*d", events.MetadataKeyChars, len(metadata))
		n := left/(events.MetadataPairs-len(metadata)) - len(key)
		metadata[key] = strings.Repeat("v", n)
		left -= len(key) + n
	}
	return inputs{
		id:      func(name string) string { return name + strings.Repeat("x", events.IDChars-len(name)) },
		text:    func(_ string, most int) string { return strings.Repeat(widest, most) },
		actor:   strings.Repeat(widest, events.ActorChars),
		profile: `{"x":"` + strings.Repeat("x", events.ProfileBytes-len(`{"x":""}`)) + `"}`,
		posted:  parsed("-"+strings.Repeat("9", events.PostedDigits), events.PostedDigits),
		folded:  parsed(strings.Repeat("9", events.FoldedDigits), events.FoldedDigits), count: 1<<63 - 1,
		limits: events.OverdraftAssets, metadata: metadata, fingerprint: strings.Repeat("f", events.FingerprintChars),
	}
}

func (f inputs) annotation() events.Annotation {
	return events.Annotation{Description: f.text("Card order", events.DescriptionChars), Metadata: f.metadata}
}

func (f inputs) leg(n int) events.Leg {
	return events.Leg{
		ID: events.FirstKSUID(time.Now()), Account: f.id(fmt.Sprintf("customers:%08d", n)), Asset: f.id("AAPL"),
		Quantity: f.posted, Cost: f.posted,
	}
}

// items returns one item of each kind, as the product's code writes them.
func (f inputs) items(t *testing.T) (kinds []string, items []table.Item) {
	t.Helper()
	add := func(kind string, item table.Item) { kinds, items = append(kinds, kind), append(items, item) }
	leg, now := f.leg(17), time.Now().UTC().Truncate(time.Microsecond)
	id, asset := leg.Account, leg.Asset
	user := f.id("u-17")
	transaction := func(legs int) table.Item {
		e := events.TransactionPosted{
			ID: f.id("orders:000001001"), Kind: events.KindTransaction,
			Annotation: f.annotation(), Fingerprint: f.fingerprint, Actor: f.actor,
		}
		for n := range legs {
			e.Legs = append(e.Legs, f.leg(n))
		}
		return table.EventItem(e)
	}
	for _, legs := range []int{2, 4, events.PostingsMax} {
		add(fmt.Sprintf("header of %d postings", legs), transaction(legs))
	}
	add("posting", table.EventItem(events.PostingRecorded{
		Leg: leg, Transaction: f.id("orders:000001001"), Kind: events.KindTransaction,
		Description: f.text("Card order", events.DescriptionChars),
	}))
	overdraft := events.Overdraft{}
	for n := range f.limits {
		if n == 0 {
			overdraft.Limits = make(map[string]events.Amount)
		}
		overdraft.Limits[f.id(fmt.Sprintf("A%05d", n))] = f.posted.Abs()
	}
	var metadata map[string]string // most accounts have none
	if f.limits > 0 {
		metadata = f.metadata
	}
	add("account", table.EventItem(events.AccountOpened{
		ID: id, Metadata: metadata, Name: f.text("Jane Doe", events.NameChars), Profile: f.profile, Overdraft: overdraft, Actor: f.actor,
		At: now,
	}))
	add("asset", table.EventItem(events.AssetRegistered{
		ID: asset, Name: f.text("Apple Inc.", events.NameChars),
		Description: f.text("Common stock", events.DescriptionChars),
		Scale:       events.ScaleMax, Currency: f.id("USD"), Actor: f.actor, At: now,
	}))
	add("grant", table.EventItem(events.MemberGranted{Account: id, User: user, Role: events.RoleOperator,
		Number: events.MemberNumberMax, Actor: f.actor, At: now}))

	b := newBank(t)
	fold := projections.Fold{Through: leg.ID, Credits: f.folded, Debits: f.folded, Expenditure: f.folded.Neg(),
		Count: f.count}
	balance := projections.Balance{Pair: events.Pair{Account: id, Asset: asset}, Base: fold, Seal: fold, Head: fold,
		First: leg.ID}
	v := projections.NewViews(table.NewTable(b.Plain, b.Table))
	if err := v.Write(t.Context(), projections.Change{
		Balance:  balance,
		Segments: []projections.Segment{{Pair: balance.Pair, After: leg.ID, Fold: fold}},
		Summary:  &projections.Summary{Account: id, Assets: f.count, Holdings: f.count, First: leg.ID},
	}); err != nil {
		t.Fatal(err)
	}
	if err := v.Show(t.Context(), projections.Members, projections.Membership{Account: id, User: user, Role: events.RoleOperator,
		Number: events.MemberNumberMax}); err != nil {
		t.Fatal(err)
	}
	stored := b.Contents()
	add("balance", stored[table.Balance.Key(id, asset)])
	add("segment, of 256 postings", stored[table.Segment.Key(id, asset, string(leg.ID))])
	add("summary", stored[table.Summary.Key(id)])
	add("membership", stored[table.Membership.Key(id, user)])
	guard := table.Begin(table.Spend.Key(id, asset), table.Spend.Type)
	guard[table.AttrSpent] = table.Amount(f.folded)
	add("guard", guard)
	return kinds, items
}

// TestItemSizes measures the size of each kind of item.
func TestItemSizes(t *testing.T) {
	f := figures{heading: "Sizes of items", of: "item"}
	for _, filled := range []struct {
		name string
		inputs
	}{{"everyday", typicalInputs()}, {"longest", longestInputs()}} {
		kinds, items := filled.items(t)
		var inTable, inIndexes []line
		for i, item := range items {
			size := table.SizeOf(item)
			if size > table.ItemBytes {
				t.Errorf("%s: %d bytes", kinds[i], size)
			}
			entries := 0
			for _, index := range table.Indexes() {
				entries += table.SizeOf(tabletest.Entry(index, item))
			}
			inTable = append(inTable, line{kinds[i], thousands(size)})
			inIndexes = append(inIndexes, line{kinds[i], thousands(entries)})
		}
		f.add(filled.name, inTable)
		f.add("in indexes, "+filled.name, inIndexes)
	}
	f.check(t)
}

// A shape is the number of legs of a transaction, and of limited accounts that it debits.
type shape struct{ legs, debited int }

func (s shape) String() string { return fmt.Sprintf("%d legs, %d guarded", s.legs, s.debited) }

// TestCostOfTransactions measures transactions with different numbers of legs, from a transfer to the largest.
func TestCostOfTransactions(t *testing.T) {
	shapes := []shape{{2, 0}, {2, 1}, {4, 1}, {events.PostingsMax, 1}, {events.PostingsMax, events.PostingsMax - 1}}
	f := figures{heading: "By legs of a transaction", of: "transaction"}
	for _, filled := range []struct {
		name string
		inputs
	}{{"everyday", typicalInputs()}, {"longest", longestInputs()}} {
		var lines []line
		for _, s := range shapes {
			// One request writes the header, the postings and the guards, and nothing else.
			cost := costOfShape(t, s, filled.inputs)
			if want := fmt.Sprintf("1, %d written for ", 1+s.legs+s.debited); !strings.HasPrefix(cost, want) {
				t.Errorf("%s, %s: %s", s, filled.name, cost)
			}
			lines = append(lines, line{s.String(), cost})
		}
		f.add(filled.name, lines)
	}
	f.check(t)
}

// costOfShape measures the second of two transactions. The longest amounts have two digits fewer than the limit, so
// that the leg that balances all others is within the limit.
func costOfShape(t *testing.T, s shape, f inputs) string {
	b := newBank(t)
	cold := b.coldLedger()
	quantity := f.posted.Abs()
	if f.limits > 0 {
		quantity = parsed(quantity.String()[2:], events.PostedDigits)
	}
	asset := f.id("asset")
	if _, _, err := cold.RegisterAsset(t.Context(), ledger.RegisterAsset{ID: asset, Name: "Asset", Currency: "USD",
		Actor: "tester"}); err != nil {
		t.Fatal(err)
	}
	limit := events.Overdraft{Limits: map[string]events.Amount{asset: parsed("9999999999999999999999999999",
		events.PostedDigits)}}
	var legs []ledger.LegRequest
	for n := range s.legs {
		account := ledger.OpenAccount{ID: f.id(fmt.Sprintf("parties:%010d", n)),
			Overdraft: events.Overdraft{Unlimited: true}, Actor: "tester"}
		leg := ledger.LegRequest{Account: account.ID, Asset: asset, Quantity: quantity, Cost: quantity}
		if n < max(1, s.debited) {
			if n < s.debited {
				account.Overdraft = limit
			}
			leg.Quantity, leg.Cost = quantity.Neg(), quantity.Neg()
		}
		if _, _, err := cold.OpenAccount(t.Context(), account); err != nil {
			t.Fatal(err)
		}
		legs = append(legs, leg)
	}
	// One leg balances all others: that of the only payer, or of the only payee.
	one := &legs[0]
	if s.debited > 1 {
		one = &legs[len(legs)-1]
	}
	one.Quantity, one.Cost = events.Amount{}, events.Amount{}
	sum := events.Amount{}
	for _, leg := range legs {
		var err error
		if sum, err = sum.Add(leg.Quantity); err != nil {
			t.Fatal(err)
		}
	}
	one.Quantity, one.Cost = sum.Neg(), sum.Neg()
	post := func(id string) {
		if _, err := cold.Post(t.Context(), ledger.PostTransaction{
			Annotation: ledger.Annotation{ID: f.id(id), Annotation: f.annotation(), Actor: f.actor},
			Postings:   legs,
		}); err != nil {
			t.Fatal(err)
		}
	}
	post("orders:1001")
	return b.costOf(func() { post("orders:1002") })
}
