package api

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	"ledger.example/client"
	"ledger.example/functions/access"
	"ledger.example/ledger"
	"ledger.example/projections"
)

// Lists for users are without the items that name something on which the user has no role now. Neither may a cursor
// name it. So a page reads on until it ends at a position that the user may know.

// accountsListed is the most accounts on a page for a user. Each takes two queries, and one for each of its groups.
const accountsListed = 20

// examinedMost is about the most items that are read for a page in which items are hidden. It may then be short before
// the end of the list.
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

// mayEndAt returns an error if a page ends at a position that the user may not know.
func (r *request) mayEndAt(l listed, next string) error {
	if err := learnPage[any](r, l, nil, next); err != nil {
		return err
	}
	if !r.mayTell(l, next) {
		return behind("a page ends at a position that is hidden")
	}
	return nil
}

// behind returns the problem of a page that cannot end. If the list lags behind a change of roles, that passes.
func behind(cause string) *problem {
	p := newProblem(ledger.CodeUnavailable, "The list is behind a change of roles; try again shortly.")
	p.cause = errors.New(cause)
	return p
}

// A pageReader reads a page of a list, and where to continue.
type pageReader[T any] = func(projections.Slice) (page client.List[T], next string, err error)

// A visibleSlice has the items of a slice that a user may see.
type visibleSlice[T any] struct {
	items    []T
	examined int    // items of the slice
	next     string // where to continue
	mayTell  bool   // the user may know that
}

// readVisible reads a slice, and what it has for a user, which is at most a number of items. If it has more, or if the
// user may not know its end, it is read again, up to the last of these items.
func readVisible[T any](
	r *request, l listed, s projections.Slice, most int, read pageReader[T],
) (is visibleSlice[T], err error) {
	page, next, err := read(s)
	if err == nil {
		err = learnPage(r, l, page.Data, next)
	}
	if err != nil {
		return is, err
	}
	is = visibleSlice[T]{nil, len(page.Data), next, r.mayTell(l, next)}
	upTo := 0
	for i, item := range page.Data {
		isVisible := len(is.items) < most
		_ = names(reflect.ValueOf(item), true, func(named client.Named, id string) {
			isVisible = isVisible && r.mayKnow(named, id)
		})
		if isVisible {
			is.items, upTo = append(is.items, item), i+1
		}
	}
	if upTo > 0 && upTo < s.Limit && upTo < is.examined && (len(is.items) == most || !is.mayTell) {
		s.Limit = upTo
		return readVisible(r, l, s, most, read)
	}
	return is, nil
}

// visiblePage returns a page of what a user may see. It reads on until the page is full, the list ends, or examinedMost
// items are read; limitMax, if all are hidden and so are their positions. A list of what others have to do with an
// account ends where that ends which the user may see. Another list may have an empty page at its end.
func visiblePage[T any](
	r *request, l listed, how hiding, s projections.Slice, read pageReader[T],
) (all client.List[T], err error) {
	limit, begin, end := s.Limit, s.After, s.After // end is the last position that the user may know
	all.Data = []T{}
	for examined := 0; examined < examinedMost || end == begin && examined < limitMax; {
		isFull := len(all.Data) == limit
		is, err := readVisible(r, l, s, max(1, limit-len(all.Data)), read)
		if err != nil {
			return all, err
		}
		if isFull && len(is.items) > 0 {
			break // there is more
		}
		all.Data = append(all.Data, is.items...)
		if is.next == "" {
			return all, nil
		}
		if !is.mayTell && len(is.items) > 0 {
			return all, r.mayEndAt(l, is.next)
		}
		if is.mayTell && !isFull {
			end = is.next
		}
		isForeign := how.ofAccount && (how.ofGroups || len(r.seen)+len(r.seenGroups) > 0)
		isHiding := !is.mayTell || len(is.items) < is.examined
		if isFull = len(all.Data) == limit; !isForeign && (isFull || !isHiding) {
			break
		}
		examined += max(1, is.examined)
		s.After, s.Limit = is.next, max(1, limit-len(all.Data))
		if len(is.items) == 0 {
			s.Limit = accountsListed
		}
	}
	if end == begin {
		return all, behind("too many items in a row are hidden: give the list positions that are no ids")
	}
	all.NextCursor = new(l.cursor(end))
	return all, nil
}
