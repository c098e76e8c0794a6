package journaltest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"ledger.example/events"
	"ledger.example/ledger"
	"ledger.example/ledger/table"
)

func conformGuard(t *testing.T, s suite) {
	jane := ledger.Pair{Account: "jane", Asset: "USD"}
	for i, step := range []struct {
		gross, bound string
		refused      bool
		spent        string // before
	}{
		{"10", "-1", true, "0"}, // nothing spent passes only a bound that is not negative
		{"10", "0", false, "0"},
		{"5", "9", true, "10"},
		{"5", "10", false, "10"}, // at most the bound
		{"1", "14", true, "15"},
		{"1", "-5", true, "15"},
		{"1", "1000", false, "15"},
		{"1", "15", true, "16"},
	} {
		id := fmt.Sprintf("t-%d", i)
		tx := s.transfer(id, "jane", "shop", step.gross)
		cancelled := s.append(ledger.Commit{Header: tx, Debits: []ledger.Debit{debit("jane", s.amount(step.gross), s.amount(step.bound))}})
		if step.refused {
			s.refused(cancelled, ledger.Refusal{Pair: jane, Spent: s.amount(step.spent)})
			s.absent(id)
			continue
		}
		if cancelled != nil {
			t.Fatalf("step %d: %+v", i, cancelled)
		}
		s.stored(tx)
	}
	// Guards of another asset and of another account are others.
	eur := s.transaction("eur",
		events.Leg{Account: "jane", Asset: "EUR", Quantity: s.amount("-1")}, events.Leg{Account: "shop", Asset: "EUR", Quantity: s.amount("1")})
	s.mustAppend(ledger.Commit{Header: eur, Debits: []ledger.Debit{{Pair: ledger.Pair{Account: "jane", Asset: "EUR"}, Gross: s.amount("1")}}})
	s.mustAppend(ledger.Commit{Header: s.transfer("bob", "bob", "shop", "1"), Debits: []ledger.Debit{debit("bob", s.amount("1"), s.amount("0"))}})
}

// Figures beyond 64 bits and beyond what a float holds stay exact.
func conformGuardLarge(t *testing.T, s suite) {
	gross := s.amount(strings.Repeat("9", events.PostedDigits))
	bound, err := events.MaxFolded().Sub(gross)
	if err != nil {
		t.Fatal(err)
	}
	s.mustAppend(ledger.Commit{Header: s.transfer("t-1", "jane", "shop", gross.String()), Debits: []ledger.Debit{debit("jane", gross, bound)}})
	s.mustAppend(ledger.Commit{Header: s.transfer("t-2", "jane", "shop", gross.String()), Debits: []ledger.Debit{debit("jane", gross, gross)}})
	spent := s.amount("19999999999999999999999999998")
	below, err := spent.Sub(s.amount("1"))
	if err != nil {
		t.Fatal(err)
	}
	s.refused(s.append(ledger.Commit{
		Header: s.transfer("t-3", "jane", "shop", "1"), Debits: []ledger.Debit{debit("jane", s.amount("1"), below)},
	}), ledger.Refusal{Pair: ledger.Pair{Account: "jane", Asset: "USD"}, Spent: spent})
	s.mustAppend(ledger.Commit{Header: s.transfer("t-4", "jane", "shop", "1"), Debits: []ledger.Debit{debit("jane", s.amount("1"), spent)}})
}

func conformAtomic(t *testing.T, s suite) {
	five, six := s.amount("5"), s.amount("6")
	s.mustAppend(ledger.Commit{Header: s.transfer("t-0", "bob", "shop", "5"), Debits: []ledger.Debit{debit("bob", five, events.Amount{})}})

	// Two of three guards refuse; the one between them would have passed.
	tx := s.transaction("t-1",
		events.Leg{Account: "bob", Asset: "USD", Quantity: six.Neg()},
		events.Leg{Account: "jane", Asset: "USD", Quantity: five.Neg()},
		events.Leg{Account: "carol", Asset: "USD", Quantity: five.Neg()},
		events.Leg{Account: "shop", Asset: "USD", Quantity: s.amount("16")})
	commit := ledger.Commit{Header: tx, Debits: []ledger.Debit{
		debit("bob", six, s.amount("4")), debit("jane", five, s.amount("1")), debit("carol", five, s.amount("-1")),
	}}
	s.refused(s.append(commit),
		ledger.Refusal{Pair: ledger.Pair{Account: "bob", Asset: "USD"}, Spent: five},
		ledger.Refusal{Pair: ledger.Pair{Account: "carol", Asset: "USD"}})
	s.absent("t-1")
	if _, err := s.Journal.Whole(t.Context(), tx); !errors.Is(err, table.ErrAbsent) {
		t.Errorf("some of a refused transaction is there: %v", err)
	}
	// Had jane's guard been raised, this would be refused at 5.
	s.mustAppend(ledger.Commit{Header: s.transfer("t-2", "jane", "shop", "1"), Debits: []ledger.Debit{debit("jane", s.amount("1"), events.Amount{})}})

	// The same commit passes once its bounds allow it: nothing of it was left behind.
	for i := range commit.Debits {
		commit.Debits[i].Bound = five
	}
	s.mustAppend(commit)
	s.stored(tx)
}

func conformWhole(t *testing.T, s suite) {
	tx := s.transfer("t-1", "jane", "shop", "5")
	if _, err := s.Journal.Whole(t.Context(), tx); !errors.Is(err, table.ErrAbsent) {
		t.Errorf("whole before it is there: %v", err)
	}
	s.mustAppend(ledger.Commit{Header: tx})
	s.stored(tx)
	other := s.transfer("t-1", "jane", "shop", "5")
	other.Legs[0] = tx.Legs[0]
	if _, err := s.Journal.Whole(t.Context(), other); !errors.Is(err, table.ErrAbsent) {
		t.Errorf("whole with a posting that is not there: %v", err)
	}
	tx.ID = "t-2"
	if _, err := s.Journal.Whole(t.Context(), tx); !errors.Is(err, table.ErrAbsent) {
		t.Errorf("whole without its header: %v", err)
	}
}

// Of many debits at once exactly those pass that the bound allows.
func conformConcurrentDebits(t *testing.T, s suite) {
	const writers, each, allowed = 6, 4, 10
	var mu sync.Mutex
	passed := 0
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range each {
				tx := s.transfer(fmt.Sprintf("t-%d-%d", w, i), "jane", "shop", "3")
				if s.append(ledger.Commit{Header: tx, Debits: []ledger.Debit{debit("jane", events.NewAmount(3), events.NewAmount(3*allowed-3))}}) == nil {
					mu.Lock()
					passed++
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	if passed != allowed {
		t.Errorf("%d debits passed, want %d", passed, allowed)
	}
	s.refused(s.append(ledger.Commit{
		Header: s.transfer("last", "jane", "shop", "1"), Debits: []ledger.Debit{debit("jane", events.NewAmount(1), events.NewAmount(3*allowed-1))},
	}), ledger.Refusal{Pair: ledger.Pair{Account: "jane", Asset: "USD"}, Spent: events.NewAmount(3 * allowed)})
}

// Of many transactions of one id at once exactly one passes, and the others are told which.
func conformConcurrentIDs(t *testing.T, s suite) {
	const writers = 8
	var mu sync.Mutex
	var won []events.TransactionPosted
	var told []events.TransactionPosted
	var all sync.WaitGroup
	for range writers {
		tx := s.transfer("t-1", "jane", "shop", "3")
		all.Go(func() {
			cancelled := s.append(ledger.Commit{Header: tx})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case cancelled == nil:
				won = append(won, tx)
			case cancelled.Stored == nil:
				t.Errorf("cancelled without the header: %+v", cancelled)
			default:
				told = append(told, *cancelled.Stored)
			}
		})
	}
	all.Wait()
	if len(won) != 1 {
		t.Fatalf("%d transactions passed under one id", len(won))
	}
	for _, stored := range told {
		same(t, stored, won[0])
	}
	s.stored(won[0])
}

func conformGrants(t *testing.T, s suite) {
	ctx := t.Context()
	newest := func(account, user string, want events.Event) {
		t.Helper()
		got, err := s.Journal.NewestGrant(ctx, account, user)
		if want == nil {
			if !errors.Is(err, table.ErrAbsent) {
				t.Errorf("newest grant of %s on %s: %+v, %v; want it absent", user, account, got, err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, want)
	}
	grant := func(user string, number int64, role events.Role) events.Event {
		return events.MemberGranted{Account: "jane", User: user, Role: role, Number: number, Actor: "tester", At: instant}
	}
	newest("jane", "u", nil)
	// Twelve of them: their order is that of numbers, not of texts. Times say nothing.
	for n := int64(1); n <= 12; n++ {
		e := grant("u", n, events.RoleViewer)
		if n%2 == 0 {
			e = events.MemberRevoked{Account: "jane", User: "u", Number: n, Actor: "tester", At: instant.AddDate(0, 0, int(-n))}
		}
		stored, err := s.Journal.PutGrant(ctx, e)
		if err != nil {
			t.Fatal(err)
		}
		same(t, stored, e)
		newest("jane", "u", e)
		if stored, err = s.Journal.PutGrant(ctx, grant("u", n, events.RoleOwner)); !errors.Is(err, table.ErrExists) {
			t.Errorf("grant %d was put again: %v", n, err)
		}
		same(t, stored, e)
		newest("jane", "u", e)
	}
	// Users whose ids begin alike, and other accounts, are others.
	newest("jane", "u1", nil)
	newest("jan", "u", nil)
	if _, err := s.Journal.PutGrant(ctx, grant("u-1", 1, events.RoleOwner)); err != nil {
		t.Fatal(err)
	}
	newest("jane", "u-1", grant("u-1", 1, events.RoleOwner))
	newest("jane", "u", events.MemberRevoked{Account: "jane", User: "u", Number: 12, Actor: "tester", At: instant.AddDate(0, 0, -12)})
}

// A context that is over lets nothing be written, and is no proof of absence.
func conformNoTime(t *testing.T, s suite) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tx := s.transfer("t-1", "jane", "shop", "5")
	reads := map[string]error{}
	_, reads["look"] = s.Journal.Look(ctx, ledger.Wanted{Accounts: []string{"jane"}})
	_, _, reads["transaction"] = s.Journal.Transaction(ctx, "t-1")
	_, reads["whole"] = s.Journal.Whole(ctx, tx)
	_, reads["newest grant"] = s.Journal.NewestGrant(ctx, "jane", "u")
	for name, err := range reads {
		if !errors.Is(err, table.ErrUnavailable) {
			t.Errorf("%s: %v, want it unavailable", name, err)
		}
	}
	writes := map[string]error{}
	_, writes["append"] = s.Journal.Append(ctx, ledger.Commit{Header: tx})
	_, writes["register asset"] = s.Journal.RegisterAsset(ctx, s.asset("USD"))
	_, writes["open account"] = s.Journal.OpenAccount(ctx, s.account("jane"))
	_, writes["put grant"] = s.Journal.PutGrant(ctx, events.MemberRevoked{Account: "jane", User: "u", Number: 1, Actor: "tester", At: instant})
	for name, err := range writes {
		if !errors.Is(err, table.ErrUnavailable) && !errors.Is(err, table.ErrUnknownOutcome) {
			t.Errorf("%s: %v, want it unavailable or unknown", name, err)
		}
	}
}
