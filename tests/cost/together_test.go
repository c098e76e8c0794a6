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
	for _, of := range []struct{ transfers, writes, joint int }{
		{1, 1, 0}, {2, 1, 1}, {33, 1, 1}, {34, 2, 1}, {ledger.BatchMax, 4, 3},
	} {
		b := newLimitedBank(t)
		batch := func(quantity int64) func() {
			var requests []ledger.Request
			for range of.transfers {
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
		n, units := of.transfers, int64(8*of.transfers+2*of.writes)
		lines := []line{b.measure(post).check(t, "posting it", 0, of.writes, units)}
		lines = append(lines, b.measure(post).check(t, "the same batch again", n, of.writes, units))
		b.projectNew()
		lines = append(lines, b.measure(refused).check(t, "a batch of transfers of which none is covered",
			3*of.joint+4*n, of.joint+n, int64(2*8*n+2*of.joint)))
		f.add(thousands(n), lines)
	}
	f.check(t)
}
