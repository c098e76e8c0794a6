package cost

import (
	"flag"
	"fmt"
	"net/url"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/ledger"
	"ledger.example/projections"
)

// The largest accounts of the document are measured when they are asked for.
var (
	postingsMost = flag.Int("postings", 1000, "the most postings in one account: 1,000,000 takes a minute and 3 GB")
	assetsMost   = flag.Int("assets", 100, "the most assets in one account: 10,000 takes five seconds")
)

// TestByPostings measures an account by the postings that it has, all in one asset.
func TestByPostings(t *testing.T) {
	documented, between := []int{10, 1000, 100_000, 1_000_000}, [2]int{1000, 4000}
	growth(t, figures{heading: "By postings in one account", of: "postings"}, documented, *postingsMost, between, 1000,
		byPostings)
}

// byPostings measures an account with n settled postings in one asset, one more in the middle of them, and what comes
// after.
func byPostings(t *testing.T, n int) []line {
	b := newBank(t)
	middle := b.now()
	at := func(i int) time.Time { return middle.Add(time.Duration(i-n/2) * 10 * time.Microsecond) }
	b.postings(share, 0, n/2, at)
	posted, err := b.then().Post(t.Context(), ledger.PostTransfer{
		Annotation: ledger.Annotation{ID: "late", Actor: "tester"}, From: outside, To: holder, Asset: share,
		Quantity: events.NewAmount(125_000),
	})
	if err != nil {
		t.Fatal(err)
	}
	var late []events.PostingRecorded
	for _, leg := range posted.Transaction.Legs {
		late = append(late, events.PostingRecorded{Leg: leg, Transaction: posted.Transaction.ID,
			Kind: posted.Transaction.Kind})
	}
	newest := b.postings(share, n/2+1, n+1, at)
	b.tick()
	b.project(b.Beside(), append(late, newest)...)

	s := &steps{bank: b}
	const account = "/v1/accounts/" + holder
	until := "to=" + url.QueryEscape(events.FormatTime(middle))
	b.see(holder, table.PostingsAfter(share, "", ""), 1)
	s.get("account page", account+"/summary")
	s.get("history of an asset, first page", account+"/postings?asset="+share)
	s.get("history of an asset, a page in the middle", s.next(account+"/postings?asset="+share+"&"+until))
	s.get("history over all assets, first page", account+"/postings")
	s.get("history over all assets, a page in the middle", s.next(account+"/postings?"+until))
	s.get("one balance", account+"/balances/"+share)
	s.get("one balance, strong", account+"/balances/"+share+"?consistency=strong")
	s.get("list of balances", account+"/balances")
	s.get("list of balances, strong", account+"/balances?consistency=strong")

	s.tail(share)
	// A full stretch of settled postings: one segment is closed, wherever the last one ended.
	from := b.now().Add(-age / 2)
	stretch := b.every(share, projections.StretchPostings, from)
	b.put(stretch...)
	s.do(fmt.Sprintf("projecting %d settled postings, which closes a segment", len(stretch)),
		func() { b.project(b.process(), stretch...) })
	straggler := b.posting(share, middle.Add(time.Microsecond))
	b.put(straggler)
	b.see(holder, table.PostingsBetween(share, string(events.FirstKSUID(at(n/2-projections.StretchPostings))), ""),
		3*projections.StretchPostings)
	b.see(holder, table.SegmentsFrom(share, string(straggler.ID)), 2)
	s.do("projecting one that is late, into the middle", func() { b.project(b.process(), straggler) })
	b.tick()
	again := func() {
		s.Must(200, "POST", "/v1/transfers",
			`{"id":"late","from":"outside","to":"customers:00000017","asset":"SHARE","quantity":"125000"}`)
	}
	again()
	b.see(outside, table.PostingsAfter(share, "", ""), 1)
	s.do("a transaction sent again two hours later", again)
	s.writes(share)
	return s.lines
}

// TestByAssets measures an account by the assets that it holds, of one posting each. Its page and the longest page of a
// list hold 100 balances.
func TestByAssets(t *testing.T) {
	growth(t, figures{heading: "By assets in one account", of: "assets"}, []int{1, 100, 10_000}, *assetsMost,
		[2]int{200, 400}, 200, byAssets)
}

func assetName(i int) string { return fmt.Sprintf("A%05d", i) }

// byAssets measures an account that holds n assets, and touches the one in the middle of them.
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
	b.project(b.Beside(), held...)

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

	s.tail(touched)
	s.summary(touched, added)
	s.many(n)
	s.writes(touched)
	return s.lines
}

// many measures a batch of one posting of each of many assets.
func (s *steps) many(n int) {
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

// summary measures the two kinds of postings that change what the account's summary says.
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

// quantity is what the holder has of an asset.
func (s *steps) quantity(asset string) events.Amount {
	s.t.Helper()
	text := s.Must(200, "GET", "/v1/accounts/"+holder+"/balances/"+asset, "").Text("quantity")
	quantity, err := events.ParseAmount(text, events.FoldedDigits)
	if err != nil {
		s.t.Fatal(err)
	}
	return quantity
}

var unsettledMost = flag.Int("unsettled", 1000, "the most postings that are not settled: up to 10,000 are measured")

// TestByUnsettled measures a balance by the postings that came in the last ten seconds: a strong read reads them again,
// as their order may still change. How many they are is a matter of the account's rate, not of its age: 1,000 are ten
// seconds of 100 a second.
func TestByUnsettled(t *testing.T) {
	f := figures{heading: "By unsettled postings", of: "postings of the last 10 s"}
	for _, n := range []int{0, 10, 100, 1000, 10_000} {
		if n <= *unsettledMost {
			f.add(thousands(n), byUnsettled(t, n))
		}
	}
	f.check(t)
}

func byUnsettled(t *testing.T, n int) []line {
	b := newBank(t)
	began, spacing := b.now(), 10*time.Microsecond
	newest := b.postings(share, 0, 1000, func(i int) time.Time { return began.Add(time.Duration(i) * spacing) })
	b.tick()
	b.project(b.Beside(), newest)
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
	b.see(holder, table.PostingsAfter(share, "", ""), 1)

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

// TestFromNothing measures what is paid once for an account, and grows with it: the first refold behind a backlog of
// all its postings, or of a balance that was lost. It reads each posting once, and writes each segment once.
func TestFromNothing(t *testing.T) {
	f := figures{heading: "From nothing", of: "postings"}
	for _, n := range []int{10, 1000, 10_000} {
		b := newBank(t)
		all := b.every(share, n, b.now())
		b.put(all...)
		b.tick()
		f.add(thousands(n), []line{{"refolding all of them", b.cost(func() { b.project(b.process(), all[0]) })}})
		b.wantCount(n)
	}
	f.check(t)
}

// wantCount fails the test unless the holder's balance counts n postings.
func (b *bank) wantCount(n int) {
	b.t.Helper()
	shown := b.Must(200, "GET", "/v1/accounts/"+holder+"/balances/"+share, "")
	if got := shown.Value("postings"); got != float64(n) {
		b.t.Errorf("%v postings are shown, of %d", got, n)
	}
}
