package scale

import (
	"fmt"
	"testing"
	"time"

	"ledger.example/events"
)

// pageOfAssets is how many balances an account's page and the longest page of a list hold at most.
const pageOfAssets = 100

// TestByAssets measures an account by the assets that it holds, of one posting each.
func TestByAssets(t *testing.T) {
	f := figures{heading: "By assets in one account", of: "assets"}
	var first, reference []line
	for _, s := range sizesUpTo(*assetsMost, []int{1, 100, 10_000}, 2*pageOfAssets, 4*pageOfAssets) {
		began := time.Now()
		lines := byAssets(t, s.n)
		t.Logf("%s assets: %.1f s", thousands(s.n), time.Since(began).Seconds())
		switch {
		case first == nil:
			first = lines
		case reference == nil && s.n > pageOfAssets:
			reference = lines
		}
		compare(t, s.n, lines, first, reference)
		f.add(thousands(s.n), s.told, names(lines), texts(lines))
	}
	f.check(t)
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
	b.project(b.processOn(b.plain), held...)

	s := &steps{bank: b}
	const account = "/v1/accounts/" + holder
	s.get("account page", false, account+"/summary")
	s.get("history of an asset", true, account+"/postings?asset="+touched)
	s.get("history over all assets, first page", false, account+"/postings?limit=20")
	s.get("history over all assets, second page", false, s.next(account+"/postings?limit=20"))
	s.get("one balance", true, account+"/balances/"+touched)
	s.get("one balance, strong", true, account+"/balances/"+touched+"?consistency=strong")
	s.get("list of balances, first page of 20", false, account+"/balances?limit=20")
	s.get("list of balances, second page of 20", false, s.next(account+"/balances?limit=20"))
	s.get("list of balances, first page of 100", false, account+"/balances?limit=100")
	s.get("list of balances, strong, first page of 20", false, account+"/balances?consistency=strong&limit=20")
	s.get("list of balances, strong, second page of 20", false, s.next(account+"/balances?consistency=strong&limit=20"))

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
		s.cannot(name)
		return
	}
	each := make([]events.PostingRecorded, many)
	for i := range each {
		each[i] = s.posting(assetName(i), s.now().Add(time.Second+time.Duration(i)*time.Microsecond))
	}
	s.put(each...)
	s.do(name, false, func() { s.project(s.process(), each...) })
}

// summary measures the two kinds of postings that change what the account's summary says.
func (s *steps) summary(held, added string) {
	s.t.Helper()
	process := s.process()
	at := s.now().Add(time.Millisecond)
	away := s.posting(held, at)
	away.Quantity = s.quantity(held).Neg()
	s.put(away)
	s.do("projecting the sale of all that is held of one", true, func() { s.project(process, away) })
	first := s.posting(added, at.Add(time.Microsecond))
	s.put(first)
	s.do("projecting the first posting of one more", true, func() { s.project(process, first) })
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
