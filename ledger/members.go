package ledger

import (
	"context"
	"fmt"
	"slices"

	"ledger.example/events"
	"ledger.example/internal/table"
)

// Grant records a role of a user. created is true if the user had no role there before. Errors: CodeInvalidRequest,
// CodeAccountNotFound, CodeGroupNotFound, CodePreconditionFailed, CodeThrottled, CodeContention (which wraps
// table.ErrOutdated when r.By is outdated), CodeUnavailable, CodeOutcomeUnknown.
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
	if r.Group == "" {
		_, err = l.KnownAccount(c, r.Account)
	} else {
		_, err = l.Group(c, r.Group)
	}
	if err != nil {
		return false, err
	}
	wanted := events.MemberGranted{
		Account: r.Account, Group: r.Group, User: r.User, Role: r.Role, Actor: r.Actor, At: l.instant(),
	}
	var before events.Role
	put, err := l.next(c, func() (addition, error) {
		newest, err := l.newestGrant(c, r.Account, r.Group, r.User)
		switch {
		case err != nil:
			return addition{}, err
		case r.IfAbsent && newest.Role != events.NoRole:
			return addition{}, PreconditionFailed()
		case newest.Role == r.Role:
			return addition{}, nil
		}
		before, wanted.Number = newest.Role, newest.Number+1
		return addition{event: wanted, number: wanted.Number, unless: r.By.next(r.Account)}, nil
	})
	return put && before == events.NoRole, err
}

// Group returns a group. Groups are immutable, so they are cached.
// Errors: CodeGroupNotFound, CodeThrottled, CodeUnavailable.
func (l *Ledger) Group(ctx context.Context, id string) (events.GroupRegistered, error) {
	if group, ok := l.groups.get(id); ok {
		return group, nil
	}
	found, err := l.lookupValid(ctx, id, lookupKeys{group: id})
	return definition(found.group, err, GroupNotFound())
}

// RegisterGroup registers a group. created is false if it was registered before with the same body.
// Errors: CodeInvalidRequest, CodeGroupExists, CodeThrottled, CodeContention, CodeUnavailable, CodeOutcomeUnknown,
// CodeInternal.
func (l *Ledger) RegisterGroup(
	ctx context.Context, r RegisterGroup,
) (group events.GroupRegistered, created bool, err error) {
	c, cancel, err := startCommand(ctx, r.Shape(), r.Actor)
	if err != nil {
		return group, false, err
	}
	defer cancel()
	cloneTexts(&r)
	r.At = l.instant()
	return define(c, l, l.groups, r.ID, events.GroupRegistered(r), CodeGroupExists, "group was registered")
}

// GroupAccount adds an account to a group or removes it. It returns all groups of the account after that, sorted.
// changed is false if there was nothing to add or remove. Errors: CodeInvalidRequest, CodeGroupNotFound,
// CodeAccountNotFound, CodeTooManyGroups, CodeThrottled, CodeContention, CodeUnavailable, CodeOutcomeUnknown.
func (l *Ledger) GroupAccount(ctx context.Context, r GroupAccount) (groups []string, changed bool, err error) {
	c, cancel, err := startCommand(ctx, r.Shape(), r.Actor)
	if err != nil {
		return nil, false, err
	}
	defer cancel()
	if _, err := l.Group(c, r.Group); err != nil {
		return nil, false, err
	}
	if _, err := l.KnownAccount(c, r.Account); err != nil {
		return nil, false, err
	}
	e := events.AccountGrouped{Account: r.Account, Actor: r.Actor, At: l.instant()}
	changed, err = l.next(c, func() (addition, error) {
		var number int64
		if groups, number, err = l.NewestGroups(c, r.Account); err != nil {
			return addition{}, err
		}
		at, found := slices.BinarySearch(groups, r.Group)
		switch {
		case found != r.Out:
			return addition{}, nil
		case r.Out:
			e.Removed = r.Group
			groups = slices.Delete(groups, at, at+1)
		case len(groups) >= events.AccountGroupsMax:
			return addition{}, refuse(CodeTooManyGroups, fmt.Sprintf(
				"The account is in %d groups, the most that it may be in.", events.AccountGroupsMax))
		default:
			e.Added = r.Group
			groups = slices.Insert(groups, at, r.Group)
		}
		if e.Number, e.Groups = number+1, groups; len(groups) == 0 {
			e.Groups = nil // as it is read back
		}
		return addition{event: e, number: e.Number}, nil
	})
	if err != nil {
		return nil, false, err
	}
	return groups, changed, nil
}

// NewestGrant reads the role and the number of the newest grant or revocation of a user on an account, strongly
// consistent. Before the first grant, it returns events.NoRole and 0. Errors: those of package table.
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
	partition := table.Account.PK(account)
	if group != "" {
		partition = table.Group.PK(group)
	}
	return newest[events.MemberGranted](ctx, l, partition, table.Grant.All(user))
}

// NewestGroups reads the groups of an account and the number of their newest change, strongly consistent. Before the
// first change, it returns no groups and 0. Errors: those of package table.
func (l *Ledger) NewestGroups(ctx context.Context, account string) ([]string, int64, error) {
	g, err := newest[events.AccountGrouped](ctx, l, table.Account.PK(account),
		table.Grouping.All().Since(table.Number(1)))
	return g.Groups, g.Number, err
}
