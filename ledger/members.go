package ledger

import (
	"context"

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
		newest, err := l.newestGrant(c, wanted.Account, wanted.Group, wanted.User)
		if err != nil || newest.Role == wanted.Role {
			return addition{}, err
		}
		before, wanted.Number = newest.Role, newest.Number+1
		return addition{event: wanted, number: wanted.Number, unless: by.next(wanted.Account)}, nil
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
