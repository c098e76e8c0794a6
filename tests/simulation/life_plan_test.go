package simulation

import (
	"fmt"
	"slices"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
)

// A Mode is what the requests of a history are about, so that what is rare among all requests is common among them.
// The empty Mode is of posts alone.
type Mode string

// The modes.
const (
	Mixed     Mode = "mixed"     // everything, on the same accounts
	GivenBack Mode = "givenback" // what holds give back is spent as soon as somebody was told so
	Expiring  Mode = "expiring"  // holds are captured and released around their time of expiry
	Reversing Mode = "reversing" // few transactions are reversed by many, in parts
	Changing  Mode = "changing"  // one account changes again and again while it pays
	Raising   Mode = "raising"   // limits are raised, which is told slowly, and used at once
	Closing   Mode = "closing"   // an account that is empty is closed while it is used
	Batching  Mode = "batching"  // batches, atomic and not
)

// modes are taken in turn by seeds.
var modes = [...]Mode{Mixed, GivenBack, Changing, Expiring, Closing, Mixed, Reversing, Raising, Batching}

// LifeOf returns the plan of a seed whose requests are about the life of money.
func LifeOf(seed uint64) Plan {
	p := Plan{Seed: seed, Mode: modes[seed%uint64(len(modes))]}
	for i := range len(p.asks(p.knobs())) {
		p.Requests = append(p.Requests, i)
	}
	return p
}

// ofLife changes the knobs for a history of a Mode.
func (k knobs) ofLife(p Plan) knobs {
	d := p.draw("life", 0)
	k.span = 30 * time.Second
	k.processes = 2
	k.late = pick(d, 0, .05, .2, .5)
	k.visible = pick(d, time.Millisecond, briefly, 100*time.Millisecond, time.Second, 3*time.Second)
	k.overdraft = pick(d, int64(0), 0, 50)
	k.narrow, k.spending, k.ahead = false, false, false
	if !slices.Contains([]Mode{Changing, Reversing, Batching}, p.Mode) {
		k.backdated = 0
	}
	switch p.Mode {
	case Changing, Raising: // changes are broken off, and earlier attempts still on their way
		k.crash, k.late = pick(d, .005, .02, .06), pick(d, .1, .3, .5)
	case Closing: // what passed its guard is not visible for long
		k.visible = pick(d, time.Millisecond, 100*time.Millisecond, time.Second, 3*time.Second)
	}
	return k
}

// skewMost is how far clocks are off in histories of a Mode: as far as they may be for ends of holds to be in time.
const skewMost = 5 * time.Second

// The kinds of request of a life.
const (
	posts    = "post" // a hold too
	reverses = "reverse"
	captures = "capture"
	releases = "release"
	changes  = "change"
	batches  = "batch"
)

// ask is one request of a life.
type ask struct {
	*posting                // of what is answered with a transaction
	kind      string        // see posts
	name      string        // no other request has it
	of        *ask          // whose hold ends, or whose transaction is reversed
	begin     time.Duration // since the history began
	expires   time.Duration // of a hold, likewise; 0: after the usual days
	hold      bool
	legs      []ledger.LegRequest // of posts, as planned
	part      ledger.Part         // of a capture or a reversal
	then      *ask                // what its caller asks for once it is acknowledged
	following bool                // it is such a one
	change    ledger.ChangeAccount
	members   []*ask // of a batch
	batch     *ask   // of a member
	atomic    bool

	first ledger.Ended // of an end: as first acknowledged
	ended bool
}

// lifeMaker makes the requests of a history.
type lifeMaker struct {
	dice
	knobs knobs
	all   []*ask
}

// asks returns what a history of a Mode asks for, in no order.
func (p Plan) asks(k knobs) []*ask {
	m := &lifeMaker{dice: p.draw("asks", 0), knobs: k}
	switch p.Mode {
	case GivenBack:
		m.givenBack()
	case Expiring:
		m.expiring()
	case Reversing:
		m.reversing()
	case Changing:
		m.changing()
	case Raising:
		m.raising()
	case Closing:
		m.closing()
	case Batching:
		m.batching()
	default:
		m.mixed()
	}
	return m.all
}

func (m *lifeMaker) add(a *ask) *ask {
	a.name = fmt.Sprintf("%s%d", a.kind, len(m.all))
	if a.posting == nil {
		a.posting = &posting{}
	}
	a.id = a.name
	m.all = append(m.all, a)
	return a
}

func (m *lifeMaker) seconds(most float64) time.Duration {
	return time.Duration(m.Float64() * most * 1e9)
}

func (m *lifeMaker) amount(least, most int) events.Amount {
	return events.NewAmount(int64(least + m.IntN(most-least)))
}

// transfer asks for a transfer, a hold when it expires.
func (m *lifeMaker) transfer(from, to, asset string, quantity events.Amount, begin time.Duration) *ask {
	a := m.add(&ask{kind: posts, begin: begin})
	a.request = ledger.PostTransfer{Annotation: a.note(), From: from, To: to, Asset: asset, Quantity: quantity}
	a.legs = []ledger.LegRequest{{Account: from, Asset: asset, Quantity: quantity.Neg()},
		{Account: to, Asset: asset, Quantity: quantity}}
	return a
}

func (a *ask) note() ledger.Annotation { return ledger.Annotation{ID: a.id, Actor: "somebody"} }

// held makes a hold of a post, which expires so long after it is begun; 0: after the usual days.
func (a *ask) held(after time.Duration) *ask {
	a.hold = true
	if after > 0 {
		a.expires = a.begin + after
	}
	return a
}

// expiring sets the instant at which the holds of a history expire, now that it began.
func (h *history) expireHolds() {
	for _, a := range h.life {
		for a := a; a != nil; a = a.then {
			if a.other == nil {
				a.other = otherBody(a.note(), events.NewAmount(1))
				if a.kind == reverses {
					a.other = ledger.ReverseRequest{Annotation: a.note(), Transaction: a.of.id}
					other := a.other.(ledger.ReverseRequest)
					other.Description = "another body"
					a.other = other
				}
			}
			if !a.hold {
				continue
			}
			hold := &ledger.HoldRequest{}
			if a.expires > 0 {
				at := h.began.Add(a.expires).UTC().Truncate(time.Microsecond)
				hold.ExpiresAt = &at
			}
			switch r := a.request.(type) {
			case ledger.PostTransfer:
				r.Hold = hold
				a.request = r
			case ledger.PostTransaction:
				r.Hold = hold
				a.request = r
			case ledger.PostTrade:
				r.Hold = hold
				a.request = r
			}
		}
	}
}

// capture asks to capture a hold, in whole or in part.
func (m *lifeMaker) capture(hold *ask, begin time.Duration) *ask {
	a := m.add(&ask{kind: captures, of: hold, begin: begin})
	if m.chance(.5) {
		a.part = m.partOf(hold)
	}
	return a
}

// partOf draws what is taken of a transaction, as its kind wants it: something, and it balances.
func (m *lifeMaker) partOf(of *ask) ledger.Part {
	within := func(a events.Amount) events.Amount { // from 1 to a
		return events.NewAmount(1 + m.Int64N(max(1, int64Of(a))))
	}
	switch r := of.request.(type) {
	case ledger.PostTransfer:
		quantity := within(r.Quantity)
		return ledger.Part{Quantity: &quantity}
	case ledger.PostTrade:
		quantity := within(r.Quantity)
		return ledger.Part{Quantity: &quantity, Cost: within(r.Cost)}
	}
	gets := int64(0)
	for _, leg := range of.legs {
		gets += max(0, int64Of(leg.Quantity))
	}
	taken := make([]events.Taken, len(of.legs))
	gives := 1 + m.Int64N(gets)
	gets = gives
	for _, i := range m.Perm(len(of.legs)) {
		quantity := int64Of(of.legs[i].Quantity)
		if quantity > 0 {
			quantity = min(quantity, gets)
			gets -= quantity
		} else {
			quantity = -min(-quantity, gives)
			gives += quantity
		}
		taken[i].Quantity = events.NewAmount(quantity)
	}
	return ledger.Part{Postings: taken}
}

func (m *lifeMaker) release(hold *ask, begin time.Duration) *ask {
	return m.add(&ask{kind: releases, of: hold, begin: begin})
}

func (m *lifeMaker) reverse(of *ask, part ledger.Part, begin time.Duration) *ask {
	a := m.add(&ask{kind: reverses, of: of, begin: begin, part: part})
	a.request = ledger.ReverseRequest{Annotation: a.note(), Transaction: of.id, Part: part}
	return a
}

// spendAll lets the caller of a spend what it gave back.
func (m *lifeMaker) spendAll(a *ask, account, asset string, quantity events.Amount) {
	a.then = m.transfer(account, bank, asset, quantity, 0)
	a.then.following = true
}

// placed asks for a hold of any kind.
func (m *lifeMaker) placed(begin, expires time.Duration) *ask {
	from, to := jane, pick(m.dice, joe, bank)
	if m.chance(.5) {
		from, to = joe, pick(m.dice, jane, shop)
	}
	asset, quantity := pick(m.dice, usd, aapl), m.amount(2, 90)
	switch m.IntN(4) {
	case 0: // with change for the payer: its own credit
		back := m.amount(1, int(int64Of(quantity)))
		rest, _ := quantity.Sub(back)
		a := m.add(&ask{kind: posts, begin: begin})
		a.legs = []ledger.LegRequest{{Account: from, Asset: asset, Quantity: quantity.Neg()},
			{Account: from, Asset: asset, Quantity: back}, {Account: to, Asset: asset, Quantity: rest}}
		a.request = ledger.PostTransaction{Annotation: a.note(), Postings: a.legs}
		return a.held(expires)
	case 1: // an order
		cost := m.amount(1, 60)
		a := m.add(&ask{kind: posts, begin: begin})
		a.request = ledger.PostTrade{Annotation: a.note(), Asset: aapl, Buyer: from, Seller: to, Quantity: quantity,
			Cost: cost, Settle: true}
		a.legs = []ledger.LegRequest{{Account: from, Asset: aapl, Quantity: quantity, Cost: cost},
			{Account: to, Asset: aapl, Quantity: quantity.Neg(), Cost: cost.Neg()},
			{Account: from, Asset: usd, Quantity: cost.Neg()}, {Account: to, Asset: usd, Quantity: cost}}
		return a.held(expires)
	}
	return m.transfer(from, to, asset, quantity, begin).held(expires)
}

func (m *lifeMaker) fund(most float64) {
	m.transfer(bank, pick(m.dice, jane, joe), pick(m.dice, usd, aapl), m.amount(20, 160), m.seconds(most))
}

func (m *lifeMaker) mixed() {
	for range 2 + m.IntN(5) {
		m.fund(pick(m.dice, 0., 20, 20))
	}
	var plain []*ask
	for range 1 + m.IntN(6) {
		from := pick(m.dice, jane, joe)
		to := pick(m.dice, slices.DeleteFunc([]string{jane, joe, bank}, func(to string) bool { return to == from })...)
		plain = append(plain, m.transfer(from, to, pick(m.dice, usd, aapl), m.amount(1, 90), m.seconds(30)))
	}
	for range 1 + m.IntN(4) {
		hold := m.placed(m.seconds(25), pick(m.dice, 8*time.Second, 12*time.Second, 20*time.Second, 200*time.Second, 0))
		for range m.IntN(3) {
			later := hold.begin + m.seconds(pick(m.dice, 3., 3, 10, 25))
			if m.chance(.4) {
				m.release(hold, later)
			} else {
				m.capture(hold, later)
			}
		}
		plain = append(plain, hold)
	}
	for _, of := range plain {
		for range pick(m.dice, 0, 0, 0, 1, 2, 3) {
			part := ledger.Part{}
			if m.chance(.6) {
				part = m.partOf(of)
			}
			m.reverse(of, part, m.seconds(35))
		}
	}
	for range m.IntN(4) {
		m.changed(pick(m.dice, jane, joe), m.seconds(30))
	}
	if m.chance(.15) {
		m.close(pick(m.dice, jane, joe), m.seconds(40))
	}
}

// givenBack: all there is is held, given back, and spent by who was told so first.
func (m *lifeMaker) givenBack() {
	for _, account := range []string{jane, joe}[:1+m.IntN(2)] {
		asset, quantity := pick(m.dice, usd, aapl), m.amount(10, 90)
		if account == joe {
			asset = aapl // without an overdraft
		}
		m.transfer(bank, account, asset, quantity, 0)
		hold := m.transfer(account, bank, asset, quantity, 8*time.Second).held(pick(m.dice, 200*time.Second, 0))
		for range m.IntN(3) { // meanwhile it can't be spent
			m.transfer(account, bank, asset, m.amount(1, 1+int(int64Of(quantity))), 10*time.Second+m.seconds(10))
		}
		for range 1 + m.IntN(3) {
			end := m.release(hold, 14*time.Second+m.seconds(3))
			back := quantity
			if m.chance(.3) {
				end = m.capture(hold, 14*time.Second+m.seconds(3))
				if end.part.Quantity != nil {
					back, _ = quantity.Sub(*end.part.Quantity)
				}
			}
			if back.Sign() > 0 {
				m.spendAll(end, account, asset, back)
			}
		}
	}
}

// expiring: ends meet at the time of expiry.
func (m *lifeMaker) expiring() {
	for range 2 + m.IntN(4) {
		account, asset, quantity := pick(m.dice, jane, joe), aapl, m.amount(10, 90)
		m.transfer(bank, account, asset, quantity, m.seconds(3))
		begin, open := 4*time.Second+m.seconds(8), 3*time.Second+m.seconds(9)
		hold := m.transfer(account, bank, asset, quantity, begin).held(open)
		for range 1 + m.IntN(4) {
			at := begin + open - 6*time.Second + m.seconds(14)
			end := m.release(hold, max(begin, at))
			if m.chance(.8) {
				end = m.capture(hold, max(begin, at))
			}
			if m.chance(.3) {
				m.spendAll(end, account, asset, quantity)
			}
		}
		if m.chance(.6) {
			m.transfer(account, bank, asset, quantity, begin+open+m.seconds(12))
		}
	}
}

// reversing: parts of a few transactions meet.
func (m *lifeMaker) reversing() {
	for range 1 + m.IntN(3) {
		of := m.transfer(bank, pick(m.dice, jane, joe), pick(m.dice, usd, aapl), m.amount(5, 60), m.seconds(4))
		if m.chance(.3) {
			of.held(200 * time.Second)
			m.capture(of, 5*time.Second+m.seconds(3))
		}
		begin := 8 * time.Second
		var by *ask
		for range 2 + m.IntN(5) {
			part := ledger.Part{}
			if m.chance(.75) {
				part = m.partOf(of)
			}
			by = m.reverse(of, part, begin+m.seconds(pick(m.dice, 1., 3, 12)))
		}
		if m.chance(.4) {
			by.legs = of.legs
			m.reverse(by, ledger.Part{}, 18*time.Second+m.seconds(10))
		}
		if m.chance(.4) { // what would be taken back is spent meanwhile
			account := of.legs[1]
			m.transfer(account.Account, bank, account.Asset, m.amount(1, 40), begin+m.seconds(6))
		}
	}
}
