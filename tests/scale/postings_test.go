package scale

import (
	"flag"
	"fmt"
	"net/url"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
	"ledger.example/ledger/table"
	"ledger.example/projections"
)

// The sizes that are told in the document, as far as the options go. Those between are measured to be compared with.
var (
	postingsMost = flag.Int("postings", 1000, "the most postings in one account: 1,000,000 takes a minute and 3 GB")
	assetsMost   = flag.Int("assets", 100, "the most assets in one account: 10,000 takes five seconds")
)

// size is a number of postings or of assets.
type size struct {
	n    int
	told bool
}

// sizesUpTo returns the sizes to be measured: those told up to most, and those between.
func sizesUpTo(most int, told []int, between ...int) (all []size) {
	for _, n := range told {
		if n <= most {
			all = append(all, size{n, true})
		}
	}
	for _, n := range between {
		all = append(all, size{n, false})
	}
	return all
}

// TestByPostings measures an account by the postings that it has, all in one asset.
func TestByPostings(t *testing.T) {
	const whole = 1000 // from here on pages are full
	f := figures{heading: "By postings in one account", of: "postings"}
	var first, reference []line
	for _, s := range sizesUpTo(*postingsMost, []int{10, whole, 100_000, 1_000_000}, 4000) {
		began := time.Now()
		lines := byPostings(t, s.n)
		t.Logf("%s postings: %.1f s", thousands(s.n), time.Since(began).Seconds())
		switch s.n {
		case 10:
			first = lines
		case whole:
			reference = lines
		}
		compare(t, s.n, lines, first, reference)
		f.add(thousands(s.n), s.told, names(lines), texts(lines))
	}
	f.check(t)
}

// byPostings measures an account with n settled postings in one asset, one more in the middle of them, and what comes after.
func byPostings(t *testing.T, n int) []line {
	b := newBank(t)
	middle := b.now()
	at := func(i int) time.Time { return middle.Add(time.Duration(i-n/2) * 10 * time.Microsecond) }
	b.postings(share, 0, n/2, at)
	late := b.postThen(ledger.PostTransfer{
		Annotation: ledger.Annotation{ID: "late", Actor: "tester"}, From: outside, To: holder, Asset: share, Quantity: events.NewAmount(125_000),
	})
	newest := b.postings(share, n/2+1, n+1, at)
	b.tick()
	b.project(b.processOn(b.plain), append(late, newest)...)

	s := &steps{bank: b}
	const account = "/v1/accounts/" + holder
	until := "to=" + url.QueryEscape(events.FormatTime(middle))
	b.see(holder, table.PostingsOfAsset(share), 1)
	s.get("account page", false, account+"/summary")
	s.get("history of an asset, first page", false, account+"/postings?asset="+share)
	s.get("history of an asset, a page in the middle", false, s.next(account+"/postings?asset="+share+"&"+until))
	s.get("history over all assets, first page", false, account+"/postings")
	s.get("history over all assets, a page in the middle", false, s.next(account+"/postings?"+until))
	s.get("one balance", true, account+"/balances/"+share)
	s.get("one balance, strong", true, account+"/balances/"+share+"?consistency=strong")
	s.get("list of balances", true, account+"/balances")
	s.get("list of balances, strong", true, account+"/balances?consistency=strong")

	s.tail(share)
	// A whole stretch of settled postings: one segment is closed, wherever the last one ended.
	from := b.now().Add(-age / 2)
	stretch := b.every(share, projections.StretchPostings, from)
	b.put(stretch...)
	s.do(fmt.Sprintf("projecting %d settled postings, which closes a segment", len(stretch)), true, func() { b.project(b.process(), stretch...) })
	straggler := b.posting(share, middle.Add(time.Microsecond))
	b.put(straggler)
	b.see(holder, table.PostingsBetween(share, string(events.FirstKSUID(at(n/2-projections.StretchPostings))), ""), 3*projections.StretchPostings)
	b.see(holder, table.SegmentsFrom(share, string(straggler.ID)), 2)
	s.do("projecting one that is late, into the middle", true, func() { b.project(b.process(), straggler) })
	b.tick()
	again := func() {
		s.Must(200, "POST", "/v1/transfers", `{"id":"late","from":"outside","to":"customers:00000017","asset":"SHARE","quantity":"125000"}`)
	}
	again()
	b.see(outside, table.PostingsOfAsset(share), 1)
	s.do("a transaction sent again two hours later", true, again)
	s.writes(share)
	return s.lines
}
