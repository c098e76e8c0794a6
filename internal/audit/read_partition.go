package audit

import (
	"context"
	"iter"
	"strings"

	"ledger.example/internal/table"
)

// stream reads the items of a stretch in order, a page at a time. It is for one goroutine.
type stream struct {
	audit *Audit
	of    stretch
	items []attributes // read, and not consumed
	from  attributes   // where the next page begins
	begun bool         // a page was read; if from is empty, it was the last one
}

// peek returns the next item without consuming it, nil at the end.
func (s *stream) peek(ctx context.Context) attributes {
	for len(s.items) == 0 && (!s.begun || len(s.from) > 0) {
		s.items, s.from = s.audit.page(ctx, s.of, s.from)
		s.begun = true
	}
	if len(s.items) == 0 {
		return nil
	}
	return s.items[0]
}

// next consumes the next item, nil at the end. It is an items.
func (s *stream) next(ctx context.Context) attributes {
	item := s.peek(ctx)
	if item != nil {
		s.items = s.items[1:]
	}
	return item
}

// itemsOf reads the items of a stretch in order.
func (a *Audit) itemsOf(partition string, within table.Range) items {
	s := &stream{audit: a, of: stretch{partition: partition, within: within}}
	return s.next
}

// items consumes one item a call, and returns nil at the end.
type items func(context.Context) attributes

// all iterates over the rest of the items.
func (next items) all(ctx context.Context) iter.Seq[attributes] {
	return func(yield func(attributes) bool) {
		for item := next(ctx); item != nil && yield(item); {
			item = next(ctx)
		}
	}
}

// family is a stream of the items in a partition whose sort keys have the same prefix. An id follows the prefix.
type family struct {
	prefix string
	stream
}

// peekID returns the id of the next item, "" at the end.
func (f *family) peekID(ctx context.Context) string {
	item := f.peek(ctx)
	id, _, _ := strings.Cut(strings.TrimPrefix(textOf(item[table.AttrSK]), f.prefix), "#")
	return id
}

// take returns the items of one id.
func (f *family) take(id string) items {
	return func(ctx context.Context) attributes {
		if f.peekID(ctx) != id {
			return nil
		}
		return f.next(ctx)
	}
}

// Prefixes of sort keys in an account's partition: of the families by asset, and of those by user.
var (
	balances = table.BalanceKey("", "").SK
	segments = strings.TrimSuffix(table.SegmentKey("", "", "").SK, "#")
	postings = table.PostingPrefix
	guards   = table.SpendKey("", "").SK
	grants   = table.GrantPrefix
	changes  = table.ChangesBefore(0).From
	members  = table.MembersPrefix

	groupings = table.GroupsPrefix
	places    = table.GroupedRange("").From
)

// last sorts after every id.
const last = "~"

// partition is an account's items: the summary, what the account is now, and the others by the prefixes of their
// families.
type partition struct {
	summary, current attributes
	families         map[string]*family
}

// open reads an account's partition. Most accounts fit into one page. Of the others each family is read by itself,
// balances first: postings that are read after a balance can only be more than it counts.
func (a *Audit) open(ctx context.Context, account string) partition {
	summary := table.SummaryKey(account)
	page, more := a.page(ctx, stretch{partition: summary.PK, within: table.Range{From: "!", To: last}}, nil)
	whole := len(more) == 0
	p := partition{families: make(map[string]*family)}
	for _, prefix := range []string{changes, balances, segments, postings, guards, grants, members,
		places, groupings} {
		p.families[prefix] = &family{prefix, stream{audit: a, begun: whole, of: stretch{partition: summary.PK,
			within: table.Range{From: prefix, To: prefix + last}, figures: prefix == postings}}}
	}
	if !whole {
		p.summary, p.current = a.get(ctx, summary), a.get(ctx, table.CurrentKey(account))
		return p
	}
	for _, item := range page {
		key := keyOf(item)
		switch key {
		case summary:
			p.summary = item
		case table.CurrentKey(account):
			p.current = item
		}
		prefix, _, _ := strings.Cut(key.SK, "#")
		if f := p.families[prefix+"#"]; f != nil {
			f.items = append(f.items, item)
		}
	}
	return p
}

// take returns the items of one id in a family.
func (p partition) take(prefix, id string) items { return p.families[prefix].take(id) }

// least returns the least of the next ids of some families, "" when all are at their end. It reads the families in the
// given order.
func (p partition) least(ctx context.Context, prefixes ...string) (id string) {
	for _, prefix := range prefixes {
		if next := p.families[prefix].peekID(ctx); id == "" || next != "" && next < id {
			id = next
		}
	}
	return id
}
