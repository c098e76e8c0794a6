package ledger

import (
	"context"
	"fmt"
	"slices"

	"ledger.example/events"
)

// Group returns a group. Groups are immutable, so they are cached.
// Errors: CodeGroupNotFound, CodeThrottled, CodeUnavailable.
func (l *Ledger) Group(ctx context.Context, id string) (events.GroupRegistered, error) {
	if group, ok := l.groups.get(id); ok {
		return *group, nil
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
	cloneTexts(&r.ID, &r.Name, &r.Description, &r.Actor)
	r.At = l.instant()
	return define(c, l, l.groups, r.ID, events.GroupRegistered(r), func(stored events.GroupRegistered) *Error {
		return definedOtherwise(CodeGroupExists, "group was registered",
			different{"name", stored.Name != r.Name}, different{"description", stored.Description != r.Description})
	})
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
