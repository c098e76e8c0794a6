package ledger

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"ledger.example/events"
	"ledger.example/ledger/table"
)

const (
	// atOnce is how many requests one command has under way at a time.
	atOnce = 8
	// belowLimitTries is how often a transaction is tried again because credits, read exactly, say that an account is
	// below its limit already. No debit can have done that: a credit is still being committed, item by item.
	belowLimitTries = 5
)

// Post posts a transaction, transfer or trade. Errors: CodeInvalidRequest, CodeInvalidTransaction, CodeUnbalanced,
// CodeAccountNotFound, CodeAssetNotFound, CodeTransactionIDReused, CodeInsufficientFunds, CodeThrottled, CodeContention,
// CodeUnavailable, CodeOutcomeUnknown, CodeInternal.
func (l *Ledger) Post(ctx context.Context, r PostingRequest) (Posted, error) {
	if fields := r.Shape(); fields != nil {
		return Posted{}, invalidRequest(fields)
	}
	if err := r.Rules(); err != nil {
		return Posted{}, err
	}
	a := r.annotation()
	if err := actorError(a.Actor); err != nil {
		return Posted{}, err
	}
	alive, cancel := lifeOf(ctx)
	defer cancel()
	known, err := l.resolve(alive, r)
	if err != nil {
		return Posted{}, err
	}
	p := posting{Ledger: l, request: r}
	p.header, p.limits = known.decide(r)
	if a.ID == "" {
		made, _, err := l.mint(alive, 1, p.header.Legs[0].Account)
		if err != nil {
			return Posted{}, err
		}
		p.header.ID = string(made[0])
	}
	if err := ctx.Err(); err != nil { // nobody waits any more, and nothing was sent
		return Posted{}, storeError(err)
	}
	return p.run(alive)
}

// posting is one Post on its way to the journal.
type posting struct {
	*Ledger
	request PostingRequest
	header  events.TransactionPosted // without KSUIDs
	limits  []limit

	sent       []attempt
	unknown    bool  // an attempt may have been applied, or still be
	belowLimit int   // see belowLimitTries
	last       error // of the attempt before
}

// attempt is one that was sent.
type attempt struct {
	first  events.KSUID // of its first leg
	minted time.Time    // by the stopwatch
}

// run appends the transaction, until it is there, or it is proved that it never will be, or the command's life is over.
//
// Once an attempt's outcome is unknown, only what is proved is said: that the transaction is there, that its id belongs
// to another body, or a refusal (see refusal). All else is CodeOutcomeUnknown.
func (p *posting) run(ctx context.Context) (Posted, error) {
	declines := 0
	for tries := 1; ; tries++ {
		commit, err := p.commit(ctx)
		if err != nil {
			return Posted{}, p.end(ctx, err)
		}
		at, cancelled, err := p.append(ctx, commit)
		switch {
		case err == nil:
			return p.acknowledge(ctx, commit.Header, at, false)
		case cancelled != nil:
			if cancelled.Header == HeaderExists {
				return p.found(ctx, cancelled.Stored)
			}
			if cancelled.Header == HeaderNone && len(cancelled.Refused) > 0 {
				if err := p.refusal(ctx, cancelled.Refused); err != nil {
					return Posted{}, p.end(ctx, err)
				}
				if len(p.sent) == 1 {
					continue // what was known was too low: that is no contention yet
				}
			}
			err = table.ErrConflict
			if cancelled.onlyThrottled() {
				err = table.ErrThrottled
				declines++
			}
		case declined(err):
			declines++
		case errors.Is(err, table.ErrConflict):
		case errors.Is(err, table.ErrUnknownOutcome):
			p.unknown = true
			p.log.WarnContext(ctx, "outcome of a transaction is unknown; it is looked up", "transaction", p.header.ID, "error", err)
			if stored, _, err := p.readHeader(ctx, p.header.ID); err == nil {
				return p.found(ctx, &stored)
			}
		default:
			return Posted{}, p.end(ctx, internalError(err))
		}
		if declines >= declinedTries && !p.unknown || !pause(ctx, tries) {
			return Posted{}, p.end(ctx, storeError(err))
		}
		p.last = err
	}
}

// commit mints the KSUIDs of one attempt, right before it is sent.
func (p *posting) commit(ctx context.Context) (Commit, error) {
	ids, minted, err := p.mint(ctx, len(p.header.Legs), p.header.Legs[0].Account)
	if err != nil {
		return Commit{}, err
	}
	p.sent = append(p.sent, attempt{first: ids[0], minted: minted})
	c := Commit{Header: p.header}
	c.Header.Legs = slices.Clone(p.header.Legs)
	for i := range c.Header.Legs {
		c.Header.Legs[i].ID = ids[i]
	}
	if len(p.limits) > 0 {
		c.Debits = make([]Debit, len(p.limits))
	}
	for i := range p.limits {
		p.limits[i].raise(p.credits)
		c.Debits[i] = p.limits[i].debit()
	}
	return c, nil
}

// append makes one attempt. When it was cancelled, err is not nil either.
func (p *posting) append(ctx context.Context, c Commit) (at time.Time, cancelled *Cancelled, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestLife)
	defer cancel()
	sent := time.Now()
	at, err = p.journal.Append(ctx, c)
	if c, ok := errors.AsType[*Cancelled](err); ok {
		at, cancelled = c.At, c
	}
	p.clock.tell(at, sent, time.Now())
	return at, cancelled, err
}

// refusal reads the credits of the refused pairs exactly, and returns nil when it is worth trying again, else
// CodeInsufficientFunds, or the error of a read.
//
// A refusal is final also for attempts of this request that are still under way somewhere. The cancellation proves that
// none of them had been applied (the header was not there), and a guard already stood above this pair's bound. What was
// spent never falls, and no attempt was ever sent with a higher bound than the one compared here, as what is known of
// the credits never falls while a command lives: so none can still pass its guard.
func (p *posting) refusal(ctx context.Context, refused []Refusal) error {
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, r := range refused {
		group.Go(func() error {
			return again(groupCtx, func() error {
				credits, err := p.projections.Credits(groupCtx, r.Account, r.Asset)
				if err == nil {
					p.credits.raise(r.Pair, credits)
				}
				return err
			})
		})
	}
	switch err := group.Wait(); {
	case errors.Is(err, table.ErrConflict):
		return nil
	case err != nil:
		return storeError(err)
	}
	for i := range p.limits {
		limit := &p.limits[i]
		at := slices.IndexFunc(refused, func(r Refusal) bool { return r.Pair == limit.Pair })
		if at < 0 {
			continue
		}
		limit.raise(p.credits)
		spent := refused[at].Spent
		if spent.Cmp(limit.bound()) <= 0 {
			continue
		}
		if limit.available(spent).Sign() < 0 {
			if p.belowLimit++; p.belowLimit <= belowLimitTries {
				return nil
			}
			p.log.ErrorContext(ctx, "account is below its limit", "account", limit.Account, "asset", limit.Asset,
				"credits", limit.known.String(), "spent", spent.String(), "overdraft", limit.overdraft.String(),
				"BelowLimit", 1) // counted as a metric
		}
		return insufficientFunds(*limit, spent)
	}
	return nil
}

func insufficientFunds(l limit, spent events.Amount) *Error {
	return &Error{
		Code:   CodeInsufficientFunds,
		Detail: "The account " + l.Account + " has not enough " + l.Asset + ".",
		Funds:  &Funds{Account: l.Account, Asset: l.Asset, Available: l.available(spent), Requested: l.requested()},
	}
}

// end returns the error that a command may end with: err itself while nothing can have been applied, or when it is
// proved that nothing ever will be.
func (p *posting) end(ctx context.Context, err error) error {
	var e *Error
	if !errors.As(err, &e) {
		e = internalError(err)
	}
	if e.Code == CodeUnavailable && p.last != nil && ctx.Err() != nil {
		e = storeError(p.last) // it is not this request that used up the command's life
	}
	proved := e.Code == CodeInsufficientFunds || e.Code == CodeTransactionIDReused
	if p.unknown && !proved && e.Code != CodeOutcomeUnknown {
		e = unknownError(p.header.ID, err)
	}
	switch e.Code {
	case CodeContention, CodeThrottled, CodeUnavailable, CodeOutcomeUnknown:
		p.log.WarnContext(ctx, "transaction was given up", "transaction", p.header.ID, "code", e.Code, "attempts", len(p.sent), "error", e.Err)
	}
	return e
}

// onlyThrottled tells whether nothing but throttling cancelled the attempt.
func (c *Cancelled) onlyThrottled() bool {
	throttled := c.Throttled || c.Header == HeaderThrottled
	return throttled && !c.Conflict && c.Header != HeaderConflict && len(c.Refused) == 0
}
