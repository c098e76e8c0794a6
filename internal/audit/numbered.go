package audit

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"ledger.example/internal/store"
)

// numberedCheck compares a projection with the numbered events of which it shows the newest. The projection is read
// before the events.
type numberedCheck struct {
	stored   numbered // the projection
	isStored bool
	newest   numbered // of the events
	shown    numbered // the event with the projection's number
	later    numbered // the first event that the projection does not show
}

// add adds an event, in the order of the numbers.
func (c *numberedCheck) add(n numbered) {
	c.newest = n
	switch {
	case n.Number == c.stored.Number:
		c.shown = n
	case n.Number > c.stored.Number && c.later.Number == 0:
		c.later = n
	}
}

// numberedCodes are the codes of findings about a kind of such projections.
type numberedCodes struct{ differs, withoutEvent, behind Code }

var (
	memberCodes = numberedCodes{MembershipDiffers, MembershipWithoutGrant, MembershipBehind}
	placeCodes  = numberedCodes{GroupedDiffers, GroupedWithoutChange, GroupedBehind}
)

// judgeNumbered returns the finding about the projection with that key, if it is wrong.
func (a *Audit) judgeNumbered(c numberedCheck, codes numberedCodes, key store.Key) []Finding {
	code, is, ought := codes.behind, absent, c.newest.String()
	if c.isStored {
		is = c.stored.String()
	}
	if c.newest.Number == 0 {
		ought = absent
	}
	switch {
	case c.stored.Number != c.shown.Number, c.stored.Number == 0 && c.stored.state != "":
		code = codes.withoutEvent
	case c.stored.state != c.shown.state:
		code, ought = codes.differs, c.shown.String()
	case c.stored.Number == c.newest.Number, a.isYoung(c.later.at):
		return nil
	}
	return []Finding{{code, key, "", is, ought}}
}

// checkMembers compares the memberships of an account or a group with its grants, user by user. pk is the partition key
// of the account or the group; the sort keys are the same.
func (a *Audit) checkMembers(ctx context.Context, pk string, p partition) {
	grants, members := store.Grant.Pattern, store.Membership.Pattern
	for user := p.nextID(ctx, grants, members); user != ""; user = p.nextID(ctx, grants, members) {
		key := store.Key{PK: pk, SK: store.Membership.Key("", user).SK}
		found := a.compareMember(ctx, key, p.take(members, user)(ctx), p.take(grants, user))
		a.confirm(ctx, found, func() []Finding {
			return a.compareMember(ctx, key, a.get(ctx, key), a.itemsOf(pk, store.Grant.All(user)))
		})
	}
}

// compareMember compares the membership with that key with the user's grants once. It consumes the grants.
func (a *Audit) compareMember(ctx context.Context, key store.Key, stored attributes, grants items) (found []Finding) {
	m, ok := as[membership](stored)
	readable := ok || len(stored) == 0
	c := numberedCheck{stored: m.numbered, isStored: ok}
	for item := range grants.all(ctx) {
		g, ok := as[grant](item)
		readable = readable && ok
		found = append(found, gap(GrantMissing, "grant", c.newest.Number, g.Number, keyOf(item))...)
		c.add(numbered{g.Number, g.Role, g.At})
	}
	if !readable {
		return nil // the scan reports it
	}
	return append(found, a.judgeNumbered(c, memberCodes, key)...)
}

// checkGroup compares the memberships of a group with its grants.
func (a *Audit) checkGroup(ctx context.Context, id string) {
	pk := store.Group.PK(id)
	a.checkMembers(ctx, pk, partition{families: a.families(pk, store.Grant.Pattern, store.Membership.Pattern)})
}

// checkGroups compares an account's places in groups with the changes of its groups.
func (a *Audit) checkGroups(ctx context.Context, account string, p partition) {
	places, changes := p.families[store.Grouped.Pattern].next, p.families[store.Grouping.Pattern].next
	found := a.comparePlaces(ctx, account, places, changes)
	a.confirm(ctx, found, func() []Finding {
		partition := store.Account.PK(account)
		return a.comparePlaces(ctx, account, a.itemsOf(partition, store.Grouped.All()),
			a.itemsOf(partition, store.Grouping.All()))
	})
}

// comparePlaces compares the places of an account with the changes of its groups once. It reads the places first. It
// consumes both.
func (a *Audit) comparePlaces(ctx context.Context, account string, stored, changes items) (found []Finding) {
	all, readable := make(map[string]*numberedCheck), true
	for item := range stored.all(ctx) {
		g, ok := as[grouped](item)
		readable = readable && ok
		all[g.Group] = &numberedCheck{stored: g.numbered, isStored: true}
	}
	var newest grouping
	for item := range changes.all(ctx) {
		key := keyOf(item)
		g, ok := as[grouping](item)
		readable = readable && ok
		missing := gap(GroupingMissing, "change", newest.Number, g.Number, key)
		found = append(found, missing...)
		if wanted := newest.with(g); missing == nil && !slices.Equal(g.Groups, wanted) {
			found = append(found, Finding{GroupingWrong, key, "Groups", fmt.Sprint(g.Groups), fmt.Sprint(wanted)})
		}
		newest = g
		change := numbered{Number: g.Number, at: g.At}
		if g.Added != "" {
			change.state = inGroup
		}
		if all[g.changed()] == nil {
			all[g.changed()] = new(numberedCheck)
		}
		all[g.changed()].add(change)
	}
	if !readable {
		return nil // the scan reports it
	}
	for _, group := range slices.Sorted(maps.Keys(all)) {
		found = append(found, a.judgeNumbered(*all[group], placeCodes, store.Grouped.Key(account, group))...)
	}
	return found
}

// with returns the groups of the account after the next change.
func (g grouping) with(next grouping) []string {
	groups := slices.DeleteFunc(slices.Clone(g.Groups), func(id string) bool { return id == next.Removed })
	if next.Added != "" && !slices.Contains(groups, next.Added) {
		groups = append(groups, next.Added)
	}
	slices.Sort(groups)
	return groups
}
