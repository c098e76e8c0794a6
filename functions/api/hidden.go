package api

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"ledger.example/client"
	"ledger.example/functions/access"
	"ledger.example/ledger"
	"ledger.example/projections"
)

// Lists for users are without the items that name something on which the user has no role now. Neither may a cursor
// name it. So a page reads on until it ends at a position that the user may know, or it says how many items after such
// a position it ends.

// accountsListed is the most accounts on a page for a user. Each takes two queries, and one for each of its groups.
const accountsListed = 20

// examinedMost is about the most items that are read for a page in which items are hidden. It may then be short, even
// empty, before the end.
const examinedMost = 2 * accountsListed

// hiding says how a list hides items from users.
type hiding struct {
	may       bool // its items name accounts or groups
	ofAccount bool // it is under an account
	ofGroups  bool // of which it lists the groups
	most      int  // items on a page
}

// hidingOf returns how the list of an operation hides items of a type.
func hidingOf(o client.Operation, item reflect.Type) hiding {
	how := hiding{ofAccount: strings.Contains(o.Path, "{account}"), most: limitMax}
	if item.Kind() != reflect.Struct || o.May.On == client.OnLedger {
		return how
	}
	for _, f := range client.FieldsOf(item) {
		how.may = how.may || f.Names().NeedsRole()
		how.ofGroups = how.ofGroups || f.Names() == client.NamesGroup
		if f.Names() == client.NamesAccount && !how.ofAccount {
			how.most = accountsListed
		}
	}
	return how
}

// learn reads the user's rights on the accounts and groups that tell tells of, unless they are known.
func (r *request) learn(tell func(found) error) error {
	accounts, groups := make(map[string]access.Role), make(map[string]bool)
	err := tell(func(named client.Named, id string) {
		switch {
		case id == r.ids[string(named)]:
		case named == client.NamesAccount && !isRead(r.seen, id):
			accounts[id] = access.Viewer
		case named == client.NamesGroup && !isRead(r.seenGroups, id):
			groups[id] = true
		}
	})
	if err == nil && len(accounts) > 0 {
		var held, within rights
		held, within, err = r.rights(r.ctx(), accounts)
		add(&r.seen, held)
		add(&r.seenGroups, within)
	}
	maps.DeleteFunc(groups, func(id string, _ bool) bool { return isRead(r.seenGroups, id) })
	if err == nil && len(groups) > 0 {
		var within rights
		within, err = r.groupRights(r.ctx(), slices.Collect(maps.Keys(groups))...)
		add(&r.seenGroups, within)
	}
	return err
}

// isRead reports whether a right was read, even if it is none.
func isRead(held rights, id string) bool { _, ok := held[id]; return ok }

// add adds rights.
func add(to *rights, held rights) {
	if *to == nil {
		*to = make(rights, len(held))
	}
	maps.Copy(*to, held)
}

// learnPage is learn of the items of a page, and of the position after them.
func learnPage[T any](r *request, l listed, items []T, next string) error {
	return r.learn(func(found found) error {
		if next != "" {
			l.tell(next, found)
		}
		for _, item := range items {
			if err := names(reflect.ValueOf(item), true, found); err != nil {
				return err
			}
		}
		return nil
	})
}

// mayKnow reports whether the user named something in the path, or has a role on it.
func (r *request) mayKnow(named client.Named, id string) bool {
	switch {
	case id == r.ids[string(named)]:
		return true
	case named == client.NamesAccount:
		return r.seen.sees(id)
	case named == client.NamesGroup:
		return r.seenGroups.sees(id)
	}
	return true
}

// mayTell reports whether a cursor may have a position.
func (r *request) mayTell(l listed, position string) bool {
	may := true
	return l.tell(position, func(named client.Named, id string) { may = may && r.mayKnow(named, id) }) && may
}

// mayEndAt returns an error if a page of a list that hides no items ends at a position that the user may not know. This
// passes: the list is behind a change of roles.
func (r *request) mayEndAt(l listed, next string) error {
	err := learnPage[any](r, l, nil, next)
	if err == nil && !r.mayTell(l, next) {
		err = newProblem(ledger.CodeUnavailable, "The list is behind a change of roles; try again shortly.")
	}
	return err
}

// A spot in a list is a number of items after a position that the user may know.
type spot struct {
	after  string
	passed int
}

// passedMax is the most items that a cursor passes. They are read again for its page, but not the roles on them.
const passedMax = 10_000

// position returns the position of a spot.
func (p spot) position() string {
	if p.passed == 0 {
		return p.after
	}
	return p.after + " " + strconv.Itoa(p.passed)
}

// spotOf returns the spot with a position. Only lists whose positions may name something hidden have other spots
// than positions.
func (l listed) spotOf(position string) spot {
	after, text, isPast := strings.Cut(position, " ")
	if !isPast || !l.at.needRole() {
		return spot{after: position}
	}
	passed, _ := strconv.Atoi(text)
	return spot{after, passed}
}

// A pageReader reads a page of a list, and where to continue.
type pageReader[T any] = func(projections.Slice) (page client.List[T], next string, err error)

// pass passes the items before a slice that begins at a spot. isEnd reports whether the list ends before it.
func pass[T any](from spot, s *projections.Slice, read pageReader[T]) (isEnd bool, err error) {
	before := *s
	for before.After = from.after; from.passed > 0; {
		before.Limit = min(from.passed, limitMax)
		page, next, err := read(before)
		if err != nil || next == "" {
			return true, err
		}
		before.After, from.passed = next, from.passed-len(page.Data)
	}
	s.After = before.After
	return false, nil
}

// visiblePage returns a page of what a user may see, of a slice that begins at a spot. It reads on until the page is
// full, the list ends, or examinedMost items are read. A list of what others have to do with an account ends where that
// ends which the user may see. Another list may have an empty page at its end.
func visiblePage[T any](
	r *request, l listed, how hiding, begin spot, s projections.Slice, read pageReader[T],
) (all client.List[T], err error) {
	limit, at, end := s.Limit, begin, begin
	all.Data = []T{}
	for examined := 0; examined < examinedMost; {
		page, next, err := read(s)
		if err == nil {
			err = learnPage(r, l, page.Data, next)
		}
		if err != nil {
			return all, err
		}
		missing := limit - len(all.Data)
		visible, fitting := visibleItems(r, page.Data, missing)
		examined += max(1, len(page.Data))
		if missing > 0 && fitting < len(page.Data) { // once more, up to the last one that fits
			s.Limit = fitting
			continue
		}
		if missing == 0 && len(visible) > 0 {
			break // there is more
		}
		all.Data = append(all.Data, visible...)
		if next == "" {
			return all, nil
		}
		at.passed += len(page.Data)
		if r.mayTell(l, next) {
			at = spot{after: next}
		}
		isHiding := len(visible) < len(page.Data) || at.passed > 0
		isForeign := how.ofAccount && (how.ofGroups || len(r.seen)+len(r.seenGroups) > 0)
		if missing > 0 {
			end = at
		}
		if isFull := len(all.Data) == limit; !isForeign && (isFull || !isHiding) {
			break
		}
		s.After, s.Limit = next, max(1, limit-len(all.Data))
		if len(visible) == 0 {
			s.Limit = accountsListed
		}
	}
	if end == begin || end.passed > passedMax {
		return all, errHidden
	}
	all.NextCursor = new(l.cursor(end.position()))
	return all, nil
}

// errHidden is the error of a list in which too many items in a row are hidden.
var errHidden = fmt.Errorf("more than %d items in a row are hidden: give the list positions that are no ids", passedMax)

// visibleItems returns the first items that name only what the user may know, at most a number, and how many items of
// the page they take. If they are fewer, they take the whole page.
func visibleItems[T any](r *request, items []T, most int) (visible []T, fitting int) {
	for i, item := range items {
		isVisible := true
		_ = names(reflect.ValueOf(item), true, func(named client.Named, id string) {
			isVisible = isVisible && r.mayKnow(named, id)
		})
		if isVisible {
			visible = append(visible, item)
		}
		if len(visible) == most && most > 0 {
			return visible, i + 1
		}
	}
	return visible, len(items)
}
