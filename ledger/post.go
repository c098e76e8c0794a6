package ledger

import (
	"context"
	"slices"

	"ledger.example/events"
)

// maxRequests is how many requests one command has in progress at a time.
const maxRequests = 8

// Post posts a transaction, transfer or trade. Errors: CodeInvalidRequest, CodeInvalidTransaction, CodeUnbalanced,
// CodeAccountNotFound, CodeAssetNotFound, CodeTransactionIDReused, CodeAccountFrozen, CodeAccountClosed,
// CodeInsufficientFunds, CodeThrottled, CodeContention, CodeUnavailable, CodeOutcomeUnknown, CodeInternal.
func (l *Ledger) Post(ctx context.Context, r PostingRequest) (Posted, error) {
	p := &posting{draft: r.expand()}
	return l.postAlone(ctx, p.draft.shape(), p)
}

// postAlone posts one request with these faults in its shape.
func (l *Ledger) postAlone(ctx context.Context, shape []FieldError, p *posting) (Posted, error) {
	c, cancel, err := startCommand(ctx, shape, p.draft.note.Actor)
	if err != nil {
		return Posted{}, err
	}
	defer cancel()
	err = l.postWhole(c, p)
	return p.answer, err
}

// posting is one request for a transaction on its way to the journal: all of its legs, not one.
type posting struct {
	draft    draft
	request  int                      // of an atomic batch, counted from 1, which errors name; else 0
	header   events.TransactionPosted // without KSUIDs
	known    *definitions             // of what the header names
	later    *Error                   // a refusal that counts only if the id is unused: see plan
	reversal *reversal                // nil: it reverses nothing
	dry      bool                     // nothing is written
	answer   Posted
}

// plan decides what the request becomes. A refusal that time or other requests can change is kept in later. It counts
// only if the id is unused: what was posted before is answered as it was then. unknown says that an attempt was sent
// and may yet be applied.
func (p *posting) plan(ctx context.Context, l *Ledger, unknown bool) error {
	var refused *Error
	if p.reversal != nil {
		refused = p.rebuild(ctx, l)
	} else {
		refused = p.draft.rules()
	}
	if refused == nil && (p.reversal == nil || !p.reversal.there) {
		known, err := l.resolve(ctx, p.draft)
		if err != nil { // a store that is not there for one read will not be for many others
			return err
		}
		refused = p.decide(ctx, l, known, unknown)
	}
	p.later = nil
	switch {
	case refused == nil:
	case refused.judgedLate():
		p.later = refused
	default:
		return refused
	}
	return nil
}

// judgedLate reports whether time or others can change what a request is refused for.
func (e *Error) judgedLate() bool {
	switch e.Code {
	case CodeInvalidRequest, CodeNothingToReverse, CodeExceedsReversible, CodeUnavailable, CodeAccountFrozen,
		CodeAccountClosed:
		return true
	}
	return false
}

// decide makes the transaction of a draft that has all its legs, by what is known of what it names.
func (p *posting) decide(ctx context.Context, l *Ledger, known *definitions, unknown bool) *Error {
	p.known, p.header = known, known.decide(p.draft)
	if hold := p.draft.note.Hold; hold != nil {
		if refused := l.mayWriteLife(); refused != nil {
			return refused
		}
		var refused *Error
		if p.header.ExpiresAt, refused = hold.expires(l.instant()); refused != nil {
			return refused
		}
	}
	if refused := l.mayBackdate(ctx, p.draft.note); refused != nil {
		return refused
	}
	if unknown { // the attempt may pass yet: nothing is forbidden
		return nil
	}
	return p.forbidden(ctx, l)
}

// needs returns how many KSUIDs of the present an attempt takes: one for each leg, and one for an id that is missing.
// Legs with an effective date need none: backdate gives them theirs.
func (p *posting) needs() (n int) {
	if p.draft.note.EffectiveAt == nil {
		n = len(p.header.Legs)
	}
	if p.draft.note.ID == "" {
		n++
	}
	return n
}

// minted returns the header with its KSUIDs, given those that it needs.
func (p *posting) minted(ctx context.Context, l *Ledger, ids []events.KSUID) (events.TransactionPosted, error) {
	if p.draft.note.ID == "" {
		p.draft.note.ID, ids = string(ids[0]), ids[1:]
		p.header.ID = p.draft.note.ID
	}
	header := p.header
	header.Legs = slices.Clone(header.Legs)
	for i, id := range ids {
		header.Legs[i].ID = id
	}
	var err error
	if at := p.draft.note.effective(); !at.IsZero() {
		err = l.backdate(ctx, &header, at)
	}
	return header, err
}

// named returns an error about the request: in an atomic batch it names it.
func (p *posting) named(err error) *Error {
	if p.request == 0 {
		return asError(err)
	}
	return ofRequest(err, p.request-1)
}

func insufficientFunds(l limit, spent events.Amount) *Error {
	return &Error{
		Code:   CodeInsufficientFunds,
		Detail: "The account " + l.pair.Account + " has not enough " + l.pair.Asset + ".",
		Funds: &Funds{
			Account: l.pair.Account, Asset: l.pair.Asset, Available: l.available(spent), Requested: l.requested(),
		},
	}
}
