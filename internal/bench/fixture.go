package bench

import (
	"fmt"
	"strconv"
	"sync/atomic"
	"time"
)

// The assets of a run: cash, and a share that is traded for it.
const (
	cash = iota
	share
	assets
)

const makers = 4

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
type sums struct {
	quantity, cost, postings atomic.Int64
}

// book adds up the acknowledged transactions: the balances that the ledger must have at the end. It is safe for
// concurrent use. No request of a run moves more than 10^13, so int64 suffices.
type book struct {
	sums []sums // by account, then asset
}

func newBook(accounts int) *book { return &book{make([]sums, accounts*assets)} }

func (b *book) at(account, asset int) *sums { return &b.sums[account*assets+asset] }

// post adds a transaction.
func (b *book) post(legs []leg) {
	for _, l := range legs {
		f := b.at(l.account, l.asset)
		f.quantity.Add(l.quantity)
		f.cost.Add(l.cost)
		f.postings.Add(1)
	}
}
