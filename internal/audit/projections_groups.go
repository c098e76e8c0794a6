package audit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"ledger.example/internal/store"
)

// checkGroups compares an account's places in groups with the changes of its groups.
func (a *Audit) checkGroups(ctx context.Context, account string, p partition) {
	found := a.comparePlaces(ctx, account, p.families[placePrefix].next, p.families[groupingPrefix].next)
	a.confirm(ctx, found, func() []Finding {
		partition := store.Account.PK(account)
		return a.comparePlaces(ctx, account, a.itemsOf(partition, store.Grouped.All()),
			a.itemsOf(partition, store.Grouping.All()))
	})
}

// groupPlace is an account's place in a group, with the changes that concern it.
type groupPlace struct {
	grouped
	isStored bool
	newest   grouping  // of the changes that name the group
	shown    *grouping // the one with the number of the place
	unshown  time.Time // time of the first later change of the place; zero: there is none
}

// comparePlaces compares the places of an account with the changes of its groups once. It reads the places first. It
// consumes both.
func (a *Audit) comparePlaces(ctx context.Context, account string, stored, changes items) (found []Finding) {
	all, readable := make(map[string]*groupPlace), true
	for item := range stored.all(ctx) {
		g, ok := as[grouped](item)
		readable = readable && ok
		all[g.group] = &groupPlace{grouped: g, isStored: true}
	}
	var newest grouping
	for item := range changes.all(ctx) {
		key := keyOf(item)
		g, ok := as[grouping](item)
		readable = readable && ok
		missing := gap(GroupingMissing, "change", newest.number, g.number, key)
		found = append(found, missing...)
		if wanted := newest.with(g); missing == nil && !slices.Equal(g.groups, wanted) {
			found = append(found, Finding{GroupingWrong, key, "Groups", fmt.Sprint(g.groups), fmt.Sprint(wanted)})
		}
		newest = g
		if all[g.changed()] == nil {
			all[g.changed()] = &groupPlace{grouped: grouped{account: account, group: g.changed()}}
		}
		p := all[g.changed()]
		p.newest = g
		switch {
		case p.number == g.number:
			p.shown = &g
		case p.number < g.number && p.unshown.IsZero():
			p.unshown = g.at
		}
	}
	if !readable {
		return nil // the scan reports it
	}
	for _, group := range slices.Sorted(maps.Keys(all)) {
		found = append(found, a.judgePlace(*all[group])...)
	}
	return found
}

// with returns the groups of the account after the next change.
func (g grouping) with(next grouping) []string {
	groups := slices.DeleteFunc(slices.Clone(g.groups), func(id string) bool { return id == next.removed })
	if next.added != "" && !slices.Contains(groups, next.added) {
		groups = append(groups, next.added)
	}
	slices.Sort(groups)
	return groups
}

// judgePlace compares a place with the changes that name its group.
func (a *Audit) judgePlace(p groupPlace) []Finding {
	is, ought := absent, placeText(p.newest.number, slices.Contains(p.newest.groups, p.group))
	if p.isStored {
		is = placeText(p.number, p.in)
	}
	code := GroupedBehind
	switch {
	case p.number > 0 && p.shown == nil, p.number == 0 && p.in:
		code = GroupedWithoutChange
	case p.number > 0 && slices.Contains(p.shown.groups, p.group) != p.in:
		code, ought = GroupedDiffers, placeText(p.number, !p.in)
	case p.unshown.IsZero(), a.isYoung(p.unshown):
		return nil
	}
	return []Finding{{code, store.Grouped.Key(p.account, p.group), "", is, ought}}
}

func placeText(number int64, in bool) string {
	if in {
		return fmt.Sprintf("in the group, by change %d", number)
	}
	return fmt.Sprintf("not in the group, by change %d", number)
}

// checkGroup compares the memberships of a group with its grants.
func (a *Audit) checkGroup(ctx context.Context, id string) {
	pk := store.Group.PK(id)
	a.checkMembers(ctx, pk, partition{families: map[string]*family{
		grantPrefix: a.family(pk, grantPrefix), memberPrefix: a.family(pk, memberPrefix)}})
}
