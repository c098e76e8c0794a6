package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"ledger.example/client"
	"ledger.example/cmd/ledger-bench/meter"
	"ledger.example/events"
	"ledger.example/internal/table"
	_ "ledger.example/tests/harness/full" // fixes the seed
)

func newRun(people int, seed uint64) *Run {
	f := newFixture("b1", people)
	return &Run{Config: Config{Seed: seed, Clients: 2}, fixture: f, book: newBook(len(f.names)),
		spenders: make([]spending, 2)}
}

func TestDriveMakesEachCallOnce(t *testing.T) {
	const clients, count = 7, 1000
	var mu sync.Mutex
	made := make(map[int]bool)
	busy := make([]atomic.Bool, clients)
	took := newTimes()
	err := drive(t.Context(), clients, bound{count: count}, took, func(worker, n int) error {
		if !busy[worker].CompareAndSwap(false, true) {
			t.Error("one client makes two calls at once")
		}
		defer busy[worker].Store(false)
		mu.Lock()
		defer mu.Unlock()
		if made[n] || n < 0 || n >= count {
			t.Errorf("call %d", n)
		}
		made[n] = true
		return nil
	})
	if err != nil || took.count() != count || len(made) != count {
		t.Errorf("%v: %d calls, %d latencies", err, len(made), took.count())
	}
}

// After the end of ctx or of the period, no call begins, and calls in flight finish. A failure ends the load.
func TestDriveEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var done atomic.Int64
	took := newTimes()
	err := drive(ctx, 4, bound{}, took, func(_, n int) error {
		if n == 20 {
			cancel()
		}
		<-time.After(time.Millisecond)
		done.Add(1)
		return nil
	})
	if err != nil || took.count() != done.Load() || took.count() < 21 || took.count() > 24 {
		t.Errorf("%v: %d calls, %d done", err, took.count(), done.Load())
	}
	took = newTimes()
	if err := drive(t.Context(), 2, bound{period: time.Nanosecond}, took,
		func(_, _ int) error { return nil }); err != nil || took.count() > 2 {
		t.Errorf("%v: %d calls", err, took.count())
	}
	synctest.Test(t, func(t *testing.T) { // time passes only when the failed call has returned
		broken, took := errors.New("broken"), newTimes()
		if err := drive(t.Context(), 4, bound{count: 1000}, took, func(_, n int) error {
			if n == 5 {
				return broken
			}
			time.Sleep(time.Millisecond)
			return nil
		}); !errors.Is(err, broken) || took.count() == 999 {
			t.Errorf("%v: %d calls", err, took.count())
		}
	})
}

// The legs of a request are those that its body means, and they balance.
func TestRequestsAndTheirLegs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRun(rapid.IntRange(2, 20).Draw(t, "people"), rapid.Uint64().Draw(t, "seed"))
		s := slot{rapid.SampledFrom([]string{Uniform, HotReceiver, Market}).Draw(t, "workload"),
			rapid.IntRange(0, 9).Draw(t, "round")}
		n := rapid.IntRange(0, 1_000_000).Draw(t, "n")
		q := r.write(s, n)
		legs := func(of ...any) (legs []leg) { // account, asset, quantity, cost
			for l := range slices.Chunk(of, 4) {
				legs = append(legs, leg{slices.Index(r.fixture.names, l[0].(string)),
					slices.Index(r.fixture.assets[:], l[1].(string)), l[2].(int64), l[3].(int64)})
			}
			return legs
		}
		var id string
		var want []leg
		quantity := int64(0)
		switch p := q.post.(type) {
		case client.Transfer:
			id, quantity = p.ID, number(p.Quantity)
			want = legs(p.From, p.Asset, -quantity, int64(0), p.To, p.Asset, quantity, int64(0))
		case client.Trade:
			cost := number(p.Cost)
			id, quantity = p.ID, number(p.Quantity)
			want = legs(p.Buyer, p.Asset, quantity, cost, p.Seller, p.Asset, -quantity, -cost)
			if p.Settle {
				want = append(want, legs(p.Buyer, r.fixture.assets[cash], -cost, int64(0), p.Seller,
					r.fixture.assets[cash], cost, int64(0))...)
			}
		}
		if id != r.fixture.id(s.series(), n) || !slices.Equal(q.legs, want) || want[0].account == want[1].account ||
			quantity < 1 || quantity > quantityMax {
			t.Fatalf("%+v stands for %v", q.post, q.legs)
		}
		if s.workload == HotReceiver && !slices.ContainsFunc(q.legs,
			func(l leg) bool { return l.account == r.fixture.receiver() && l.quantity > 0 }) {
			t.Fatalf("%+v is not to the receiver", q.post)
		}
		if again := newRun(r.fixture.people, r.Seed).write(s, n); !slices.Equal(again.legs, q.legs) {
			t.Fatalf("the same seed made %v and %v", q.legs, again.legs)
		}
	})
}

func number(a events.Amount) int64 {
	n, err := strconv.ParseInt(a.String(), 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// A client of hot-spender never debits more than its acknowledged credits minus all debits that it has sent, whatever
// their outcomes.
func TestEveryDebitIsCovered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRun(3, rapid.Uint64().Draw(t, "seed"))
		paidIn, drawn, debits := int64(0), int64(0), 0
		for range rapid.IntRange(1, 200).Draw(t, "requests") {
			q := r.spend(slot{HotSpender, 1}, 1, &r.spenders[1])
			l := q.legs[slices.IndexFunc(q.legs, func(l leg) bool { return l.account == r.fixture.spender() })]
			if l.quantity < 0 {
				debits++
				if drawn -= l.quantity; drawn > paidIn {
					t.Fatalf("%d drawn of %d", drawn, paidIn)
				}
			}
			if rapid.IntRange(0, 9).Draw(t, "fate") > 0 { // acknowledged
				paidIn += max(l.quantity, 0)
				r.spenders[1].acknowledged(r.fixture, q.legs)
			}
		}
		if r.spenders[1].turn > 20 && debits == 0 {
			t.Fatal("nothing was drawn")
		}
	})
}

func TestFiguresOfAReport(t *testing.T) {
	r := newRun(2, 1)
	r.inside = new(inside)
	m := newMeasured(HotReceiver)
	m.postings = 400
	m.own.elapsed, m.own.cpu, m.own.allocations = 2*time.Second, time.Second, 2000
	for i := range 200 {
		m.own.times.add(time.Duration(i+1) * time.Millisecond)
	}
	m.command = meter.Tally{Requests: map[string]int64{"TransactWriteItems": 203, "GetItem": 1},
		Used: table.Used{Units: table.Units{WriteUnits: 2000, ReadHalves: 4}}}
	m.projection = meter.Tally{Requests: map[string]int64{"PutItem": 10, "Query": 6}, ItemsWritten: 10,
		Used: table.Used{Units: table.Units{WriteUnits: 20, ReadHalves: 40}}}
	m.rounds = []round{{100, 9, 100, 6, 200}, {100, 6, 125, 6, 125}, {90, 7, 100, 0, 100}} // own, uniform's, the ceiling's
	m.store.elapsed = time.Second
	m.store.times.add(time.Second)
	m.lags.add(3 * time.Millisecond)
	m.lags.add(time.Millisecond)
	reads := newMeasured(Read)
	reads.rounds = []round{{rate: 1}}

	got := r.report([]*measured{m, reads, newMeasured(Market)}, false)
	if len(got.Workloads) != 2 || got.Failed == nil {
		t.Fatalf("%+v", got) // market was not started
	}
	figures := got.Workloads[0].Figures
	for name, want := range map[string]float64{
		"succeeded": 200, "per_second": 100, "p50_ms": 100.031, "max_ms": 200.063, "requests": 1.1, "write_units": 10,
		"read_units": 0.01, "transactions_sent": 1.015, "projection_writes_per_posting": 0.025,
		"projection_read_units_per_posting": 0.05, "cpu_us": 5000, "allocations": 10,
		"dollars_per_million": 6.326, // (2020 × 0.625 + 22 × 0.125) ÷ 200
		"store_ratio":         0.8,   // the median of 0.5, 0.8 and 0.9
		"uniform_ratio":       0.9, "uniform_p99_ratio": 1.25, "store_per_second": 1,
		"lag_p50_ms": 1, "lag_max_ms": 3.001, "lag_postings": 2, "lag_unseen": 0,
	} {
		if value, ok := figures[name]; !ok || value != want {
			t.Errorf("%s: %v, wanted %v", name, value, want)
		}
	}
	for _, unknown := range []string{"lag_p50_ms", "projection_writes_per_posting", "store_ratio", "uniform_ratio"} {
		if value, ok := got.Workloads[1].Figures[unknown]; ok {
			t.Errorf("reads: %s is %v", unknown, value)
		}
	}
	m.command.Used = table.Used{} // a store that counts no units
	for _, unknown := range []string{"write_units", "read_units", "dollars_per_million"} {
		if value, ok := r.report([]*measured{m}, false).Workloads[0].Figures[unknown]; ok {
			t.Errorf("%s is %v", unknown, value)
		}
	}
	r.inside = nil
	w := r.report([]*measured{m}, false).Workloads[0]
	if _, ok := w.Figures["requests"]; ok || w.Figures["succeeded"] != 200 {
		t.Errorf("of a ledger elsewhere: %v", slices.Sorted(maps.Keys(w.Figures)))
	}
}

// A transaction of unknown outcome ends the load, is sent again at the end, and is added to the book if it was posted.
func TestUnknownOutcomesAreResolved(t *testing.T) {
	for _, isPosted := range []bool{true, false} {
		var isUp atomic.Bool
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var body struct{ ID string }
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil || !isUp.Load() {
				w.Header().Set("Content-Type", "application/problem+json")
				w.WriteHeader(http.StatusGatewayTimeout)
				fmt.Fprint(w, `{"code":"outcome_unknown"}`)
				return
			}
			w.WriteHeader(http.StatusOK)
			fmt.Fprintf(w, `{"id":%q}`, body.ID)
		}))
		defer server.Close()
		r := newRun(2, 1)
		var err error
		if r.load, err = client.New(client.Config{URL: server.URL, Timeout: time.Nanosecond}); err != nil {
			t.Fatal(err)
		}
		var ctx context.Context
		ctx, r.end = context.WithCancelCause(t.Context())
		m, err := r.drive(ctx, slot{Uniform, 1}, bound{count: 100}, nil)
		if err != nil || m.times.count() != 0 || ctx.Err() == nil || len(r.failed) != 1 || len(r.pending) == 0 {
			t.Fatalf("%v: %d done, %v failed, %d open", err, m.times.count(), r.failed, len(r.pending))
		}
		isUp.Store(isPosted)
		var out Report
		r.resolve(t.Context(), &out)
		postings := int64(0)
		for i := range *r.book {
			postings += (*r.book)[i].postings.Load()
		}
		want := 0
		if isPosted {
			want = 2 * len(r.pending)
		}
		if postings != int64(want) || (len(out.Failed) == 0) != isPosted {
			t.Errorf("posted: %t; %d postings in the book, %v", isPosted, postings, out.Failed)
		}
	}
}
