package ledger_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"ledger.example/ledger"
)

// Dry runs of captures, releases, reversals and batches say what the request would be answered, and write nothing.
func TestDryRunsOfTheLifeOfMoney(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		for i, hours := range []int{1, 1, 1, 1} {
			if _, err := r.post(held(fmt.Sprint("h-", i), "jane", "shop", "10", time.Duration(hours)*time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := r.Release(t.Context(), release("h-1")); err != nil {
			t.Fatal(err)
		}
		r.mustPost(transfer("t-1", "jane", "shop", "5"))
		part := func(quantity string) ledger.Part { return ledger.Part{Quantity: new(amount(quantity))} }
		reverse := func(id, of, quantity string) ledger.ReverseRequest {
			q := ledger.ReverseRequest{Annotation: ledger.Annotation{ID: id, Actor: "tester"}, Transaction: of}
			if quantity != "" {
				q.Part = part(quantity)
			}
			return q
		}
		type answer struct {
			said string
			err  error
		}
		ended := func(e ledger.Ended, err error) answer {
			return answer{fmt.Sprint(e.Status(), " ", e.Replayed, " ", len(e.End.Legs)), err}
		}
		posted := func(p ledger.Posted, err error) answer {
			said := fmt.Sprint(p.Replayed)
			for _, leg := range p.Transaction.Legs {
				said += " " + leg.Account + leg.Quantity.String()
			}
			return answer{said, err}
		}
		batch := func(results []ledger.BatchResult, err error) answer {
			return answer{fmt.Sprint(outcomes(results)), err}
		}
		capture := func(id, quantity string) ledger.CaptureRequest {
			c := ledger.CaptureRequest{Transaction: id, Actor: "tester"}
			if quantity != "" {
				c.Part = part(quantity)
			}
			return c
		}
		ctx := t.Context()
		posts := []ledger.PostingRequest{transfer("b-1", "bank", "jane", "5"), transfer("b-2", "jane", "shop", "85")}
		for i, c := range []struct{ dry, wet func() answer }{
			{func() answer { return ended(r.DryCapture(ctx, capture("h-0", "11"))) },
				func() answer { return ended(r.Capture(ctx, capture("h-0", "11"))) }},
			{func() answer { return ended(r.DryCapture(ctx, capture("h-0", "7"))) },
				func() answer { return ended(r.Capture(ctx, capture("h-0", "7"))) }},
			{func() answer { return ended(r.DryCapture(ctx, capture("h-0", "7"))) }, // again
				func() answer { return ended(r.Capture(ctx, capture("h-0", "7"))) }},
			{func() answer { return ended(r.DryCapture(ctx, capture("h-0", "8"))) },
				func() answer { return ended(r.Capture(ctx, capture("h-0", "8"))) }},
			{func() answer { return ended(r.DryCapture(ctx, capture("h-1", ""))) },
				func() answer { return ended(r.Capture(ctx, capture("h-1", ""))) }},
			{func() answer { return ended(r.DryRelease(ctx, release("h-1"))) },
				func() answer { return ended(r.Release(ctx, release("h-1"))) }},
			{func() answer { return ended(r.DryRelease(ctx, release("h-2"))) },
				func() answer { return ended(r.Release(ctx, release("h-2"))) }},
			{func() answer { return ended(r.DryRelease(ctx, release("t-1"))) },
				func() answer { return ended(r.Release(ctx, release("t-1"))) }},
			{func() answer { return ended(r.DryRelease(ctx, release("none"))) },
				func() answer { return ended(r.Release(ctx, release("none"))) }},
			{func() answer { return posted(r.DryReverse(ctx, reverse("r-1", "t-1", "6"))) },
				func() answer { return posted(r.Reverse(ctx, reverse("r-1", "t-1", "6"))) }},
			{func() answer { return posted(r.DryReverse(ctx, reverse("r-1", "t-1", "2"))) },
				func() answer { return posted(r.Reverse(ctx, reverse("r-1", "t-1", "2"))) }},
			{func() answer { return posted(r.DryReverse(ctx, reverse("r-1", "t-1", "2"))) }, // again
				func() answer { return posted(r.Reverse(ctx, reverse("r-1", "t-1", "2"))) }},
			{func() answer { return posted(r.DryReverse(ctx, reverse("r-1", "t-1", ""))) }, // another body
				func() answer { return posted(r.Reverse(ctx, reverse("r-1", "t-1", ""))) }},
			{func() answer { return posted(r.DryReverse(ctx, reverse("", "t-1", ""))) },
				func() answer { return posted(r.Reverse(ctx, reverse("", "t-1", ""))) }},
			{func() answer { return posted(r.DryReverse(ctx, reverse("", "t-1", ""))) },
				func() answer { return posted(r.Reverse(ctx, reverse("", "t-1", ""))) }},
			{func() answer { return posted(r.DryReverse(ctx, reverse("", "h-3", ""))) },
				func() answer { return posted(r.Reverse(ctx, reverse("", "h-3", ""))) }},
			{func() answer { return posted(r.DryReverse(ctx, reverse("", "none", ""))) },
				func() answer { return posted(r.Reverse(ctx, reverse("", "none", ""))) }},
			{func() answer { return batch(r.DryBatch(ctx, posts[1:], true)) },
				func() answer { return batch(r.PostBatch(ctx, posts[1:], true)) }},
			{func() answer { return batch(r.DryBatch(ctx, posts, true)) },
				func() answer { return batch(r.PostBatch(ctx, posts, true)) }},
			{func() answer { return batch(r.DryBatch(ctx, posts, true)) },
				func() answer { return batch(r.PostBatch(ctx, posts, true)) }},
			{func() answer {
				return batch(r.DryBatch(ctx, append(posts, transfer("b-3", "jane", "shop", "999")), false))
			},
				func() answer {
					return batch(r.PostBatch(ctx, append(posts, transfer("b-3", "jane", "shop", "999")), false))
				}},
			{func() answer { return batch(r.DryBatch(ctx, append(posts, posts[0]), false)) },
				func() answer { return batch(r.PostBatch(ctx, append(posts, posts[0]), false)) }},
		} {
			before := r.journal.store.Since(0)
			dry := c.dry()
			if after := r.journal.store.Since(0); len(after) != len(before) {
				t.Fatalf("%d wrote %+v", i, after[len(before):])
			}
			wet := c.wet()
			var want, got *ledger.Error
			errors.As(wet.err, &want)
			errors.As(dry.err, &got)
			switch {
			case (want == nil) != (got == nil), want != nil && (want.Code != got.Code || want.Request != got.Request):
				t.Errorf("%d: dry %v, wet %v", i, dry.err, wet.err)
			case want == nil && dry.said != wet.said:
				t.Errorf("%d: dry %s, wet %s", i, dry.said, wet.said)
			}
		}
	})
}
