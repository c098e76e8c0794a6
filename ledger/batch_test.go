package ledger_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

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
