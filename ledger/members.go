package ledger

import (
	"context"

	"ledger.example/events"
)

// Grant records a role of a user. created is true if the user had no role there before. Errors: CodeInvalidRequest,
// CodeAccountNotFound, CodeGroupNotFound, CodeThrottled, CodeContention (which wraps store.ErrOutdated when r.By is
// outdated), CodeUnavailable, CodeOutcomeUnknown.
func (l *Ledger) Grant(ctx context.Context, r GrantMember) (created bool, err error) {
	return l.setRole(ctx, r.Shape(), r)
}

// Revoke records that a user has no role. It succeeds if the user had none. Errors: those of Grant.
func (l *Ledger) Revoke(ctx context.Context, r RevokeMember) error {
	r.Role = events.NoRole
	_, err := l.setRole(ctx, r.Shape(), GrantMember(r))
	return err
}

// setRole writes the user's next grant, or a revocation if the role is events.NoRole. It writes nothing if the newest
// grant has the same role.
func (l *Ledger) setRole(ctx context.Context, shape []FieldError, r GrantMember) (created bool, _ error) {
	c, cancel, err := startCommand(ctx, shape, r.Actor)
	if err != nil {
		return false, err
	}
	defer cancel()
	if err := l.ownerExists(c, r); err != nil {
		return false, err
	}
	wanted := events.MemberGranted{
		Account: r.Account, Group: r.Group, User: r.User, Role: r.Role, Actor: r.Actor, At: l.instant(),
	}
	var before events.Role
	put, err := l.next(c, func() (addition, error) {
		newest, err := l.newestGrant(c, r.Account, r.Group, r.User)
		if err != nil || newest.Role == r.Role {
			return addition{}, err
		}
		before, wanted.Number = newest.Role, newest.Number+1
		return addition{event: wanted, number: wanted.Number, unless: r.By.next(r.Account)}, nil
	})
	return put && before == events.NoRole, err
}

// ownerExists returns nil if the account or the group of a grant exists.
func (l *Ledger) ownerExists(ctx context.Context, g GrantMember) error {
	if g.Group == "" {
		_, err := l.KnownAccount(ctx, g.Account)
		return err
	}
	_, err := l.Group(ctx, g.Group)
	return err
}
