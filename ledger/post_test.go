package ledger_test

import (
	"errors"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
	"ledger.example/ledger/journaltest"
)

func trade(id string) ledger.PostTrade {
	return ledger.PostTrade{
		Annotation: ledger.Annotation{ID: id, Description: "ten", Metadata: map[string]string{"order": "7"}, Actor: "tester"},
		Asset:      "AAPL", Buyer: "jane", Seller: "bob", Quantity: amount("10"), Cost: amount("1500"), Settle: true,
	}
}

// A warm trade with settlement between limited accounts is one request; cold, two looks come before it at most.
func TestRequestsOfATrade(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "1000000")
		r.fund("bob", "AAPL", "1000000")
		for _, p := range []ledger.Pair{pair("jane", "USD"), pair("bob", "AAPL")} {
			r.journal.Project(p, amount("1000000"))
		}
		r.restart()
		for i, want := range [][]string{{"Look", "Look", "Append"}, {"Append"}, {"Append"}} {
			r.journal.forget()
			r.mustPost(trade([]string{"cold", "warm", "warmer"}[i]))
			if !slices.Equal(r.journal.calls, want) {
				t.Errorf("trade %d: %v, want %v", i, r.journal.calls, want)
			}
		}
		// With the asset known and the accounts not, the cash is looked up together with them.
		r.restart()
		if _, err := r.Asset(t.Context(), "AAPL"); err != nil {
			t.Fatal(err)
		}
		r.journal.forget()
		r.mustPost(trade("asset-known"))
		if want := []string{"Look", "Append"}; !slices.Equal(r.journal.calls, want) {
			t.Errorf("%v, want %v", r.journal.calls, want)
		}
	})
}

func TestPosted(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "2000")
		r.fund("bob", "AAPL", "20")
		posted := r.mustPost(trade("t-1"))
		if posted.Replayed {
			t.Error("a first answer says it is a replay")
		}
		stored := r.stored("t-1", true)
		if !reflect.DeepEqual(posted.Transaction, stored) {
			t.Errorf("answered %+v\nstored   %+v", posted.Transaction, stored)
		}
		if at := stored.PostedAt(); storeNow().Sub(at) > time.Second || at.After(storeNow()) {
			t.Errorf("posted at %v", at)
		}
		if stored.Kind != events.KindTrade || stored.Description != "ten" || stored.Actor != "tester" || stored.Metadata["order"] != "7" || len(stored.Legs) != 4 {
			t.Errorf("stored %+v", stored)
		}
		for p, want := range map[ledger.Pair][2]string{
			pair("jane", "AAPL"): {"10", "0"}, pair("bob", "AAPL"): {"20", "10"},
			pair("jane", "USD"): {"2000", "1500"}, pair("bob", "USD"): {"1500", "0"},
		} {
			if credits, debits := r.journal.Balance(p); credits != amount(want[0]) || debits != amount(want[1]) {
				t.Errorf("%v: credits %v, debits %v", p, credits, debits)
			}
		}
		if _, ok := r.journal.Spent(pair("bank", "USD")); ok {
			t.Error("an account without a limit has a guard")
		}
		got, err := r.Transaction(t.Context(), "t-1")
		if err != nil || !reflect.DeepEqual(got, stored) {
			t.Errorf("read %+v, %v", got, err)
		}
	})
}

func TestReplay(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "1500")
		r.fund("bob", "AAPL", "10")
		first := r.mustPost(trade("t-1"))
		for _, pause := range []time.Duration{0, time.Second, 100 * 24 * time.Hour} { // for ever
			time.Sleep(pause)
			r.restart()
			same := trade("t-1")
			same.Actor = "somebody else"
			again := r.mustPost(same)
			if !again.Replayed || !reflect.DeepEqual(again.Transaction, first.Transaction) {
				t.Errorf("after %v: %+v, first %+v", pause, again, first)
			}
			if r.journal.count("Whole") != 1 {
				t.Errorf("a replay was answered without reading all of it together: %v", r.journal.calls)
			}
			// Neither jane nor bob has anything left: the id comes before the funds.
			other := trade("t-1")
			other.Quantity = amount("11")
			_, err := r.post(other)
			r.refused(err, ledger.CodeTransactionIDReused)
		}
		if n := len(r.journal.Headers()); n != 3 {
			t.Errorf("%d transactions, want 3", n)
		}
	})
}

func TestIDMadeByTheServer(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		first, second := r.mustPost(transfer("", "bank", "jane", "5")), r.mustPost(transfer("", "bank", "jane", "5"))
		if first.Transaction.ID == second.Transaction.ID || first.Replayed || second.Replayed {
			t.Errorf("two requests without id: %+v, %+v", first, second)
		}
		if _, err := events.ParseKSUID(first.Transaction.ID); err != nil {
			t.Errorf("id %q: %v", first.Transaction.ID, err)
		}
		r.journal.forever = answers(errUnknown)
		_, err := r.post(transfer("", "bank", "jane", "5"))
		if e := r.refused(err, ledger.CodeOutcomeUnknown); e.Transaction != r.journal.sent[len(r.journal.sent)-1].Header.ID {
			t.Errorf("asks again with %q", e.Transaction)
		}
		for _, c := range r.journal.sent[2:] {
			if c.Header.ID != r.journal.sent[2].Header.ID {
				t.Error("a request was sent under two ids")
			}
		}
	})
}

func TestInsufficientFunds(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		r.mustPost(transfer("", "jane", "shop", "30"))
		_, err := r.post(transfer("t-1", "jane", "shop", "71"))
		e := r.refused(err, ledger.CodeInsufficientFunds)
		if want := (ledger.Funds{Account: "jane", Asset: "USD", Available: amount("70"), Requested: amount("71")}); *e.Funds != want {
			t.Errorf("funds %+v, want %+v", *e.Funds, want)
		}
		r.stored("t-1", false)
		r.mustPost(transfer("t-1", "jane", "shop", "70")) // a refused id is free
		_, err = r.post(transfer("t-2", "margin", "shop", "501"))
		if e := r.refused(err, ledger.CodeInsufficientFunds); e.Funds.Available != amount("500") || e.Funds.Requested != amount("501") {
			t.Errorf("funds %+v; the overdraft counts", *e.Funds)
		}
		r.mustPost(transfer("t-2", "margin", "shop", "500"))
	})
}

func TestFundsAreJudgedNet(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "10")
		leg := func(account, asset, quantity string) ledger.LegRequest {
			return ledger.LegRequest{Account: account, Asset: asset, Quantity: amount(quantity)}
		}
		churn := ledger.PostTransaction{Annotation: ledger.Annotation{Actor: "tester"}, Postings: []ledger.LegRequest{
			leg("jane", "USD", "-50"), leg("shop", "USD", "50"), leg("bank", "USD", "-40"), leg("jane", "USD", "40"),
		}}
		r.mustPost(churn) // 10 more than nothing
		_, err := r.post(churn)
		if e := r.refused(err, ledger.CodeInsufficientFunds); e.Funds.Requested != amount("10") || !e.Funds.Available.IsZero() {
			t.Errorf("funds %+v", *e.Funds)
		}
		// The first in the order of the postings that isn't covered, not the first that is short on its guard.
		r.fund("fees", "EUR", "5")
		_, err = r.post(ledger.PostTransaction{Annotation: ledger.Annotation{Actor: "tester"}, Postings: []ledger.LegRequest{
			leg("shop", "EUR", "9"), leg("fees", "EUR", "-5"), leg("bob", "EUR", "-2"), leg("shop", "USD", "1"), leg("jane", "USD", "-1"), leg("margin", "EUR", "-2"),
		}})
		if e := r.refused(err, ledger.CodeInsufficientFunds); e.Funds.Account != "bob" || e.Funds.Asset != "EUR" {
			t.Errorf("funds %+v", *e.Funds)
		}
	})
}

// G8: what is known may be stale or too low by any amount; nothing is refused for that.
func TestNoDebitIsRefusedForLag(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		r.mustPost(transfer("", "jane", "shop", "100"))
		r.journal.Project(pair("jane", "USD"), amount("3")) // far behind
		for range 3 {
			other := ledger.New(ledger.Config{Journal: r.journal, Projections: r.journal, Now: storeNow})
			if _, err := other.Post(t.Context(), transfer("", "bank", "jane", "40")); err != nil {
				t.Fatal(err)
			}
			r.journal.forget()
			start := time.Now()
			r.mustPost(transfer("", "jane", "shop", "40"))
			if want := []string{"Append", "Credits", "Append"}; !slices.Equal(r.journal.calls, want) || time.Since(start) > 0 {
				t.Errorf("%v, want %v without a pause, not %v", r.journal.calls, want, time.Since(start))
			}
		}
		_, err := r.post(transfer("", "jane", "shop", "1"))
		r.refused(err, ledger.CodeInsufficientFunds)
		if spent, _ := r.journal.Spent(pair("jane", "USD")); spent != amount("220") {
			t.Errorf("spent %v", spent)
		}
	})
}

func TestOrderOfChecks(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		bad := ledger.PostTransaction{Annotation: ledger.Annotation{ID: "t-1", Actor: "tester"}, Postings: []ledger.LegRequest{{Account: "no one", Asset: "XXX", Quantity: amount("1")}}}
		_, err := r.post(bad)
		r.refused(err, ledger.CodeInvalidRequest)
		bad.Postings[0].Account = "nobody"
		_, err = r.post(bad)
		r.refused(err, ledger.CodeInvalidTransaction)
		bad.Postings = append(bad.Postings, ledger.LegRequest{Account: "jane", Asset: "USD", Quantity: amount("-2"), Cost: amount("1")})
		_, err = r.post(bad)
		r.refused(err, ledger.CodeUnbalanced)
		if len(r.journal.calls) != 0 {
			t.Errorf("the store was asked: %v", r.journal.calls)
		}
		bad.Postings[1] = ledger.LegRequest{Account: "jane", Asset: "XXX", Quantity: amount("-1")}
		_, err = r.post(bad)
		sameFields(t, r.refused(err, ledger.CodeAccountNotFound).Fields, "postings[0].account")
		bad.Postings[0].Account = "bob"
		_, err = r.post(bad)
		sameFields(t, r.refused(err, ledger.CodeAssetNotFound).Fields, "postings[0].asset", "postings[1].asset")
		for i := range bad.Postings {
			bad.Postings[i].Asset = "USD"
			bad.Postings[i].Cost = bad.Postings[i].Quantity
		}
		_, err = r.post(bad)
		sameFields(t, r.refused(err, ledger.CodeInvalidTransaction).Fields, "postings[0].cost", "postings[1].cost")
		if r.journal.count("Append") != 0 {
			t.Error("something was appended")
		}
		// What was absent is looked for again: it may have been opened since.
		if _, _, err := r.OpenAccount(t.Context(), ledger.OpenAccount{ID: "nobody", Actor: "tester"}); err != nil {
			t.Fatal(err)
		}
		r.mustPost(transfer("t-1", "bank", "nobody", "1"))
	})
}

func TestActorIsNeeded(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		nobody := transfer("t-1", "bank", "jane", "1")
		nobody.Actor = ""
		_, err := r.post(nobody)
		r.refused(err, ledger.CodeInternal)
		r.stored("t-1", false)
	})
}

// Many at once through one process: nothing lost, nothing twice, no limit passed. Run with -race.
func TestConcurrentPosts(t *testing.T) {
	journal := journaltest.NewMemory(t, nil)
	l := ledger.New(ledger.Config{Journal: journal, Projections: journal})
	ctx := t.Context()
	if _, _, err := l.RegisterAsset(ctx, ledger.RegisterAsset{ID: "USD", Name: "n", Actor: "tester"}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "b", "c"} {
		if _, _, err := l.OpenAccount(ctx, ledger.OpenAccount{ID: id, Actor: "tester"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := l.OpenAccount(ctx, ledger.OpenAccount{ID: "bank", Overdraft: events.Overdraft{Unlimited: true}, Actor: "tester"}); err != nil {
		t.Fatal(err)
	}
	accounts := []string{"a", "b", "c"}
	var all sync.WaitGroup
	for w := range 12 {
		all.Go(func() {
			for i := range 50 {
				from, to := accounts[(w+i)%3], accounts[(w+i+1+i%2)%3]
				if i%5 == 0 {
					from = "bank"
				}
				_, err := l.Post(ctx, transfer("", from, to, "7"))
				var e *ledger.Error
				if err != nil && (!errors.As(err, &e) || e.Code != ledger.CodeInsufficientFunds) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	for _, account := range accounts {
		credits, debits := journal.Balance(pair(account, "USD"))
		spent, _ := journal.Spent(pair(account, "USD"))
		if debits.Cmp(credits) > 0 || spent != debits {
			t.Errorf("%s: credits %v, debits %v, spent %v", account, credits, debits, spent)
		}
	}
}
