package conformance

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/events"
	"ledger.example/internal/ddb/ddbtest"
	"ledger.example/internal/local/memdb"
	"ledger.example/internal/store"
	"ledger.example/ledger"
	"ledger.example/ledger/dynamo"
	"ledger.example/projections"
	viewsdynamo "ledger.example/projections/dynamo"
	"ledger.example/tests/setup"
)

// The journal keeps the contract of ledger.Journal, in memory and on DynamoDB Local. Other tests inject faults.
func TestJournalConforms(t *testing.T) {
	t.Run("memory", func(t *testing.T) {
		client := memdb.New(memdb.Options{Violation: func(err error) { t.Error(err) }}).DynamoDB()
		setup.Table(t, client, "books")
		conform(t, client, "books")
	})
	t.Run("DynamoDB Local", func(t *testing.T) {
		client, table := newTable(t)
		conform(t, client, table)
	})
}

func conform(t *testing.T, client *dynamodb.Client, table string) {
	for i, test := range []struct {
		name string
		run  func(*suite)
	}{
		{"lookup", (*suite).lookup},
		{"put once", (*suite).putOnce},
		{"append and read back", (*suite).appendAndRead},
		{"append the largest", (*suite).appendLargest},
		{"append again", (*suite).appendAgain},
		{"posting exists", (*suite).postingExists},
		{"guard's condition", (*suite).guard},
		{"guard of large amounts", (*suite).guardOfLargeAmounts},
		{"round amounts", (*suite).roundAmounts},
		{"guards are created and get versions", (*suite).guards},
		{"changes", (*suite).changes},
		{"all or nothing", (*suite).allOrNothing},
		{"complete", (*suite).complete},
		{"newest", (*suite).newest},
		{"put unless", (*suite).putUnless},
		{"a hold ends", (*suite).holdEnds},
		{"reversals", (*suite).reversals},
		{"due holds", func(s *suite) { s.dueHolds(client, table) }},
		{"cancelled context", (*suite).cancelledContext},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.run(&suite{
				T: t, Journal: dynamo.NewJournal(client, table), views: viewsdynamo.NewViews(client, table),
				minter: events.NewMinter(nil, nil), prefix: fmt.Sprintf("%02d-", i),
			})
		})
	}
}

// suite is the state of one subtest. All subtests share a table, and each has its own prefix of ids.
type suite struct {
	*testing.T
	*dynamo.Journal
	views  *viewsdynamo.Views
	minter *events.Minter
	prefix string
}

var instant = time.Date(2026, 11, 21, 9, 6, 39, 123456000, time.UTC)

func (s *suite) amount(text string) events.Amount { s.Helper(); return amount(s, text) }

func (s *suite) id(name string) string { return s.prefix + name }

func (s *suite) pair(account, asset string) events.Pair {
	return events.Pair{Account: s.id(account), Asset: s.id(asset)}
}

func (s *suite) asset(name string) events.AssetRegistered {
	return events.AssetRegistered{ID: s.id(name), Name: "Asset " + name, Scale: 2, Actor: "tester", At: instant}
}

func (s *suite) account(name string) events.AccountOpened {
	return events.AccountOpened{ID: s.id(name), Profile: "{}", Actor: "tester", At: instant}
}

func (s *suite) leg(account, asset, quantity string) events.Leg {
	return events.Leg{Account: s.id(account), Asset: s.id(asset), Quantity: s.amount(quantity)}
}

// transfer returns a transaction that moves quantity of USD, with new KSUIDs.
func (s *suite) transfer(name, from, to, quantity string) events.TransactionPosted {
	return s.transaction(name, s.leg(from, "USD", "-"+quantity), s.leg(to, "USD", quantity))
}

func (s *suite) transaction(name string, legs ...events.Leg) events.TransactionPosted {
	s.Helper()
	ids, _, err := s.minter.Mint(len(legs))
	s.must(err)
	legs = slices.Clone(legs)
	for i := range legs {
		legs[i].ID = ids[i]
	}
	return events.TransactionPosted{
		ID: s.id(name), Kind: events.KindTransfer, Metadata: map[string]string{}, Legs: legs, Fingerprint: "1:" + name,
		Actor: "tester",
	}
}

// debit returns a debit of USD.
func (s *suite) debit(account, gross, bound string) ledger.Debit {
	return ledger.Debit{Pair: s.pair(account, "USD"), Version: 1, Gross: s.amount(gross), Bound: s.amount(bound)}
}

// refusal returns a refusal by a guard with version 1 of the account.
func (s *suite) refusal(p events.Pair, spent string) ledger.Refusal {
	return ledger.Refusal{Guard: ledger.Guard{Pair: p, Spent: s.amount(spent), Version: 1}}
}

func (s *suite) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *suite) wantError(what string, err, wanted error) {
	s.Helper()
	if !errors.Is(err, wanted) {
		s.Errorf("%s: error %v, want %v", what, err, wanted)
	}
}

func (s *suite) wantEqual(got, want any) {
	s.Helper()
	if !reflect.DeepEqual(got, want) {
		s.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// append creates the guards of all debits, and commits a transaction.
func (s *suite) append(header events.TransactionPosted, debits ...ledger.Debit) *ledger.Cancelled {
	s.Helper()
	for _, d := range debits {
		s.must(s.CreateGuard(s.Context(), d.Pair))
		s.must(s.SetGuardVersion(s.Context(), d.Pair, 1))
	}
	return s.commit(ledger.NewCommit(header, debits...))
}

// commit appends a commit, and retries after conflicts and throttling. It fails the test on any error but *Cancelled.
func (s *suite) commit(c ledger.Commit) *ledger.Cancelled {
	s.Helper()
	for {
		at, err := s.Append(s.Context(), c)
		cancelled, ok := errors.AsType[*ledger.Cancelled](err)
		if !ok {
			s.must(err)
			s.checkClock(at)
			return nil
		}
		busy := func(h ledger.HeadReason) bool { return h.Is == ledger.HeadConflict || h.Is == ledger.HeadThrottled }
		if !cancelled.Conflict && !cancelled.Throttled && !slices.ContainsFunc(cancelled.Heads, busy) {
			return cancelled
		}
	}
}

func (s *suite) mustAppend(header events.TransactionPosted, debits ...ledger.Debit) {
	s.Helper()
	if cancelled := s.append(header, debits...); cancelled != nil {
		s.Fatalf("append %s: cancelled: %+v", header.ID, cancelled)
	}
}

// wantRefusals fails the test unless exactly these guards refuse the transaction, in this order.
func (s *suite) wantRefusals(header events.TransactionPosted, debits []ledger.Debit, want ...ledger.Refusal) {
	s.Helper()
	got := s.append(header, debits...)
	if got == nil || got.Heads[0] != (ledger.HeadReason{}) {
		s.Fatalf("append %s: %+v, want refusals %+v", header.ID, got, want)
	}
	s.wantEqual(got.Refused, want)
}

// checkClock fails the test unless at is a time of the store's clock: whole seconds, and about now.
func (s *suite) checkClock(at time.Time) {
	s.Helper()
	if at.Nanosecond() != 0 || time.Since(at).Abs() > time.Minute {
		s.Errorf("the store's clock is %v, at %v", at, time.Now())
	}
}

func (s *suite) wantAbsent(t events.TransactionPosted) {
	s.Helper()
	_, _, err := s.Transaction(s.Context(), t.ID)
	s.wantError("read "+t.ID, err, store.ErrAbsent)
}

func (s *suite) wantStored(want events.TransactionPosted) {
	s.Helper()
	got, at, err := s.Transaction(s.Context(), want.ID)
	s.must(err)
	s.checkClock(at)
	s.wantEqual(got, want)
	at, err = s.VerifyComplete(s.Context(), want, want.Postings())
	s.must(err)
	s.checkClock(at)
}

// project stores a balance with these credits, as a projector does.
func (s *suite) project(p events.Pair, credits events.Amount) {
	s.Helper()
	b, _, err := s.views.Balance(s.Context(), p)
	s.must(err)
	b.Head.Credits = credits
	s.must(s.views.Write(s.Context(), projections.Change{Balance: b}))
}

// put puts an event that is absent.
func (s *suite) put(e events.Event, unless ...events.Event) {
	s.Helper()
	stored, err := s.Put(s.Context(), e, unless...)
	s.must(err)
	s.wantEqual(stored, e)
}

// A lookup can name more than a hundred keys, some twice, some of missing items. Credits come from the balance, and can
// be the largest possible amount.
func (s *suite) lookup() {
	large := s.pair("jane", "USD")
	keys := ledger.LookupKeys{Credits: []events.Pair{large, s.pair("jane", "US")}}
	want := ledger.LookupResult{Accounts: map[string]ledger.Account{}, Assets: map[string]events.AssetRegistered{},
		Groups: map[string]events.GroupRegistered{}, Credits: map[events.Pair]events.Amount{large: events.MaxFolded()}}
	for i := range 70 {
		name := fmt.Sprint(i)
		keys.Accounts = append(keys.Accounts, s.id(name), s.id(name))
		keys.Assets = append(keys.Assets, s.id(name), s.id(name))
		keys.Groups = append(keys.Groups, s.id(name), s.id(name))
		if i%3 == 0 {
			continue
		}
		account, asset := s.account(name), s.asset(name)
		account.Profile = `{"note":"` + strings.Repeat("x", 4000) + `"}`
		group := events.GroupRegistered{ID: s.id(name), Name: "Group", Actor: "tester", At: instant}
		want.Accounts[account.ID], want.Assets[asset.ID], want.Groups[group.ID] = ledger.NewAccount(account, nil),
			asset, group
		for _, e := range []events.Event{account, asset, group} {
			s.put(e)
		}
	}
	s.project(large, events.MaxFolded())
	found, err := s.Lookup(s.Context(), keys)
	s.must(err)
	s.checkClock(found.At)
	s.wantEqual(found.Accounts, want.Accounts)
	s.wantEqual(found.Assets, want.Assets)
	s.wantEqual(found.Groups, want.Groups)
	s.wantEqual(found.Credits, want.Credits)
}

// A put under an existing key changes nothing and returns the stored event.
func (s *suite) putOnce() {
	asset, jane, market := s.asset("x:AAPL@1"), s.account("jane"), s.account("market")
	asset.Name, asset.Description, asset.Scale, asset.Currency = "Äpfel ☃", "Common stock", 18, "USD"
	jane.Name = "Jane Doe"
	jane.Profile = `{"addresses":[{"street":"1 Main St","n":1.50}],"email":"jane@example.com"}`
	jane.Overdraft.Limits = map[string]events.Amount{"USD": s.amount(strings.Repeat("9", events.PostedDigits)),
		"EUR": {}}
	market.Overdraft.Unlimited = true
	group := events.GroupRegistered{ID: s.id("desk"), Name: "Desk", Actor: "tester", At: instant}
	otherGroup := group
	otherGroup.Name = "Another"
	granted := events.MemberGranted{Account: jane.ID, User: "u", Role: events.RoleOwner, Number: 1, Actor: "tester",
		At: instant}
	revoked := events.MemberGranted{Account: jane.ID, User: "u", Number: 1, Actor: "tester", At: instant}
	grouped := events.AccountGrouped{Account: jane.ID, Number: 1, Groups: []string{group.ID}, Added: group.ID,
		Actor: "tester", At: instant}
	left := events.AccountGrouped{Account: jane.ID, Number: 1, Removed: group.ID, Actor: "tester", At: instant}
	for _, c := range []struct{ first, second events.Event }{
		{asset, s.asset("x:AAPL@1")}, {jane, s.account("jane")}, {market, s.account("market")},
		{s.account("plain"), s.account("plain")}, {group, otherGroup}, {granted, revoked}, {grouped, left},
	} {
		s.put(c.first)
		stored, err := s.Put(s.Context(), c.second)
		s.wantError("put again", err, store.ErrExists)
		s.wantEqual(stored, c.first)
	}
}

func (s *suite) appendAndRead() {
	most := strings.Repeat("9", events.PostedDigits)
	legs := []events.Leg{
		s.leg("jane", "AAPL", "10"), s.leg("market", "AAPL", "-10"), s.leg("jane", "USD", "-"+most),
		s.leg("market", "USD", most),
	}
	legs[0].Cost, legs[1].Cost = s.amount(most), s.amount("-"+most)
	trade := s.transaction("t-1", legs...)
	trade.Kind, trade.Description = events.KindTrade, "ten äpfel ☃"
	trade.Metadata = map[string]string{"order": "1001", "empty": "", "a.b#c": "d"}
	s.wantAbsent(trade)
	s.mustAppend(trade)
	s.wantStored(trade)
	s.wantAbsent(s.transaction("t"))
}

func (s *suite) appendLargest() {
	var legs []events.Leg
	var debits []ledger.Debit
	for i := range events.PostingsMax - 1 {
		account := fmt.Sprintf("%061d", i)
		legs = append(legs, s.leg(account, "USD", "-1"))
		debits = append(debits, s.debit(account, "1", "0"))
	}
	legs = append(legs, s.leg("shop", "USD", fmt.Sprint(len(legs))))
	most := s.transaction(strings.Repeat("t", events.IDChars-len(s.prefix)), legs...)
	s.mustAppend(most, debits...)
	s.wantStored(most)

	// The last guard refuses, and the refusal names it.
	last := len(debits) - 1
	for i := range debits[:last] {
		debits[i].Bound = s.amount("1")
	}
	s.wantRefusals(s.transaction("again", legs...), debits, s.refusal(debits[last].Pair, "1"))
}

func (s *suite) appendAgain() {
	first := s.transfer("t-1", "jane", "shop", "5")
	s.mustAppend(first, s.debit("jane", "5", "0"))

	// Another transaction with the same id changes nothing, and gets the stored header.
	second := s.transfer("t-1", "bob", "shop", "7")
	for _, debits := range [][]ledger.Debit{{s.debit("bob", "7", "100")}, {s.debit("bob", "7", "-1")}, nil} {
		cancelled := s.append(second, debits...)
		if cancelled == nil || cancelled.Heads[0].Is != ledger.HeadExists {
			s.Fatalf("appended under a used id: %+v", cancelled)
		}
		s.wantEqual(cancelled.Heads[0].Stored, events.Event(first))
		s.checkClock(cancelled.At)
	}
	s.wantStored(first)
	_, err := s.VerifyComplete(s.Context(), second, second.Postings())
	s.wantError("postings of a cancelled transaction", err, store.ErrAbsent)
	// Bob's guard is unchanged.
	s.wantRefusals(s.transfer("t-2", "bob", "shop", "1"), []ledger.Debit{s.debit("bob", "1", "-1")},
		s.refusal(s.pair("bob", "USD"), "0"))
}

func (s *suite) postingExists() {
	first, second := s.transfer("t-1", "jane", "shop", "5"), s.transfer("t-2", "jane", "shop", "6")
	second.Legs[1].ID = first.Legs[1].ID
	s.mustAppend(first)
	s.wantRefusals(second, nil)
	s.wantAbsent(second)
	s.wantStored(first)
}

func (s *suite) guard() {
	for i, step := range []struct {
		gross, bound string
		refused      bool
		spent        string // before
	}{
		{"10", "-1", true, "0"}, // with nothing spent, only a bound of at least 0 passes
		{"10", "0", false, "0"},
		{"5", "9", true, "10"},
		{"5", "10", false, "10"}, // what is spent may be equal to the bound
		{"1", "14", true, "15"},
		{"1", "-5", true, "15"},
		{"1", "1000", false, "15"},
		{"1", "15", true, "16"},
	} {
		tx, debit := s.transfer(fmt.Sprint("t-", i), "jane", "shop", step.gross),
			s.debit("jane", step.gross, step.bound)
		if step.refused {
			s.wantRefusals(tx, []ledger.Debit{debit}, s.refusal(debit.Pair, step.spent))
			s.wantAbsent(tx)
			continue
		}
		s.mustAppend(tx, debit)
		s.wantStored(tx)
	}
	// Each account and asset has its own guard.
	s.mustAppend(s.transaction("eur", s.leg("jane", "EUR", "-1"), s.leg("shop", "EUR", "1")),
		ledger.Debit{Pair: s.pair("jane", "EUR"), Version: 1, Gross: s.amount("1")})
	s.mustAppend(s.transfer("bob", "bob", "shop", "1"), s.debit("bob", "1", "0"))
}

// A guard refuses a debit if it is absent, or has another version than the debit.
func (s *suite) guards() {
	jane, ctx := s.pair("jane", "USD"), s.Context()
	refuses := func(change int64, want ledger.Refusal) {
		s.Helper()
		debit := s.debit("jane", "1", "1000")
		debit.Version = change
		tx := s.transfer("t-1", "jane", "shop", "1")
		got := s.commit(ledger.NewCommit(tx, debit))
		if got == nil || len(got.Refused) != 1 || got.Refused[0] != want {
			s.Fatalf("by version %d: %+v, want a refusal %+v", change, got, want)
		}
		s.wantAbsent(tx)
	}
	s.wantError("tell a guard that is absent", s.SetGuardVersion(ctx, jane, 1), store.ErrAbsent)
	refuses(1, ledger.Refusal{Guard: ledger.Guard{Pair: jane}, Absent: true})
	s.must(s.CreateGuard(ctx, jane))
	for _, change := range []int64{0, 1} {
		refuses(change, ledger.Refusal{Guard: ledger.Guard{Pair: jane}})
	}
	s.must(s.SetGuardVersion(ctx, jane, 2))
	s.must(s.SetGuardVersion(ctx, jane, 1))
	refuses(1, ledger.Refusal{Guard: ledger.Guard{Pair: jane, Version: 2}})
	refuses(3, ledger.Refusal{Guard: ledger.Guard{Pair: jane, Version: 2}})
	s.must(s.CreateGuard(ctx, jane))
	debit := s.debit("jane", "7", "0")
	debit.Version = 2
	if got := s.commit(ledger.NewCommit(s.transfer("t-2", "jane", "shop", "7"), debit)); got != nil {
		s.Fatalf("refused: %+v", got)
	}
	s.must(s.CreateGuard(ctx, jane)) // changes nothing
	s.must(s.SetGuardVersion(ctx, jane, 12))
	wanted := ledger.Guard{Pair: jane, Spent: s.amount("7"), Version: 12}
	found, err := s.Lookup(ctx, ledger.LookupKeys{Credits: []events.Pair{jane, s.pair("jane", "EUR")}})
	s.must(err)
	s.wantEqual(found.Guards, map[events.Pair]ledger.Guard{jane: wanted})

	// A list of guards has those of the account only, also on its second page.
	s.must(s.CreateGuard(ctx, s.pair("jane", "AAPL")))
	s.must(s.CreateGuard(ctx, s.pair("jan", "USD")))
	page, next, err := s.Guards(ctx, s.id("jane"), "")
	s.must(err)
	s.wantEqual(page, []ledger.Guard{{Pair: s.pair("jane", "AAPL")}, wanted})
	s.wantEqual(next, "")
	page, _, err = s.Guards(ctx, s.id("jane"), s.id("AAPL"))
	s.must(err)
	s.wantEqual(page, []ledger.Guard{wanted})
	page, _, err = s.Guards(ctx, s.id("nobody"), "")
	s.must(err)
	s.wantEqual(page, []ledger.Guard{})
}

// A change of an account is put once, and only after the change with the number before.
func (s *suite) changes() {
	opening := s.account("jane")
	s.put(opening)
	change := func(number int64, name string) events.AccountChanged {
		return events.AccountChanged{
			ID: opening.ID, Number: number, Name: name, Profile: `{"a":1}`, State: events.StateFrozen, Actor: "tester",
			At: instant, Overdraft: events.Overdraft{Limits: map[string]events.Amount{"USD": s.amount("5")}},
		}
	}
	is := func(newest *events.AccountChanged) {
		s.Helper()
		found, err := s.Lookup(s.Context(), ledger.LookupKeys{Accounts: []string{opening.ID}})
		s.must(err)
		s.wantEqual(found.Accounts, map[string]ledger.Account{opening.ID: ledger.NewAccount(opening, newest)})
	}
	is(nil)
	s.wantError("before the second", s.PutChange(s.Context(), change(3, "x")), store.ErrConflict)
	is(nil)
	for n := int64(2); n <= 12; n++ {
		c := change(n, fmt.Sprint("Jane ", n))
		s.must(s.PutChange(s.Context(), c))
		is(&c)
		s.wantError("again", s.PutChange(s.Context(), change(n, "x")), store.ErrConflict)
		s.wantError("too early", s.PutChange(s.Context(), change(n+2, "x")), store.ErrConflict)
		is(&c)
	}
}

// Amounts beyond 64 bits and beyond the precision of a float stay exact.
func (s *suite) guardOfLargeAmounts() {
	gross := strings.Repeat("9", events.PostedDigits)
	bound, err := events.MaxFolded().Sub(s.amount(gross))
	s.must(err)
	s.mustAppend(s.transfer("t-1", "jane", "shop", gross), s.debit("jane", gross, bound.String()))
	s.mustAppend(s.transfer("t-2", "jane", "shop", gross), s.debit("jane", gross, gross))
	const below, spent = "19999999999999999999999999997", "19999999999999999999999999998"
	s.wantRefusals(s.transfer("t-3", "jane", "shop", "1"), []ledger.Debit{s.debit("jane", "1", below)},
		s.refusal(s.pair("jane", "USD"), spent))
	s.mustAppend(s.transfer("t-4", "jane", "shop", "1"), s.debit("jane", "1", spent))
}

// DynamoDB trims trailing zeros of numbers. Amounts with many zeros are read back exactly all the same, at every width:
// from a header, a posting, a guard and the folds of a balance.
func (s *suite) roundAmounts() {
	for _, digits := range []int{1, 2, 19, 20, events.PostedDigits, events.FoldedDigits} {
		for _, text := range []string{"1" + strings.Repeat("0", digits-1), strings.Repeat("9", digits)} {
			a, k := s.amount(text), s.pair("x"+text, "USD")
			f := projections.Fold{Through: "x", Credits: a, Debits: a, Expenditure: a.Neg(), Count: 2}
			s.must(s.views.Write(s.Context(), projections.Change{Balance: projections.Balance{Pair: k, Base: f, Seal: f,
				Head: f}}))
			b, _, err := s.views.Balance(s.Context(), k)
			s.must(err)
			s.wantEqual([]projections.Fold{b.Base, b.Seal, b.Head}, []projections.Fold{f, f, f})
			found, err := s.Lookup(s.Context(), ledger.LookupKeys{Credits: []events.Pair{k}})
			s.must(err)
			s.wantEqual(found.Credits[k], a)

			tx := s.transfer("t"+text, "x"+text, "shop", text[:min(digits, events.PostedDigits)])
			tx.Legs[0].Cost, tx.Legs[1].Cost = tx.Legs[1].Quantity, tx.Legs[0].Quantity
			debit := s.debit("x"+text, text, "0")
			s.mustAppend(tx, debit)
			s.wantStored(tx)
			page, _, err := s.views.Postings(s.Context(), k, "", "")
			s.must(err)
			s.wantEqual([]events.Amount{page[0].Quantity, page[0].Cost},
				[]events.Amount{tx.Legs[0].Quantity, tx.Legs[0].Cost})
			s.wantRefusals(s.transfer("u"+text, "x"+text, "shop", "1"), []ledger.Debit{debit}, s.refusal(k, text))
		}
	}
}

func (s *suite) allOrNothing() {
	s.mustAppend(s.transfer("t-0", "bob", "shop", "5"), s.debit("bob", "5", "0"))

	// The first and the third guard refuse. The second would have passed.
	tx := s.transaction("t-1", s.leg("bob", "USD", "-6"), s.leg("jane", "USD", "-5"), s.leg("carol", "USD", "-5"),
		s.leg("shop", "USD", "16"))
	s.wantRefusals(tx, []ledger.Debit{s.debit("bob", "6", "4"), s.debit("jane", "5", "1"), s.debit("carol", "5", "-1")},
		s.refusal(s.pair("bob", "USD"), "5"), s.refusal(s.pair("carol", "USD"), "0"))
	s.wantAbsent(tx)
	_, err := s.VerifyComplete(s.Context(), tx, tx.Postings())
	s.wantError("a refused transaction", err, store.ErrAbsent)
	// If the refused commit had changed jane's guard, this would be refused at 5.
	s.mustAppend(s.transfer("t-2", "jane", "shop", "1"), s.debit("jane", "1", "0"))

	// The same commit succeeds when its bounds allow it, so the refused one has left nothing in the table.
	s.mustAppend(tx, s.debit("bob", "6", "5"), s.debit("jane", "5", "5"), s.debit("carol", "5", "5"))
	s.wantStored(tx)
}

func (s *suite) complete() {
	tx := s.transfer("t-1", "jane", "shop", "5")
	verify := func(what string, t events.TransactionPosted) {
		_, err := s.VerifyComplete(s.Context(), t, t.Postings())
		s.wantError(what, err, store.ErrAbsent)
	}
	verify("before it is stored", tx)
	s.mustAppend(tx)
	s.wantStored(tx)
	other := s.transfer("t-1", "jane", "shop", "5")
	other.Legs[0] = tx.Legs[0]
	verify("with a missing posting", other)
	tx.ID = s.id("t-2")
	verify("without its header", tx)
}

// The newest event is the one with the highest number, not the last in text order, and not the latest. Accounts and
// groups with the same id are kept apart, and so are users and accounts whose ids have a common prefix.
func (s *suite) newest() {
	id := s.id("desk")
	role := func(role events.Role, number int64, err error) (string, int64, error) {
		return string(role), number, err
	}
	for what, c := range map[string]struct {
		event func(id string, n int64) (e events.Event, state string)
		read  func(id, user string) (state string, number int64, err error)
	}{
		"grant on an account": {
			func(id string, n int64) (events.Event, string) {
				if n%2 == 0 {
					return events.MemberGranted{Account: id, User: "u", Number: n, Actor: "tester",
						At: instant.AddDate(0, 0, int(-n))}, ""
				}
				return events.MemberGranted{Account: id, User: "u", Role: events.RoleViewer, Number: n, Actor: "tester",
					At: instant}, string(events.RoleViewer)
			},
			func(id, user string) (string, int64, error) { return role(s.NewestGrant(s.Context(), id, user)) },
		},
		"grant in a group": {
			func(id string, n int64) (events.Event, string) {
				return events.MemberGranted{Group: id, User: "u", Role: events.RoleOwner, Number: n, Actor: "tester",
					At: instant}, string(events.RoleOwner)
			},
			func(id, user string) (string, int64, error) { return role(s.NewestGroupGrant(s.Context(), id, user)) },
		},
		"groups of an account": {
			func(id string, n int64) (events.Event, string) {
				if n%2 == 0 {
					return events.AccountGrouped{Account: id, Number: n, Removed: "z", Actor: "tester", At: instant}, ""
				}
				return events.AccountGrouped{Account: id, Number: n, Groups: []string{"a", "z"}, Added: "z",
					Actor: "tester", At: instant}, "a z"
			},
			func(id, _ string) (string, int64, error) {
				groups, number, err := s.NewestGroups(s.Context(), id)
				return strings.Join(groups, " "), number, err
			},
		},
	} {
		_, _, err := c.read(id, "u")
		s.wantError("no "+what, err, store.ErrAbsent)
		for n := int64(1); n <= 12; n++ {
			e, state := c.event(id, n)
			s.put(e)
			got, number, err := c.read(id, "u")
			s.must(err)
			s.wantEqual(got, state)
			s.wantEqual(number, n)
		}
		_, _, err = c.read(id[:len(id)-1], "u")
		s.wantError(what+" of another", err, store.ErrAbsent)
		if what != "groups of an account" {
			_, _, err = c.read(id, "u1")
			s.wantError(what+" to another user", err, store.ErrAbsent)
		}
	}
}

// A put is refused if an event that it relies on is outdated. But if the put event exists already, that is returned.
func (s *suite) putUnless() {
	jane, desk := s.id("jane"), s.id("desk")
	grant := func(user string, number int64) events.MemberGranted {
		return events.MemberGranted{
			Account: jane, User: user, Role: events.RoleOwner, Number: number, Actor: "tester", At: instant,
		}
	}
	inDesk := grant("ann", 1)
	inDesk.Account, inDesk.Group = "", desk
	grouped := events.AccountGrouped{
		Account: jane, Number: 1, Groups: []string{desk}, Added: desk, Actor: "tester", At: instant,
	}
	s.put(grant("bob", 1), grant("ann", 1), inDesk, grouped)
	stored, err := s.Put(s.Context(), grant("bob", 1), grant("ann", 1))
	s.wantError("put again", err, store.ErrExists)
	s.wantEqual(stored, grant("bob", 1))
	for i, there := range []events.Event{grant("ann", 1), inDesk, grouped} {
		next := grant("bob", int64(i)+2)
		s.put(next, there) // only the key is compared, and it is absent
		s.put(there)
		_, err := s.Put(s.Context(), grant("bob", int64(i)+3), grant("none", 1), there)
		s.wantError("outdated", err, store.ErrOutdated)
		_, number, err := s.NewestGrant(s.Context(), jane, "bob")
		s.must(err)
		s.wantEqual(number, next.Number)
		stored, err = s.Put(s.Context(), next, there)
		s.wantError("both", err, store.ErrExists)
		s.wantEqual(stored, next)
	}
}

// With a cancelled context, nothing is written, and no read reports an item as absent.
func (s *suite) cancelledContext() {
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	tx := s.transfer("t-1", "jane", "shop", "5")
	for what, read := range reads {
		s.wantError(what, read(ctx, s.Journal), store.ErrUnavailable)
	}
	_, err := s.VerifyComplete(ctx, tx, tx.Postings())
	s.wantError("complete", err, store.ErrUnavailable)
	_, err = s.Append(ctx, ledger.NewCommit(tx))
	s.wantError("append", err, store.ErrUnavailable)
	s.wantAbsent(tx)
}

// reads has the journal's reads that are not transactions, each of a missing item.
var reads = map[string]func(context.Context, *dynamo.Journal) error{
	"lookup": func(ctx context.Context, j *dynamo.Journal) error {
		found, err := j.Lookup(ctx,
			ledger.LookupKeys{Accounts: []string{"none", "none"}, Assets: []string{"none", "none"},
				Credits: []events.Pair{{Account: "none", Asset: "none"}, {Account: "none", Asset: "none"}}})
		if err == nil && len(found.Accounts)+len(found.Assets)+len(found.Credits) == 0 {
			return store.ErrAbsent
		}
		return err
	},
	"transaction": func(ctx context.Context, j *dynamo.Journal) error {
		_, _, err := j.Transaction(ctx, "none")
		return err
	},
	"newest grant": func(ctx context.Context, j *dynamo.Journal) error {
		_, _, err := j.NewestGrant(ctx, "none", "ann")
		return err
	},
	"newest grant in a group": func(ctx context.Context, j *dynamo.Journal) error {
		_, _, err := j.NewestGroupGrant(ctx, "none", "ann")
		return err
	},
	"newest groups": func(ctx context.Context, j *dynamo.Journal) error {
		_, _, err := j.NewestGroups(ctx, "none")
		return err
	},
}

// Commands decide on what they read. So every read of the journal must be strongly consistent, and name each key once.
func TestReadsAreStrong(t *testing.T) {
	for what, read := range reads {
		fake, client := ddbtest.New(t, ddbtest.Always(ddbtest.OK(`{"Items":[],"Responses":{}}`)))
		if err := read(t.Context(), dynamo.NewJournal(client, "books")); !errors.Is(err, store.ErrAbsent) {
			t.Errorf("%s of what is absent: %v", what, err)
		}
		requests := fake.Requests()
		if len(requests) != 1 {
			t.Fatalf("%s: %d requests", what, len(requests))
		}
		body := requests[0].Body
		if batch, ok := body["RequestItems"].(map[string]any); ok {
			body = batch["books"].(map[string]any)
			if keys := body["Keys"].([]any); len(keys) != 5 {
				t.Errorf("%s asks for %v", what, keys)
			}
		}
		if body["ConsistentRead"] != true {
			t.Errorf("%s is not strongly consistent: %v", what, body)
		}
	}
}
