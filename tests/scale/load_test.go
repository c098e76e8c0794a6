package scale

import (
	"fmt"
	"math/big"
	"testing"
	"time"

	"ledger.example/cmd/ledger/meter"
)

const (
	loadSeconds = 300 // measured, of a batch each second
	warmSeconds = 20  // before them: the settle window and some more

	// What one posting of a busy balance may take, when a batch brings a hundred of it.
	writesMost    = 0.05
	readUnitsMost = 0.1
)

// TestUnderLoad measures what a posting takes where a projector that goes on gets a batch of the balance each second, and
// promises for the busiest that it is next to nothing.
func TestUnderLoad(t *testing.T) {
	f := figures{heading: "Under load, for each posting", of: "postings of a batch"}
	for _, batch := range []int{1, 10, 100} {
		taken := underLoad(t, batch)
		each := func(n int64) string { return big.NewRat(n, int64(batch*loadSeconds)).FloatString(3) }
		f.add(thousands(batch), true,
			[]string{"requests", "balances and segments written", "write units", "postings read", "read units"},
			[]string{each(taken.Total()), each(taken.ItemsWritten), each(taken.WriteUnits), each(taken.postings), each(taken.ReadHalves / 2)})
		if batch < 100 {
			continue
		}
		n := float64(batch * loadSeconds)
		if writes, reads := float64(taken.ItemsWritten)/n, float64(taken.ReadHalves)/2/n; writes > writesMost || reads > readUnitsMost {
			t.Errorf("%.3f items written and %.3f read units for each posting, where %v and %v were promised", writes, reads, writesMost, readUnitsMost)
		}
	}
	f.check(t)
}

// load is what was taken, and how many of the items read were postings.
type load struct {
	meter.Tally
	postings int64
}

func underLoad(t *testing.T, batch int) load {
	b := newBank(t)
	process := b.process()
	second := func() {
		b.clock.Add(int64(time.Second))
		some := b.every(share, batch, b.now())
		b.put(some...)
		b.meter.Take()
		b.project(process, some...)
	}
	for range warmSeconds {
		second()
	}
	var taken load
	for range loadSeconds {
		second()
		now := b.meter.Take()
		if now.Guessed > 0 {
			t.Errorf("the units of %d items are not known", now.Guessed)
		}
		taken.postings += now.ItemsRead - now.Requests["GetItem"] // each of the balance, which is there
		taken.Add(now)
	}
	posted := (warmSeconds + loadSeconds) * batch
	shown := b.Must(200, "GET", "/v1/accounts/"+holder+"/balances/"+share, "")
	if got := fmt.Sprint(shown.Value("postings")); got != fmt.Sprint(posted) {
		t.Errorf("%s postings are shown, of %d", got, posted)
	}
	return taken
}
