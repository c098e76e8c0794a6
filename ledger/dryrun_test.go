package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
)

// dryAndReal is one request, as a dry run and for real. Each returns its answer as text.
type dryAndReal struct {
	dry, real func(context.Context) (string, error)
}

// dry returns the dry run of a request.
func dry[Q any](request Q) Q {
	v := reflect.New(reflect.TypeOf(request)).Elem()
	v.Set(reflect.ValueOf(request))
	v.FieldByName("DryRun").SetBool(true)
	return v.Interface().(Q)
}

// both returns a dryAndReal for a request and the method that sends it.
func both[Q, A any](request Q, send func(context.Context, Q) (A, error), text func(A) string) dryAndReal {
	by := func(request Q) func(context.Context) (string, error) {
		return func(ctx context.Context) (string, error) {
			answer, err := send(ctx, request)
			if err != nil {
				return "", err
			}
			return text(answer), nil
		}
	}
	return dryAndReal{by(dry(request)), by(request)}
}

func (r *rig) posting(request ledger.PostingRequest) dryAndReal {
	return both(request, func(ctx context.Context, request ledger.PostingRequest) (ledger.Posted, error) {
		posted, err := r.Post(ctx, request)
		for _, leg := range posted.Transaction.Legs {
			if (leg.ID == "") != request.(ledger.PostTransfer).DryRun {
				r.t.Errorf("%+v has leg %+v", request, leg)
			}
		}
		return posted, err
	}, postedText)
}

func (r *rig) capturing(id string, part ledger.Part) dryAndReal {
	return both(capture(id, part), r.Capture, endedText)
}

func (r *rig) releasing(id string) dryAndReal { return both(release(id), r.Release, endedText) }

func (r *rig) reversing(id, of string, part ledger.Part) dryAndReal {
	return both(reversal(id, of, part), r.Reverse, postedText)
}

func (r *rig) batching(atomic bool, requests ...ledger.PostingRequest) dryAndReal {
	by := func(all []ledger.PostingRequest) func(context.Context) (string, error) {
		return func(ctx context.Context) (string, error) {
			results, err := r.PostBatch(ctx, all, atomic)
			if err != nil {
				return "", err
			}
			return fmt.Sprint(outcomes(results)), nil
		}
	}
	return dryAndReal{by(dryAll(requests)), by(requests)}
}

func dryAll(requests []ledger.PostingRequest) (all []ledger.PostingRequest) {
	for _, request := range requests {
		all = append(all, dry(request))
	}
	return all
}

func postedText(p ledger.Posted) string {
	return fmt.Sprint(p.Replayed, " ", p.Status(), " ", p.Transaction.Fingerprint, " ", legsText(p.Transaction.Legs))
}

func endedText(e ledger.Ended) string {
	return fmt.Sprint(e.Replayed, " ", e.Status(), " ", legsText(e.End.Legs))
}

// checkDryRuns sends requests one after the other. Each dry run must have the answer of the real request after it, and
// write nothing.
func (r *rig) checkDryRuns(requests ...dryAndReal) {
	r.t.Helper()
	for i, request := range requests {
		before := r.journal.memory.Since(0)
		dry, dryErr := request.dry(r.t.Context())
		if after := r.journal.memory.Since(0); len(after) != len(before) {
			r.t.Fatalf("%d wrote %+v", i, after[len(before):])
		}
		real, wetErr := request.real(r.t.Context())
		var want, got *ledger.Error
		errors.As(wetErr, &want)
		errors.As(dryErr, &got)
		switch {
		case (want == nil) != (got == nil),
			want != nil && (want.Code != got.Code || want.Request != got.Request || !reflect.DeepEqual(want.Funds, got.Funds)):
			r.t.Errorf("%d: dry %v, real %v", i, dryErr, wetErr)
		case dry != real:
			r.t.Errorf("%d: dry %s, real %s", i, dry, real)
		}
	}
}

func TestDryRun(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		r.mustPost(transfer("t-1", "jane", "shop", "30"))
		r.state("bob", isFrozen)
		r.restart()
		r.checkDryRuns(
			r.posting(transfer("t-1", "jane", "shop", "30")), // again
			r.posting(transfer("t-1", "jane", "shop", "31")),
			r.posting(transfer("t-2", "jane", "nobody", "1")),
			r.posting(transfer("t-2", "jane", "jane", "1")),
			r.posting(transfer("t-2", "bob", "jane", "1")),
			r.posting(transfer("t-2", "shop", "jane", "31")),
			r.posting(transfer("t-2", "fees", "jane", "1")),
			r.posting(transfer("*", "jane", "shop", "1")),
			r.posting(held("t-2", "jane", "shop", "71", time.Hour)),
			r.posting(held("t-2", "jane", "shop", "70", -time.Hour)),
			r.posting(transfer("t-2", "bank", "bob", "1")),
			r.posting(held("t-3", "jane", "shop", "20", time.Hour)),
			r.posting(transfer("", "jane", "shop", "49")),
			r.posting(transfer("t-4", "jane", "shop", "2")),
			r.posting(transfer("t-4", "jane", "shop", "1")),
		)
		if posted, err := r.Post(t.Context(), dry(transfer("", "bank", "jane", "1"))); err != nil || posted.Transaction.ID != "" {
			t.Errorf("%+v, %v", posted, err)
		}
	})
}

func TestDryRunsOfHoldsAndReversals(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		for i := range 4 {
			r.mustPost(held(fmt.Sprint("h-", i), "jane", "shop", "10", time.Hour))
		}
		if _, err := r.Release(t.Context(), release("h-1")); err != nil {
			t.Fatal(err)
		}
		r.mustPost(transfer("t-1", "jane", "shop", "5"))
		all := ledger.Part{}
		first, second := transfer("b-1", "bank", "jane", "5"), transfer("b-2", "jane", "shop", "85")
		r.checkDryRuns(
			r.capturing("h-0", some("11")),
			r.capturing("h-0", some("7")),
			r.capturing("h-0", some("7")), // again
			r.capturing("h-0", some("8")),
			r.capturing("h-1", all),
			r.releasing("h-1"),
			r.releasing("h-2"),
			r.releasing("t-1"),
			r.releasing("none"),
			r.reversing("r-1", "t-1", some("6")),
			r.reversing("r-1", "t-1", some("2")),
			r.reversing("r-1", "t-1", some("2")), // again
			r.reversing("r-1", "t-1", all),       // another body
			r.reversing("", "t-1", all),
			r.reversing("", "t-1", all), // nothing is left
			r.reversing("", "h-3", all),
			r.reversing("", "none", all),
			r.batching(true, second),
			r.batching(true, first, second),
			r.batching(true, first, second), // again
			r.batching(false, first, second, transfer("b-3", "jane", "shop", "999")),
			r.batching(false, first, second, first),
		)
	})
}

// G8: a dry run reads the amount spent before the credits, so that a debit is not refused whose credit is posted
// between the two reads.
func TestDryRunReadsSpentBeforeCredits(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		r.journal.Project(pair("jane", "USD"), events.Amount{})
		if _, err := r.Post(t.Context(), dry(transfer("", "jane", "shop", "100"))); err != nil {
			t.Error(err)
		}
	})
}
