package cost

import (
	"testing"

	"ledger.example/events"
	"ledger.example/ledger"
)

// TestCostOfBatchesOfOneAccount measures batches of transfers from one account with a limit, with warm caches. One write
// posts up to 33 of them. If it is refused, the credits and the account are read, and each transfer is sent alone.
func TestCostOfBatchesOfOneAccount(t *testing.T) {
	t.Parallel()
	f := figures{heading: "Batches of one account", of: "transfers in the batch"}
	for _, n := range []int{1, 2, 33, 34, ledger.BatchMax} {
		b := newLimitedBank(t)
		batch := func(quantity int64) func() {
			var requests []ledger.Request
			for range n {
				requests = append(requests, ledger.PostTransfer{
					Annotation: b.note(false), From: holder, To: outside, Asset: "USD", Quantity: events.NewAmount(quantity),
				})
			}
			return func() {
				t.Helper()
				if _, err := b.warm.PostBatch(t.Context(), requests, false); err != nil {
					t.Error(err)
				}
			}
		}
		post, refused := batch(10), batch(2_000_000)
		lines := []line{b.measure(post).line("posting it"), b.measure(post).line("the same batch again")}
		b.projectNew()
		f.add(thousands(n), append(lines, b.measure(refused).line("a batch of transfers of which none is covered")))
	}
	f.check(t)
}
