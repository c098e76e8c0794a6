package ledger_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
)

// outcomes are the codes of results, "posted" or "replayed".
func outcomes(results []ledger.BatchResult) (all []string) {
	for _, r := range results {
		switch {
		case r.Err != nil:
			all = append(all, string(r.Err.Code))
		case r.Posted.Replayed:
			all = append(all, "replayed")
		default:
			all = append(all, "posted")
		}
	}
	return all
}

func (r *rig) batch(atomic bool, requests ...ledger.Request) ([]ledger.BatchResult, error) {
	r.t.Helper()
	return r.PostBatch(r.t.Context(), requests, atomic)
}

// results fails the test unless the batch has these outcomes.
func (r *rig) results(atomic bool, want string, requests ...ledger.Request) []ledger.BatchResult {
	r.t.Helper()
	results, err := r.batch(atomic, requests...)
	if err != nil {
		r.t.Fatal(err)
	}
	if got := strings.Join(outcomes(results), " "); got != want {
		r.t.Fatalf("answered %s, want %s", got, want)
	}
	return results
}

func TestBatch(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		r.fund("bob", "USD", "100")
		bare := transfer("", "jane", "shop", "1")
		requests := []ledger.Request{
			transfer("t-1", "jane", "shop", "60"), transfer("t-2", "bob", "shop", "60"), transfer("t-3", "jane", "shop", "41"),
			transfer("t-4", "jane", "shop", "40"), transfer("t-5", "nobody", "shop", "1"), bare, transfer("t-7", "jane", "jane", "1"),
			held("t-8", "bob", "shop", "40", time.Hour),
		}
		r.results(false, "posted posted insufficient_funds posted account_not_found invalid_request invalid_transaction posted", requests...)
		requests[0] = transfer("t-1", "jane", "shop", "61")
		r.results(false, "transaction_id_reused replayed insufficient_funds replayed account_not_found invalid_request invalid_transaction replayed",
			requests...)
	})
}

// Errors of a batch as a whole.
func TestInvalidBatches(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		for _, atomic := range []bool{false, true} {
			_, err := r.batch(atomic)
			r.refused(err, ledger.CodeInvalidTransaction)
			_, err = r.batch(atomic, make([]ledger.Request, ledger.BatchMax+1)...)
			r.refused(err, ledger.CodeInvalidTransaction)
			_, err = r.batch(atomic, transfer("t-1", "bank", "jane", "1"), transfer("t-2", "bank", "jane", "1"), transfer("t-1", "bank", "jane", "1"))
			e := r.refused(err, ledger.CodeInvalidTransaction)
			if want := (ledger.Field{Request: 3, Name: "id"}); len(e.Fields) != 1 || e.Fields[0].Field != want {
				t.Errorf("%+v", e.Fields)
			}
		}
		r.stored("t-1", false)
	})
}

// Requests of a batch that debit the same limited pair do not run concurrently: none is refused or has a conflict
// because of another.
func TestDebitsOfOnePairInABatchAreSequential(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "99")
		var requests []ledger.Request
		for i := range ledger.BatchMax {
			requests = append(requests, transfer(fmt.Sprint("t-", i), "jane", "shop", "1"))
		}
		results, err := r.batch(false, requests...)
		if err != nil {
			t.Fatal(err)
		}
		want := slices.Repeat([]string{"posted"}, 99)
		if got := outcomes(results); !slices.Equal(got, append(want, "insufficient_funds")) {
			t.Errorf("%v", got)
		}
		if lookups := r.journal.count("Lookup"); lookups > 2 {
			t.Errorf("%d lookups: %v", lookups, r.journal.calls)
		}
		// What the time does not reach was not tried.
		for i := range requests {
			requests[i] = transfer(fmt.Sprint("u-", i), "bank", "jane", "1")
		}
		r.journal.forever = hangs
		results, err = r.batch(false, requests...)
		if err != nil {
			t.Fatal(err)
		}
		got := outcomes(results)
		unknown, untried := 0, 0
		for _, code := range got {
			switch code {
			case string(ledger.CodeOutcomeUnknown):
				unknown++
			case string(ledger.CodeUnavailable):
				untried++
			}
		}
		if unknown == 0 || untried == 0 || unknown+untried != len(got) || unknown > 8 {
			t.Errorf("%v", got)
		}
	})
}

func TestAtomicBatch(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		// The later one spends what the earlier one brings; in the other order it is refused.
		in, out := transfer("t-1", "bank", "jane", "50"), transfer("t-2", "jane", "shop", "150")
		_, err := r.batch(true, out, in)
		e := r.refused(err, ledger.CodeInsufficientFunds)
		if e.Request != 1 || e.Funds.Available != amount("100") || e.Funds.Requested != amount("150") {
			t.Errorf("%+v %+v", e, e.Funds)
		}
		r.stored("t-1", false)
		r.journal.forget()
		results := r.results(true, "posted posted", in, out)
		if got := r.journal.calls; !slices.Equal(got, []string{"Append"}) {
			t.Errorf("asked for %v", got)
		}
		if c := r.journal.sent[0]; c.heads != 2 || len(c.postings) != 4 || len(c.debits) != 1 {
			t.Errorf("sent %+v", c)
		}
		again := r.results(true, "replayed replayed", in, out)
		if again[1].Posted.Transaction.Legs[0] != results[1].Posted.Transaction.Legs[0] {
			t.Errorf("%+v", again)
		}
		// What was posted before is answered so, and the others are posted.
		r.results(true, "replayed posted", in, transfer("t-3", "bank", "jane", "1"))
		_, err = r.batch(true, transfer("t-4", "bank", "jane", "1"), transfer("t-2", "jane", "shop", "1"))
		if e := r.refused(err, ledger.CodeTransactionIDReused); e.Request != 2 {
			t.Errorf("%+v", e)
		}
		_, err = r.batch(true, transfer("t-4", "bank", "jane", "1"), transfer("t-5", "jane", "noone", "1"))
		if e := r.refused(err, ledger.CodeAccountNotFound); e.Request != 2 || e.Fields[0].Field != (ledger.Field{Request: 2, Name: "to"}) {
			t.Errorf("%+v", e)
		}
		// What a hold would bring counts for nothing.
		_, err = r.batch(true, held("t-6", "bank", "jane", "500", time.Hour), transfer("t-7", "jane", "shop", "2"))
		if e := r.refused(err, ledger.CodeInsufficientFunds); e.Request != 2 || e.Funds.Available != amount("1") {
			t.Errorf("%+v %+v", e, e.Funds)
		}
		r.state("jane", isFrozen)
		_, err = r.batch(true, transfer("t-8", "bank", "shop", "1"), transfer("t-9", "jane", "shop", "1"))
		if e := r.refused(err, ledger.CodeAccountFrozen); e.Request != 2 {
			t.Errorf("%+v", e)
		}
		for _, id := range []string{"t-4", "t-5", "t-6", "t-7", "t-8", "t-9"} {
			r.stored(id, false)
		}
	})
}

// A batch may start below a reduced limit if its first requests credit the missing amount.
func TestAtomicBatchOfAnAccountBelowItsLimit(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.mustPost(transfer("t-1", "margin", "shop", "400"))
		none := events.Overdraft{}
		r.mustChange(ledger.ChangeAccount{ID: "margin", Overdraft: &none})
		_, err := r.batch(true, transfer("t-2", "bank", "margin", "400"), transfer("t-3", "margin", "shop", "1"))
		if e := r.refused(err, ledger.CodeInsufficientFunds); e.Request != 2 || !e.Funds.Available.IsZero() {
			t.Errorf("%+v %+v", e, e.Funds)
		}
		r.results(true, "posted posted", transfer("t-2", "bank", "margin", "401"), transfer("t-3", "margin", "shop", "1"))
	})
}

// A batch that exceeds one transaction of the store is refused, with the number of writes over the limit.
func TestAtomicBatchIsLimitedInSize(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		var requests []ledger.Request
		for i := range 33 {
			requests = append(requests, transfer(fmt.Sprint("t-", i), "jane", "shop", "1"))
		}
		r.results(true, strings.TrimSpace(strings.Repeat("posted ", 33)), requests...) // 33 · 3 + 1
		for i := range requests {
			requests[i] = transfer(fmt.Sprint("u-", i), "jane", "shop", "1")
		}
		requests = append(requests, transfer("u-33", "jane", "shop", "1"))
		_, err := r.batch(true, requests...)
		if e := r.refused(err, ledger.CodeBatchTooLarge); e.TooMany != 3 {
			t.Errorf("%+v", e)
		}
		r.stored("u-0", false)
	})
}

// If the store is unavailable, an atomic batch does not repeat the reads for each of its requests.
func TestAtomicBatchInAnOutage(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		requests := func(n int) (all []ledger.Request) {
			for i := range n {
				all = append(all, transfer(fmt.Sprint("t-", i), "jane", "shop", "1"))
			}
			return all
		}
		var asked []int
		for _, n := range []int{1, 30} {
			r.journal.fail = failing("Lookup", errUnavailable)
			_, err := r.batch(true, requests(n)...)
			r.refused(err, ledger.CodeUnavailable)
			asked = append(asked, len(r.journal.calls))
			r.journal.forget()
		}
		if asked[0] != asked[1] {
			t.Errorf("%d requests for a batch of one, %d for one of 30", asked[0], asked[1])
		}
	})
}

// A batch is refused only if it is certain that none of its requests was or will be posted.
func TestUnknownOutcomeOfAnAtomicBatch(t *testing.T) {
	requests := []ledger.Request{transfer("t-1", "jane", "shop", "60"), transfer("t-2", "jane", "bob", "40")}
	t.Run("applied, refused, and nothing can be read", func(t *testing.T) {
		inBubble(t, func(t *testing.T, r *rig) {
			r.fund("jane", "USD", "100")
			r.journal.steps = []appended{applied(errUnknown), cancelled(refuses("jane", "100"))}
			r.journal.fail = failing("Transaction", errUnavailable)
			_, err := r.batch(true, requests...)
			r.refused(err, ledger.CodeOutcomeUnknown)
			r.journal.fail = nil
			r.results(true, "replayed replayed", requests...)
		})
	})
	t.Run("applied late, refused before", func(t *testing.T) {
		inBubble(t, func(t *testing.T, r *rig) {
			r.fund("jane", "USD", "100")
			r.journal.steps = []appended{late(20 * time.Second), func(ctx context.Context, c commit) error {
				if _, err := r.another().Post(t.Context(), transfer("", "jane", "shop", "1")); err != nil {
					t.Error(err)
				}
				return c.apply(ctx)
			}}
			_, err := r.batch(true, requests...)
			if e := r.refused(err, ledger.CodeInsufficientFunds); e.Request != 2 || e.Funds.Available != amount("39") {
				t.Errorf("%+v %+v", e, e.Funds)
			}
			time.Sleep(time.Minute)
			r.stored("t-1", false)
			r.stored("t-2", false)
		})
	})
}
