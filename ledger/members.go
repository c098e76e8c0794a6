package ledger

import (
	"context"
	"errors"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// noRole is the role of a user who was never granted one, or whose role was revoked.
const noRole events.Role = ""

// Grant records a role; created is true for the user's first role (also after a revocation). Errors:
// CodeInvalidRequest, CodeAccountNotFound, CodeThrottled, CodeContention, CodeUnavailable, CodeOutcomeUnknown.
func (l *Ledger) Grant(ctx context.Context, r GrantMember) (created bool, err error) {
	wanted := events.MemberGranted{Account: r.Account, User: r.User, Role: r.Role, Actor: r.Actor}
	return l.setRole(ctx, r.Shape(), wanted)
}

// Revoke records that a user has no role; it is no error when there was none. Errors: those of Grant.
func (l *Ledger) Revoke(ctx context.Context, r RevokeMember) error {
	wanted := events.MemberGranted{Account: r.Account, User: r.User, Role: noRole, Actor: r.Actor}
	_, err := l.setRole(ctx, r.Shape(), wanted)
	return err
}

// setRole puts the next grant of the user, or a revocation when its role is noRole, unless the newest says the same.
// Grants are numbered, and each is put on the absence of its number. So a write that arrives late cannot follow one
// that was made later and saw more.
func (l *Ledger) setRole(ctx context.Context, shape []FieldError, wanted events.MemberGranted) (created bool, _ error) {
	c, cancel, err := startCommand(ctx, shape, wanted.Actor)
	if err != nil {
		return false, err
	}
	defer cancel()
	if _, err := l.KnownAccount(c, wanted.Account); err != nil {
		return false, err
	}
	wanted.At = l.instant()
	var last error // of the attempt before
	for failed := 1; ; failed++ {
		role, number, err := l.newestRole(c, wanted.Account, wanted.User)
		switch {
		case err != nil && last != nil && c.Err() != nil: // the attempts used up the time, not this read
			return false, storeError(last)
		case err != nil:
			return false, storeError(err)
		case role == wanted.Role:
			return false, nil
		case number >= events.MemberNumberMax:
			return false, internalError(errors.New("numbers of grants are used up"))
		}
		wanted.Number = number + 1
		// An unknown outcome is found out under the grant's own number: the newest may be a later one by then, made by
		// somebody who saw this one.
		_, ours, err := l.put(c, grantEvent(wanted))
		switch {
		case err != nil:
			return false, err
		case ours:
			return role == noRole, nil
		}
		last = store.ErrConflict // another grant came first
		if !pause(c, failed) {
			return false, storeError(last)
		}
	}
}

// newestRole reads the newest grant or revocation. Before the first, there is noRole, with number 0.
func (l *Ledger) newestRole(ctx context.Context, account, user string) (role events.Role, number int64, err error) {
	err = l.read(ctx, func(ctx context.Context) (time.Time, error) {
		role, number, err = l.journal.NewestGrant(ctx, account, user)
		return time.Time{}, err
	})
	if errors.Is(err, store.ErrAbsent) {
		return noRole, 0, nil
	}
	return role, number, err
}

func grantEvent(g events.MemberGranted) events.Event {
	if g.Role == noRole {
		return events.MemberRevoked{Account: g.Account, User: g.User, Number: g.Number, Actor: g.Actor, At: g.At}
	}
	return g
}
