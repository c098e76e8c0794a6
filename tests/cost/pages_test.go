package cost

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/projections"
	"ledger.example/tests/harness/caller"
)

// A page of strong or past balances ends before it costs 200 read units, unless its first balance alone costs more. All
// pages together have each balance once, and each page has one at least.
func TestUnitsOfAPageOfBalances(t *testing.T) {
	t.Parallel()
	const part = projections.StretchPostings - 1 // the most postings behind a segment
	large := func(isLarge bool) int {
		if isLarge {
			return 3000
		}
		return 1
	}
	for name, c := range map[string]struct {
		assets, pages int // and the most pages
		postings      func(asset int) int
	}{
		"young":             {100, 5, func(int) int { return 1 }},
		"a part of segment": {30, 6, func(int) int { return part }},
		"a large one first": {30, 4, func(n int) int { return large(n == 0) }},
		"a large one last":  {30, 4, func(n int) int { return large(n == 29) }},
		"large ones":        {8, 8, func(int) int { return large(true) }},
		"every third large": {20, 14, func(n int) int { return large(n%3 == 1) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBank(t)
			began := b.now()
			var last []events.PostingRecorded
			for n := range c.assets {
				at := func(i int) time.Time { return began.Add(time.Duration(i) * 10 * time.Microsecond) }
				last = append(last, b.putPostings(fmt.Sprintf("x%03d", n), 0, c.postings(n), at))
			}
			b.tick()
			at := "&at=" + url.QueryEscape(events.FormatTime(b.now()))
			const strong = "&consistency=strong"
			b.walk(t, "strong, not projected", strong, c.assets, c.pages)
			b.walk(t, "past, strong, not projected", at+strong, c.assets, c.pages)
			b.project(b.System, last...)
			b.walk(t, "strong", strong, c.assets, c.pages)
			b.walk(t, "past, strong", at+strong, c.assets, c.pages)
			b.walk(t, "past", at, c.assets, c.pages)
		})
	}
}

// walk reads all pages of the holder's balances, and checks what they have, their units and their number.
func (b *bank) walk(t *testing.T, what, query string, assets, pages int) {
	t.Helper()
	var units []float64
	var sizes []int
	next := 0
	for cursor := ""; ; {
		var page caller.Reply
		cost := b.measure(func() {
			page = b.Must(200, "GET", "/v1/accounts/"+holder+"/balances?limit=100"+query+cursor, "")
		})
		shown := page.Each("asset", "data")
		for _, asset := range shown {
			if asset != fmt.Sprintf("x%03d", next) {
				t.Fatalf("%s: balance %d is of %v", what, next, asset)
			}
			next++
		}
		used := float64(cost.ReadHalves) / 2
		if units, sizes = append(units, used), append(sizes, len(shown)); len(shown) == 0 || used >= 200 && len(shown) > 1 {
			t.Errorf("%s: a page of %d balances for %v units", what, len(shown), used)
		}
		if page.Value("next_cursor") == nil {
			break
		}
		cursor = "&cursor=" + url.QueryEscape(page.Text("next_cursor"))
	}
	t.Logf("%s: %v balances for %v units", what, sizes, units)
	if next != assets || len(units) > pages {
		t.Errorf("%s: %d of %d balances on %d pages, which should be at most %d", what, next, assets, len(units), pages)
	}
}
