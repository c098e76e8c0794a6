package ledger

import (
	"context"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// NewestGrant reads the role and the number of the newest grant or revocation of a user on an account, strongly
// consistent. Before the first grant, it returns events.NoRole and 0. Errors: those of package store.
func (l *Ledger) NewestGrant(ctx context.Context, account, user string) (events.Role, int64, error) {
	g, err := l.newestGrant(ctx, account, "", user)
	return g.Role, g.Number, err
}

// NewestGroupGrant is NewestGrant for a user in a group.
func (l *Ledger) NewestGroupGrant(ctx context.Context, group, user string) (events.Role, int64, error) {
	g, err := l.newestGrant(ctx, "", group, user)
	return g.Role, g.Number, err
}

// newestGrant reads the newest grant or revocation of a user: in group, or on account if group is empty.
func (l *Ledger) newestGrant(ctx context.Context, account, group, user string) (events.MemberGranted, error) {
	partition := store.Account.PK(account)
	if group != "" {
		partition = store.Group.PK(group)
	}
	return newest[events.MemberGranted](ctx, l, partition, store.Grant.All(user))
}

// NewestGroups reads the groups of an account and the number of their newest change, strongly consistent. Before the
// first change, it returns no groups and 0. Errors: those of package store.
func (l *Ledger) NewestGroups(ctx context.Context, account string) ([]string, int64, error) {
	g, err := newest[events.AccountGrouped](ctx, l, store.Account.PK(account),
		store.Grouping.All().Since(store.Number(1)))
	return g.Groups, g.Number, err
}
