package ledger

import (
	"context"
	"errors"
	"slices"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// maxRequests is how many requests one command has in progress at a time.
const maxRequests = 8

// Post posts a transaction, transfer or trade. Errors: CodeInvalidRequest, CodeInvalidTransaction, CodeUnbalanced,
// CodeAccountNotFound, CodeAssetNotFound, CodeTransactionIDReused, CodeAccountFrozen, CodeAccountClosed,
// CodeInsufficientFunds, CodeThrottled, CodeContention, CodeUnavailable, CodeOutcomeUnknown, CodeInternal.
func (l *Ledger) Post(ctx context.Context, r PostingRequest) (Posted, error) {
	p := posting{attempts: attempts{ledger: l}, draft: r.expand()}
	c, cancel, err := startCommand(ctx, p.draft.shape(), p.draft.note.Actor)
	if err != nil {
		return Posted{}, err
	}
	defer cancel()
	return p.post(c)
}

// post posts a request whose fields are right by themselves.
func (p *posting) post(c *command) (Posted, error) {
	later, err := p.plan(c)
	if err != nil {
		return Posted{}, err
	}
	if p.header.ID == "" {
		made, _, err := p.ledger.mint(c, 1, p.header.Legs[0].Account, "")
		if err != nil {
			return Posted{}, err
		}
		p.header.ID = string(made[0])
	}
	if later != nil {
		return p.failUnlessThere(c, later)
	}
	return p.run(c)
}

// plan decides what the request becomes. later is a refusal that time or other requests can change: it is judged after
// the id, so that what was posted before is answered as it was then.
func (p *posting) plan(ctx context.Context) (later *Error, err error) {
	if err := p.draft.rules(); err != nil {
		return nil, err
	}
	known, err := p.ledger.resolve(ctx, p.draft)
	if err != nil {
		return nil, err
	}
	p.header, p.limits = known.decide(p.draft)
	if hold := p.draft.note.Hold; hold != nil {
		if later = p.ledger.mayWriteLife(); later == nil {
			p.header.ExpiresAt, later = hold.expires(p.ledger.instant())
		}
		if later != nil {
			return later, nil
		}
	}
	if later = p.ledger.mayBackdate(ctx, p.draft.note); later != nil {
		return later, nil
	}
	return p.forbidden(ctx, known), nil
}

// posting is one Post on its way to the journal.
type posting struct {
	attempts
	draft  draft
	header events.TransactionPosted // without KSUIDs
	funding
	reversal *reversal // nil: it reverses nothing
}

// run appends the transaction, until it is there, or it is proved that it never will be, or the time is up.
//
// Once an attempt's outcome is unknown, only what is proved is said: that the transaction is there, that its id belongs
// to another body, or a refusal (see refusal). Everything else is CodeOutcomeUnknown.
func (p *posting) run(ctx *command) (Posted, error) {
	for failed := 1; ; failed++ {
		if p.reversal != nil && p.reversal.stale {
			if there, err := p.rebuild(ctx); there || err != nil {
				return p.unbuilt(ctx, failed, err)
			}
		}
		commit, minted, err := p.commit(ctx)
		switch {
		case errors.Is(err, errClock): // what is there already needs no KSUID
			return p.failUnlessThere(ctx, err)
		case err != nil:
			return Posted{}, p.fail(ctx, err)
		}
		if err := ctx.abandoned(); err != nil {
			return p.await(ctx, failed, err)
		}
		at, cancelled, err := p.append(ctx, commit, minted)
		switch {
		case err == nil:
			return p.acknowledge(ctx, commit.Heads[0].(events.TransactionPosted), at, false)
		case cancelled != nil:
			header := cancelled.head(0)
			if header.Is == HeadExists {
				stored, _ := header.Stored.(events.TransactionPosted)
				return p.found(ctx, stored)
			}
			if p.reversal != nil && cancelled.head(1).Is != HeadNone { // another reversal came first, or is about to
				p.reversal.stale = true
			} else if header.Is == HeadNone && len(cancelled.Refused) > 0 {
				short, err := p.refused(ctx, p.ledger, cancelled.Refused)
				switch {
				case err != nil:
					return Posted{}, p.fail(ctx, err)
				case short != nil:
					return p.failUnlessThere(ctx, p.refusal(short[0]))
				case len(p.sent) <= quickAttempts:
					continue // the refusal taught what was missing: that is no contention yet
				}
			}
			err = cancelled.cause()
		case declined(err), errors.Is(err, store.ErrConflict):
		case errors.Is(err, store.ErrUnknownOutcome):
			p.unknown = true
			p.ledger.log.WarnContext(ctx, "outcome of a transaction is unknown; its header is read",
				"transaction", p.header.ID, "error", err)
			if stored, err := p.ledger.readHeader(ctx, p.header.ID); err == nil {
				return p.found(ctx, stored)
			}
		default:
			return Posted{}, p.fail(ctx, internalError(err))
		}
		if !p.again(ctx, failed, err) {
			return Posted{}, p.fail(ctx, storeError(err))
		}
	}
}

// failUnlessThere reads the header, strongly consistent, and ends the command with err only if it is absent.
func (p *posting) failUnlessThere(ctx context.Context, err error) (Posted, error) {
	switch stored, absent := p.ledger.readHeader(ctx, p.header.ID); {
	case absent == nil:
		return p.found(ctx, stored)
	case !errors.Is(absent, store.ErrAbsent):
		err = storeError(absent)
	}
	return Posted{}, p.fail(ctx, err)
}

// await ends the command of a caller that is gone, with cause, and makes no further attempt. While the outcome of one
// is unknown it reads the header until the time is up.
func (p *posting) await(ctx context.Context, failed int, cause error) (Posted, error) {
	for ; p.unknown && pause(ctx, failed); failed++ {
		if stored, err := p.ledger.readHeader(ctx, p.header.ID); err == nil {
			return p.found(ctx, stored)
		}
	}
	return Posted{}, p.fail(ctx, storeError(cause))
}

// commit mints the KSUIDs of one attempt, right before it is sent.
func (p *posting) commit(ctx context.Context) (c Commit, minted time.Time, err error) {
	var after events.KSUID
	if p.reversal != nil {
		after = p.reversal.after
	}
	if err := p.prepare(ctx, p.ledger); err != nil {
		return Commit{}, minted, err
	}
	header := p.header
	header.Legs = slices.Clone(p.header.Legs)
	if at := p.draft.note.effective(); !at.IsZero() {
		minted, err = time.Now(), p.ledger.backdate(ctx, &header, at)
	} else {
		var ids []events.KSUID
		ids, minted, err = p.ledger.mint(ctx, len(header.Legs), header.Legs[0].Account, after)
		for i := range ids {
			header.Legs[i].ID = ids[i]
		}
	}
	if err != nil {
		return Commit{}, minted, err
	}
	c = NewCommit(header)
	if p.reversal != nil {
		c.Heads = append(c.Heads, p.reversal.head(p.draft.reverses, header.ID))
	}
	c.Debits = p.debits()
	return c, minted, nil
}

// refusal is the error of a shortfall.
func (p *posting) refusal(s shortfall) *Error {
	if !s.limit.isOpen() {
		return barred(p.draft, s.limit.account)
	}
	return insufficientFunds(*s.limit, s.spent)
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

// fail returns the error that the command may end with. A refusal of a reversal for its amounts is a proof: another
// reversal has the number of every attempt.
func (p *posting) fail(ctx context.Context, err error) error {
	return p.attempts.fail(ctx, p.header.ID, err,
		CodeInsufficientFunds, CodeAccountFrozen, CodeAccountClosed, CodeTransactionIDReused, CodeExceedsReversible)
}
