package ledger

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"golang.org/x/sync/errgroup"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// tellsAtOnce is how many guards are told of a change at a time.
const maxGuardUpdates = 16

// ChangeAccount makes an account another one, and returns it as it is now. A change is acknowledged only after every
// guard of the account was told of it: no debit that begins later is judged by what was before. What changes nothing
// makes no version, but finishes what was broken off: the same request after CodeOutcomeUnknown goes on.
//
// Closing needs an account without balances and without open holds. It freezes the account first, and opens it again
// when it turns out not to be empty. Debits of an account without a limit learn of a change within debitAge, credits of
// a closed account within creditAge.
//
// Errors: CodeInvalidRequest, CodeAccountNotFound, CodeAssetNotFound (of the overdraft), CodeVersionMismatch,
// CodeInvalidChange, CodeThrottled, CodeContention, CodeUnavailable, CodeOutcomeUnknown, CodeInternal.
func (l *Ledger) ChangeAccount(ctx context.Context, r ChangeAccount) (Account, error) {
	c, cancel, err := startCommand(ctx, r.Shape(), r.Actor)
	if err != nil {
		return Account{}, err
	}
	defer cancel()
	if refused := l.checkNewestForm(); refused != nil {
		return Account{}, refused
	}
	if !events.ValidID(r.ID) {
		return Account{}, AccountNotFound()
	}
	if r.Overdraft != nil {
		if err := l.checkOverdraft(c, *r.Overdraft); err != nil {
			if _, absent := l.KnownAccount(c, r.ID); absent != nil { // what the path names comes first
				err = absent
			}
			return Account{}, err
		}
	}
	return (&accountChange{ledger: l, request: r}).run(c)
}

// changing is one ChangeAccount on its way.
type accountChange struct {
	ledger  *Ledger
	request ChangeAccount

	sent       events.AccountChanged // the last change that was sent
	unknown    bool                  // it may have been applied, or may yet be
	superseded bool                  // one before it may have been applied, and be followed by somebody else's
	frozen     bool                  // this command froze the account to close it
	refusal    *Error                // why it does not close it: the account is being opened again
}

// run reads the account and puts the next change, until the account is what was asked for and every guard knows.
func (c *accountChange) run(ctx *command) (Account, error) {
	declines, last := 0, error(nil)
	for failed := 1; ; failed++ {
		account, err := c.ledger.Account(ctx, c.request.ID)
		if err != nil {
			return Account{}, c.fail(ctx, asError(err), last)
		}
		c.resolveUnknown(account)
		next := c.next(account)
		closes := next.State == events.StateClosed
		switch {
		case sameAsBefore(account, next):
			return c.finish(ctx, account)
		case c.refusal != nil && c.sent.Number <= account.Version: // somebody else changed it meanwhile
			return Account{}, c.refusal
		case c.request.IfMatch != 0 && !c.matches(account, closes):
			return Account{}, c.fail(ctx, versionMismatch(account), last)
		case account.State == events.StateClosed:
			return Account{}, c.fail(ctx, invalidChange("state", "is closed, and stays so"), last)
		}
		if refused := c.checkRules(account, next); refused != nil {
			return Account{}, c.fail(ctx, refused, last)
		}
		if closes {
			var ready bool
			if next, ready, err = c.planClose(ctx, account, next); err != nil {
				return Account{}, c.fail(ctx, asError(err), last)
			} else if !ready {
				last = store.ErrConflict
				if !pause(ctx, failed) {
					return Account{}, c.fail(ctx, storeError(last), last)
				}
				continue
			}
		}
		if err := ctx.abandoned(); err != nil {
			return Account{}, c.fail(ctx, storeError(err), last)
		}
		switch account, last = c.send(ctx, account, next); {
		case last == nil && closes && next.State == events.StateFrozen:
			c.frozen = true
			continue
		case last == nil:
			return c.finish(ctx, account)
		case declined(last):
			declines++
		case errors.Is(last, store.ErrConflict), errors.Is(last, store.ErrUnknownOutcome):
		default:
			return Account{}, c.fail(ctx, internalError(last), nil)
		}
		if declines >= maxDeclines && !c.unknown || !pause(ctx, failed) {
			return Account{}, c.fail(ctx, storeError(last), last)
		}
	}
}

// look finds out what became of a change whose outcome is unknown. Once there are later ones, nobody can tell.
func (c *accountChange) resolveUnknown(a Account) {
	if !c.unknown || a.Version < c.sent.Number {
		return
	}
	c.unknown = false
	if a.Version > c.sent.Number {
		c.superseded = true
		return
	}
	isOurs := a.State == c.sent.State && a.ChangedBy == c.sent.Actor && a.ChangedAt.Equal(c.sent.At)
	closes := c.request.State != nil && *c.request.State == events.StateClosed
	if isOurs && closes && a.State == events.StateFrozen {
		c.frozen = true
	}
}

// next returns the change that the request asks for.
func (c *accountChange) next(a Account) events.AccountChanged {
	r := c.request
	next := events.AccountChanged{
		ID: a.ID, Number: a.Version + 1, Name: a.Name, Profile: a.Profile, Overdraft: a.Overdraft, State: a.State,
		Actor: strings.Clone(r.Actor), At: c.ledger.instant(),
	}
	if c.refusal != nil { // the account is opened again, and nothing else
		next.State = events.StateOpen
		return next
	}
	if r.Name != nil {
		next.Name = strings.Clone(*r.Name)
	}
	if r.Profile != nil {
		next.Profile = storedProfile(*r.Profile)
	}
	if r.Overdraft != nil {
		next.Overdraft = cloneOverdraft(*r.Overdraft)
	}
	if r.State != nil {
		next.State = *r.State
	}
	return next
}

// sameAsBefore reports whether a change changes nothing.
func sameAsBefore(a Account, next events.AccountChanged) bool {
	return a.Name == next.Name && a.State == next.State && sameProfile(a.Profile, next.Profile) &&
		SameOverdraft(a.Overdraft, next.Overdraft)
}

// matches reports whether the account is of the version that the request names, or has become another one by this very
// request: it was put before, or frozen to be closed.
func (c *accountChange) matches(a Account, closes bool) bool {
	if a.Version == c.request.IfMatch || c.refusal != nil {
		return true
	}
	return closes && a.State == events.StateFrozen && a.Version == c.request.IfMatch+1 && a.ChangedBy == c.request.Actor
}

// refuse returns nil, or CodeInvalidChange.
func (c *accountChange) checkRules(a Account, next events.AccountChanged) *Error {
	switch {
	case a.Overdraft.Unlimited && !next.Overdraft.Unlimited:
		return invalidChange("overdraft", "must stay unlimited")
	case !a.Overdraft.Unlimited && next.Overdraft.Unlimited:
		return invalidChange("overdraft", "must not become unlimited")
	case a.Version >= events.ChangesMax:
		return internalError(errors.New("numbers of changes are used up"))
	}
	return nil
}

// send puts a change, and returns the account that it makes.
func (c *accountChange) send(ctx context.Context, before Account, next events.AccountChanged) (Account, error) {
	read := readTimeNow(c.ledger.now)
	c.sent = next
	err := c.ledger.callUntimed(ctx, func(ctx context.Context) error { return c.ledger.journal.PutChange(ctx, next) })
	account := NewAccount(*before.opening, &next)
	switch {
	case err == nil:
		c.ledger.accounts.add(&account, read)
	case errors.Is(err, store.ErrUnknownOutcome):
		c.unknown = true
		c.ledger.log.WarnContext(ctx, "outcome of a change is unknown; the account is read",
			"account", next.ID, "number", next.Number, "error", err)
	}
	return account, err
}

// finish answers with an account that is what was asked for, once every guard knows its version.
func (c *accountChange) finish(ctx context.Context, a Account) (Account, error) {
	if err := c.ledger.updateGuards(ctx, a); err != nil {
		c.unknown = true // it is there, but not everywhere
		return Account{}, c.fail(ctx, storeError(err), nil)
	}
	if c.refusal != nil {
		return Account{}, c.refusal
	}
	return a, nil
}

// fail returns the error that the command may end with. last is that of the attempt before.
func (c *accountChange) fail(ctx context.Context, err *Error, last error) error {
	if err.Code == CodeUnavailable && last != nil && ctx.Err() != nil && !errors.Is(last, store.ErrUnknownOutcome) {
		err = storeError(last) // the attempts used up the time, not this request
	}
	if c.unknown || c.superseded || c.frozen {
		return unknownError("", err)
	}
	return err
}

// tellGuards tells every guard of an account of its version. A guard that is made meanwhile learns of it from the
// account, which its maker reads after the guard is there.
func (l *Ledger) updateGuards(ctx context.Context, a Account) error {
	if a.Version == 1 || a.Overdraft.Unlimited {
		return nil // nothing to tell; there are no guards
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(maxGuardUpdates)
	var untold error
	err := l.eachGuard(groupCtx, a.ID, func(g Guard) {
		switch {
		case g.Version >= a.Version:
		case groupCtx.Err() != nil: // the time is up, or telling another one failed
			untold = groupCtx.Err()
		default:
			group.Go(func() error { return l.setGuardVersion(groupCtx, g.Pair, a.Version) })
		}
	})
	return cmp.Or(group.Wait(), err, untold)
}

// eachGuard calls do for every guard of an account, one after the other.
func (l *Ledger) eachGuard(ctx context.Context, account string, do func(Guard)) error {
	for after := ""; ; {
		var page []Guard
		var next string
		err := retryRead(ctx, func() error {
			return l.callUntimed(ctx, func(ctx context.Context) (err error) {
				page, next, err = l.journal.Guards(ctx, account, after)
				return err
			})
		})
		if err != nil {
			return err
		}
		for _, g := range page {
			do(g)
		}
		if next == "" {
			return nil
		}
		after = next
	}
}

func invalidChange(field, rule string) *Error {
	return &Error{
		Code: CodeInvalidChange, Detail: "The account cannot be changed like this.",
		Fields: []FieldError{{Field: Field{Name: field}, Rule: rule}},
	}
}

func versionMismatch(a Account) *Error {
	return &Error{Code: CodeVersionMismatch, Version: a.Version,
		Detail: "The account has another version than the request names. Nothing was written."}
}
