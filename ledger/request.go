package ledger

import (
	"context"
	"fmt"
	"slices"

	"ledger.example/events"
)

// request is one of the requests that a command writes in one transaction of the store: its draft, its plan and its
// answer. The requests of an atomic batch are written together. A single request is a batch of one.
type request struct {
	draft
	number int // in an atomic batch, counted from 1; else 0
	plan

	// The answer. head is what is stored or, in a dry run, would be. It is nil while the request is not answered.
	head     events.Event
	replayed bool // head was stored before, by an earlier request
}

// plan is what a request writes, as decided from what was read: a transaction, or the end of a hold. Each attempt mints
// new KSUIDs for it.
type plan struct {
	header       events.TransactionPosted // of the transaction, without KSUIDs
	known        *definitions             // of the accounts and assets in header
	refusedIfNew *Error                   // the refusal if nothing is stored for the request: see decide

	// Of a reversal and of the end of a hold:
	lifecycle Lifecycle      // of the other transaction, which is reversed, or is the hold
	taken     []events.Taken // what is reversed or captured of each of its legs
	after     events.KSUID   // of the last of its legs; those that are written are greater

	// Of a reversal:
	reversal int64 // its number: the next one when the others were read
	outdated bool  // another reversal may have the number
	listed   bool  // the request's id is among the reversals: it was posted, or is being committed
}

// decide plans what the request writes. An error refuses the request, whether it was carried out before or not. A
// refusal that depends on the time or on other requests is kept in refusedIfNew instead: it does not apply if the
// request was carried out before. unknown is true if an earlier attempt may still be applied.
func (r *request) decide(ctx context.Context, l *Ledger, unknown bool) error {
	var refused *Error
	switch {
	case r.endsHold():
		refused = r.decideEnd(ctx, l)
	case r.isReversal():
		refused = r.decideReversal(ctx, l)
	default:
		refused = r.rules()
	}
	if refused == nil && !r.endsHold() && !r.listed {
		known, err := l.resolve(ctx, r.draft)
		if err != nil { // not even CodeUnavailable is kept: the header could probably not be read either
			return err
		}
		refused = r.decideHeader(ctx, l, known, unknown)
	}
	r.refusedIfNew = nil
	switch {
	case refused == nil:
	case refused.mayHavePassedEarlier():
		r.refusedIfNew = refused
	default:
		return refused
	}
	return nil
}

// mayHavePassedEarlier reports whether the same request may have been accepted at an earlier time.
func (e *Error) mayHavePassedEarlier() bool {
	switch e.Code {
	case CodeInvalidRequest, CodeNothingToReverse, CodeExceedsReversible, CodeExceedsHold, CodeUnavailable,
		CodeAccountFrozen, CodeAccountClosed:
		return true
	}
	return false
}

// decideHeader makes the header of a draft that has all its legs, from the definitions that it names.
func (r *request) decideHeader(ctx context.Context, l *Ledger, known *definitions, unknown bool) *Error {
	r.known, r.header = known, known.buildTransaction(r.draft)
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

// size returns how many heads and how many postings the request writes.
func (r *request) size() (heads, legs int) {
	switch {
	case r.endsHold():
		return 1, len(r.lifecycle.Header.Legs)
	case r.isReversal():
		return 2, len(r.header.Legs)
	}
	return 1, len(r.header.Legs)
}

// ksuidsNeeded returns how many KSUIDs an attempt mints at the current time: one for each leg, and one for a missing
// id. The legs of a backdated transaction are not counted: backdate mints theirs.
func (r *request) ksuidsNeeded() (n int) {
	if _, legs := r.size(); r.EffectiveAt == nil {
		n = legs
	}
	if r.id() == "" {
		n++
	}
	return n
}

// addTo adds what the request writes to a commit. ids are the KSUIDs that ksuidsNeeded counts.
func (r *request) addTo(ctx context.Context, l *Ledger, c *commit, ids []events.KSUID) error {
	if r.endsHold() {
		end, err := r.buildEnd(l, ids)
		if err == nil {
			c.add(end, end.Postings(r.lifecycle.Header))
		}
		return err
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
		if err := l.backdate(ctx, &header, at); err != nil {
			return err
		}
	}
	c.add(header, header.Postings())
	if r.isReversal() {
		c.heads = append(c.heads, r.reversed())
	}
	return nil
}

// id is the id of the transaction that the request is about: the one to post, or the hold to end.
func (r *request) id() string {
	if r.endsHold() {
		return r.of
	}
	return r.ID
}

// same returns nil if a stored head is what the request asks for. Errors: CodeTransactionIDReused, CodeHoldEnded,
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
			return idReused()
		}
		return nil
	}
	return internalError(fmt.Errorf("a %T is stored for a request", stored))
}

// inBatch returns err as an *Error that, in an atomic batch, names the request.
func (r *request) inBatch(err error) *Error {
	if r.number == 0 {
		return asError(err)
	}
	return withRequest(err, r.number-1)
}

// posted is the answer to a request for a transaction.
func (r *request) posted() Posted {
	header, _ := r.head.(events.TransactionPosted)
	return Posted{Transaction: header, Replayed: r.replayed}
}

// ended is the answer to a request that ends a hold.
func (r *request) ended() Ended {
	end, ok := r.head.(events.HoldEnded)
	if !ok {
		return Ended{}
	}
	hold := r.lifecycle.Header
	if r.DryRun {
		hold.Legs = withoutIDs(hold.Legs)
	}
	return Ended{Transaction: hold, End: end, Replayed: r.replayed}
}

// firstAccount is the account of the first leg that the request writes.
func (r *request) firstAccount() string {
	if r.endsHold() {
		return r.lifecycle.Header.Legs[0].Account
	}
	return r.header.Legs[0].Account
}

// postingsOf returns the postings of the request's head.
func (r *request) postingsOf(head events.Event) []events.PostingRecorded {
	switch head := head.(type) {
	case events.TransactionPosted:
		return head.Postings()
	case events.HoldEnded:
		return head.Postings(r.lifecycle.Header)
	}
	return nil
}

// unknownOutcome is what is logged when the outcome of a write is unknown.
func (r *request) unknownOutcome() string {
	if r.endsHold() {
		return "outcome of a hold's end is unknown; it is read"
	}
	return "outcome of a write is unknown; reading the header to find out"
}

// legsOf returns the legs of a header or of the end of a hold.
func legsOf(head events.Event) []events.Leg {
	switch head := head.(type) {
	case events.TransactionPosted:
		return head.Legs
	case events.HoldEnded:
		return head.Legs
	}
	return nil
}
