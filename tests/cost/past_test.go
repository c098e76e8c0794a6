package cost

import (
	"net/url"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/projections"
)

// TestBalancesOfThePast measures reads of the past in accounts with different numbers of postings. Only the pages of
// segments grow in number.
func TestBalancesOfThePast(t *testing.T) {
	f := figures{heading: "Balances and statements of the past", of: "postings"}
	for _, n := range []int{10, 1000, 100_000, 1_000_000} {
		f.add(thousands(n), costsOfThePast(t, n))
	}
	f.check(t)
}

// costsOfThePast measures an account with n settled postings in one asset. If n is large, only the postings that are
// read exist: around the middle, and at the end.
func costsOfThePast(t *testing.T, n int) []line {
	b := newBank(t)
	began := b.now().Truncate(time.Microsecond) // the precision of times in requests
	at := func(i int) time.Time { return began.Add(time.Duration(i) * 10 * time.Microsecond) }
	const stretch = projections.StretchPostings
	b.segments(n/stretch, n, at)
	middle := n/2/stretch*stretch + min(n, stretch)/2 // in the middle of a stretch
	if n <= 4*stretch {
		b.putPostings(share, 0, n, at)
	} else {
		b.putPostings(share, middle-stretch, middle+2*stretch, at)
		b.putPostings(share, n/stretch*stretch, n, at)
	}
	b.tick()
	s := &steps{bank: b}
	when := func(i int) string { return url.QueryEscape(at(i).UTC().Format(time.RFC3339Nano)) }
	const balances = "/v1/accounts/" + holder + "/balances"
	s.get("one balance, as of the middle", balances+"/"+share+"?at="+when(middle))
	s.get("one balance, as of the end", balances+"/"+share+"?at="+when(n))
	s.get("one balance, as of the end, strong", balances+"/"+share+"?consistency=strong&at="+when(n))
	s.get("list of balances, as of the middle", balances+"?at="+when(middle))
	statement := "/v1/accounts/" + holder + "/statement?asset=" + share + "&limit=100&from=" + when(middle) + "&to="
	s.get("statement of one page", statement+when(middle+100))
	s.get("statement until the end, first page", statement+when(n))
	s.get("statement until the end, next page", s.next(statement+when(n)))
	return s.lines
}

// segments stores the first segments of the holder's balance in share, and the balance of n postings.
func (b *bank) segments(closed, n int, at func(i int) time.Time) {
	b.t.Helper()
	const stretch = projections.StretchPostings
	fold := func(count, last int) projections.Fold {
		return projections.Fold{Through: events.FirstKSUID(at(last - 1)), Count: int64(count),
			Credits: events.NewAmount(32_000_000)}
	}
	k := events.Pair{Account: holder, Asset: share}
	change := projections.Change{Balance: projections.Balance{Pair: k, First: events.FirstKSUID(at(0)),
		Head: fold(n, n)}}
	write := func() {
		if err := projections.NewViews(table.NewTable(b.Plain, b.Table)).Write(b.t.Context(), change); err != nil {
			b.t.Fatal(err)
		}
		change.Balance.Version++
		change.Segments = nil
	}
	for i := range closed {
		s := projections.Segment{Pair: k, Fold: fold(stretch, (i+1)*stretch)}
		if i > 0 {
			s.After = events.FirstKSUID(at(i*stretch - 1))
		}
		if change.Segments = append(change.Segments, s); len(change.Segments) == projections.SegmentsMax {
			write()
		}
	}
	write()
}
