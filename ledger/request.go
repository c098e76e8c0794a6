package ledger

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
)

// request is one of the requests that a command carries out in one transaction of the store: its draft, its plan and
// its answer. The requests of an atomic batch are carried out together. A single request is a batch of one.
type request struct {
	draft
	number int // in an atomic batch, counted from 1; else 0
	plan
	answer  Posted
	refused *Error     // in a batch that is not atomic: the error, if there is no answer
	ahead   *Lifecycle // of the other transaction, if it was read before the request was planned
	last    *Lifecycle // of the other transaction, as it was planned from; nil before that
	late    bool       // a capture was late when it was last attempted: it is an expiry
	order   []any      // in a batch that is not atomic: see setOrder
}

// readOther reads the transaction that the request ends or reverses. Of one that it has read before, or that this
// process has reversed before, it reads only the reversals since: nothing else changes of a transaction that has posted
// its legs.
func (r *request) readOther(ctx context.Context, l *Ledger) (Lifecycle, error) {
	if r.last == nil && r.ahead == nil && r.isReversal() {
		if known, ok := l.reversed.get(r.reverses); ok {
			r.last = &known
		}
	}
	var err error
	switch {
	case r.ahead != nil:
		r.last, r.ahead = r.ahead, nil
	case r.last != nil && r.last.Posted() != nil:
		err = l.addReversals(ctx, r.last)
	default:
		var read Lifecycle
		read, err = l.Lifecycle(ctx, r.other())
		r.last = &read
	}
	if err != nil {
		r.last = nil
		return Lifecycle{}, err
	}
	if r.isReversal() {
		l.remember(*r.last)
	}
	return *r.last, nil
}

// learn adds the reversal that has the number of this one, as the store returned it when it refused the number. Numbers
// have no gaps, so the request can be planned again without a read. It reports false if the store returned none.
func (r *request) learn(stored table.Item) bool {
	if stored == nil || r.last == nil {
		return false
	}
	e, err := table.Only[events.TransactionReversed](table.DecodeEvent(stored))
	if err != nil || e.Number != int64(len(r.last.Reversals))+1 {
		return false
	}
	known := *r.last
	known.Reversals = append(slices.Clip(known.Reversals), e)
	r.ahead = &known
	return true
}

// plan is what a request writes, as decided from what was read: a transaction, or the end of a hold. Each attempt mints
// new KSUIDs for it.
type plan struct {
	header       events.TransactionPosted // of the transaction, without KSUIDs; or of the hold to end
	moved        []LegRequest             // by a transaction, without the cash of a settled trade
	known        *definitions             // of the accounts and assets in the header of a transaction
	refusedIfNew *Error                   // the refusal if nothing is stored for the request: see decide

	// Of a reversal and of the end of a hold:
	taken []events.Taken // what is reversed of each leg of the other transaction, or captured of the hold
	after events.KSUID   // of the last leg of that transaction; those that are written are greater

	ended    *events.HoldEnded // the hold's end as planned from; nil if it is open
	reversal int64             // the number of a reversal: the next one; 0 if another may have it
	listed   bool              // the request's id is among the reversals: it was posted, or is being committed
}

// decide plans what the request writes. An error refuses the request, whether it was carried out before or not. A
// refusal that depends on the time or on other requests is kept in refusedIfNew instead: it does not apply if the
// request was carried out before. unknown is true if an earlier attempt may still be applied.
func (r *request) decide(ctx context.Context, l *Ledger, unknown bool) error {
	r.plan = plan{moved: r.legs}
	refused := r.rules()
	switch {
	case refused != nil:
	case r.endsHold():
		refused = r.decideEnd(ctx, l)
	case r.isReversal():
		refused = r.decideReversal(ctx, l)
	}
	if refused == nil && !r.endsHold() && !r.listed {
		full := r.draft
		full.legs = r.moved
		known, err := l.definitionsOf(ctx, full)
		if err != nil { // not even CodeUnavailable is kept: the header could probably not be read either
			return err
		}
		refused = r.decideHeader(ctx, l, full, known, unknown)
	}
	switch {
	case refused == nil:
		return nil
	case slices.Contains(laterRefusals, refused.Code):
		r.refusedIfNew = refused
		return nil
	}
	return refused
}

// laterRefusals are codes of a request that may have been accepted at an earlier time.
var laterRefusals = []Code{
	CodeInvalidRequest, CodeNothingToReverse, CodeExceedsReversible, CodeExceedsHold, CodeCostRequired,
	CodeUnavailable,
	CodeAccountFrozen, CodeAccountClosed,
}

// decideHeader makes the header of a draft that has all its legs, from the definitions that it names.
func (r *request) decideHeader(ctx context.Context, l *Ledger, full draft, known *definitions, unknown bool) *Error {
	r.known, r.header = known, known.buildTransaction(full)
	if hold := r.Hold; hold != nil {
		var refused *Error
		if r.header.ExpiresAt, refused = hold.expiry(l.instant()); refused != nil {
			return refused
		}
	}
	if refused := l.checkEffectiveDate(ctx, r.Annotation); refused != nil {
		return refused
	}
	if unknown { // the attempt may still be applied, so no account state proves a refusal
		return nil
	}
	return r.checkStates(ctx, l)
}

// buildTransaction returns the transaction of a draft, without KSUIDs. The draft must have passed shape, rules and
// checkNames.
func (known *definitions) buildTransaction(d draft) events.TransactionPosted {
	legs := known.legs(d)
	t := events.TransactionPosted{
		ID:          d.ID,
		Kind:        d.kind,
		Description: d.Description,
		Metadata:    maps.Clone(d.Metadata),
		Legs:        make([]events.Leg, len(legs)),
		Fingerprint: fingerprint(d),
		Actor:       d.Actor,
		Reverses:    d.reverses,
	}
	if t.Metadata == nil {
		t.Metadata = map[string]string{}
	}
	for i, leg := range legs {
		t.Legs[i] = events.Leg{Account: leg.Account, Asset: leg.Asset, Quantity: leg.Quantity, Cost: leg.Cost}
	}
	return t
}

// eventCount returns how many events the request writes beside its postings.
func (r *request) eventCount() int {
	if r.isReversal() {
		return 2
	}
	return 1
}

// fundedLegs returns the legs that need funds or bring some. The end of a hold only brings some: what it posts to the
// accounts that it credits, and what it gives back to those that the hold debited.
func (r *request) fundedLegs() []events.Leg {
	legs := r.header.Legs
	if r.endsHold() {
		legs = slices.Clone(legs)
		for i := range legs {
			held, posted := legs[i].Quantity, r.taken[i].Quantity
			if legs[i].Quantity = posted; held.Sign() < 0 {
				legs[i].Quantity = addSaturating(posted, held.Neg())
			}
		}
	}
	return legs
}

// ksuidsNeeded returns how many KSUIDs an attempt mints at the current time: one for each leg, and one for a missing
// id. The legs of a backdated transaction are not counted: backdate mints theirs.
func (r *request) ksuidsNeeded() (n int) {
	if r.EffectiveAt == nil {
		n = len(r.header.Legs)
	}
	if r.ID == "" {
		n++
	}
	return n
}

// addTo adds what the request writes to a commit. ids are the KSUIDs that ksuidsNeeded counts, empty in a dry run. now
// is the process's time after they were minted.
func (r *request) addTo(ctx context.Context, l *Ledger, c *commit, now time.Time, ids []events.KSUID) error {
	if r.endsHold() {
		end, err := r.buildEnd(now, ids)
		if err != nil {
			return r.inBatch(err)
		}
		c.add(end, end.Postings(r.header))
		return nil
	}
	if r.ID == "" {
		r.ID, ids = string(ids[0]), ids[1:]
		r.header.ID = r.ID
	}
	header := r.header
	header.Legs = slices.Clone(header.Legs)
	for i, id := range ids {
		header.Legs[i].ID = id
	}
	if at := r.effective(); !at.IsZero() {
		if err := c.checkPeriod(ctx, l, at); err != nil {
			return r.inBatch(err)
		}
		header.Period = c.period.Number
		if r.DryRun {
			header.Period = 0 // its answer is that of the real request, which may have another
		} else if err := l.backdate(ctx, &header, at, r.after); err != nil {
			return err
		}
	}
	c.add(header, header.Postings())
	switch {
	case isOutdated(r): // it must be planned again first
		return internalError(errors.New("reversal without a number"))
	case r.isReversal():
		c.events = append(c.events, r.reversed())
	}
	return nil
}

// postings returns the postings of the request's event.
func (r *request) postings(e events.Event) []events.PostingRecorded {
	switch e := e.(type) {
	case events.TransactionPosted:
		return e.Postings()
	case events.HoldEnded:
		return e.Postings(r.header)
	}
	return nil
}

// same returns nil if a stored event is what the request asks for. Errors: CodeTransactionIDReused, CodeHoldEnded,
// CodeHoldExpired, CodeInternal.
func (r *request) same(stored events.Event) *Error {
	switch stored := stored.(type) {
	case events.HoldEnded:
		return r.sameEnd(stored)
	case events.TransactionPosted:
		switch same, err := sameRequest(stored.Fingerprint, r.draft); {
		case err != nil:
			return internalError(err)
		case !same:
			return refuse(CodeTransactionIDReused, "The id was used before for a transaction with another body.")
		}
		return nil
	}
	return internalError(fmt.Errorf("a %T is stored for a request", stored))
}

// answerWith answers the request with its event. The answer to a dry run has no KSUIDs.
func (r *request) answerWith(e events.Event, replayed bool) {
	r.answer = Posted{Transaction: r.header, Replayed: replayed}
	switch e := e.(type) {
	case events.TransactionPosted:
		r.answer.Transaction = e
	case events.HoldEnded:
		if r.DryRun {
			e.Legs = withoutIDs(e.Legs)
		}
		r.answer.End = &e
	}
	if r.DryRun {
		r.answer.Transaction.Legs = withoutIDs(r.answer.Transaction.Legs)
	}
}

// withoutIDs returns a copy of legs without KSUIDs.
func withoutIDs(legs []events.Leg) []events.Leg {
	legs = slices.Clone(legs)
	for i := range legs {
		legs[i].ID = ""
	}
	return legs
}

// inBatch returns err as an *Error that, in an atomic batch, names the request.
func (r *request) inBatch(err error) *Error {
	e := asError(err)
	if r.number == 0 {
		return e
	}
	named := *e
	named.Request, named.Fields = r.number, slices.Clone(e.Fields)
	for i := range named.Fields {
		named.Fields[i].Field.Request = r.number
	}
	return &named
}

// allows reports whether an account's state allows a leg of a transaction. A frozen account is not debited: it gives
// no quantity, and no cost alone. A closed one gets nothing, but a reversal may debit it, and correct a cost alone.
func (a Account) allows(leg events.Leg, isReversal bool) bool {
	switch a.State {
	case events.StateFrozen:
		return leg.Quantity.Sign() > 0 || leg.Quantity.IsZero() && leg.Cost.Sign() >= 0
	case events.StateClosed:
		return isReversal && leg.Quantity.Sign() <= 0
	}
	return true
}

// allowsDebit reports whether an account's state allows that a quantity is taken from it.
func allowsDebit(a Account, isReversal bool) bool {
	return a.allows(events.Leg{Quantity: events.NewAmount(-1)}, isReversal)
}

// checkStates checks the account states that no guard checks. Errors: CodeAccountClosed for a credit; CodeAccountClosed
// and CodeAccountFrozen for a debit of an account without a limit, and for a cost alone that an account gives. It uses
// cached accounts, which may be as old as creditAge and debitAge, but reads those that give a cost alone, because no
// guard of theirs would refuse it. It also reads an account again before it refuses a debit, because a freeze may have
// ended. Its errors refuse this request only: another request with the same id may be in flight, and be posted.
func (r *request) checkStates(ctx context.Context, l *Ledger) *Error {
	hasGuard := func(leg events.Leg) bool {
		return leg.Quantity.Sign() < 0 && !r.known.account(leg.Account).Overdraft.Unlimited
	}
	var anew lookupKeys
	for _, leg := range r.header.Legs {
		isCost := leg.Quantity.IsZero() && leg.Cost.Sign() < 0
		isDebit := leg.Quantity.Sign() < 0 && !r.known.account(leg.Account).allows(leg, r.isReversal())
		if isCost || isDebit && !hasGuard(leg) {
			anew.accounts = append(anew.accounts, leg.Account)
		}
	}
	var found lookupResult
	if anew.accounts != nil {
		var err error
		if found, err = l.lookup(ctx, anew); err != nil {
			return asError(err)
		}
	}
	for _, leg := range r.header.Legs {
		a := r.known.account(leg.Account)
		if now := found.account(leg.Account); now != nil {
			a = now
		}
		if !hasGuard(leg) && !a.allows(leg, r.isReversal()) {
			return stateError(r.draft, *a)
		}
	}
	return nil
}

// stateError is the error of a transaction that the state of an account forbids. Its Fields are those with the account.
func stateError(d draft, a Account) *Error {
	code, is, rule := CodeAccountFrozen, " is frozen: it cannot be debited.", "names a frozen account"
	if a.State == events.StateClosed {
		code, is, rule = CodeAccountClosed, " is closed.", "names a closed account"
	}
	e := refuse(code, "The account "+a.ID+is)
	if e.Account = a.ID; !d.isReversal() { // its request has no accounts
		e.Fields = d.accountFields(func(id string) bool { return id == a.ID }, rule)
	}
	return e
}
