package cost

import (
	"strconv"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
)

// TestCostUnderLoad measures each posting of one balance that gets a batch every second, by a warm projector, after the
// oldest postings are settled. Only a long run shows what the moving seal costs.
func TestCostUnderLoad(t *testing.T) {
	t.Parallel()
	f := figures{heading: "Under load, for each posting", of: "postings of the balance in a second"}
	var writes, reads []line
	for _, c := range []struct{ rate, seconds int }{{1, 260}, {hotBatch, 16}} {
		readUnits, writeUnits := underLoad(t, c.rate, c.seconds)
		writes = append(writes, line{strconv.Itoa(c.rate), strconv.FormatFloat(writeUnits, 'f', 2, 64)})
		reads = append(reads, line{strconv.Itoa(c.rate), strconv.FormatFloat(readUnits, 'f', 2, 64)})
	}
	f.add("write units a posting", writes)
	f.add("read units a posting", reads)
	f.check(t)
}

// underLoad projects rate postings of one balance a second until the oldest are settled, and then for some seconds. It
// returns the units of each posting of these seconds.
func underLoad(t *testing.T, rate, seconds int) (reads, writes float64) {
	t.Helper()
	b := newBank(t)
	warm := seconds + int(table.SettleWindow/time.Second)
	cost := b.measure(func() {
		for second := range warm + seconds {
			if second == warm {
				b.meter.Take()
			}
			postings := make([]events.PostingRecorded, rate)
			for i := range postings {
				postings[i] = b.posting(share, b.now().Add(time.Duration(i)*time.Second/time.Duration(rate)))
			}
			b.clock.Add(int64(time.Second))
			b.PutPostings(postings) // not metered
			b.project(b.System, postings...)
		}
	})
	n := float64(rate * seconds)
	return float64(cost.ReadHalves) / 2 / n, float64(cost.WriteUnits) / n
}
