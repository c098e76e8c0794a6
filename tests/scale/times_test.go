package scale

import (
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"
)

var calls = flag.Int("calls", 5, "how often each read is timed; 200 give a median that means something")

// TestTimes tells how much longer reads take in a large account than in a small one, in the store in memory: of this machine and this
// run, and so printed and compared with nothing.
func TestTimes(t *testing.T) {
	f := figures{heading: "Times by postings in one account, ÷ that of the first", of: "postings"}
	var first []time.Duration
	for _, s := range sizesUpTo(*postingsMost, []int{10, 1000, 100_000, 1_000_000}) {
		names, medians := times(t, s.n)
		if first == nil {
			first = medians
		}
		var cells []string
		for i, median := range medians {
			cells = append(cells, fmt.Sprintf("%.2f", float64(median)/float64(first[i])))
		}
		f.add(thousands(s.n), true, names, cells)
	}
	for _, line := range f.markdown() {
		t.Log(line)
	}
}

// times returns the medians of the reads of an account with n settled postings, taken in turns.
func times(t *testing.T, n int) (names []string, medians []time.Duration) {
	b := newBank(t)
	from := b.now()
	last := b.postings(share, 0, n, func(i int) time.Time { return from.Add(time.Duration(i) * time.Microsecond) })
	b.tick()
	b.project(b.processOn(b.plain), last)
	const account = "/v1/accounts/" + holder
	s := &steps{bank: b}
	reads := []struct{ name, path string }{
		{"account page", account + "/summary"},
		{"history of an asset, page of 4", account + "/postings?limit=4&asset=" + share},
		{"history of an asset, a later page of 4", s.next(account + "/postings?limit=4&asset=" + share)},
		{"history over all assets, page of 4", account + "/postings?limit=4"},
		{"one balance", account + "/balances/" + share},
		{"one balance, strong", account + "/balances/" + share + "?consistency=strong"},
		{"list of balances", account + "/balances"},
		{"list of balances, strong", account + "/balances?consistency=strong"},
	}
	taken := make([][]time.Duration, len(reads))
	for range *calls {
		for i, r := range reads {
			began := time.Now()
			s.Must(200, "GET", r.path, "")
			taken[i] = append(taken[i], time.Since(began))
		}
	}
	for i, r := range reads {
		slices.Sort(taken[i])
		names, medians = append(names, r.name), append(medians, taken[i][len(taken[i])/2])
	}
	return names, medians
}
