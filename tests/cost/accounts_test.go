package cost

import (
	"flag"
	"fmt"
	"net/url"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
	"ledger.example/projections"
)

// Flags to measure the largest accounts of docs/performance.md, too.
var (
	maxPostings = flag.Int("postings", 1000, "the most postings in one account: 1,000,000 takes a minute and 3 GB")
	maxAssets   = flag.Int("assets", 100, "the most assets in one account: 10,000 takes five seconds")
)

// TestCostByPostings measures accounts with different numbers of postings, all in one asset.
func TestCostByPostings(t *testing.T) {
	documented, between := []int{10, 1000, 100_000, 1_000_000}, [2]int{1000, 4000}
	measureGrowth(t, figures{heading: "By postings in one account", of: "postings"}, documented, *maxPostings, between,
		1000, byPostings)
}

// byPostings measures reads and writes of an account with n settled postings in one asset.
func byPostings(t *testing.T, n int) []line {
	b := newBank(t)
	middle := b.now()
	at := func(i int) time.Time { return middle.Add(time.Duration(i-n/2) * 10 * time.Microsecond) }
	b.putPostings(share, 0, n/2, at)
	posted, err := b.coldLedger().Post(t.Context(), ledger.PostTransfer{
		Annotation: ledger.Annotation{ID: "late", Actor: "tester"}, From: outside, To: holder, Asset: share,
		Quantity: events.NewAmount(125_000),
	})
	if err != nil {
		t.Fatal(err)
	}
	var late []events.PostingRecorded
	for _, leg := range posted.Header.Legs {
		late = append(late, events.PostingRecorded{Leg: leg, Transaction: posted.Header.ID,
			Kind: posted.Header.Kind})
	}
	newest := b.putPostings(share, n/2+1, n+1, at)
	b.tick()
	b.project(b.NewProcess(), append(late, newest)...)

	s := &steps{bank: b}
	const account = "/v1/accounts/" + holder
	until := "to=" + url.QueryEscape(events.FormatTime(middle))
	s.get("account page", account+"/summary")
	s.get("history of an asset, first page", account+"/postings?asset="+share)
	s.get("history of an asset, a page in the middle", s.next(account+"/postings?asset="+share+"&"+until))
	s.get("history over all assets, first page", account+"/postings")
	s.get("history over all assets, a page in the middle", s.next(account+"/postings?"+until))
	s.get("one balance", account+"/balances/"+share)
	s.get("one balance, strong", account+"/balances/"+share+"?consistency=strong")
	s.get("list of balances", account+"/balances")
	s.get("list of balances, strong", account+"/balances?consistency=strong")

	s.projectPostings(share)
	// A full stretch of settled postings closes one segment, wherever the last one ended.
	from := b.now().Add(-age / 2)
	stretch := b.newPostings(share, projections.StretchPostings, from)
	b.put(stretch...)
	s.do(fmt.Sprintf("projecting %d settled postings, which closes a segment", len(stretch)),
		func() { b.project(b.process(), stretch...) })
	straggler := b.posting(share, middle.Add(time.Microsecond))
	b.put(straggler)
	s.do("projecting one that is late, into the middle", func() { b.project(b.process(), straggler) })
	b.tick()
	again := func() {
		s.Must(200, "POST", "/v1/transfers",
			`{"id":"late","from":"outside","to":"customers:00000017","asset":"SHARE","quantity":"125000"}`)
	}
	again()
	s.do("a transaction sent again two hours later", again)
	s.writes(share)
	return s.lines
}

// TestCostByAssets measures accounts with different numbers of assets, with one posting each. The account's page and
// the longest page of a list have 100 balances. Up to projections.CountedAssets, a first posting reads all balances.
func TestCostByAssets(t *testing.T) {
	measureGrowth(t, figures{heading: "By assets in one account", of: "assets"}, []int{1, 100, 10_000}, *maxAssets,
		[2]int{projections.CountedAssets + 1, 1000}, projections.CountedAssets+1, byAssets)
}

func assetName(i int) string { return fmt.Sprintf("A%05d", i) }

// byAssets measures reads and writes of an account with n assets. They use the asset in the middle.
func byAssets(t *testing.T, n int) []line {
	touched, added := assetName(n/2), assetName(n)
	b := newBank(t, touched, added)
	began := b.now()
	held := make([]events.PostingRecorded, n)
	for i := range held {
		held[i] = b.posting(assetName(i), began.Add(time.Duration(i)*10*time.Microsecond))
	}
	b.put(held...)
	b.tick()
	b.project(b.NewProcess(), held...)

	s := &steps{bank: b}
	const account = "/v1/accounts/" + holder
	s.get("account page", account+"/summary")
	s.get("history of an asset", account+"/postings?asset="+touched)
	s.get("history over all assets, first page", account+"/postings?limit=20")
	s.get("history over all assets, second page", s.next(account+"/postings?limit=20"))
	s.get("one balance", account+"/balances/"+touched)
	s.get("one balance, strong", account+"/balances/"+touched+"?consistency=strong")
	s.get("list of balances, first page of 20", account+"/balances?limit=20")
	s.get("list of balances, second page of 20", s.next(account+"/balances?limit=20"))
	s.get("list of balances, first page of 100", account+"/balances?limit=100")
	s.get("list of balances, strong, first page of 20", account+"/balances?consistency=strong&limit=20")
	s.get("list of balances, strong, second page of 20", s.next(account+"/balances?consistency=strong&limit=20"))

	s.projectPostings(touched)
	s.summary(touched, added)
	s.batchOfAssets(n)
	s.writes(touched)
	return s.lines
}

// batchOfAssets measures the projection of a batch with one posting in each of many assets.
func (s *steps) batchOfAssets(n int) {
	s.t.Helper()
	const many = 50
	name := fmt.Sprintf("projecting a batch of %d postings, of %d assets", many, many)
	if n < many {
		s.omit(name)
		return
	}
	each := make([]events.PostingRecorded, many)
	for i := range each {
		each[i] = s.posting(assetName(i), s.now().Add(time.Second+time.Duration(i)*time.Microsecond))
	}
	s.put(each...)
	s.do(name, func() { s.project(s.process(), each...) })
}

// summary measures the two kinds of postings that change the account's summary.
func (s *steps) summary(held, added string) {
	s.t.Helper()
	process := s.process()
	at := s.now().Add(time.Millisecond)
	away := s.posting(held, at)
	away.Quantity = s.quantity(held).Neg()
	s.put(away)
	s.do("projecting the sale of all that is held of one", func() { s.project(process, away) })
	first := s.posting(added, at.Add(time.Microsecond))
	s.put(first)
	s.do("projecting the first posting of one more", func() { s.project(process, first) })
}

// quantity returns what the holder has of an asset.
func (s *steps) quantity(asset string) events.Amount {
	s.t.Helper()
	text := s.Must(200, "GET", "/v1/accounts/"+holder+"/balances/"+asset, "").Text("quantity")
	quantity, err := events.ParseAmount(text, events.FoldedDigits)
	if err != nil {
		s.t.Fatal(err)
	}
	return quantity
}

var maxUnsettled = flag.Int("unsettled", 1000, "the most postings that are not settled: up to 10,000 are measured")

// TestCostByUnsettledPostings measures a balance with different numbers of postings from the last ten seconds. Each
// strong read reads them, because their order may still change. Their number depends on the account's rate, not on its
// age: 100 postings a second make 1,000.
func TestCostByUnsettledPostings(t *testing.T) {
	f := figures{heading: "By unsettled postings", of: "postings of the last 10 s"}
	for _, n := range []int{0, 10, 100, 1000, 10_000} {
		if n <= *maxUnsettled {
			f.add(thousands(n), byUnsettled(t, n))
		}
	}
	f.check(t)
}

func byUnsettled(t *testing.T, n int) []line {
	b := newBank(t)
	began, spacing := b.now(), 10*time.Microsecond
	newest := b.putPostings(share, 0, 1000, func(i int) time.Time { return began.Add(time.Duration(i) * spacing) })
	b.tick()
	b.project(b.NewProcess(), newest)
	arrived := 0
	arrive := func(n int) (some []events.PostingRecorded) {
		some = b.newPostings(share, n, b.now().Add(time.Duration(arrived)*time.Microsecond))
		arrived += n
		b.put(some...)
		return some
	}
	warm := b.process()
	if n > 0 {
		b.project(warm, arrive(n)...)
	}

	s := &steps{bank: b}
	const balance = "/v1/accounts/" + holder + "/balances"
	s.get("one balance, strong", balance+"/SHARE?consistency=strong")
	s.get("list of balances, strong", balance+"?consistency=strong")
	some := arrive(100)
	s.do("projecting a batch of 100 more", func() { b.project(warm, some...) })
	late := b.posting(share, began.Add(500*spacing+spacing/2))
	b.put(late)
	some = append(arrive(100), late)
	s.do("projecting 100 more, and one that is late", func() { b.project(warm, some...) })
	some = arrive(100)
	s.do("projecting 100 more, by a process that starts", func() { b.project(b.process(), some...) })
	return s.lines
}

// TestCostOfFirstRefold measures the refold of a whole balance that is missing, after a backlog or a loss. It reads
// each posting once, and writes each segment once.
func TestCostOfFirstRefold(t *testing.T) {
	f := figures{heading: "From nothing", of: "postings"}
	for _, n := range []int{10, 1000, 10_000} {
		b := newBank(t)
		all := b.newPostings(share, n, b.now())
		b.put(all...)
		b.tick()
		f.add(thousands(n), []line{{"refolding all of them", b.costOf(func() { b.project(b.process(), all[0]) })}})
		b.wantCount(n)
	}
	f.check(t)
}

// wantCount fails the test unless the holder's balance counts n postings.
func (b *bank) wantCount(n int) {
	b.t.Helper()
	shown := b.Must(200, "GET", "/v1/accounts/"+holder+"/balances/"+share, "")
	if got := shown.Value("postings"); got != float64(n) {
		b.t.Errorf("the balance counts %v postings, not %d", got, n)
	}
}
