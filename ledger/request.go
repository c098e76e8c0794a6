package ledger

import (
	"context"
	"errors"
	"fmt"
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

// readOther reads the transaction that the request ends or reverses; it has no header if there is none. Of one that it
// has read before, or that this process has reversed before, it reads only the reversals since: nothing else changes of
// a transaction that has posted its legs.
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
		read, err = l.readLifecycle(ctx, r.other())
		r.last = &read
	}
	if err != nil || r.last.Header.ID == "" {
		r.last = nil
		return Lifecycle{}, err
	}
	if r.isReversal() {
		l.remember(*r.last)
	}
	return *r.last, nil
}

// decide plans what the request writes. It decides, reads the one thing that the decision needs, and decides again. An
// error refuses the request, whether it was carried out before or not. A refusal that depends on the time or on other
// requests is kept in refusedIfNew instead: it does not apply if the request was carried out before. unknown is true if
// an earlier attempt may still be applied.
func (r *request) decide(ctx context.Context, l *Ledger, unknown bool) error {
	k := facts{unknown: unknown}
	for {
		k.now = l.instant()
		var missing need
		var refused *Error
		if r.plan, missing, refused = decide(&r.draft, &k); missing.what != needNothing {
			err := r.read(ctx, l, missing, &k)
			switch {
			case err == nil:
				continue
			case missing.what == needNames: // not even CodeUnavailable is kept: the header could probably not be read
				return err
			}
			refused = asError(err)
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
}

// read adds what a decision needs to its facts.
func (r *request) read(ctx context.Context, l *Ledger, missing need, k *facts) error {
	switch missing.what {
	case needOther:
		other, err := r.readOther(ctx, l)
		k.other = &other
		return err
	case needAccounts:
		found, err := l.lookup(ctx, lookupKeys{accounts: missing.accounts})
		anew := found.definitions
		k.anew = &anew
		return err
	case needClock: // the caller read the store's clock just before
		_, err := l.checkClock(ctx, "")
		k.sound = true
		return err
	}
	d := r.draft
	d.legs = r.moved
	names, err := l.definitionsOf(ctx, d)
	k.names = names
	return err
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
	legs := r.nextLegs()
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
		n = len(r.nextLegs())
	}
	if r.ID == "" {
		n++
	}
	return n
}

// addTo adds what the request writes to a commit. ids are the KSUIDs that ksuidsNeeded counts, empty in a dry run. now
// is the process's time after they were minted.
func (r *request) addTo(ctx *command, l *Ledger, c *commit, now time.Time, ids []events.KSUID) error {
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
	header.Legs = slices.Clone(r.nextLegs())
	for i, id := range ids {
		header.Legs[i].ID = id
	}
	if r.fit != nil && r.fit.legs != nil {
		header.Fingerprint = r.fingerprint()
	}
	r.markCounted(header.Legs, c.limits)
	if at := r.effective(); !at.IsZero() {
		var err error
		if header.Period, err = ctx.openPeriod(l, at); err != nil {
			return r.inBatch(err)
		}
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
	r.answer = Posted{Transaction: events.Transaction{Header: r.header}, Replayed: replayed}
	switch e := e.(type) {
	case events.TransactionPosted:
		r.answer.Header = e
	case events.HoldEnded:
		if r.DryRun {
			e.Legs = withoutIDs(e.Legs)
		}
		r.answer.Ended = &e
	}
	if r.DryRun {
		r.answer.Header.Legs = withoutIDs(r.answer.Header.Legs)
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
