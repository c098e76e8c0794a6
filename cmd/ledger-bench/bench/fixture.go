package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"ledger.example/client"
	"ledger.example/events"
)

// The assets of a run: cash, and a share that is traded for it.
const (
	cash = iota
	share
	assets
)

const (
	makers = 4
	// Each limited account gets deposit of each asset, deposits times. It cannot spend that much in a run, so every
	// debit is covered.
	deposit  = 1_000_000_000_000
	deposits = 5
	// A deposit credits accountsAtOnce accounts, and depositsAtOnce deposits are in flight: large transactions are slow
	// in DynamoDB Local.
	accountsAtOnce = 20
	depositsAtOnce = 2
)

// fixture has the ids of the accounts and assets of a run. Accounts are identified by an index: first those with a
// limit and a deposit, then those with a role in a workload. All ids begin with the name of the run, so runs never
// share accounts.
type fixture struct {
	run    string
	people int      // number of accounts with a limit and a deposit
	names  []string // ids of all accounts
	assets [assets]string
}

func newFixture(run string, people int) *fixture {
	f := &fixture{run: run, people: people, assets: [assets]string{cash: run + "-cash", share: run + "-share"}}
	for i := range people {
		f.names = append(f.names, fmt.Sprintf("%s-a%d", run, i))
	}
	f.names = append(f.names, run+"-receiver", run+"-spender", run+"-issuer")
	for i := range makers {
		f.names = append(f.names, fmt.Sprintf("%s-maker%d", run, i))
	}
	return f
}

// The accounts with a role.
func (f *fixture) receiver() int   { return f.people }     // limited; never pays
func (f *fixture) spender() int    { return f.people + 1 } // limited; funded only by the load
func (f *fixture) issuer() int     { return f.people + 2 } // unlimited; the source of all cash and shares
func (f *fixture) maker(i int) int { return f.people + 3 + i }

// limited reports whether an account has no overdraft.
func (f *fixture) limited(account int) bool { return account < f.issuer() }

// id returns the id of transaction n of a series. A series is a workload and its round, such as "uniform1".
func (f *fixture) id(series string, n int) string {
	return f.run + "-" + series + "-" + strconv.Itoa(n)
}

// runName returns a short unique name. Names sort by the time when the run began.
func runName(began time.Time, random uint64) string {
	return "b" + strconv.FormatInt(began.UnixMilli(), 36) + fmt.Sprintf("%02s", strconv.FormatUint(random%(36*36), 36))
}

// leg is one posting, in minor units.
type leg struct {
	account, asset int
	quantity, cost int64
}

// sums has the sums of the postings of one account and asset.
type sums struct{ quantity, cost, postings atomic.Int64 }

// agrees reports whether a balance equals the sums.
func (s *sums) agrees(b client.Balance) bool {
	return b.Quantity == events.NewAmount(s.quantity.Load()) && b.NetExpenditure == events.NewAmount(s.cost.Load()) &&
		b.Postings == s.postings.Load()
}

// book adds up the acknowledged transactions: the balances that the ledger must have at the end. It is safe for
// concurrent use. No request of a run moves more than 10^13, so int64 suffices.
type book []sums // by account, then asset

func newBook(accounts int) *book { b := make(book, accounts*assets); return &b }

func (b book) at(account, asset int) *sums { return &b[account*assets+asset] }

// post adds a transaction.
func (b book) post(legs []leg) {
	for _, l := range legs {
		f := b.at(l.account, l.asset)
		f.quantity.Add(l.quantity)
		f.cost.Add(l.cost)
		f.postings.Add(1)
	}
}

// prepare registers the assets, opens the accounts and makes the deposits.
func (r *Run) prepare(ctx context.Context) error {
	f := r.fixture
	for _, a := range []client.Asset{
		{ID: f.assets[cash], Name: "Cash", Scale: 2}, {ID: f.assets[share], Name: "Share", Currency: f.assets[cash]},
	} {
		if _, _, err := r.observe.RegisterAsset(ctx, a); err != nil {
			return err
		}
	}
	if r.inside != nil {
		if err := r.inside.beginTwin(ctx); err != nil {
			return err
		}
	}
	if err := drive(ctx, r.Clients, bound{count: len(f.names)}, nil, func(_, i int) error {
		_, _, err := r.observe.OpenAccount(ctx, client.Account{
			ID: f.names[i], Name: "Account", Overdraft: client.Overdraft{Unlimited: !f.limited(i)},
		})
		return err
	}); err != nil {
		return err
	}
	groups := (f.people + accountsAtOnce - 1) / accountsAtOnce
	return drive(ctx, depositsAtOnce, bound{count: deposits * assets * groups}, nil, func(_, n int) error {
		first := n / assets % groups * accountsAtOnce
		d := f.deposit(f.id("deposit", n), first, min(first+accountsAtOnce, f.people), n%assets)
		_, _, err := r.observe.Post(ctx, d.post)
		if err == nil {
			r.book.post(d.legs)
		}
		return err
	})
}

// deposit is a transaction in which the issuer pays a deposit to each account from first to last, excluding last.
func (f *fixture) deposit(id string, first, last, asset int) request {
	legs := []leg{{f.issuer(), asset, -deposit * int64(last-first), 0}}
	for account := first; account < last; account++ {
		legs = append(legs, leg{account, asset, deposit, 0})
	}
	t := client.TransactionRequest{ID: id}
	for _, l := range legs {
		t.Postings = append(t.Postings, client.Leg{Account: f.names[l.account], Asset: f.assets[l.asset],
			Quantity: events.NewAmount(l.quantity)})
	}
	return request{post: t, legs: legs}
}

// The workloads, in the order in which a run executes them.
const (
	Uniform     = "uniform"
	HotReceiver = "hot-receiver"
	HotSpender  = "hot-spender"
	Market      = "market"
	Read        = "read"
)

// Workloads returns the names of all workloads, in their order.
func Workloads() []string { return []string{Uniform, HotReceiver, HotSpender, Market, Read} }

const (
	quantityMax = 100    // of a transfer or a trade
	costMax     = 10_000 // of a trade
	// advance is the number of maximal debits that a client of hot-spender funds with one payment.
	advance = 10
	// pagePostings is the number of postings on an account's page and in a page of a history.
	pagePostings = 20
)

// slot identifies one slice of a workload.
type slot struct {
	workload string
	round    int // from 1; 0 is the warm-up
}

func (s slot) series() string { return fmt.Sprintf("%s%d", s.workload, s.round) }

// request is one request of a workload: a transaction with its postings, or a read.
type request struct {
	post client.Request // nil for a read
	legs []leg
	read func(ctx context.Context, api *client.Client) error
}

func (f *fixture) transfer(id string, from, to, asset int, quantity int64) request {
	return request{
		post: client.Transfer{ID: id, From: f.names[from], To: f.names[to], Asset: f.assets[asset],
			Quantity: events.NewAmount(quantity)},
		legs: []leg{{from, asset, -quantity, 0}, {to, asset, quantity, 0}},
	}
}

// trade is a trade of shares. settle also moves the cash.
func (f *fixture) trade(id string, buyer, seller int, quantity, cost int64, settle bool) request {
	legs := []leg{{buyer, share, quantity, cost}, {seller, share, -quantity, -cost}}
	if settle {
		legs = append(legs, leg{buyer, cash, -cost, 0}, leg{seller, cash, cost, 0})
	}
	return request{
		post: client.Trade{ID: id, Asset: f.assets[share], Buyer: f.names[buyer], Seller: f.names[seller],
			Quantity: events.NewAmount(quantity), Cost: events.NewAmount(cost), Settle: settle},
		legs: legs,
	}
}

// next returns request n of a workload, counted over all clients. Requests of one worker never overlap.
func (r *Run) next(s slot, worker, n int) request {
	switch s.workload {
	case HotSpender:
		return r.spend(s, worker, &r.spenders[worker])
	case Read:
		return r.reading(s, n)
	}
	return r.write(s, n)
}

// reading is request n of the workload read: in turn an account's page, its history of all assets and of one, an
// eventual read of a balance, and a strong one. Every account has deposits, so every answer has postings.
func (r *Run) reading(s slot, n int) request {
	random := r.random(s, n)
	account, asset := r.fixture.names[random.IntN(r.fixture.people)], r.fixture.assets[random.IntN(assets)]
	return request{read: func(ctx context.Context, api *client.Client) (err error) {
		switch kind := n % 5; kind {
		case 0:
			_, err = api.AccountPage(ctx, account, pagePostings)
		case 1:
			_, err = api.History(account, client.HistoryQuery{}).Page(ctx, "", pagePostings)
		case 2:
			_, err = api.History(account, client.HistoryQuery{Asset: asset}).Page(ctx, "", pagePostings)
		default:
			_, err = api.Balance(ctx, account, asset, kind == 4)
		}
		return err
	}}
}

// write is request n of the workloads uniform, hot-receiver and market.
//
// All except market alternate between a transfer and a trade without cash. hot-receiver differs from uniform only in
// the receiver, so that the difference between their rates is the cost of a hot account.
func (r *Run) write(s slot, n int) request {
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
		return f.trade(id, buyer, seller, amount(random, quantityMax), amount(random, costMax), true)
	}
	if n%2 == 0 {
		return f.transfer(id, payer, receiver, cash, amount(random, quantityMax))
	}
	return f.trade(id, receiver, payer, amount(random, quantityMax), amount(random, costMax), false)
}

// spending is the state of one client of hot-spender. A client debits only credits that were acknowledged to it, so
// every debit is covered, whatever other clients do. The balance stays low, so the ledger must read new credits all the
// time.
type spending struct {
	turn  int   // number of requests
	cover int64 // acknowledged credits minus debits
}

// spend returns the next request of a client of hot-spender: a debit, or a credit if the cover is too low.
func (r *Run) spend(s slot, worker int, own *spending) request {
	f, random := r.fixture, r.random(s, worker<<28|own.turn)
	id := f.id(fmt.Sprintf("%s-%d", s.series(), worker), own.turn)
	own.turn++
	other, quantity := random.IntN(f.people), amount(random, quantityMax)
	if own.cover < quantity {
		return f.transfer(id, other, f.spender(), cash, advance*quantityMax)
	}
	own.cover -= quantity // before the answer, which may be missing
	return f.transfer(id, f.spender(), other, cash, quantity)
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
