package simulation

import (
	"fmt"
	"reflect"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
)

// A Mode is what the requests of a history are about, so that what is rare among all requests is common among them.
type Mode string

// The modes.
const (
	PostsAlone Mode = ""          // posts of powers of two: sums of them show which are in them
	Mixed      Mode = "mixed"     // everything, on the same accounts
	GivenBack  Mode = "givenback" // what holds give back is spent as soon as somebody was told so
	Expiring   Mode = "expiring"  // holds are captured and released around their time of expiry
	Reversing  Mode = "reversing" // few transactions are reversed by many, in parts
	Changing   Mode = "changing"  // one account changes again and again while it pays
	Raising    Mode = "raising"   // limits are raised, which is told slowly, and used at once
	Closing    Mode = "closing"   // an account that is empty is closed while it is used
	Batching   Mode = "batching"  // batches, atomic and not
)

// lifeModes are those of the life of money. Seeds take them in turn.
var lifeModes = [...]Mode{Mixed, GivenBack, Changing, Expiring, Closing, Mixed, Reversing, Raising, Batching}

// LifeOf returns the plan of a seed whose requests are about the life of money.
func LifeOf(seed uint64) Plan { return planOf(seed, lifeModes[seed%uint64(len(lifeModes))]) }

// PlanOf returns the plan of a seed whose requests are posts alone.
func PlanOf(seed uint64) Plan { return planOf(seed, PostsAlone) }

func planOf(seed uint64, mode Mode) Plan {
	p := Plan{Seed: seed, Mode: mode}
	for n := range p.asks(p.knobs()) {
		p.Requests = append(p.Requests, n)
	}
	return p
}

// The kinds of request.
const (
	posts    = "post" // a hold too
	reverses = "reverse"
	captures = "capture"
	releases = "release"
	changes  = "change"
	batches  = "batch"
)

// ask is one request, and what it was answered.
type ask struct {
	kind      string        // see posts
	name      string        // no other request has it. It is the id of the transaction
	request   any           // of a post or a reversal: a ledger.PostingRequest or a ledger.ReverseRequest
	other     any           // another body under the same id
	begin     time.Duration // since the history began
	hold      bool
	expires   time.Duration       // of a hold, likewise; 0: after the usual days
	effective time.Time           // the effective date, zero for none
	legs      []ledger.LegRequest // of a post
	of        *ask                // whose hold ends, or whose transaction is reversed
	part      ledger.Part         // of a capture or a reversal
	change    ledger.ChangeAccount
	then      *ask   // what its caller asks for once it is acknowledged
	following bool   // it is such a one
	members   []*ask // of a batch
	batch     *ask   // of a member
	atomic    bool
	leftOut   bool // the plan has not got it, or not its batch

	first    *events.TransactionPosted // as first acknowledged
	ended    bool                      // its end of a hold was acknowledged
	unknown  bool                      // a call had no answer, or the answer that the outcome is unknown
	declined string                    // the code of the last answer that nothing was written
	asking   int                       // callers who wait for an answer
	calls    int                       // that were begun
	final    bool                      // the last was answered that it cannot be, and nobody else waited meanwhile
}

func (a *ask) note() ledger.Annotation { return ledger.Annotation{ID: a.name, Actor: "somebody"} }

// gross is what a request debits of k, and what it credits to it at once.
func (a *ask) gross(k pair) (debits, credits int64) {
	for _, leg := range a.legs {
		if leg.Account == k.Account && leg.Asset == k.Asset {
			debits += max(0, -int64Of(leg.Quantity))
			credits += max(0, int64Of(leg.Quantity))
		}
	}
	if a.hold {
		credits = 0
	}
	return debits, credits
}

// annotated returns the request of a transaction with another annotation.
func annotated(request any, change func(*ledger.Annotation)) any {
	switch r := request.(type) {
	case ledger.PostTransfer:
		change(&r.Annotation)
		return r
	case ledger.PostTrade:
		change(&r.Annotation)
		return r
	case ledger.PostTransaction:
		change(&r.Annotation)
		return r
	case ledger.ReverseRequest:
		change(&r.Annotation)
		return r
	}
	return request
}

// prepare completes the n-th request, now that the history began: the instant at which its hold expires, a time in the
// past for which it is posted, and another body.
func (h *history) prepare(n int, a *ask) {
	if a.hold {
		hold := &ledger.HoldRequest{}
		if a.expires > 0 {
			at := h.began.Add(a.expires).UTC().Truncate(time.Microsecond)
			hold.ExpiresAt = &at
		}
		a.request = annotated(a.request, func(note *ledger.Annotation) { note.Hold = hold })
	}
	a.other = annotated(a.request, func(note *ledger.Annotation) { note.Description = "another body" })
	if a.request != nil && !a.hold && !a.following && a.batch == nil {
		h.backdate(n, a)
	}
}

// backdate lets some requests be posted for a time in the past: before the history began, or within it, which a call
// may be too early for. Their other body is the same at another date.
func (h *history) backdate(n int, a *ask) {
	d := h.plan.draw("effective", uint64(n))
	if !h.meets(Backdated, d.chance(h.knobs.backdated)) {
		return
	}
	at := h.began.Add(-d.between(time.Microsecond, pick(d, time.Second, time.Minute, time.Hour, 1000*time.Hour)))
	if d.chance(.4) {
		at = h.began.Add(d.between(0, h.knobs.span))
	}
	other := at.Add(-time.Microsecond)
	a.effective = at
	a.other = annotated(a.request, func(note *ledger.Annotation) { note.EffectiveAt = &other })
	a.request = annotated(a.request, func(note *ledger.Annotation) { note.EffectiveAt = &at })
}

func (a *ask) isOther(body any) bool { return reflect.DeepEqual(body, a.other) }

// maker makes the requests of a history.
type maker struct {
	dice
	plan  Plan
	knobs knobs
	all   []*ask
}

// asks returns what a history asks for, in no order.
func (p Plan) asks(k knobs) []*ask {
	m := &maker{dice: p.draw("asks", 0), plan: p, knobs: k}
	map[Mode]func(){
		PostsAlone: m.postsAlone, Mixed: m.mixed, GivenBack: m.givenBack, Expiring: m.expiring, Reversing: m.reversing,
		Changing: m.changing, Raising: m.raising, Closing: m.closing, Batching: m.batching,
	}[p.Mode]()
	return m.all
}

func (m *maker) add(a *ask) *ask {
	a.name = fmt.Sprintf("%s%d", a.kind, len(m.all))
	m.all = append(m.all, a)
	return a
}

func (m *maker) seconds(most float64) time.Duration {
	return time.Duration(m.Float64() * most * 1e9)
}

func (m *maker) amount(least, most int) events.Amount {
	return events.NewAmount(int64(least + m.IntN(most-least)))
}

func legOf(account, asset string, quantity events.Amount) ledger.LegRequest {
	return ledger.LegRequest{Account: account, Asset: asset, Quantity: quantity}
}

// transfer asks for a transfer.
func (m *maker) transfer(from, to, asset string, quantity events.Amount, begin time.Duration) *ask {
	a := m.add(&ask{kind: posts, begin: begin})
	a.request = ledger.PostTransfer{Annotation: a.note(), From: from, To: to, Asset: asset, Quantity: quantity}
	a.legs = []ledger.LegRequest{legOf(from, asset, quantity.Neg()), legOf(to, asset, quantity)}
	return a
}

// transaction asks for a transaction of these legs.
func (m *maker) transaction(begin time.Duration, legs ...ledger.LegRequest) *ask {
	a := m.add(&ask{kind: posts, begin: begin, legs: legs})
	a.request = ledger.PostTransaction{Annotation: a.note(), Postings: legs}
	return a
}

// trade asks for a trade.
func (m *maker) trade(begin time.Duration, buyer, seller string, quantity, cost events.Amount, settle bool) *ask {
	a := m.add(&ask{kind: posts, begin: begin})
	a.request = ledger.PostTrade{Annotation: a.note(), Asset: aapl, Buyer: buyer, Seller: seller, Quantity: quantity,
		Cost: cost, Settle: settle}
	a.legs = []ledger.LegRequest{{Account: buyer, Asset: aapl, Quantity: quantity, Cost: cost},
		{Account: seller, Asset: aapl, Quantity: quantity.Neg(), Cost: cost.Neg()}}
	if settle {
		a.legs = append(a.legs, legOf(buyer, usd, cost.Neg()), legOf(seller, usd, cost))
	}
	return a
}

// held makes a hold of a post, which expires so long after it is begun; 0: after the usual days.
func (a *ask) held(after time.Duration) *ask {
	a.hold = true
	if after > 0 {
		a.expires = a.begin + after
	}
	return a
}

// capture asks to capture a hold, in whole or in part.
func (m *maker) capture(hold *ask, begin time.Duration) *ask {
	a := m.add(&ask{kind: captures, of: hold, begin: begin})
	if m.chance(.5) {
		a.part = m.partOf(hold)
	}
	return a
}

// partOf draws what is taken of a transaction, as its kind wants it: something, and it balances.
func (m *maker) partOf(of *ask) ledger.Part {
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

func (m *maker) release(hold *ask, begin time.Duration) *ask {
	return m.add(&ask{kind: releases, of: hold, begin: begin})
}

func (m *maker) reverse(of *ask, part ledger.Part, begin time.Duration) *ask {
	a := m.add(&ask{kind: reverses, of: of, begin: begin, part: part})
	a.request = ledger.ReverseRequest{Annotation: a.note(), Transaction: of.name, Part: part}
	return a
}

// spendAll lets the caller of a spend what it gave back.
func (m *maker) spendAll(a *ask, account, asset string, quantity events.Amount) {
	a.then = m.transfer(account, bank, asset, quantity, 0)
	a.then.following = true
}
