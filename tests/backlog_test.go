package tests

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/projections"
)

// postingsRead counts the postings that queries of the table brought.
func postingsRead(requests []request) (n int) {
	for _, r := range requests {
		if in, ok := r.input.(*dynamodb.QueryInput); ok && in.IndexName == nil && strings.Contains(r.line(), "POSTING#") {
			n += len(r.found())
		}
	}
	return n
}

// A projector that starts behind a long backlog on one balance, again and again, reads the backlog once; after that, each
// batch costs it no more than the stretches that its records point into. What is delivered again changes nothing.
//
// It isn't run beside others, and on a DynamoDB Local of its own: with so many records in its streams, that is slow for all.
func TestRestartBehindABacklog(t *testing.T) {
	ofItsOwn(t)
	const backlog, batch, restartAfter = 20_000, 100, 20
	s := newSystem(t, withoutPump)
	s.OpenRegister()
	all := old("jane", "USD", backlog)
	putEvents(t, s, all)
	const stretches = 2 * projections.StretchPostings // 100 postings in a row lie in no more than two

	most := backlog
	deliverBacklog := func(each func(i int, requests []request)) {
		process := s
		for i, some := range slices.Collect(slices.Chunk(all, batch)) {
			if i%restartAfter == restartAfter/2 {
				process = s.beside() // another process takes over, and remembers nothing
			}
			process.requests.take()
			deliver(t, process.service, keysOf(some)...)
			each(i, process.requests.take())
		}
	}
	total := 0
	deliverBacklog(func(i int, requests []request) {
		n := postingsRead(requests)
		total += n
		if i > 0 && n > stretches {
			t.Errorf("batch %d read %d postings", i, n)
		}
		most += stretches
	})
	if total > most {
		t.Errorf("%d postings were read, more than the backlog of %d once and %d for each batch of %d", total, backlog, stretches, batch)
	}
	t.Logf("%d postings read for a backlog of %d in batches of %d", total, backlog, batch)
	balance := s.Must(200, "GET", "/v1/accounts/jane/balances/USD", "")
	shows(t, balance, map[string]any{
		"quantity": sumOf(all), "postings": float64(backlog), "as_of": string(all[backlog-1].ID),
	})
	total = 0
	deliverBacklog(func(i int, requests []request) {
		total += postingsRead(requests)
		for _, r := range requests {
			if r.writes() {
				t.Errorf("redelivered, batch %d wrote: %s", i, r.line())
			}
		}
	})
	t.Logf("%d postings read for all of it again", total)
}
