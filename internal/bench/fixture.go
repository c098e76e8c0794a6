package bench

import (
	"context"
	"fmt"
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
