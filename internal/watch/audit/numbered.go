package audit

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"ledger.example/internal/table"
)

// numberedKind is a kind of projection: each item shows the newest of some numbered events. This file has all that the
// audit knows of such projections, but for the types of their events.
type numberedKind struct {
	items []kind         // of an account and, if groups have such items, too, of a group
	event *table.Pattern // of the events, in the partition of the items
	byID  bool           // the SKs of an item and of its events begin with the same id
	codes numberedCodes
	// of returns the part in the SK of the item that an event makes, "" if it has none, and what the item must show.
	of func(event any) (part string, is numbered)
	// follows compares an event with the one before, nil for the first. nil: there is nothing to compare.
	follows func(before, event any, key table.Key) []Finding
}

// numberedKinds are these projections. A new one is a row here and the type of its items.
var numberedKinds = []*numberedKind{
	{
		items: []kind{
			kindOf[membership](table.Membership.Pattern, "Account", "User"),
			kindOf[membership](table.GroupMembership.Pattern, "Group", "User"),
		},
		event: table.Grant.Pattern, byID: true, codes: newNumbered("membership", "grant", "a membership"),
		of: func(event any) (string, numbered) {
			g := event.(grant)
			return g.User, numbered{g.Number, g.Role, grantedBy(g.Actor, g.At), g.At}
		},
		follows: func(before, event any, key table.Key) []Finding {
			was, _ := before.(grant)
			return gap(GrantMissing, "grant", was.Number, event.(grant).Number, key)
		},
	},
	{
		items: []kind{kindOf[grouped](table.Grouped.Pattern, "Account", "Group")},
		event: table.Grouping.Pattern, codes: newNumbered("grouped", "change", "a place in a group"),
		of: func(event any) (string, numbered) {
			g := event.(grouping)
			if g.Added == "" {
				return g.Removed, numbered{g.Number, "", "", g.At}
			}
			return g.Added, numbered{g.Number, inGroup, "", g.At}
		},
		follows: func(before, event any, key table.Key) []Finding {
			was, _ := before.(grouping)
			is := event.(grouping)
			missing, wanted := gap(GroupingMissing, "change", was.Number, is.Number, key), was.with(is)
			if missing == nil && !slices.Equal(is.Groups, wanted) {
				return []Finding{{GroupingWrong, key, "Groups", fmt.Sprint(is.Groups), fmt.Sprint(wanted)}}
			}
			return missing
		},
	},
}

// numbered is a state as a numbered event sets it, and as an item of its projection shows it. The types of items embed
// it.
type numbered struct {
	Number int64     `is:"shown"` // of the event; 0: there is none
	state  string    // for example a role; "": none
	by     string    // who set it, and when; "" if items do not show it
	at     time.Time // of an event
}

func (n numbered) shown() numbered { return n }

const inGroup = "in the group"

func (n numbered) String() string {
	text := fmt.Sprintf("%s, by number %d", cmp.Or(n.state, "none"), n.Number)
	if n.by != "" {
		text += ", " + n.by
	}
	return text
}

// grantedBy returns who granted a role, and when.
func grantedBy(actor string, at time.Time) string {
	return actor + " at " + at.UTC().Format(instantForm)
}

// membership has the number and the role of a user's newest grant, with its actor and its time. The role is "" after a
// revocation. One of a group does not name the group. It has an index key while it has a role.
type membership struct {
	Account string `is:"+id"`
	User    string `is:"id"`
	Role    string `is:"role?"`

	GrantedBy string    `is:"actor?"`
	GrantedAt time.Time `is:"instant?"`
	numbered
}

func (m *membership) check(r *reader) {
	if m.state = m.Role; r.has(table.AttrGrantedBy) || r.has(table.AttrGrantedAt) {
		m.by = grantedBy(m.GrantedBy, m.GrantedAt)
	}
}

func (m *membership) index(r *reader) (sk2, pk2 string) {
	if r.has(table.AttrRole) {
		pk2 = table.Membership.PK2(m.User)
	}
	return "", pk2
}

// grouped is an account's place in a group: whether the account is in the group after a change of its groups. It has an
// index key only while the account is in the group.
type grouped struct {
	Account string `is:"id"`
	Group   string `is:"-id"`
	numbered
}

func (g *grouped) check(r *reader) {
	if r.has(table.AttrPK2) {
		g.state = inGroup
	}
}

func (g *grouped) index(*reader) (sk2, pk2 string) {
	if g.state == inGroup {
		pk2 = table.Grouped.PK2(g.Group)
	}
	return "", pk2
}

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

// newNumbered returns new codes. name and event are in their names, item and event in their meanings.
func newNumbered(name, event, item string) (all numberedCodes) {
	add := func(code, meaning string, isBehind bool) Code {
		ofNumbered = append(ofNumbered, CodeMeaning{
			Code: Code(code), Meaning: item + " " + meaning, IsBehind: isBehind, IsProjected: true, IsNumbered: true,
		})
		return Code(code)
	}
	all.differs = add(name+"_differs", "that differs from the "+event+" with its number", false)
	all.withoutEvent = add(name+"_without_"+event, "whose "+event+" does not exist, or is not about it", false)
	all.behind = add(name+"_behind", "that does not show its newest "+event, true)
	return all
}

// judgeNumbered returns the finding about the projection with that key, if it is wrong.
func (a *Audit) judgeNumbered(c numberedCheck, codes numberedCodes, key table.Key) []Finding {
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
	case c.stored.state != c.shown.state, c.stored.by != c.shown.by && c.stored.by != "":
		code, ought = codes.differs, c.shown.String()
	case c.stored.by != c.shown.by && !a.isYoung(c.shown.at): // a projector wrote it that does not know of it
		ought = c.shown.String()
	case c.stored.Number == c.newest.Number, a.isYoung(c.later.at):
		return nil
	}
	return []Finding{{code, key, "", is, ought}}
}

// families returns the items and the events of a kind in a partition. An event may be of several kinds.
func (k *numberedKind) families(a *Audit, pk string) map[*table.Pattern]*family {
	return a.families(pk, k.items[0].pattern, k.event)
}

// checkNumbered compares the items of a kind, in the partition of an account or a group, with their events: those of
// each id, or all together.
func (a *Audit) checkNumbered(ctx context.Context, k *numberedKind, pk string, p partition) {
	of := k.items[0].pattern
	if !k.byID {
		found := a.compareNumbered(ctx, k, pk, p.families[of].next, p.families[k.event].next)
		a.confirm(ctx, found, func() []Finding {
			return a.compareNumbered(ctx, k, pk, a.itemsOf(pk, of.All()), a.itemsOf(pk, k.event.All()))
		})
		return
	}
	for id := p.nextID(ctx, k.event, of); id != ""; id = p.nextID(ctx, k.event, of) {
		found := a.compareNumbered(ctx, k, pk, p.take(of, id), p.take(k.event, id))
		a.confirm(ctx, found, func() []Finding {
			only := table.Range{From: of.SK(id), To: of.SK(id)}
			return a.compareNumbered(ctx, k, pk, a.itemsOf(pk, only), a.itemsOf(pk, k.event.All(id)))
		})
	}
}

// compareNumbered compares items of a kind with their events once. It reads the items first. It consumes both.
func (a *Audit) compareNumbered(ctx context.Context, k *numberedKind, pk string, stored, events items) (
	found []Finding,
) {
	all, readable := make(map[table.Key]*numberedCheck), true
	for item := range stored.all(ctx) {
		value, _ := decode(item)
		is, ok := value.(interface{ shown() numbered })
		if readable = readable && ok; ok {
			all[keyOf(item)] = &numberedCheck{stored: is.shown(), isStored: true}
		}
	}
	var before any
	for item := range events.all(ctx) {
		event, _ := decode(item)
		if event == nil {
			readable = false
			continue
		}
		if k.follows != nil {
			found = append(found, k.follows(before, event, keyOf(item))...)
		}
		before = event
		part, is := k.of(event)
		key := table.Key{PK: pk, SK: k.items[0].pattern.Prefix() + part}
		if all[key] == nil {
			all[key] = new(numberedCheck)
		}
		all[key].add(is)
	}
	if !readable {
		return nil // the scan reports it
	}
	for _, key := range slices.SortedFunc(maps.Keys(all), compareKeys) {
		found = append(found, a.judgeNumbered(*all[key], k.codes, key)...)
	}
	return found
}

// checkGroup compares the items of a group with its events.
func (a *Audit) checkGroup(ctx context.Context, id string) {
	for _, k := range numberedKinds {
		if pk := table.Group.PK(id); len(k.items) > 1 {
			a.checkNumbered(ctx, k, pk, partition{families: k.families(a, pk)})
		}
	}
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
