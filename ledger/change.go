package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// maxGuardUpdates is how many guards of an account are updated at a time.
const maxGuardUpdates = 16

// ChangeAccount changes an account and returns its new state. A change is acknowledged only after every guard of the
// account has the new version, so it applies to every debit that begins later. A request that changes nothing adds no
// version, but it updates the guards: so a retry after CodeOutcomeUnknown completes the change.
//
// An account can be closed when it has no balances and no open holds. ChangeAccount freezes it first, and opens it
// again if it is not empty. With CodeThrottled, CodeContention or CodeUnavailable, the account may be frozen, and the
// same request goes on. A change applies to debits of an account without a limit after at most debitAge, and the
// closing of an account to its credits after at most creditAge.
//
// Errors: CodeInvalidRequest, CodeAccountNotFound, CodeAssetNotFound (of the overdraft), CodeVersionMismatch,
// CodeInvalidChange, CodeThrottled, CodeContention, CodeUnavailable, CodeOutcomeUnknown, CodeInternal.
func (l *Ledger) ChangeAccount(ctx context.Context, r ChangeAccount) (Account, error) {
	c, cancel, err := startCommand(ctx, r.Shape(), r.Actor)
	if err != nil {
		return Account{}, err
	}
	defer cancel()
	if !events.ValidID(r.ID) {
		return Account{}, AccountNotFound()
	}
	if r.Overdraft != nil {
		if err := l.checkOverdraft(c, *r.Overdraft); err != nil {
			if _, absent := l.KnownAccount(c, r.ID); absent != nil { // an error of the account comes first
				err = absent
			}
			return Account{}, err
		}
	}
	return (&accountChange{ledger: l, request: r}).run(c)
}

// accountChange is one ChangeAccount in progress.
type accountChange struct {
	ledger  *Ledger
	request ChangeAccount

	sent       events.AccountChanged // the last change that was sent
	unknown    bool                  // sent may have been applied, or may still be
	superseded bool                  // an unknown change may have been applied, and another request's change followed
	frozen     bool                  // this command froze the account to close it, and did not open it again
	refusal    *Error                // why the account cannot be closed: it is being opened again
}

// run reads the account and writes the next change, until the account is as requested and every guard has its version.
func (c *accountChange) run(ctx *command) (Account, error) {
	declines, last := 0, error(nil)
	for failed := 1; ; failed++ {
		account, err := c.ledger.Account(ctx, c.request.ID)
		if err != nil {
			return Account{}, c.fail(ctx, asError(err), last)
		}
		c.resolveUnknown(account)
		next := c.nextChange(account)
		closes := next.State == events.StateClosed
		switch {
		case changesNothing(account, next):
			return c.finish(ctx, account)
		case c.refusal != nil && c.sent.Number <= account.Version: // another request changed it since
			return Account{}, c.refusal
		case c.request.IfMatch != 0 && !c.matches(account, closes):
			return Account{}, c.fail(ctx, versionMismatch(account), last)
		case account.State == events.StateClosed:
			return Account{}, c.fail(ctx, invalidChange("state", "is closed and cannot be changed"), last)
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

// resolveUnknown decides from the account whether a change with an unknown outcome was applied. After a later change,
// that cannot be decided any more.
func (c *accountChange) resolveUnknown(a Account) {
	if !c.unknown || a.Version < c.sent.Number {
		return
	}
	c.unknown = false
	if a.Version > c.sent.Number {
		c.superseded = true
		return
	}
	c.frozen = a.closing && c.sent.Closing && a.ChangedBy == c.sent.Actor && a.ChangedAt.Equal(c.sent.At)
}

// withState returns a change of the account that sets only its state.
func (c *accountChange) withState(a Account, s events.AccountState) events.AccountChanged {
	return events.AccountChanged{
		ID: a.ID, Number: a.Version + 1, Name: a.Name, Profile: a.Profile, Overdraft: a.Overdraft, Highest: a.highest,
		State: s, Actor: strings.Clone(c.request.Actor), At: c.ledger.instant(),
	}
}

// nextChange returns the requested change of the account.
func (c *accountChange) nextChange(a Account) events.AccountChanged {
	if c.refusal != nil {
		return c.withState(a, events.StateOpen)
	}
	r, next := c.request, c.withState(a, a.State)
	if r.Name != nil {
		next.Name = strings.Clone(*r.Name)
	}
	if r.Profile != nil {
		next.Profile = storedProfile(*r.Profile)
	}
	if r.Overdraft != nil {
		next.Overdraft = cloneOverdraft(*r.Overdraft)
		next.Highest = a.highestBeside(next.Overdraft)
	}
	if r.State != nil {
		next.State = *r.State
	}
	// A change of anything else ends the closing: it is not taken for the freeze that began it.
	unchanged := next
	if unchanged.Closing = a.closing; r.State == nil && changesNothing(a, unchanged) {
		return unchanged
	}
	return next
}

// changesNothing reports whether a change would leave the account the same.
func changesNothing(a Account, next events.AccountChanged) bool {
	return a.Name == next.Name && a.State == next.State && a.closing == next.Closing &&
		sameProfile(a.Profile, next.Profile) && SameOverdraft(a.Overdraft, next.Overdraft)
}

// matches reports whether the account has the version in IfMatch, or the next one if that only froze it to close it:
// this request did so before, or another one that also closes it.
func (c *accountChange) matches(a Account, closes bool) bool {
	if a.Version == c.request.IfMatch || c.refusal != nil {
		return true
	}
	return closes && a.closing && a.Version == c.request.IfMatch+1
}

// checkRules returns CodeInvalidChange if the account does not allow a change.
func (c *accountChange) checkRules(a Account, next events.AccountChanged) *Error {
	switch {
	case a.Overdraft.Unlimited && !next.Overdraft.Unlimited:
		return invalidChange("overdraft", "must stay unlimited")
	case !a.Overdraft.Unlimited && next.Overdraft.Unlimited:
		return invalidChange("overdraft", "must not become unlimited")
	case len(next.Highest) > events.HighestLimits:
		return invalidChange("overdraft", fmt.Sprintf("must not lower limits of more than %d assets over the "+
			"account's life", events.HighestLimits))
	case a.Version >= events.ChangesMax:
		return internalError(errors.New("numbers of changes are used up"))
	}
	return nil
}

// send writes a change, and returns the changed account.
func (c *accountChange) send(ctx context.Context, before Account, next events.AccountChanged) (Account, error) {
	read := readTimeNow(c.ledger.now)
	c.sent = next
	err := c.ledger.callUntimed(ctx, func(ctx context.Context) error { return c.ledger.putChange(ctx, next) })
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

// putChange writes a change of an account, in one request, on the condition that the account's newest change has the
// preceding number. Errors: ErrConflict when it has not; ErrThrottled, ErrUnavailable, ErrUnknownOutcome.
func (l *Ledger) putChange(ctx context.Context, c events.AccountChanged) error {
	maker := store.NewItemEncoder(2)
	newest := store.Write{Item: maker.Current(c), If: store.IfAbsent}
	if previous := c.Number - 1; previous > 1 {
		newest.If, newest.Names = isPrevious, changeNames
		newest.Values = store.Item{":previous": store.Integer(previous)}
	}
	if _, err := l.table.Transact(ctx, []store.Write{putAbsent(maker, c), newest}); err != nil {
		return fmt.Errorf("put change: %w", err)
	}
	return nil
}

// The condition of putChange on the newest change.
const isPrevious = "#number = :previous"

var changeNames = map[string]string{"#number": "Number"} // a field of the event, named by its codec

// finish updates the guards of an account that is as requested, and answers with it.
func (c *accountChange) finish(ctx context.Context, a Account) (Account, error) {
	if err := c.ledger.updateGuards(ctx, a); err != nil {
		c.unknown = true // the change is stored, but some guards do not have it
		return Account{}, c.fail(ctx, storeError(err), nil)
	}
	if c.refusal != nil {
		return Account{}, c.refusal
	}
	return a, nil
}

// fail returns the error that the command ends with. last is the error of the previous attempt.
func (c *accountChange) fail(ctx context.Context, err *Error, last error) error {
	if err.Code == CodeUnavailable && last != nil && ctx.Err() != nil && !errors.Is(last, store.ErrUnknownOutcome) {
		err = storeError(last) // the attempts used up the time, not this request
	}
	isRefusedForNow := err.Code == CodeContention || err.Code == CodeThrottled || err.Code == CodeUnavailable
	switch {
	case c.frozen && !c.unknown && !c.superseded && isRefusedForNow:
		err.Detail = "The account is frozen, and not closed yet. Send the same request again to close it."
	case c.unknown || c.superseded || c.frozen:
		return unknownError("", err)
	}
	return err
}

// updateGuards sets the account's version on all its guards. It may miss a guard that is being created. That guard gets
// the version anyway, because createGuards reads the account after it wrote the guard.
func (l *Ledger) updateGuards(ctx context.Context, a Account) error {
	if a.Version == 1 || a.Overdraft.Unlimited {
		return nil // createGuards sets version 1; an account without a limit has no guards
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(maxGuardUpdates)
	var skipped error
	err := l.eachGuard(groupCtx, a.ID, func(g guard) {
		switch {
		case g.version >= a.Version:
		case groupCtx.Err() != nil: // the deadline passed, or another update failed
			skipped = groupCtx.Err()
		default:
			group.Go(func() error { return l.setGuardVersion(groupCtx, g.pair, a.Version) })
		}
	})
	return cmp.Or(group.Wait(), err, skipped)
}

func invalidChange(field, rule string) *Error {
	return &Error{
		Code: CodeInvalidChange, Detail: "The account does not allow this change.",
		Fields: []FieldError{{Field: Field{Name: field}, Rule: rule}},
	}
}

func versionMismatch(a Account) *Error {
	return &Error{Code: CodeVersionMismatch, Version: a.Version,
		Detail: "The account does not have the version in the request. Nothing was written."}
}
