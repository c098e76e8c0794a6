package simulation

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
)

// A Mode is what the operations of a history are about. It makes interleavings common that are rare in a random mix.
type Mode string

const (
	PostsOnly Mode = ""          // each post moves a different power of two, so a sum shows which posts it counts
	Mixed     Mode = "mixed"     // everything, on the same accounts
	Releasing Mode = "releasing" // funds that a hold gives back are spent as soon as its end is acknowledged
	Expiring  Mode = "expiring"  // holds are captured and released around the time at which they expire
	Reversing Mode = "reversing" // many partial reversals of few transactions
	Changing  Mode = "changing"  // one account is frozen, opened and limited while it pays
	Raising   Mode = "raising"   // limits are raised and used before all guards have the new limit
	Closing   Mode = "closing"   // an empty account is closed while it is used
	Batching  Mode = "batching"  // batches, atomic and not
	Books     Mode = "books"     // the books are closed while backdated transactions are posted
)

// lifecycleModes are the modes of TestLifecycles. Consecutive seeds take them in turn.
var lifecycleModes = [...]Mode{Mixed, Releasing, Changing, Expiring, Closing, Mixed, Reversing, Raising, Batching}

// LifecycleOf returns the plan of a seed in TestLifecycles.
func LifecycleOf(seed uint64) Plan {
	return planOf(seed, lifecycleModes[seed%uint64(len(lifecycleModes))])
}

// BooksOf returns the plan of a seed in TestClosedPeriods.
func BooksOf(seed uint64) Plan { return planOf(seed, Books) }

// PlanOf returns the plan of a seed in TestHistories.
func PlanOf(seed uint64) Plan { return planOf(seed, PostsOnly) }

func planOf(seed uint64, mode Mode) Plan {
	p := Plan{Seed: seed, Mode: mode}
	for n := range p.operations(p.knobs()) {
		p.Operations = append(p.Operations, n)
	}
	return p
}

// The kinds of operation.
const (
	kindPost    = "post" // a transfer, trade or transaction, or a hold of one
	kindReverse = "reverse"
	kindCapture = "capture"
	kindRelease = "release"
	kindChange  = "change"
	kindBatch   = "batch"
	kindClosing = "closing" // of the books
)

// operation is one thing that a caller wants done, and what the answers to its calls said. A caller calls until the
// answer is final. There may be several callers (Twins).
type operation struct {
	kind  string        // one of the kinds above
	name  string        // unique; also the id of the transaction
	begin time.Duration // since the history began

	build     func(ledger.Annotation) ledger.Request // of kindPost and kindReverse, likewise the next
	body      ledger.Request                         // see request
	otherBody ledger.Request                         // a different body with the same id
	legs      []ledger.LegRequest                    // of an end or a reversal: in batches only, see brings
	fit       *ledger.Fit                            // it moves as much as fits: legs have the least
	hold      bool
	expires   time.Duration // of a hold, since the history began; 0: the ledger's default
	effective time.Time     // the effective date; zero: none
	late      bool          // it has an effective date before the history began
	target    *operation    // the hold that is captured or released, or the transaction that is reversed
	part      ledger.Part   // of a capture or a reversal
	change    ledger.ChangeAccount
	closing   ledger.ClosePeriod // without a number until it is first sent

	members []*operation // of a batch
	atomic  bool         // an atomic batch
	batch   *operation   // the batch that this operation is sent in; nil: none
	alone   bool         // another caller sends this member of an atomic batch alone

	next    *operation // the same caller starts it as soon as this operation is acknowledged
	isNext  bool       // another operation has this one as its next
	skipped bool       // the plan lacks it, or its batch

	acknowledged    *events.TransactionPosted // from the first answer that acknowledged it
	endAcknowledged bool                      // an answer acknowledged that it ended its hold
	calls           map[*call]ledger.Code     // its calls, with the codes that say that nothing was written
	inFlight        int                       // number of calls that wait for an answer
	count           int                       // number of calls so far
	refusedForGood  bool                      // the last call was refused while no other was in flight
}

func (op *operation) note() ledger.Annotation {
	return ledger.Annotation{ID: op.name, Actor: "somebody"}
}

// endsHold reports whether the operation captures or releases a hold.
func (op *operation) endsHold() bool { return op.kind == kindCapture || op.kind == kindRelease }

// request returns what the operation asks for.
func (op *operation) request() ledger.Request {
	switch op.kind {
	case kindRelease:
		return ledger.ReleaseRequest{Transaction: op.target.name, Actor: "somebody"}
	case kindCapture:
		return ledger.CaptureRequest{Transaction: op.target.name, Part: op.part, Actor: "somebody"}
	}
	return op.body
}

// effect returns what the operation debits k, and what it credits k with immediately.
func (op *operation) effect(k pair) (debits, credits int64) {
	for _, leg := range op.legs {
		if leg.Account == k.Account && leg.Asset == k.Asset {
			debits += max(0, -int64Of(leg.Quantity))
			credits += max(0, int64Of(leg.Quantity))
		}
	}
	if op.hold || !op.effective.IsZero() {
		credits = 0
	}
	return debits, credits
}

// prepare completes the n-th operation with what depends on the time at which the history began: when its hold expires,
// its effective date, and its other body.
func (h *history) prepare(n int, op *operation) {
	if op.build == nil {
		return
	}
	note, other := op.note(), op.note()
	if op.hold {
		note.Hold = &ledger.HoldRequest{}
		if op.expires > 0 {
			note.Hold.ExpiresAt = new(h.began.Add(op.expires).UTC().Truncate(time.Microsecond))
		}
		other.Hold = note.Hold
	}
	other.Description = "another body"
	if !op.hold && op.fit == nil && !op.isNext && (op.batch == nil || !op.batch.atomic || h.plan.Mode == Books) {
		h.backdate(n, op)
	}
	if !op.effective.IsZero() { // the other body differs only in the date
		other.Description = ""
		note.EffectiveAt, other.EffectiveAt = new(op.effective), new(op.effective.Add(-time.Microsecond))
	}
	op.body, op.otherBody = op.build(note), op.build(other)
}

// backdate gives some operations an effective date, before the history began or within it. A date within the history
// can still be in the future when the operation is sent, and is then refused.
func (h *history) backdate(n int, op *operation) {
	d := h.plan.draw("effective", uint64(n))
	if !h.occurs(Backdated, d.chance(h.knobs.backdated) || op.late) {
		return
	}
	op.effective = h.began.Add(-d.between(time.Microsecond, pick(d, time.Second, time.Minute, time.Hour, 1000*time.Hour)))
	if d.chance(.4) && !op.late {
		op.effective = h.began.Add(d.between(0, h.knobs.span))
	}
}

func (op *operation) isOtherBody(body ledger.Request) bool {
	return reflect.DeepEqual(body, op.otherBody)
}

// generator draws the operations of a history. Its methods add operations, which begin at the given time.
type generator struct {
	dice
	knobs knobs
	all   []*operation
}

// operations returns all operations of a plan, without regard to Plan.Operations. Their order means nothing.
func (p Plan) operations(k knobs) []*operation {
	g := &generator{dice: p.draw("asks", 0), knobs: k}
	map[Mode]func(){
		PostsOnly: g.postsOnly, Mixed: g.mixed, Releasing: g.releasing, Expiring: g.expiring, Reversing: g.reversing,
		Changing: g.changing, Raising: g.raising, Closing: g.closing, Batching: g.batching,
		Books: g.closeBooks, Rating: g.rating,
	}[p.Mode]()
	for i, op := range g.all {
		if d := p.draw("metadata", uint64(i)); op.kind == kindChange && d.chance(.6) {
			op.change.Metadata = pick(d, &map[string]string{}, &map[string]string{tier: pick(d, tiers...)})
		}
	}
	return g.all
}

func (g *generator) add(op *operation) *operation {
	op.name, op.calls = fmt.Sprintf("%s%d", op.kind, len(g.all)), map[*call]ledger.Code{}
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

// post adds a transaction with these legs, which build requests.
func (g *generator) post(begin time.Duration, build func(ledger.Annotation) ledger.Request,
	legs ...ledger.LegRequest) *operation {
	return g.add(&operation{kind: kindPost, begin: begin, build: build, legs: legs})
}

// transfer adds a transfer. Some are splits between two portions of one account: the same is moved.
func (g *generator) transfer(from, to, asset string, quantity events.Amount, begin time.Duration) *operation {
	if n := int64Of(quantity); n%5 == 3 && n&(n-1) != 0 { // a power of two must show in the sums
		third := events.NewAmount((2*n + 3) / 6) // rounded half up
		rest, _ := quantity.Sub(third)
		share, _ := ledger.ParseShare("1/3")
		return g.post(begin, func(note ledger.Annotation) ledger.Request {
			return ledger.PostSplit{Annotation: note, From: from, Asset: asset, Quantity: quantity,
				To: []ledger.Portion{{Account: to, Share: share}, {Account: to, Rest: 1}}}
		}, legOf(from, asset, quantity.Neg()), legOf(to, asset, third), legOf(to, asset, rest))
	}
	return g.post(begin, func(note ledger.Annotation) ledger.Request {
		return ledger.PostTransfer{Annotation: note, From: from, To: to, Asset: asset, Quantity: quantity}
	}, legOf(from, asset, quantity.Neg()), legOf(to, asset, quantity))
}

func (g *generator) transaction(begin time.Duration, legs ...ledger.LegRequest) *operation {
	return g.post(begin, func(note ledger.Annotation) ledger.Request {
		return ledger.PostTransaction{Annotation: note, Postings: legs}
	}, legs...)
}

func (g *generator) trade(begin time.Duration, buyer, seller string, quantity, cost events.Amount,
	settle bool) *operation {
	legs := []ledger.LegRequest{{Account: buyer, Asset: aapl, Quantity: quantity, Cost: cost},
		{Account: seller, Asset: aapl, Quantity: quantity.Neg(), Cost: cost.Neg()}}
	if settle {
		legs = append(legs, legOf(buyer, usd, cost.Neg()), legOf(seller, usd, cost))
	}
	return g.post(begin, func(note ledger.Annotation) ledger.Request {
		return ledger.PostTrade{Annotation: note, Asset: aapl, Buyer: buyer, Seller: seller, Quantity: quantity,
			Cost: cost, Settle: settle}
	}, legs...)
}

// asHold turns a post into a hold that expires this long after op.begin. 0: after the ledger's default.
func (op *operation) asHold(after time.Duration) *operation {
	op.hold = true
	if after > 0 {
		op.expires = op.begin + after
	}
	return op
}

// capture adds a capture of a hold, in whole or in part.
func (g *generator) capture(hold *operation, begin time.Duration) *operation {
	op := g.add(&operation{kind: kindCapture, target: hold, begin: begin})
	if g.chance(.5) {
		op.part = g.partOf(hold)
	}
	return op
}

// forgotCost reports whether the operation takes a part of a trade without naming its cost.
func (op *operation) forgotCost() bool {
	return op.part.Quantity != nil && op.part.Cost == nil && op.target.isTrade()
}

// takesCostAlone reports whether the operation may take a cost without a quantity from an account. No guard refuses it,
// so a refusal says nothing about an earlier attempt.
func (op *operation) takesCostAlone() bool {
	if op.kind == kindReverse {
		return op.target.takesCostAlone() || op.part.Quantity != nil && op.part.Quantity.IsZero()
	}
	return slices.ContainsFunc(op.legs, func(leg ledger.LegRequest) bool { return leg.Quantity.IsZero() })
}

// isTrade reports whether the operation posts a trade.
func (op *operation) isTrade() bool {
	if op.build == nil {
		return false
	}
	_, ok := op.build(op.note()).(ledger.PostTrade)
	return ok
}

// isSplit reports whether the operation posts a split.
func (op *operation) isSplit() bool {
	if op.build == nil {
		return false
	}
	_, ok := op.build(op.note()).(ledger.PostSplit)
	return ok
}

// partOf draws a part of a transaction to capture or reverse, in the form that its kind needs. It is not empty, and it
// balances.
func (g *generator) partOf(of *operation) ledger.Part {
	within := func(a events.Amount) events.Amount { // from 1 to a
		return events.NewAmount(1 + g.Int64N(max(1, int64Of(a))))
	}
	switch r := of.build(of.note()).(type) {
	case ledger.PostTransfer:
		quantity := within(r.Quantity)
		return ledger.Part{Quantity: &quantity}
	case ledger.PostSplit:
		return ledger.Part{Quantity: new(within(r.Quantity))}
	case ledger.PostTrade:
		part := ledger.Part{Quantity: new(within(r.Quantity)), Cost: new(within(r.Cost))}
		if int64Of(*part.Quantity)%4 == 0 { // the caller forgot the price
			part.Cost = nil
		}
		return part
	}
	gets := int64(0)
	for _, leg := range of.legs {
		gets += max(0, int64Of(leg.Quantity))
	}
	taken := make([]ledger.LegPart, len(of.legs))
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
	return g.add(&operation{kind: kindReverse, target: of, begin: begin, part: part,
		build: func(note ledger.Annotation) ledger.Request {
			return ledger.ReverseRequest{Annotation: note, Transaction: of.name, Part: part}
		}})
}

// spendAfter lets the caller of op spend what op gives back, as soon as op is acknowledged.
func (g *generator) spendAfter(op *operation, account, asset string, quantity events.Amount) {
	op.next = g.transfer(account, bank, asset, quantity, 0)
	op.next.isNext = true
}
