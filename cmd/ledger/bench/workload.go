package bench

import (
	"fmt"
	"slices"
)

// The workloads, in the order in which a run goes through them.
const (
	Uniform     = "uniform"
	HotReceiver = "hot-receiver"
	HotSpender  = "hot-spender"
	Market      = "market"
	Read        = "read"
	Import      = "import"
)

// Workloads are the names of all, in their order.
func Workloads() []string {
	return []string{Uniform, HotReceiver, HotSpender, Market, Read, Import}
}

const (
	// deposit is what each account with a limit is given at a time: far more than it can spend in a run, so that nothing may
	// ever be refused.
	deposit = 1_000_000_000_000
	// deposits is how often, of each asset: something for histories to show.
	deposits = 5

	quantityMost = 100    // of a transfer or a trade
	costMost     = 10_000 // of a trade
	// advance is how many debits a client of hot-spender pays in for at a time.
	advance = 10
)

// slot is one slice of a workload: which of its requests are made.
type slot struct {
	workload string
	round    int // from 1; 0 warms up
}

// maker names what made a transaction, in its id: letters of the workload, and the round.
func (s slot) maker() string { return fmt.Sprintf("%s%d", s.workload, s.round) }

// write makes request number n of one of the workloads uniform, hot-receiver, market and import.
//
// uniform and hot-receiver have the same requests, by turns a transfer and a trade that doesn't move cash, but for who
// receives: so they cost the same but for what the heat costs.
func (r *run) write(s slot, n int, d *draft) {
	c, chance, id := r.cast, r.dice(s, n), r.cast.id(s.maker(), n)
	payer := chance.below(c.people)
	receiver := (payer + 1 + chance.below(c.people-1)) % c.people
	switch s.workload {
	case HotReceiver:
		receiver = c.receiver()
	case Market:
		buyer, seller := payer, c.maker(chance.below(makers))
		if n%2 == 1 {
			buyer, seller = seller, buyer
		}
		d.trade(c, id, buyer, seller, chance.amount(quantityMost), chance.amount(costMost), true)
		return
	}
	if n%2 == 0 {
		d.transfer(c, id, payer, receiver, cash, chance.amount(quantityMost))
	} else {
		d.trade(c, id, receiver, payer, chance.amount(quantityMost), chance.amount(costMost), false)
	}
}

// account is what a client of hot-spender has paid in and not drawn yet. As each only draws what was acknowledged to itself,
// every debit is covered whatever the others do; and as little is left at any time, the ledger must find out about new
// credits all the time.
type account struct {
	turn  int // requests made, counted by the client
	cover int64
}

// spend makes the next request of a client of hot-spender: one that pays in, when what is left doesn't cover the debit.
func (r *run) spend(s slot, worker int, a *account, d *draft) {
	c, chance := r.cast, r.dice(s, worker<<28|a.turn)
	id := c.id(fmt.Sprintf("%s-%d", s.maker(), worker), a.turn)
	other, quantity := chance.below(c.people), chance.amount(quantityMost)
	if a.cover < quantity {
		d.transfer(c, id, other, c.spender(), cash, advance*quantityMost)
	} else {
		d.transfer(c, id, c.spender(), other, cash, quantity)
		a.cover -= quantity // also if it isn't answered
	}
	a.turn++
}

// paid tells a client of hot-spender that its request was acknowledged.
func (a *account) paid(c *cast, legs []leg) {
	if i := slices.IndexFunc(legs, func(l leg) bool { return l.account == c.spender() }); legs[i].quantity > 0 {
		a.cover += legs[i].quantity
	}
}

// read makes request number n of read: by turns an account's page, its history over all assets, its history of one, one
// balance, and the same read strongly.
func (r *run) read(s slot, n int, d *draft) {
	chance := r.dice(s, n)
	name := r.cast.names[chance.below(r.cast.people)]
	path := "/v1/accounts/" + name
	asset := r.cast.assets[chance.below(assets)]
	switch n % 5 {
	case 0:
		d.read(path+"/summary", "", name, "balances")
	case 1:
		d.read(path+"/postings", "", "data", "next_cursor")
	case 2:
		d.read(path+"/postings", "asset="+asset, "data", "next_cursor")
	case 3:
		d.read(path+"/balances/"+asset, "", name, asset)
	case 4:
		d.read(path+"/balances/"+asset, "consistency=strong", name, asset)
	}
}

// dice are those of one request.
func (r *run) dice(s slot, n int) *dice {
	return newDice(r.Seed, slices.Index(Workloads(), s.workload), s.round, n)
}
