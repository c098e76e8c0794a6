package audit

import (
	"context"
	"iter"
	"strings"

	"ledger.example/internal/store"
)

// stream reads the items of a key range in order, a page at a time. It is not safe for concurrent use.
type stream struct {
	audit  *Audit
	source keyRange
	items  []attributes // read and not consumed yet
	from   attributes   // where the next page begins
	begun  bool         // a page was read; if from is empty, it was the last one
}

// peek returns the next item without consuming it, or nil at the end.
func (s *stream) peek(ctx context.Context) attributes {
	for len(s.items) == 0 && (!s.begun || len(s.from) > 0) {
		s.items, s.from = s.audit.page(ctx, s.source, s.from)
		s.begun = true
	}
	if len(s.items) == 0 {
		return nil
	}
	return s.items[0]
}

// next consumes the next item. It returns nil at the end.
func (s *stream) next(ctx context.Context) attributes {
	item := s.peek(ctx)
	if item != nil {
		s.items = s.items[1:]
	}
	return item
}

// itemsOf reads items of one partition in order.
func (a *Audit) itemsOf(partition string, within store.Range) items {
	s := &stream{audit: a, source: keyRange{partition: partition, bounds: within}}
	return s.next
}

// items consumes one item per call. It returns nil at the end.
type items func(context.Context) attributes

// all iterates over the rest of the items.
func (next items) all(ctx context.Context) iter.Seq[attributes] {
	return func(yield func(attributes) bool) {
		for item := next(ctx); item != nil && yield(item); {
			item = next(ctx)
		}
	}
}

// family is a stream of the items in a partition whose sort keys have the same prefix. In these keys an id follows.
type family struct {
	prefix string
	stream
}

// peekID returns the id of the next item, or "" at the end.
func (f *family) peekID(ctx context.Context) string {
	item := f.peek(ctx)
	id, _, _ := strings.Cut(strings.TrimPrefix(textOf(item[store.AttrSK]), f.prefix), "#")
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

// Prefixes of the sort keys in an account's partition, one per family.
var (
	balancePrefix = store.Balance.Prefix()
	segmentPrefix = store.Segment.Prefix()
	postingPrefix = store.Posting.Prefix()
	guardPrefix   = store.Spend.Prefix()
	grantPrefix   = store.Grant.Prefix()
	changePrefix  = store.Change.Prefix()
	memberPrefix  = store.Membership.Prefix()

	groupingPrefix = store.Grouping.Prefix()
	placePrefix    = store.Grouped.Prefix()
)

// last sorts after every id.
const afterIDs = "~"

// partition has the items of an account: the summary, the current account, and all others in families by prefix.
type partition struct {
	summary, current attributes
	families         map[string]*family
}

// readPartition reads an account's partition. Most accounts fit into one page. In larger accounts each family is a
// query of its own. Callers read balances before postings, so a balance cannot count a posting that is not found.
func (a *Audit) readPartition(ctx context.Context, account string) partition {
	summary := store.Summary.Key(account)
	page, more := a.page(ctx, keyRange{partition: summary.PK, bounds: store.Range{From: "!", To: afterIDs}}, nil)
	fitsOnePage := len(more) == 0
	p := partition{families: make(map[string]*family)}
	for _, prefix := range []string{changePrefix, balancePrefix, segmentPrefix, postingPrefix, guardPrefix, grantPrefix,
		memberPrefix, placePrefix, groupingPrefix} {
		p.families[prefix] = a.family(summary.PK, prefix)
		p.families[prefix].begun = fitsOnePage
	}
	if !fitsOnePage {
		p.summary, p.current = a.get(ctx, summary), a.get(ctx, store.Current.Key(account))
		return p
	}
	for _, item := range page {
		key := keyOf(item)
		switch key {
		case summary:
			p.summary = item
		case store.Current.Key(account):
			p.current = item
		}
		prefix, _, _ := strings.Cut(key.SK, "#")
		if f := p.families[prefix+"#"]; f != nil {
			f.items = append(f.items, item)
		}
	}
	return p
}

// family returns a stream of the items of one family. Of postings it reads only the attributes that a fold needs.
func (a *Audit) family(partition, prefix string) *family {
	return &family{prefix, stream{audit: a, source: keyRange{partition: partition,
		bounds: store.Range{From: prefix, To: prefix + afterIDs}, amountsOnly: prefix == postingPrefix}}}
}

// take returns the items of one id in a family.
func (p partition) take(prefix, id string) items { return p.families[prefix].take(id) }

// nextID returns the lowest next id of some families, or "" if all are at their end. It reads them in the given order.
func (p partition) nextID(ctx context.Context, prefixes ...string) (id string) {
	for _, prefix := range prefixes {
		if next := p.families[prefix].peekID(ctx); id == "" || next != "" && next < id {
			id = next
		}
	}
	return id
}
