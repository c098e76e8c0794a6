package bench

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// posted is a network that accepts every transfer and trade, and records the accounts of those in flight.
type posted struct {
	t    *testing.T
	mu   sync.Mutex
	busy map[string]bool
	ids  map[string]bool
}

func (p *posted) RoundTrip(r *http.Request) (*http.Response, error) {
	var body struct{ ID, From, To, Buyer, Seller string }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return nil, err
	}
	accounts := []string{body.From + body.Buyer, body.To + body.Seller}
	p.mark(accounts, true)
	p.mu.Lock()
	p.ids[body.ID] = true
	p.mu.Unlock()
	<-time.After(time.Millisecond) // of the test's clock
	p.mark(accounts, false)
	return &http.Response{StatusCode: 201, Body: io.NopCloser(strings.NewReader(`{"id":"` + body.ID + `"}`))}, nil
}

func (p *posted) mark(accounts []string, isBusy bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, account := range accounts {
		if p.busy[account] == isBusy {
			p.t.Errorf("two transactions of %s at once", account)
		}
		p.busy[account] = isBusy
	}
}

// Each line is posted once, and added to the book. Lines with the same account are never in flight together.
func TestImportPostsEachLine(t *testing.T) {
	const count = 300
	for _, people := range []int{2, 50} { // with 2 accounts, all lines wait for each other
		synctest.Test(t, func(t *testing.T) {
			network := &posted{t: t, busy: make(map[string]bool), ids: make(map[string]bool)}
			r, ctx := begun(t, network)
			r.Clients, r.fixture = 4, newFixture("b1", people)
			r.book = newBook(len(r.fixture.names))
			var n counts
			m, err := r.drive(ctx, slot{Import, 1}, bound{count: count}, &n, nil)
			if err != nil || n.done != count || m.count() != count || len(network.ids) != count || !network.ids["b1-import1-0"] {
				t.Fatalf("%v: %d done, %d latencies, %d transactions", err, n.done, m.count(), len(network.ids))
			}
			postings := int64(0)
			for i := range r.book.sums {
				postings += r.book.sums[i].postings.Load()
			}
			if postings != 2*count {
				t.Errorf("%d postings are booked", postings)
			}
		})
	}
}

// The end of the load ends the importer, and nothing blocks forever.
func TestImportEnds(t *testing.T) {
	r, ctx := begun(t, &answers{given: []string{"403"}})
	if _, err := r.drive(ctx, slot{Import, 1}, bound{}, new(counts), nil); err == nil {
		t.Error("a caller who is rejected goes on")
	}
	r, ctx = begun(t, &posted{t: t, busy: make(map[string]bool), ids: make(map[string]bool)})
	if _, err := r.drive(ctx, slot{Import, 1}, bound{period: time.Millisecond}, new(counts), nil); err != nil {
		t.Error(err)
	}
	r.fixture.run = `"`
	if _, err := r.drive(ctx, slot{Import, 1}, bound{}, new(counts), nil); err == nil {
		t.Error("lines that nobody can read are imported")
	}
	r, ctx = begun(t, &posted{t: t, busy: make(map[string]bool), ids: make(map[string]bool)})
	time.AfterFunc(time.Millisecond, func() { r.end(io.EOF) })
	if _, err := r.drive(ctx, slot{Import, 1}, bound{}, new(counts), nil); err != nil {
		t.Error(err)
	}
}
