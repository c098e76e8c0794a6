package scale

import (
	"testing"

	"ledger.example/events"
	"ledger.example/projections"
)

// postingsOfAPage is how many postings a refold asks for at once.
const postingsOfAPage = 1000

// TestFromNothing measures what is paid once for an account, and grows with it: the first refold behind a backlog of all its
// postings, or of a balance that was lost. It reads each posting once, and writes each segment once.
func TestFromNothing(t *testing.T) {
	f := figures{heading: "From nothing", of: "postings"}
	for _, s := range sizesUpTo(10_000, []int{10, 1000, 10_000}) {
		b := newBank(t)
		all := b.every(share, s.n, b.now())
		b.put(all...)
		b.tick()
		c := b.cost(func() { b.project(b.process(), all[0]) })
		segments := int64(s.n / projections.StretchPostings)
		const balance, summary = 1, 1
		saves := segments/projections.SegmentsMax + 1
		// The balance and the summary may be written, and the summary read, with each save.
		most := cost{c.Tally}
		most.Requests = map[string]int64{"all": balance + int64(s.n/postingsOfAPage) + 1 + saves*(summary+1)}
		most.ItemsRead, most.ItemsWritten = int64(s.n)+saves*summary, segments+saves*(balance+summary)
		if !c.within(most) {
			t.Errorf("%d postings: %s", s.n, c)
		}
		f.add(thousands(s.n), true, []string{"refolding all of them"}, []string{c.String()})
		wantCount(t, b, all)
	}
	f.check(t)
}

// wantCount fails t unless the balance counts all postings.
func wantCount(t *testing.T, b *bank, all []events.PostingRecorded) {
	t.Helper()
	shown := b.Must(200, "GET", "/v1/accounts/"+holder+"/balances/"+share, "")
	if got := shown.Value("postings"); got != float64(len(all)) {
		t.Errorf("%v postings are shown, of %d", got, len(all))
	}
}
