package audit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"ledger.example/internal/table"
)

// checkGroups compares an account's places in groups with the changes of its groups.
func (a *Audit) checkGroups(ctx context.Context, account string, p partition) {
	if len(a.grouped(ctx, account, p.families[places].next, p.families[groupings].next)) == 0 {
		return
	}
	a.confirm(ctx, memberRounds, memberPause, func() []Finding {
		partition := table.AccountKey(account).PK
		return a.grouped(ctx, account, a.itemsOf(partition, table.GroupedRange("")),
			a.itemsOf(partition, table.GroupingsFrom(1)))
	})
}

// groupPlace is an account's place in a group, with what the changes say of it.
type groupPlace struct {
	grouped
	isStored bool
	shown    *grouping // the change that it shows
	unshown  time.Time // of the first change of it after that; zero: there is none
}

// grouped compares the places of an account with its changes of groups, which are read after them, in the order of
// their numbers. It reads all of both.
func (a *Audit) grouped(ctx context.Context, account string, stored, changes items) (found []Finding) {
	all, readable := make(map[string]*groupPlace), true
	for item := range stored.all(ctx) {
		g, can := as[grouped](item)
		readable = readable && can
		all[g.group] = &groupPlace{grouped: g, isStored: true}
	}
	var newest grouping
	for item := range changes.all(ctx) {
		key := keyOf(item)
		_, number, _ := table.ParseGrouping(key)
		g, can := as[grouping](item)
		readable = readable && can
		if missing := newest.number + 1; missing < number { // one finding for a gap, by its first number
			found = append(found, Finding{GroupingMissing, table.GroupingKey(account, missing), "", absent,
				"a change: there is one of number " + strconv.FormatInt(number, 10)})
		} else if wanted := newest.with(g); !slices.Equal(g.groups, wanted) {
			found = append(found, Finding{GroupingWrong, key, "Groups", fmt.Sprint(g.groups), fmt.Sprint(wanted)})
		}
		newest = g
		if all[g.changed()] == nil {
			all[g.changed()] = &groupPlace{grouped: grouped{account: account, group: g.changed()}}
		}
		for _, p := range all {
			if p.number == number {
				p.shown = &g
			}
		}
		if p := all[g.changed()]; p.number < number && p.unshown.IsZero() {
			p.unshown = g.at
		}
	}
	if !readable {
		return nil // the scan reports it
	}
	for _, group := range slices.Sorted(maps.Keys(all)) {
		found = append(found, a.judgePlace(*all[group], newest)...)
	}
	return found
}

// with returns the groups of an account after the next change of them.
func (g grouping) with(next grouping) []string {
	groups := slices.DeleteFunc(slices.Clone(g.groups), func(id string) bool { return id == next.removed })
	if next.added != "" && !slices.Contains(groups, next.added) {
		groups = append(groups, next.added)
	}
	slices.Sort(groups)
	return groups
}

// judgePlace compares one place with the changes of its account's groups.
func (a *Audit) judgePlace(p groupPlace, newest grouping) []Finding {
	is, ought := absent, placeText(newest.number, slices.Contains(newest.groups, p.group))
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
	return []Finding{{code, table.GroupedKey(p.account, p.group), "", is, ought}}
}

func placeText(number int64, in bool) string {
	if in {
		return fmt.Sprintf("in the group, by change %d", number)
	}
	return fmt.Sprintf("not in the group, by change %d", number)
}

// checkGroup compares the memberships of a group with its grants.
func (a *Audit) checkGroup(ctx context.Context, id string) {
	p := partition{families: make(map[string]*family)}
	for _, prefix := range []string{grants, members} {
		p.families[prefix] = &family{prefix, stream{audit: a, of: stretch{
			partition: table.GroupKey(id).PK, within: table.Range{From: prefix, To: prefix + last},
		}}}
	}
	a.checkMembers(ctx, owner{group: id}, p)
}

// group looks up a group that the item at key by names. One without a registration is reported once, and its members
// are checked all the same.
func (a *Audit) group(ctx context.Context, id string, by table.Key) {
	k := table.GroupKey(id)
	if _, isMissing := a.definition(ctx, k); isMissing {
		a.report(ctx, Finding{GroupMissing, k, "", absent, "a group: " + by.PK + " " + by.SK + " is in it"})
		a.checkGroup(ctx, id)
	}
}
