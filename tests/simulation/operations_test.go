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
	PostsOnly Mode = ""          // posts of powers of two: sums of them show which are in them
	Mixed     Mode = "mixed"     // everything, on the same accounts
	Releasing Mode = "givenback" // what holds give back is spent as soon as somebody was told so
	Expiring  Mode = "expiring"  // holds are captured and released around their time of expiry
	Reversing Mode = "reversing" // few transactions are reversed by many, in parts
	Changing  Mode = "changing"  // one account changes again and again while it pays
	Raising   Mode = "raising"   // limits are raised, which is told slowly, and used at once
	Closing   Mode = "closing"   // an account that is empty is closed while it is used
	Batching  Mode = "batching"  // batches, atomic and not
)

// lifeModes are those of the life of money. Seeds take them in turn.
var lifeModes = [...]Mode{Mixed, Releasing, Changing, Expiring, Closing, Mixed, Reversing, Raising, Batching}

// LifeOf returns the plan of a seed whose requests are about the life of money.
func LifeOf(seed uint64) Plan { return planOf(seed, lifeModes[seed%uint64(len(lifeModes))]) }

// PlanOf returns the plan of a seed whose requests are posts alone.
func PlanOf(seed uint64) Plan { return planOf(seed, PostsOnly) }

func planOf(seed uint64, mode Mode) Plan {
	p := Plan{Seed: seed, Mode: mode}
	for n := range p.operations(p.knobs()) {
		p.Requests = append(p.Requests, n)
	}
	return p
}

// The kinds of request.
const (
	kindPost    = "post" // a hold too
	kindReverse = "reverse"
	kindCapture = "capture"
	kindRelease = "release"
	kindChange  = "change"
	kindBatch   = "batch"
)

// ask is one request, and what it was answered.
type operation struct {
	kind      string        // see posts
	name      string        // no other request has it. It is the id of the transaction
	body      any           // of a post or a reversal: a ledger.PostingRequest or a ledger.ReverseRequest
	otherBody any           // another body under the same id
	begin     time.Duration // since the history began
	hold      bool
	expires   time.Duration       // of a hold, likewise; 0: after the usual days
	effective time.Time           // the effective date, zero for none
	legs      []ledger.LegRequest // of a post
	target    *operation          // whose hold ends, or whose transaction is reversed
	part      ledger.Part         // of a capture or a reversal
	change    ledger.ChangeAccount
	next      *operation   // what its caller asks for once it is acknowledged
	isNext    bool         // it is such a one
	members   []*operation // of a batch
	batch     *operation   // of a member
	atomic    bool
	skipped   bool // the plan has not got it, or not its batch

	acknowledged    *events.TransactionPosted // as first acknowledged
	endAcknowledged bool                      // its end of a hold was acknowledged
	unknown         bool                      // a call had no answer, or the answer that the outcome is unknown
	lastRefusal     string                    // the code of the last answer that nothing was written
	inFlight        int                       // callers who wait for an answer
	calls           int                       // that were begun
	refusedForGood  bool                      // the last was answered that it cannot be, and nobody else waited meanwhile
}

func (op *operation) note() ledger.Annotation {
	return ledger.Annotation{ID: op.name, Actor: "somebody"}
}

// gross is what a request debits of k, and what it credits to it at once.
func (op *operation) effect(k pair) (debits, credits int64) {
	for _, leg := range op.legs {
		if leg.Account == k.Account && leg.Asset == k.Asset {
			debits += max(0, -int64Of(leg.Quantity))
			credits += max(0, int64Of(leg.Quantity))
		}
	}
	if op.hold {
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
func (h *history) prepare(n int, op *operation) {
	if op.hold {
		hold := &ledger.HoldRequest{}
		if op.expires > 0 {
			at := h.began.Add(op.expires).UTC().Truncate(time.Microsecond)
			hold.ExpiresAt = &at
		}
		op.body = annotated(op.body, func(note *ledger.Annotation) { note.Hold = hold })
	}
	op.otherBody = annotated(op.body, func(note *ledger.Annotation) { note.Description = "another body" })
	if op.body != nil && !op.hold && !op.isNext && op.batch == nil {
		h.backdate(n, op)
	}
}

// backdate lets some requests be posted for a time in the past: before the history began, or within it, which a call
// may be too early for. Their other body is the same at another date.
func (h *history) backdate(n int, op *operation) {
	d := h.plan.draw("effective", uint64(n))
	if !h.occurs(Backdated, d.chance(h.knobs.backdated)) {
		return
	}
	at := h.began.Add(-d.between(time.Microsecond, pick(d, time.Second, time.Minute, time.Hour, 1000*time.Hour)))
	if d.chance(.4) {
		at = h.began.Add(d.between(0, h.knobs.span))
	}
	other := at.Add(-time.Microsecond)
	op.effective = at
	op.otherBody = annotated(op.body, func(note *ledger.Annotation) { note.EffectiveAt = &other })
	op.body = annotated(op.body, func(note *ledger.Annotation) { note.EffectiveAt = &at })
}

func (op *operation) isOtherBody(body any) bool { return reflect.DeepEqual(body, op.otherBody) }

// maker makes the requests of a history.
type generator struct {
	dice
	plan  Plan
	knobs knobs
	all   []*operation
}

// asks returns what a history asks for, in no order.
func (p Plan) operations(k knobs) []*operation {
	g := &generator{dice: p.draw("asks", 0), plan: p, knobs: k}
	map[Mode]func(){
		PostsOnly: g.postsOnly, Mixed: g.mixed, Releasing: g.releasing, Expiring: g.expiring, Reversing: g.reversing,
		Changing: g.changing, Raising: g.raising, Closing: g.closing, Batching: g.batching,
	}[p.Mode]()
	return g.all
}

func (g *generator) add(op *operation) *operation {
	op.name = fmt.Sprintf("%s%d", op.kind, len(g.all))
	g.all = append(g.all, op)
	return op
}

func (g *generator) seconds(most float64) time.Duration {
	return time.Duration(g.Float64() * most * 1e9)
}

func (g *generator) amount(least, most int) events.Amount {
	return events.NewAmount(int64(least + g.IntN(most-least)))
}

func legOf(account, asset string, quantity events.Amount) ledger.LegRequest {
	return ledger.LegRequest{Account: account, Asset: asset, Quantity: quantity}
}

// transfer asks for a transfer.
func (g *generator) transfer(from, to, asset string, quantity events.Amount, begin time.Duration) *operation {
	op := g.add(&operation{kind: kindPost, begin: begin})
	op.body = ledger.PostTransfer{Annotation: op.note(), From: from, To: to, Asset: asset, Quantity: quantity}
	op.legs = []ledger.LegRequest{legOf(from, asset, quantity.Neg()), legOf(to, asset, quantity)}
	return op
}

// transaction asks for a transaction of these legs.
func (g *generator) transaction(begin time.Duration, legs ...ledger.LegRequest) *operation {
	op := g.add(&operation{kind: kindPost, begin: begin, legs: legs})
	op.body = ledger.PostTransaction{Annotation: op.note(), Postings: legs}
	return op
}

// trade asks for a trade.
func (g *generator) trade(begin time.Duration, buyer, seller string, quantity, cost events.Amount, settle bool) *operation {
	op := g.add(&operation{kind: kindPost, begin: begin})
	op.body = ledger.PostTrade{Annotation: op.note(), Asset: aapl, Buyer: buyer, Seller: seller, Quantity: quantity,
		Cost: cost, Settle: settle}
	op.legs = []ledger.LegRequest{{Account: buyer, Asset: aapl, Quantity: quantity, Cost: cost},
		{Account: seller, Asset: aapl, Quantity: quantity.Neg(), Cost: cost.Neg()}}
	if settle {
		op.legs = append(op.legs, legOf(buyer, usd, cost.Neg()), legOf(seller, usd, cost))
	}
	return op
}

// held makes a hold of a post, which expires so long after it is begun; 0: after the usual days.
func (op *operation) asHold(after time.Duration) *operation {
	op.hold = true
	if after > 0 {
		op.expires = op.begin + after
	}
	return op
}

// capture asks to capture a hold, in whole or in part.
func (g *generator) capture(hold *operation, begin time.Duration) *operation {
	op := g.add(&operation{kind: kindCapture, target: hold, begin: begin})
	if g.chance(.5) {
		op.part = g.partOf(hold)
	}
	return op
}

// partOf draws what is taken of a transaction, as its kind wants it: something, and it balances.
func (g *generator) partOf(of *operation) ledger.Part {
	within := func(a events.Amount) events.Amount { // from 1 to a
		return events.NewAmount(1 + g.Int64N(max(1, int64Of(a))))
	}
	switch r := of.body.(type) {
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
	gives := 1 + g.Int64N(gets)
	gets = gives
	for _, i := range g.Perm(len(of.legs)) {
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

func (g *generator) release(hold *operation, begin time.Duration) *operation {
	return g.add(&operation{kind: kindRelease, target: hold, begin: begin})
}

func (g *generator) reverse(of *operation, part ledger.Part, begin time.Duration) *operation {
	op := g.add(&operation{kind: kindReverse, target: of, begin: begin, part: part})
	op.body = ledger.ReverseRequest{Annotation: op.note(), Transaction: of.name, Part: part}
	return op
}

// spendAll lets the caller of a spend what it gave back.
func (g *generator) spendAfter(op *operation, account, asset string, quantity events.Amount) {
	op.next = g.transfer(account, bank, asset, quantity, 0)
	op.next.isNext = true
}
