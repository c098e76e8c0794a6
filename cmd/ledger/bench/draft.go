package bench

import (
	"math/rand/v2"
	"strconv"
)

// draft is a request in the making, and the postings that it stands for. A client uses one for all that it sends.
type draft struct {
	request
	legs []leg
	text []byte // behind request.body
}

// begin starts another request that posts the transaction with that id.
func (d *draft) begin(path, id string) {
	d.request = request{method: "POST", path: path, id: id}
	d.legs = d.legs[:0]
	d.text = append(append(append(d.text[:0], `{"id":"`...), id...), '"')
}

// field adds a text. No text of ours has anything that JSON escapes.
func (d *draft) field(name, value string) {
	d.text = append(append(append(append(append(d.text, `,"`...), name...), `":"`...), value...), '"')
}

func (d *draft) amount(name string, n int64) {
	d.text = append(append(append(d.text, `,"`...), name...), `":"`...)
	d.text = append(strconv.AppendInt(d.text, n, 10), '"')
}

func (d *draft) end(more string) {
	d.text = append(append(d.text, more...), '}')
	d.body = d.text
}

// transfer makes it a transfer.
func (d *draft) transfer(c *cast, id string, from, to, asset int, quantity int64) {
	d.begin("/v1/transfers", id)
	d.field("from", c.names[from])
	d.field("to", c.names[to])
	d.field("asset", c.assets[asset])
	d.amount("quantity", quantity)
	d.end("")
	d.legs = append(d.legs, leg{from, asset, -quantity, 0}, leg{to, asset, quantity, 0})
}

// trade makes it a trade of shares.
func (d *draft) trade(c *cast, id string, buyer, seller int, quantity, cost int64, settle bool) {
	d.begin("/v1/trades", id)
	d.field("asset", c.assets[share])
	d.field("buyer", c.names[buyer])
	d.field("seller", c.names[seller])
	d.amount("quantity", quantity)
	d.amount("cost", cost)
	d.legs = append(d.legs, leg{buyer, share, quantity, cost}, leg{seller, share, -quantity, -cost})
	if !settle {
		d.end("")
		return
	}
	d.end(`,"settle":true`)
	d.legs = append(d.legs, leg{buyer, cash, -cost, 0}, leg{seller, cash, cost, 0})
}

// deposit makes it a transaction that gives every one of those accounts the same.
func (d *draft) deposit(c *cast, id string, accounts []int, asset int, quantity int64) {
	d.begin("/v1/transactions", id)
	d.text = append(d.text, `,"postings":[`...)
	d.posting(c, leg{c.issuer(), asset, -quantity * int64(len(accounts)), 0})
	for _, account := range accounts {
		d.text = append(d.text, ',')
		d.posting(c, leg{account, asset, quantity, 0})
	}
	d.end("]")
}

func (d *draft) posting(c *cast, l leg) {
	d.text = append(append(append(d.text, `{"account":"`...), c.names[l.account]...), '"')
	d.field("asset", c.assets[l.asset])
	d.amount("quantity", l.quantity)
	d.text = append(d.text, '}')
	d.legs = append(d.legs, l)
}

// renew gives the body's memory away: something else may still read it.
func (d *draft) renew() { d.text = nil }

// read makes it a read, whose answer must have two texts.
func (d *draft) read(path, query string, about ...string) {
	d.request = request{method: "GET", path: path, query: query}
	copy(d.about[:], about)
	d.legs = d.legs[:0]
}

// dice is chance that is the same again: by the run's seed, the kind of load and the number of the request.
type dice struct{ pcg rand.PCG }

func newDice(seed uint64, load, round, n int) *dice {
	d := new(dice)
	d.pcg.Seed(seed, uint64(load)<<56|uint64(round)<<40|uint64(n)) // at most 2^40 requests a slice
	return d
}

// below returns 0 to n-1. That it divides makes some of them likelier by n/2^64.
func (d *dice) below(n int) int { return int(d.pcg.Uint64() % uint64(n)) }

// amount returns 1 to most.
func (d *dice) amount(most int) int64 { return int64(d.below(most)) + 1 }
