package ledger

import (
	"context"
	"errors"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// Grant records a role; created is true for the user's first role there (also after a revocation). Errors:
// CodeInvalidRequest, CodeAccountNotFound, CodeGroupNotFound, CodeThrottled, CodeContention (it wraps store.ErrOutdated
// when r.By is), CodeUnavailable, CodeOutcomeUnknown.
func (l *Ledger) Grant(ctx context.Context, r GrantMember) (created bool, err error) {
	return l.setRole(ctx, r.Shape(), r.By, events.MemberGranted{
		Account: r.Account, Group: r.Group, User: r.User, Role: r.Role, Actor: r.Actor,
	})
}

// Revoke records that a user has no role; it is no error when there was none. Errors: those of Grant.
func (l *Ledger) Revoke(ctx context.Context, r RevokeMember) error {
	_, err := l.setRole(ctx, r.Shape(), r.By, events.MemberGranted{
		Account: r.Account, Group: r.Group, User: r.User, Role: events.NoRole, Actor: r.Actor,
	})
	return err
}

// setRole puts the next grant of the user, or a revocation when its role is events.NoRole, unless the newest says the
// same.
func (l *Ledger) setRole(
	ctx context.Context, shape []FieldError, by Standing, wanted events.MemberGranted,
) (created bool, _ error) {
	c, cancel, err := startCommand(ctx, shape, wanted.Actor)
	if err != nil {
		return false, err
	}
	defer cancel()
	if err := l.ownerExists(c, wanted); err != nil {
		return false, err
	}
	wanted.At = l.instant()
	var before events.Role
	put, err := l.putNext(c, func() (events.Event, error) {
		role, number, err := l.newestRole(c, wanted.Account, wanted.Group, wanted.User)
		switch {
		case err != nil:
			return nil, err
		case role == wanted.Role:
			return nil, nil
		}
		before, wanted.Number = role, number+1
		return wanted, nil
	}, by.next(wanted.Account)...)
	return put && before == events.NoRole, err
}

// ownerExists returns nil if there is the account or the group of a grant.
func (l *Ledger) ownerExists(ctx context.Context, g events.MemberGranted) error {
	if g.Group == "" {
		_, err := l.KnownAccount(ctx, g.Account)
		return err
	}
	if _, err := l.Group(ctx, g.Group); err != nil {
		return err
	}
	if refused := l.checkNewestForm(); refused != nil {
		return refused
	}
	return nil
}

// putNext puts the next of events that are numbered. next reads the newest of them and returns the one after it, nil
// when there is nothing to put; its error is the store's or an *Error. Each is put on the absence of its number. So a
// write that arrives late cannot follow one that was made later and saw more. Nothing is put once any of unless is
// stored: see put.
func (l *Ledger) putNext(
	c *command, next func() (events.Event, error), unless ...events.Event,
) (put bool, _ error) {
	var last error // of the attempt before
	for failed := 1; ; failed++ {
		e, err := next()
		refused, isRefused := errors.AsType[*Error](err)
		switch {
		case isRefused:
			return false, refused
		case err != nil && last != nil && c.Err() != nil: // the attempts used up the time, not this read
			return false, storeError(last)
		case err != nil:
			return false, storeError(err)
		case e == nil:
			return false, nil
		}
		// An unknown outcome is found out under the event's own number: the newest may be a later one by then, made by
		// somebody who saw this one.
		_, ours, err := l.put(c, e, unless...)
		if err != nil || ours {
			return ours, err
		}
		last = store.ErrConflict // another one came first
		if !pause(c, failed) {
			return false, storeError(last)
		}
	}
}

// newestRole reads the newest grant or revocation, in a group unless that is empty. Before the first, there is
// events.NoRole, with number 0.
func (l *Ledger) newestRole(ctx context.Context, account, group, user string) (
	role events.Role, number int64, err error,
) {
	if group != "" {
		role, number, err = l.NewestGroupGrant(ctx, group, user)
	} else {
		role, number, err = l.NewestGrant(ctx, account, user)
	}
	if err == nil && number >= events.MemberNumberMax {
		err = internalError(errors.New("numbers of grants are used up"))
	}
	return role, number, err
}
