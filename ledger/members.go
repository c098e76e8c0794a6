package ledger

import (
	"context"
	"errors"
	"time"

	"ledger.example/events"
	"ledger.example/ledger/table"
)

// noRole is the role of a user who was never granted one, or whose role was revoked.
const noRole events.Role = ""

// Shape returns every field of r that is out of range.
func (r GrantMember) Shape() []FieldError {
	f := faults(RevokeMember{Account: r.Account, User: r.User}.Shape())
	switch r.Role {
	case events.RoleViewer, events.RoleOperator, events.RoleOwner:
	default:
		f.add("role", "must be viewer, operator or owner")
	}
	return f
}

// Shape returns every field of r that is out of range.
func (r RevokeMember) Shape() []FieldError {
	var f faults
	f.id("account", r.Account)
	f.id("user", r.User)
	return f
}

// Grant records a role; created is true for the user's first role (also after a revocation). Errors:
// CodeInvalidRequest, CodeAccountNotFound, CodeThrottled, CodeContention, CodeUnavailable, CodeOutcomeUnknown.
func (l *Ledger) Grant(ctx context.Context, r GrantMember) (created bool, err error) {
	if fields := r.Shape(); fields != nil {
		return false, invalidRequest(fields)
	}
	return l.setRole(ctx, events.MemberGranted{Account: r.Account, User: r.User, Role: r.Role, Actor: r.Actor})
}

// Revoke records that a user has no role; it is no error when there was none. Errors: those of Grant.
func (l *Ledger) Revoke(ctx context.Context, r RevokeMember) error {
	if fields := r.Shape(); fields != nil {
		return invalidRequest(fields)
	}
	_, err := l.setRole(ctx, events.MemberGranted{Account: r.Account, User: r.User, Role: noRole, Actor: r.Actor})
	return err
}

// setRole puts the next grant of the user, or a revocation when its role is noRole, unless the newest says the same.
// Grants are numbered, and each is put on the absence of its number: a write that arrives late can't come after
// one that was made knowing a later state.
func (l *Ledger) setRole(ctx context.Context, wanted events.MemberGranted) (created bool, _ error) {
	if err := actorError(wanted.Actor); err != nil {
		return false, err
	}
	ctx, cancel := lifeOf(ctx)
	defer cancel()
	if _, err := l.Account(ctx, wanted.Account); err != nil {
		return false, err
	}
	wanted.At = l.instant()
	var last error // of the try before
	for tries := 1; ; tries++ {
		newest, err := l.newestRole(ctx, wanted.Account, wanted.User)
		switch {
		case err != nil && last != nil && ctx.Err() != nil: // it is not this read that used up the command's life
			return false, storeError(last)
		case err != nil:
			return false, storeError(err)
		case newest.Role == wanted.Role:
			return false, nil
		case newest.Number >= events.MemberNumberMax:
			return false, internalError(errors.New("numbers of grants are used up"))
		}
		wanted.Number = newest.Number + 1
		event := grantEvent(wanted)
		// What became of an unknown put is found out under its own number: the newest may be a later one by then, made
		// by somebody who saw it.
		ours, err := l.put(ctx, func(ctx context.Context) (bool, error) {
			stored, err := l.journal.PutGrant(ctx, event)
			return stored == event, err
		})
		switch {
		case err != nil:
			return false, err
		case ours:
			return newest.Role == noRole, nil
		}
		last = table.ErrConflict // somebody else's came first
		if !pause(ctx, tries) {
			return false, storeError(last)
		}
	}
}

// newestRole reads the newest grant or revocation; a revocation, and none at all, have noRole.
func (l *Ledger) newestRole(ctx context.Context, account, user string) (newest events.MemberGranted, err error) {
	var event events.Event
	err = l.read(ctx, func(ctx context.Context) (time.Time, error) {
		event, err = l.journal.NewestGrant(ctx, account, user)
		return time.Time{}, err
	})
	switch {
	case errors.Is(err, table.ErrAbsent):
		return events.MemberGranted{Account: account, User: user}, nil
	case err != nil:
		return newest, err
	}
	switch e := event.(type) {
	case events.MemberGranted:
		return e, nil
	case events.MemberRevoked:
		return events.MemberGranted{Account: e.Account, User: e.User, Role: noRole, Number: e.Number, Actor: e.Actor, At: e.At}, nil
	}
	return newest, errors.New("newest grant is neither a grant nor a revocation")
}

func grantEvent(g events.MemberGranted) events.Event {
	if g.Role == noRole {
		return events.MemberRevoked{Account: g.Account, User: g.User, Number: g.Number, Actor: g.Actor, At: g.At}
	}
	return g
}
