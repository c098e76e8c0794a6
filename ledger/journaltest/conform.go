package journaltest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
	"ledger.example/ledger/table"
)

// Harness is a journal under test.
type Harness struct {
	// Journal is empty when a subtest begins.
	Journal ledger.Journal
	// Project stores credits of a pair as the read side would, for Look to find.
	Project func(t testing.TB, p ledger.Pair, credits events.Amount)
}

// Conform runs the contract of ledger.Journal as subtests, each on a new harness. It knows the journal by its port alone, and
// asks for what every implementation must do whatever the store is up to: faults are for the tests of the adapters.
func Conform(t *testing.T, harness func(t *testing.T) Harness) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, s suite)
	}{
		{"look", conformLook},
		{"look for more than a hundred", conformLookMany},
		{"look for credits", conformLookCredits},
		{"register asset", conformAsset},
		{"open account", conformAccount},
		{"append and read back", conformAppend},
		{"append the most", conformAppendMost},
		{"append again", conformAppendAgain},
		{"posting exists", conformPostingExists},
		{"guard's condition", conformGuard},
		{"guard of large amounts", conformGuardLarge},
		{"all or nothing", conformAtomic},
		{"whole", conformWhole},
		{"concurrent debits", conformConcurrentDebits},
		{"concurrent ids", conformConcurrentIDs},
		{"grants", conformGrants},
		{"no time left", conformNoTime},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.run(t, suite{Harness: harness(t), t: t, minter: events.NewMinter(nil, nil)})
		})
	}
}

// suite is one subtest at work.
type suite struct {
	Harness
	t      *testing.T
	minter *events.Minter
}

func amount(t testing.TB, s string) events.Amount {
	t.Helper()
	a, err := events.ParseAmount(s, events.FoldedDigits)
	if err != nil {
		t.Fatalf("amount %q: %v", s, err)
	}
	return a
}

func (s suite) amount(text string) events.Amount { s.t.Helper(); return amount(s.t, text) }

var instant = time.Date(2026, 11, 21, 9, 6, 39, 123456000, time.UTC)

func (s suite) asset(id string) events.AssetRegistered {
	return events.AssetRegistered{ID: id, Name: "Asset " + id, Scale: 2, Actor: "tester", At: instant}
}

func (s suite) account(id string) events.AccountOpened {
	return events.AccountOpened{ID: id, Profile: "{}", Actor: "tester", At: instant}
}

// transfer returns a transaction that moves quantity of USD, with new KSUIDs.
func (s suite) transfer(id, from, to, quantity string) events.TransactionPosted {
	s.t.Helper()
	q := s.amount(quantity)
	return s.transaction(id,
		events.Leg{Account: from, Asset: "USD", Quantity: q.Neg()},
		events.Leg{Account: to, Asset: "USD", Quantity: q})
}

func (s suite) transaction(id string, legs ...events.Leg) events.TransactionPosted {
	s.t.Helper()
	ids, _, err := s.minter.Mint(len(legs))
	if err != nil {
		s.t.Fatal(err)
	}
	legs = slices.Clone(legs)
	for i := range legs {
		legs[i].ID = ids[i]
	}
	return events.TransactionPosted{
		ID: id, Kind: events.KindTransfer, Metadata: map[string]string{}, Legs: legs, Fingerprint: "1:" + id, Actor: "tester",
	}
}

func debit(account string, gross, bound events.Amount) ledger.Debit {
	return ledger.Debit{Pair: ledger.Pair{Account: account, Asset: "USD"}, Gross: gross, Bound: bound}
}

// append appends, again while the store says that others are under way, and fails the test on any error but *Cancelled.
func (s suite) append(c ledger.Commit) *ledger.Cancelled {
	s.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; {
		at, err := s.Journal.Append(s.t.Context(), c)
		var cancelled *ledger.Cancelled
		switch {
		case err == nil:
			s.clock(at)
			return nil
		case !errors.As(err, &cancelled):
			s.t.Fatalf("append %s: %v", c.Header.ID, err)
		}
		busy := cancelled.Conflict || cancelled.Throttled || cancelled.Header == ledger.HeaderConflict || cancelled.Header == ledger.HeaderThrottled
		if !busy {
			return cancelled
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("append %s: still in conflict: %+v", c.Header.ID, cancelled)
		}
	}
}

func (s suite) mustAppend(c ledger.Commit) {
	s.t.Helper()
	if cancelled := s.append(c); cancelled != nil {
		s.t.Fatalf("append %s: cancelled: %+v", c.Header.ID, cancelled)
	}
}

// clock fails the test unless at is the store's clock: whole seconds, and about now.
func (s suite) clock(at time.Time) {
	s.t.Helper()
	if at.Nanosecond() != 0 || time.Since(at).Abs() > time.Minute {
		s.t.Errorf("the store's clock is %v, at %v", at, time.Now())
	}
}

func (s suite) absent(id string) {
	s.t.Helper()
	if got, _, err := s.Journal.Transaction(s.t.Context(), id); !errors.Is(err, table.ErrAbsent) {
		s.t.Errorf("transaction %s: %+v, %v; want it absent", id, got, err)
	}
}

func (s suite) stored(want events.TransactionPosted) {
	s.t.Helper()
	got, at, err := s.Journal.Transaction(s.t.Context(), want.ID)
	if err != nil {
		s.t.Fatalf("transaction %s: %v", want.ID, err)
	}
	s.clock(at)
	same(s.t, got, want)
	if at, err = s.Journal.Whole(s.t.Context(), want); err != nil {
		s.t.Errorf("transaction %s is not whole: %v", want.ID, err)
	}
	s.clock(at)
}

func same(t testing.TB, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// refused fails the test unless exactly these guards refused, in this order, at what had been spent.
func (s suite) refused(got *ledger.Cancelled, want ...ledger.Refusal) {
	s.t.Helper()
	if got == nil {
		s.t.Fatalf("appended; want refusals %+v", want)
	}
	if got.Header != ledger.HeaderNone || got.Stored != nil {
		s.t.Errorf("refused with header reason %v and header %v, want none", got.Header, got.Stored)
	}
	same(s.t, got.Refused, want)
}

func conformLook(t *testing.T, s suite) {
	ctx := t.Context()
	found, err := s.Journal.Look(ctx, ledger.Wanted{
		Accounts: []string{"jane"}, Assets: []string{"USD"}, Credits: []ledger.Pair{{Account: "jane", Asset: "USD"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.clock(found.At)
	if len(found.Accounts)+len(found.Assets)+len(found.Credits) != 0 {
		t.Errorf("found in an empty journal: %+v", found)
	}
	if _, err := s.Journal.RegisterAsset(ctx, s.asset("USD")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Journal.OpenAccount(ctx, s.account("jane")); err != nil {
		t.Fatal(err)
	}
	found, err = s.Journal.Look(ctx, ledger.Wanted{Accounts: []string{"jane", "USD", "jane"}, Assets: []string{"jane", "USD", "USD"}})
	if err != nil {
		t.Fatal(err)
	}
	same(t, found.Accounts, map[string]events.AccountOpened{"jane": s.account("jane")})
	same(t, found.Assets, map[string]events.AssetRegistered{"USD": s.asset("USD")})
}

func conformLookMany(t *testing.T, s suite) {
	var wanted ledger.Wanted
	accounts, assets, credits := map[string]events.AccountOpened{}, map[string]events.AssetRegistered{}, map[ledger.Pair]events.Amount{}
	for i := range 70 {
		id := fmt.Sprintf("%d", i)
		p := ledger.Pair{Account: id, Asset: id}
		wanted.Accounts = append(wanted.Accounts, id, id)
		wanted.Assets = append(wanted.Assets, id, id)
		wanted.Credits = append(wanted.Credits, p, p)
		if i%3 == 0 {
			continue // a third of all is absent
		}
		account, asset := s.account(id), s.asset(id)
		account.Profile = `{"note":"` + strings.Repeat("x", 4000) + `"}`
		if _, err := s.Journal.OpenAccount(t.Context(), account); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Journal.RegisterAsset(t.Context(), asset); err != nil {
			t.Fatal(err)
		}
		s.Project(t, p, events.NewAmount(int64(i)))
		accounts[id], assets[id], credits[p] = account, asset, events.NewAmount(int64(i))
	}
	found, err := s.Journal.Look(t.Context(), wanted)
	if err != nil {
		t.Fatal(err)
	}
	s.clock(found.At)
	same(t, found.Accounts, accounts)
	same(t, found.Assets, assets)
	same(t, found.Credits, credits)
}

func conformLookCredits(t *testing.T, s suite) {
	large, none := ledger.Pair{Account: "jane", Asset: "USD"}, ledger.Pair{Account: "jane", Asset: "US"}
	s.Project(t, large, events.MaxFolded())
	found, err := s.Journal.Look(t.Context(), ledger.Wanted{Credits: []ledger.Pair{large, none}})
	if err != nil {
		t.Fatal(err)
	}
	same(t, found.Credits, map[ledger.Pair]events.Amount{large: events.MaxFolded()})
}

func conformAsset(t *testing.T, s suite) {
	ctx := t.Context()
	first := events.AssetRegistered{
		ID: "x:AAPL@1", Name: "Äpfel ☃", Description: "Common stock", Scale: 18, Currency: "USD", Actor: "tester", At: instant,
	}
	got, err := s.Journal.RegisterAsset(ctx, first)
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, first)
	second := s.asset(first.ID)
	if got, err = s.Journal.RegisterAsset(ctx, second); !errors.Is(err, table.ErrExists) {
		t.Errorf("registered again: %v", err)
	}
	same(t, got, first)
}

func conformAccount(t *testing.T, s suite) {
	ctx := t.Context()
	jane, market := s.account("jane"), s.account("market")
	jane.Name = "Jane Doe"
	jane.Profile = `{"addresses":[{"street":"1 Main St","n":1.50}],"email":"jane@example.com"}`
	jane.Overdraft.Limits = map[string]events.Amount{"USD": s.amount(strings.Repeat("9", events.PostedDigits)), "EUR": {}}
	market.Overdraft.Unlimited = true
	for _, account := range []events.AccountOpened{jane, market, s.account("plain")} {
		got, err := s.Journal.OpenAccount(ctx, account)
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, account)
		if got, err = s.Journal.OpenAccount(ctx, s.account(account.ID)); !errors.Is(err, table.ErrExists) {
			t.Errorf("opened again: %v", err)
		}
		same(t, got, account)
	}
}

func conformAppend(t *testing.T, s suite) {
	s.absent("t-1")
	cost := s.amount(strings.Repeat("9", events.PostedDigits))
	trade := s.transaction("t-1",
		events.Leg{Account: "jane", Asset: "AAPL", Quantity: events.NewAmount(10), Cost: cost},
		events.Leg{Account: "market", Asset: "AAPL", Quantity: events.NewAmount(-10), Cost: cost.Neg()},
		events.Leg{Account: "jane", Asset: "USD", Quantity: cost.Neg()},
		events.Leg{Account: "market", Asset: "USD", Quantity: cost})
	trade.Kind = events.KindTrade
	trade.Description = "ten äpfel ☃"
	trade.Metadata = map[string]string{"order": "1001", "empty": "", "a.b#c": "d"}
	s.mustAppend(ledger.Commit{Header: trade})
	s.stored(trade)
	s.absent("t-2")
	s.absent("t")
}

func conformAppendMost(t *testing.T, s suite) {
	var legs []events.Leg
	var debits []ledger.Debit
	one := events.NewAmount(1)
	for i := range events.PostingsMax - 1 {
		account := fmt.Sprintf("%064d", i)
		legs = append(legs, events.Leg{Account: account, Asset: "USD", Quantity: one.Neg()})
		debits = append(debits, debit(account, one, events.Amount{}))
	}
	legs = append(legs, events.Leg{Account: "shop", Asset: "USD", Quantity: events.NewAmount(int64(len(legs)))})
	most := s.transaction(strings.Repeat("t", events.IDChars), legs...)
	s.mustAppend(ledger.Commit{Header: most, Debits: debits})
	s.stored(most)

	// A guard at the far end refuses, and says so for the right one.
	again := s.transaction("again", legs...)
	for i := range debits[:len(debits)-1] {
		debits[i].Bound = one
	}
	s.refused(s.append(ledger.Commit{Header: again, Debits: debits}), ledger.Refusal{Pair: debits[len(debits)-1].Pair, Spent: one})
}

func conformAppendAgain(t *testing.T, s suite) {
	first := s.transfer("t-1", "jane", "shop", "5")
	s.mustAppend(ledger.Commit{Header: first, Debits: []ledger.Debit{debit("jane", s.amount("5"), s.amount("0"))}})

	// Under the same id, whatever else it says: the stored header comes back, nothing changes.
	second := s.transfer("t-1", "bob", "shop", "7")
	for _, debits := range [][]ledger.Debit{
		{debit("bob", s.amount("7"), s.amount("100"))},
		{debit("bob", s.amount("7"), s.amount("-1"))},
		nil,
	} {
		cancelled := s.append(ledger.Commit{Header: second, Debits: debits})
		if cancelled == nil || cancelled.Header != ledger.HeaderExists || cancelled.Stored == nil {
			t.Fatalf("appended under a used id: %+v", cancelled)
		}
		same(t, *cancelled.Stored, first)
		if !cancelled.At.IsZero() {
			s.clock(cancelled.At)
		}
	}
	s.stored(first)
	if _, err := s.Journal.Whole(t.Context(), second); !errors.Is(err, table.ErrAbsent) {
		t.Errorf("postings of a cancelled transaction: %v", err)
	}
	// Bob's guard was never raised.
	s.refused(s.append(ledger.Commit{
		Header: s.transfer("t-2", "bob", "shop", "1"),
		Debits: []ledger.Debit{debit("bob", s.amount("1"), s.amount("-1"))},
	}), ledger.Refusal{Pair: ledger.Pair{Account: "bob", Asset: "USD"}})
}

func conformPostingExists(t *testing.T, s suite) {
	first := s.transfer("t-1", "jane", "shop", "5")
	s.mustAppend(ledger.Commit{Header: first})
	second := s.transfer("t-2", "jane", "shop", "6")
	second.Legs[1].ID = first.Legs[1].ID
	cancelled := s.append(ledger.Commit{Header: second})
	if cancelled == nil || cancelled.Header != ledger.HeaderNone || cancelled.Stored != nil || cancelled.Refused != nil {
		t.Errorf("a posting was written again: %+v", cancelled)
	}
	s.absent("t-2")
	s.stored(first)
}
