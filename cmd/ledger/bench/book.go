package bench

import (
	"strconv"
	"sync/atomic"
)

// leg is one posting, in minor units.
type leg struct {
	account, asset int
	quantity, cost int64
}

// figures are what the client itself counted of one account and asset.
type figures struct {
	quantity, cost, postings atomic.Int64
}

// book is what the client counted from the transactions that were acknowledged: what the ledger must say in the end. It is
// safe for concurrent use. An int64 holds the sums: no request of a run moves more than 10^13, and most move 100 at most.
type book struct {
	of []figures // by account, then asset
}

func newBook(accounts int) *book { return &book{make([]figures, accounts*assets)} }

func (b *book) at(account, asset int) *figures { return &b.of[account*assets+asset] }

// post counts a transaction.
func (b *book) post(legs []leg) {
	for _, l := range legs {
		f := b.at(l.account, l.asset)
		f.quantity.Add(l.quantity)
		f.cost.Add(l.cost)
		f.postings.Add(1)
	}
}

// amount writes an amount as the API does.
func amount(n int64) string { return strconv.FormatInt(n, 10) }
