package tests

import (
	"fmt"
	"testing"

	"ledger.example/ledger/table"
)

// The benchmarks are of the whole way, from HTTP to DynamoDB Local and back, whose own time is most of what they show.
// They are printed and never asserted:
//
//	go test ./tests -run '^$' -bench .

func BenchmarkTrade(b *testing.B) {
	s := newSystem(b, withoutPump)
	openLimited(s)
	n := 0
	s.Must(201, "POST", "/v1/transfers", `{"id":"more","from":"market","to":"joe","asset":"AAPL","quantity":"1000000000"}`)
	s.Must(201, "POST", "/v1/transfers", `{"id":"cash","from":"bank","to":"jane","asset":"USD","quantity":"1000000000"}`)
	s.deliverAll()
	for b.Loop() {
		n++
		s.Must(201, "POST", "/v1/trades", settled(fmt.Sprintf("b-%d", n)))
	}
}

func BenchmarkAccountPage(b *testing.B) {
	s := sharedRegister(b)
	for b.Loop() {
		s.Must(200, "GET", "/v1/accounts/jane/summary", "")
	}
}

func BenchmarkStrongRead(b *testing.B) {
	s := sharedRegister(b)
	for b.Loop() {
		s.Must(200, "GET", "/v1/accounts/jane/balances/USD?consistency=strong", "")
	}
}

// BenchmarkRefold folds 10,000 settled postings of a balance that was never projected: 39 segments and the balance, in
// one write. Each time it is another account's.
func BenchmarkRefold(b *testing.B) {
	const postings = 10_000
	s := newSystem(b, withoutPump)
	n := 0
	for b.Loop() {
		b.StopTimer()
		n++
		all := old(fmt.Sprintf("account-%d", n), "USD", postings)
		putEvents(b, s, all)
		b.StartTimer()
		newest := all[postings-1]
		deliver(b, s.service, table.PostingKey(newest.Account, newest.Asset, string(newest.ID)))
	}
	b.ReportMetric(float64(postings*n)/b.Elapsed().Seconds(), "postings/s")
}
