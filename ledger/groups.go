package ledger

import (
	"context"
	"slices"
	"strconv"

	"ledger.example/events"
)

// Group returns a group. Groups are immutable, so they are cached.
// Errors: CodeGroupNotFound, CodeThrottled, CodeUnavailable.
func (l *Ledger) Group(ctx context.Context, id string) (events.GroupRegistered, error) {
	if group, ok := l.groups.get(id); ok {
		return *group, nil
	}
	switch found, err := l.lookupValid(ctx, id, lookupKeys{group: id}); {
	case err != nil:
		return events.GroupRegistered{}, err
	case found.group == nil:
		return events.GroupRegistered{}, GroupNotFound()
	default:
		return *found.group, nil
	}
}

// GroupNotFound is the error of a request for a group that does not exist.
func GroupNotFound() *Error {
	return &Error{Code: CodeGroupNotFound, Detail: "There is no such group."}
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
	known, _ := l.groups.get(r.ID)
	stored, created, err := define(c, l, known, events.GroupRegistered(r))
	if err != nil {
		return group, false, err
	}
	l.groups.put(r.ID, stored)
	var f faults
	f.same("name", stored.Name == r.Name)
	f.same("description", stored.Description == r.Description)
	if f != nil {
		return group, false, definedOtherwise(CodeGroupExists, "group was registered", f)
	}
	return *stored, created, nil
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
			return addition{}, tooManyGroups()
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

func tooManyGroups() *Error {
	return &Error{
		Code:   CodeTooManyGroups,
		Detail: "The account is in " + strconv.Itoa(events.AccountGroupsMax) + " groups, the most that it may be in.",
	}
}
