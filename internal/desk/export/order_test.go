package export

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ledger.example/client"
)

// What waits has the transactions of one instant in the order of their KSUIDs, and a reversal behind what it reverses. A
// reversal is not before what it reverses by its time, and has a later KSUID.
func TestOrderOfWhatWaits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []waiting
		for n := range rapid.IntRange(1, 12).Draw(t, "transactions") {
			p := waiting{Transaction: &client.Transaction{ID: fmt.Sprint("t", n)}}
			second, ksuid := 0, 0
			if n > 0 && rapid.IntRange(0, 2).Draw(t, "reversal") == 0 {
				of := rapid.SampledFrom(all).Draw(t, "of")
				p.Transaction.Reverses, second = of.Transaction.ID, int(of.posted.at.Unix())
				ksuid, _ = strconv.Atoi(of.posted.first)
			}
			second = rapid.IntRange(second, 3).Draw(t, "second")
			p.posted.at = time.Unix(int64(second), 0)
			p.posted.first = fmt.Sprintf("%04d", ksuid+100*rapid.IntRange(0, 5).Draw(t, "ksuid")+n+1)
			all = inOrder(all, p)
		}
		for i, w := range all {
			for _, later := range all[i+1:] {
				if w.follows(&later) {
					t.Fatalf("%s is before %s: %+v", w.Transaction.ID, later.Transaction.ID, all)
				}
			}
		}
	})
}

// A transaction that nothing follows, as nearly all, is added without a copy of what waits.
func TestOrderCopiesOnlyWhatMoves(t *testing.T) {
	all := make([]waiting, 3, 4)
	for i := range all {
		all[i] = waiting{Transaction: &client.Transaction{ID: fmt.Sprint("t", i)}}
	}
	p := waiting{Transaction: &client.Transaction{ID: "p"}}
	if added := inOrder(all, p); len(added) != 4 || &added[0] != &all[0] {
		t.Errorf("%+v", added)
	}
}
