package ledger

import (
	"context"
	"errors"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// Grant records a role of a user. created is true if the user had no role there before. Errors: CodeInvalidRequest,
// CodeAccountNotFound, CodeGroupNotFound, CodeThrottled, CodeContention (which wraps store.ErrOutdated when r.By is
// outdated), CodeUnavailable, CodeOutcomeUnknown.
func (l *Ledger) Grant(ctx context.Context, r GrantMember) (created bool, err error) {
	return l.setRole(ctx, r.Shape(), r.By, events.MemberGranted{
		Account: r.Account, Group: r.Group, User: r.User, Role: r.Role, Actor: r.Actor,
	})
}

// Revoke records that a user has no role. It succeeds if the user had none. Errors: those of Grant.
func (l *Ledger) Revoke(ctx context.Context, r RevokeMember) error {
	_, err := l.setRole(ctx, r.Shape(), r.By, events.MemberGranted{
		Account: r.Account, Group: r.Group, User: r.User, Role: events.NoRole, Actor: r.Actor,
	})
	return err
}

// setRole writes the user's next grant, or a revocation if the role is events.NoRole. It writes nothing if the newest
// grant has the same role.
func (l *Ledger) setRole(
	ctx context.Context, shape []FieldError, by Authority, wanted events.MemberGranted,
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

// ownerExists returns nil if the account or the group of a grant exists.
func (l *Ledger) ownerExists(ctx context.Context, g events.MemberGranted) error {
	if g.Group == "" {
		_, err := l.KnownAccount(ctx, g.Account)
		return err
	}
	_, err := l.Group(ctx, g.Group)
	return err
}

// putNext writes the next event of a numbered series. next reads the newest event and returns the following one, or nil
// if there is nothing to write. Its error is the store's or an *Error. Each number is written once, so a delayed write
// cannot overwrite a newer one. Nothing is written if any of unless is stored: see put.
func (l *Ledger) putNext(c *command, next func() (events.Event, error), unless ...events.Event) (put bool, _ error) {
	var last error // of the attempt before
	for failed := 1; ; failed++ {
		e, err := next()
		refused, isRefused := errors.AsType[*Error](err)
		switch {
		case isRefused:
			return false, refused
		case err != nil && last != nil && c.Err() != nil: // the earlier attempts used up the time, not this read
			return false, storeError(last)
		case err != nil:
			return false, storeError(err)
		case e == nil:
			return false, nil
		}
		// put resolves an unknown outcome by the event's own number. The newest event may have a later number by then.
		_, ours, err := l.put(c, e, unless...)
		if err != nil || ours {
			return ours, err
		}
		last = store.ErrConflict // another event has the number
		if !pause(c, failed) {
			return false, storeError(last)
		}
	}
}

// newestRole reads the role and number of a user's newest grant: in group, or on account if group is empty. Before the
// first grant, it returns events.NoRole and 0.
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
