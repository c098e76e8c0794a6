package scale

import (
	"flag"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/ledger/table"
)

var unsettledMost = flag.Int("unsettled", 1000, "the most postings that are not settled: up to 10,000 are measured")

// TestByUnsettled measures a balance by the postings that came in the last ten seconds: a strong read reads them again, as their order
// may still change. How many they are is a matter of the account's rate, not of its age: 1,000 are ten seconds of 100 a second.
func TestByUnsettled(t *testing.T) {
	f := figures{heading: "By unsettled postings", of: "postings of the last 10 s"}
	for _, s := range sizesUpTo(*unsettledMost, []int{0, 10, 100, 1000, 10_000}) {
		lines := byUnsettled(t, s.n)
		f.add(thousands(s.n), s.told, names(lines), texts(lines))
	}
	f.check(t)
}

func byUnsettled(t *testing.T, n int) []line {
	b := newBank(t)
	began, spacing := b.now(), 10*time.Microsecond
	newest := b.postings(share, 0, 1000, func(i int) time.Time { return began.Add(time.Duration(i) * spacing) })
	b.tick()
	b.project(b.processOn(b.plain), newest)
	arrived := 0
	arrive := func(n int) (some []events.PostingRecorded) {
		some = b.every(share, n, b.now().Add(time.Duration(arrived)*time.Microsecond))
		arrived += n
		b.put(some...)
		return some
	}
	warm := b.process()
	if n > 0 {
		b.project(warm, arrive(n)...)
	}
	b.see(holder, table.PostingsOfAsset(share), 1)

	s := &steps{bank: b}
	const balance = "/v1/accounts/" + holder + "/balances"
	s.get("one balance, strong", true, balance+"/SHARE?consistency=strong")
	s.get("list of balances, strong", true, balance+"?consistency=strong")
	some := arrive(100)
	s.do("projecting a batch of 100 more", true, func() { b.project(warm, some...) })
	late := b.posting(share, began.Add(500*spacing+spacing/2))
	b.put(late)
	some = append(arrive(100), late)
	s.do("projecting 100 more, and one that is late", true, func() { b.project(warm, some...) })
	some = arrive(100)
	s.do("projecting 100 more, by a process that starts", true, func() { b.project(b.process(), some...) })
	return s.lines
}
