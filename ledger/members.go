package ledger

import (
	"context"
	"errors"

	"ledger.example/events"
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
	put, err := l.next(c, func() (addition, error) {
		role, number, err := l.newestRole(c, wanted.Account, wanted.Group, wanted.User)
		if err != nil || role == wanted.Role {
			return addition{}, err
		}
		before, wanted.Number = role, number+1
		return addition{event: wanted, unless: by.next(wanted.Account)}, nil
	})
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
