package ledger

import (
	"context"
	"errors"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// NewestGrant reads the role and the number of the newest grant or revocation of a user on an account, strongly
// consistent. Before the first grant, it returns events.NoRole and 0. Errors: those of package store.
func (l *Ledger) NewestGrant(ctx context.Context, account, user string) (events.Role, int64, error) {
	return newest(ctx, l, func(ctx context.Context) (events.Role, int64, error) {
		return l.journal.NewestGrant(ctx, account, user)
	})
}

// NewestGroupGrant is NewestGrant for a user in a group.
func (l *Ledger) NewestGroupGrant(ctx context.Context, group, user string) (events.Role, int64, error) {
	return newest(ctx, l, func(ctx context.Context) (events.Role, int64, error) {
		return l.journal.NewestGroupGrant(ctx, group, user)
	})
}

// NewestGroups reads the groups of an account and the number of their newest change, strongly consistent. Before the
// first change, it returns no groups and 0. Errors: those of package store.
func (l *Ledger) NewestGroups(ctx context.Context, account string) ([]string, int64, error) {
	return newest(ctx, l, func(ctx context.Context) ([]string, int64, error) {
		return l.journal.NewestGroups(ctx, account)
	})
}

// newest makes a read with retries, and turns ErrAbsent into the zero value and number 0.
func newest[T any](
	ctx context.Context, l *Ledger, read func(context.Context) (T, int64, error),
) (value T, number int64, err error) {
	err = l.read(ctx, func(ctx context.Context) (time.Time, error) {
		value, number, err = read(ctx)
		return time.Time{}, err
	})
	if errors.Is(err, store.ErrAbsent) {
		return *new(T), 0, nil
	}
	return value, number, err
}
