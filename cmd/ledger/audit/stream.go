package audit

import (
	"context"
	"strings"

	"ledger.example/ledger/table"
)

// stream is the items of a stretch in order, a page at a time.
type stream struct {
	audit *Audit
	of    stretch
	items []attributes
	from  attributes
	begun bool
}

// peek returns the next item, nil at the end.
func (s *stream) peek(ctx context.Context) (attributes, error) {
	for len(s.items) == 0 {
		if s.begun && len(s.from) == 0 {
			return nil, nil
		}
		items, more, err := s.audit.page(ctx, s.of, s.from)
		if err != nil {
			return nil, err
		}
		s.items, s.from, s.begun = items, more, true
	}
	return s.items[0], nil
}

// next drops what peek returned.
func (s *stream) next() { s.items = s.items[1:] }

// family is the items of a partition whose sort keys begin alike, told apart by the id that follows.
type family struct {
	prefix string
	stream
}

// peekID returns the id of the next item, "" at the end.
func (f *family) peekID(ctx context.Context) (string, error) {
	item, err := f.peek(ctx)
	if item == nil || err != nil {
		return "", err
	}
	id, _, _ := strings.Cut(strings.TrimPrefix(textOf(item[table.AttrSK]), f.prefix), "#")
	return id, nil
}

// of returns the items of one id, one a call, and then nil.
func (f *family) take(id string) func(context.Context) (attributes, error) {
	return func(ctx context.Context) (attributes, error) {
		found, err := f.peekID(ctx)
		if err != nil || found != id {
			return nil, err
		}
		item := f.items[0]
		f.next()
		return item, nil
	}
}

// The beginnings of sort keys in an account's partition.
var (
	balances = strings.TrimSuffix(table.BalanceKey("", "").SK, "#") + "#"
	segments = strings.TrimSuffix(table.SegmentKey("", "", "").SK, "#")
	guards   = strings.TrimSuffix(table.SpendKey("", "").SK, "#") + "#"
)

// last sorts after every id.
const last = "~"

// partition is an account's items, told apart.
type partition struct {
	summary                              attributes
	balances, segments, postings, guards *family
	grants, members                      *family
}

// open reads an account's partition. One page is enough for most; of the others each family is read by itself, balances
// before the rest: postings that are read later than a balance can only be more than it counts.
func (a *Audit) open(ctx context.Context, account string) (partition, error) {
	pk := table.AccountKey(account).PK
	items, more, err := a.page(ctx, stretch{partition: pk, within: table.Range{From: "!", To: last}}, nil)
	if err != nil {
		return partition{}, err
	}
	whole := len(more) == 0
	familyOf := func(prefix string) *family {
		f := &family{prefix: prefix, stream: stream{audit: a, begun: whole}}
		f.of = stretch{partition: pk, within: table.Range{From: prefix, To: prefix + last}, figures: prefix == table.PostingPrefix}
		return f
	}
	p := partition{
		balances: familyOf(balances), segments: familyOf(segments), postings: familyOf(table.PostingPrefix), guards: familyOf(guards),
		grants: familyOf(table.GrantPrefix), members: familyOf(table.MembersPrefix),
	}
	if !whole {
		p.summary, err = a.get(ctx, table.SummaryKey(account))
		return p, err
	}
	for _, item := range items {
		sk := textOf(item[table.AttrSK])
		if sk == table.SummaryKey(account).SK {
			p.summary = item
		}
		for _, f := range p.families() {
			if strings.HasPrefix(sk, f.prefix) {
				f.items = append(f.items, item)
			}
		}
	}
	return p, nil
}

func (p *partition) families() []*family {
	return []*family{p.balances, p.segments, p.postings, p.guards, p.grants, p.members}
}

// least returns the least id that is next in some families, "" when all are at their end.
func least(ctx context.Context, families ...*family) (id string, err error) {
	for _, f := range families {
		next, err := f.peekID(ctx)
		if err != nil {
			return "", err
		}
		if id == "" || next != "" && next < id {
			id = next
		}
	}
	return id, nil
}
