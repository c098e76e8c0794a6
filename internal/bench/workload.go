package bench

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
)

// The workloads, in the order in which a run executes them.
const (
	Uniform     = "uniform"
	HotReceiver = "hot-receiver"
	HotSpender  = "hot-spender"
	Market      = "market"
	Read        = "read"
	Import      = "import"
)

// Workloads returns the names of all workloads, in their order.
func Workloads() []string { return []string{Uniform, HotReceiver, HotSpender, Market, Read, Import} }

const (
	// Each limited account gets deposit of each asset, deposits times. It cannot spend that much in a run, so every
	// debit is covered.
	deposit  = 1_000_000_000_000
	deposits = 5

	quantityMax = 100    // of a transfer or a trade
	costMax     = 10_000 // of a trade
	// advance is the number of maximal debits that a client of hot-spender funds with one payment.
	advance = 10
)

// slot identifies one slice of a workload.
type slot struct {
	workload string
	round    int // from 1; 0 is the warm-up
}

func (s slot) series() string { return fmt.Sprintf("%s%d", s.workload, s.round) }

// draft is a request and its postings. Each client reuses one.
type draft struct {
	request
	legs []leg
	text []byte // backs request.body
}

// post sets d to a POST of a JSON object with the id and the formatted fields. No value needs JSON escaping.
func (d *draft) post(path, id, format string, args ...any) {
	d.text = fmt.Appendf(fmt.Appendf(d.text[:0], `{"id":"%s",`, id), format, args...)
	d.request = request{method: http.MethodPost, path: path, names: id, body: d.text}
	d.legs = d.legs[:0]
}

func (d *draft) transfer(f *fixture, id string, from, to, asset int, quantity int64) {
	d.post("/v1/transfers", id, `"from":"%s","to":"%s","asset":"%s","quantity":"%d"}`, f.names[from], f.names[to],
		f.assets[asset], quantity)
	d.legs = append(d.legs, leg{from, asset, -quantity, 0}, leg{to, asset, quantity, 0})
}

// trade sets d to a trade of shares. settle also moves the cash.
func (d *draft) trade(f *fixture, id string, buyer, seller int, quantity, cost int64, settle bool) {
	d.post("/v1/trades", id, `"asset":"%s","buyer":"%s","seller":"%s","quantity":"%d","cost":"%d","settle":%t}`,
		f.assets[share], f.names[buyer], f.names[seller], quantity, cost, settle)
	d.legs = append(d.legs, leg{buyer, share, quantity, cost}, leg{seller, share, -quantity, -cost})
	if settle {
		d.legs = append(d.legs, leg{buyer, cash, -cost, 0}, leg{seller, cash, cost, 0})
	}
}

// deposit sets d to a transaction in which the issuer pays a deposit to each account from first to last, excluding
// last.
func (d *draft) deposit(f *fixture, id string, first, last, asset int) {
	legs := []leg{{f.issuer(), asset, -deposit * int64(last-first), 0}}
	for account := first; account < last; account++ {
		legs = append(legs, leg{account, asset, deposit, 0})
	}
	var postings []byte
	for _, l := range legs {
		postings = fmt.Appendf(postings, `,{"account":"%s","asset":"%s","quantity":"%d"}`, f.names[l.account],
			f.assets[l.asset], l.quantity)
	}
	d.post("/v1/transactions", id, `"postings":[%s]}`, postings[1:])
	d.legs = legs
}

// read sets d to request n of the workload read: in turn an account's page, its history of all assets and of one, an
// eventual read of a balance, and a strong one. Every account has deposits, so every answer has its id.
func (r *Run) read(s slot, n int, d *draft) {
	random := r.random(s, n)
	account, asset := r.fixture.names[random.IntN(r.fixture.people)], r.fixture.assets[random.IntN(assets)]
	queries := [...][2]string{{"summary"}, {"postings"}, {"postings", "asset=" + asset}, {"balances/" + asset},
		{"balances/" + asset, "consistency=strong"}}
	q := queries[n%len(queries)]
	d.request = request{http.MethodGet, "/v1/accounts/" + account + "/" + q[0], q[1], nil, account}
	d.legs = d.legs[:0]
}

// write sets d to request n of the workloads uniform, hot-receiver, market and import.
//
// All except market alternate between a transfer and a trade without cash. hot-receiver differs from uniform only in
// the receiver, so that the difference between their rates is the cost of a hot account.
func (r *Run) write(s slot, n int, d *draft) {
	f, random, id := r.fixture, r.random(s, n), r.fixture.id(s.series(), n)
	payer := random.IntN(f.people)
	receiver := (payer + 1 + random.IntN(f.people-1)) % f.people
	switch s.workload {
	case HotReceiver:
		receiver = f.receiver()
	case Market:
		buyer, seller := payer, f.maker(random.IntN(makers))
		if n%2 == 1 {
			buyer, seller = seller, buyer
		}
		d.trade(f, id, buyer, seller, amount(random, quantityMax), amount(random, costMax), true)
		return
	}
	if n%2 == 0 {
		d.transfer(f, id, payer, receiver, cash, amount(random, quantityMax))
	} else {
		d.trade(f, id, receiver, payer, amount(random, quantityMax), amount(random, costMax), false)
	}
}

// spending is the state of one client of hot-spender. A client debits only credits that were acknowledged to it, so
// every debit is covered, whatever other clients do. The balance stays low, so the ledger must read new credits all the
// time.
type spending struct {
	turn  int   // number of requests
	cover int64 // acknowledged credits minus debits
}

// spend sets d to the next request of a client of hot-spender: a debit, or a credit if the cover is too low.
func (r *Run) spend(s slot, worker int, own *spending, d *draft) {
	f, random := r.fixture, r.random(s, worker<<28|own.turn)
	id := f.id(fmt.Sprintf("%s-%d", s.series(), worker), own.turn)
	other, quantity := random.IntN(f.people), amount(random, quantityMax)
	if own.cover < quantity {
		d.transfer(f, id, other, f.spender(), cash, advance*quantityMax)
	} else {
		d.transfer(f, id, f.spender(), other, cash, quantity)
		own.cover -= quantity // before the answer, which may be missing
	}
	own.turn++
}

// acknowledged adds the credit of an acknowledged request to the cover.
func (own *spending) acknowledged(f *fixture, legs []leg) {
	if i := slices.IndexFunc(legs, func(l leg) bool { return l.account == f.spender() }); legs[i].quantity > 0 {
		own.cover += legs[i].quantity
	}
}

// random returns the random source of request n of a slice. It depends only on the seed, the slot and n, which is below
// 2^40.
func (r *Run) random(s slot, n int) *rand.Rand {
	return rand.New(rand.NewPCG(r.Seed,
		uint64(slices.Index(Workloads(), s.workload))<<56|uint64(s.round)<<40|uint64(n)))
}

// amount returns a random number from 1 to most.
func amount(random *rand.Rand, most int64) int64 { return 1 + random.Int64N(most) }
