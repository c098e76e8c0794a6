package cost

import (
	"strconv"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// TestCostUnderLoad measures each posting of one balance that gets a batch every second, by a warm projector, after the
// oldest postings are settled. Only a long run shows what the moving seal costs.
func TestCostUnderLoad(t *testing.T) {
	t.Parallel()
	f := figures{heading: "Under load, for each posting", of: "postings of the balance in a second"}
	var writes, reads []line
	for _, c := range []struct{ rate, seconds int }{{1, 260}, {100, 16}} {
		b := newBank(t)
		each := func(halves int64) string {
			return strconv.FormatFloat(float64(halves)/float64(2*c.rate*c.seconds), 'f', 2, 64)
		}
		warm := c.seconds + int(store.SettleWindow/time.Second)
		cost := b.measure(func() {
			for second := range warm + c.seconds {
				if second == warm {
					b.meter.Take()
				}
				postings := make([]events.PostingRecorded, c.rate)
				for i := range postings {
					postings[i] = b.posting(share, b.now().Add(time.Duration(i)*time.Second/time.Duration(c.rate)))
				}
				b.clock.Add(int64(time.Second))
				b.PutPostings(postings) // not metered
				b.project(b.System, postings...)
			}
		})
		writes = append(writes, line{strconv.Itoa(c.rate), each(2 * cost.WriteUnits)})
		reads = append(reads, line{strconv.Itoa(c.rate), each(cost.ReadHalves)})
	}
	f.add("write units a posting", writes)
	f.add("read units a posting", reads)
	f.check(t)
}
