package ledger_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
)

// A dry run says what the request would be answered, and writes nothing.
func TestDryRun(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		r.mustPost(transfer("t-1", "jane", "shop", "30"))
		r.state("bob", isFrozen)
		r.restart()
		requests := []ledger.PostingRequest{
			transfer("t-2", "jane", "shop", "70"), transfer("", "jane", "shop", "70"), transfer("t-2", "jane", "shop", "71"),
			transfer("t-1", "jane", "shop", "30"), transfer("t-1", "jane", "shop", "31"), transfer("t-3", "jane", "nobody", "1"),
			transfer("t-3", "jane", "jane", "1"), transfer("t-3", "bob", "jane", "1"), transfer("t-3", "bank", "bob", "1"),
			transfer("t-3", "shop", "jane", "30"), transfer("t-3", "fees", "jane", "1"), held("t-3", "jane", "shop", "70", time.Hour),
			held("t-3", "jane", "shop", "70", -time.Hour), transfer("*", "jane", "shop", "1"),
		}
		before := r.journal.store.Since(0)
		for i, request := range requests {
			dry, dryErr := r.DryRun(t.Context(), request)
			if got := r.journal.store.Since(0); len(got) != len(before) {
				t.Fatalf("request %d wrote %+v", i, got[len(before):])
			}
			for _, leg := range dry.Transaction.Legs {
				if leg.ID != "" {
					t.Errorf("request %d: leg %+v", i, leg)
				}
			}
			inTheEnd, err := r.post(request)
			var want, got *ledger.Error
			errors.As(err, &want)
			errors.As(dryErr, &got)
			if (want == nil) != (got == nil) || want != nil && (want.Code != got.Code || !reflect.DeepEqual(want.Funds, got.Funds)) {
				t.Errorf("request %d: dry %v, wet %v", i, dryErr, err)
			}
			if want == nil && (dry.Replayed != inTheEnd.Replayed || dry.Transaction.Fingerprint != inTheEnd.Transaction.Fingerprint) {
				t.Errorf("request %d: dry %+v, wet %+v", i, dry, inTheEnd)
			}
			if want == nil && !inTheEnd.Replayed { // undone, for the next one
				legs := inTheEnd.Transaction.Legs
				back := transfer("", legs[1].Account, legs[0].Account, legs[1].Quantity.String())
				if inTheEnd.Transaction.IsHold() {
					if _, err := r.Release(t.Context(), release(inTheEnd.Transaction.ID)); err != nil {
						t.Fatal(err)
					}
				} else if legs[1].Account != "bob" {
					r.mustPost(back)
				}
			}
			before = r.journal.store.Since(0)
		}
		if dry, err := r.DryRun(t.Context(), transfer("", "bank", "jane", "1")); err != nil || dry.Transaction.ID != "" {
			t.Errorf("%+v, %v", dry, err)
		}
	})
}

// A dry run reads what was spent before what was received, so that a debit whose credit comes meanwhile isn't refused.
func TestDryRunIsNotBehind(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		r.journal.Project(pair("jane", "USD"), events.Amount{})
		if _, err := r.DryRun(t.Context(), transfer("", "jane", "shop", "100")); err != nil {
			t.Error(err)
		}
	})
}
