package memory

import (
	"context"
	"iter"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
)

// A reading is what a query or a scan reads from: the table or one of its indexes.
type reading struct {
	books                 *books
	index                 *index // nil: the table
	partitionKey, sortKey string
	*collection
}

// reading finds what a request names. The lock is held.
func (s *Store) reading(name, indexName *string, strong bool) (reading, error) {
	b, err := s.table(name)
	if err != nil {
		return reading{}, err
	}
	if indexName == nil {
		return reading{b, nil, b.partitionKey, b.sortKey, b.base}, nil
	}
	for _, x := range b.indexes {
		if x.name != *indexName {
			continue
		}
		if strong {
			return reading{}, validation("Consistent reads are not supported on global secondary indexes")
		}
		return reading{b, x, x.partitionKey, x.sortKey, x.collection}, nil
	}
	return reading{}, validation("The table does not have the specified index: %s", *indexName)
}

// keys are the attributes of a LastEvaluatedKey.
func (r reading) keys() map[string]bool {
	if r.index == nil {
		return r.books.keys
	}
	return map[string]bool{r.books.partitionKey: true, r.books.sortKey: true, r.partitionKey: true, r.sortKey: true}
}

// shown is what is to be seen of an entry: the item, or what the index holds of it; nil if the entry isn't there in that
// version. It returns its size, too.
func (r reading) shown(partition string, e entry, v version) (item, int) {
	if r.index == nil || v.item == nil {
		return v.item, v.bytes
	}
	if p, f, ok := r.index.entry(e.row, v.item); !ok || p != partition || f.sort != e.sort {
		return nil, 0
	}
	if r.index.projected == nil {
		return v.item, v.bytes
	}
	part := v.item.only(r.index.projected)
	return part, part.bytes()
}

// start reads an ExclusiveStartKey.
func (r reading) start(key wire.Item) (partition string, at spot, err error) {
	keys := r.keys()
	given, err := keptItem(key)
	if err == nil && len(given) != len(keys) {
		err = errStart
	}
	for name := range keys {
		if text, ok := given.text(name); err == nil && (!ok || text == "") {
			err = errStart
		}
	}
	if err != nil {
		return "", spot{}, err
	}
	pk, _ := given.text(r.books.partitionKey)
	sk, _ := given.text(r.books.sortKey)
	partition, _ = given.text(r.partitionKey)
	sort, _ := given.text(r.sortKey)
	return partition, spot{sort, table.Key{PK: pk, SK: sk}}, nil
}

var errStart = validation("The provided starting key is invalid")

// A page collects what a query or a scan finds, in order.
type page struct {
	limit  int
	filter condition
	found  []item // nil where the filter left one out
	keys   []item // of what was found, each with all its attributes
	bytes  int
}

// add takes an item of that size into the page, and tells whether there is room for more.
func (p *page) add(i item, size int) bool {
	p.keys = append(p.keys, i)
	if !p.filter(i) {
		i = nil
	}
	p.found = append(p.found, i)
	p.bytes += size
	return len(p.keys) < p.limit && p.bytes < table.QueryPageBytes
}

// listing is the parts of a request that a query and a scan have in common.
type listing struct {
	limit      *int32
	filter     *string
	projection *string
	selects    types.Select
	start      wire.Item
	partition  bool // it is a query
}

// prepare reads them. It returns what is shown of each item, nil for all.
func (r reading) prepare(l listing, p *placeholders) (*page, map[string]bool, error) {
	if l.limit != nil && *l.limit < 1 {
		return nil, nil, validation("Value '%d' at 'limit' failed to satisfy constraint: Member must have value greater than or equal to 1", *l.limit)
	}
	if err := refuse(option{"Select " + string(l.selects), l.selects != "" && l.selects != types.SelectCount}); err != nil {
		return nil, nil, err
	}
	if l.selects == types.SelectCount && l.projection != nil {
		return nil, nil, validation("Cannot specify the ProjectionExpression when choosing to get only the Count")
	}
	filter, about, err := p.condition(filterExpression, l.filter)
	if err != nil {
		return nil, nil, err
	}
	if l.partition && (about[r.partitionKey] || about[r.sortKey]) {
		return nil, nil, validation("Filter Expression can only contain non-primary key attributes")
	}
	names, err := p.projection(l.projection)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range append(inOrder(names), inOrder(about)...) {
		if r.index != nil && r.index.projected != nil && !r.index.projected[name] {
			return nil, nil, validation("One or more parameter values were invalid: Global secondary index %s does not project [%s]", r.index.name, name)
		}
	}
	limit := len(r.buckets) << 20 // more than there can be
	if l.limit != nil {
		limit = int(*l.limit)
	}
	return &page{limit: limit, filter: filter}, names, nil
}

// A result is what a page becomes.
type result struct {
	items   []map[string]types.AttributeValue
	count   int32
	scanned int32
	last    wire.Item
}

// finish cuts a page as the Page hook wants it, and makes the answer. full tells whether the page stopped before the end.
// No lock is held.
func (s *Store) finish(ctx context.Context, r reading, p *page, full bool, names map[string]bool, l listing) result {
	n := len(p.keys)
	if s.page != nil {
		n = min(max(s.page(ctx, n), 0), n)
		if n == 0 && l.start == nil && len(p.keys) > 0 {
			n = 1
		}
	}
	full = full || n < len(p.keys)
	out := result{scanned: int32(n), items: []map[string]types.AttributeValue{}}
	for _, i := range p.found[:n] {
		if i == nil {
			continue
		}
		out.count++
		if l.selects != types.SelectCount {
			out.items = append(out.items, i.only(names).lent())
		}
	}
	if l.selects == types.SelectCount {
		out.items = nil
	}
	switch {
	case full && n > 0:
		out.last = p.keys[n-1].only(r.keys()).lent()
	case full:
		start, _ := keptItem(l.start) // it was read already
		out.last = start.lent()
	}
	return out
}

func (s *Store) query(ctx context.Context, in *dynamodb.QueryInput) (*dynamodb.QueryOutput, error) {
	if err := refuse(
		option{"AttributesToGet", in.AttributesToGet != nil}, option{"KeyConditions", in.KeyConditions != nil},
		option{"QueryFilter", in.QueryFilter != nil}, option{"ConditionalOperator", in.ConditionalOperator != ""},
		measured(in.ReturnConsumedCapacity),
	); err != nil {
		return nil, err
	}
	lag := s.behind(ctx, in.ConsistentRead)
	l := listing{in.Limit, in.FilterExpression, in.ProjectionExpression, in.Select, in.ExclusiveStartKey, true}
	read := func() (r reading, p *page, full bool, names map[string]bool, err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if r, err = s.reading(in.TableName, in.IndexName, aws.ToBool(in.ConsistentRead)); err != nil {
			return
		}
		given, err := newPlaceholders(in.ExpressionAttributeNames, in.ExpressionAttributeValues)
		if err != nil {
			return
		}
		within, err := given.keyCondition(in.KeyConditionExpression, r.partitionKey, r.sortKey)
		if err != nil {
			return
		}
		if p, names, err = r.prepare(l, given); err != nil {
			return
		}
		if err = given.done(); err != nil {
			return
		}
		forward := in.ScanIndexForward == nil || *in.ScanIndexForward
		entries, err := r.entries(within, in.ExclusiveStartKey, forward)
		if err != nil {
			return
		}
		at := s.lagged(lag)
		for e := range entries {
			if i, size := r.shown(within.partition, e, e.row.as(at)); i != nil && !p.add(i, size) {
				full = true
				break
			}
		}
		return
	}
	r, p, full, names, err := read()
	if err != nil {
		return nil, err
	}
	out := s.finish(ctx, r, p, full, names, l)
	return &dynamodb.QueryOutput{Items: out.items, Count: out.count, ScannedCount: out.scanned, LastEvaluatedKey: out.last}, nil
}

// entries returns those in the span, without those up to the starting key, in the direction of the query.
func (r reading) entries(within span, startKey wire.Item, forward bool) (iter.Seq[entry], error) {
	p := r.partition(within.partition)
	if p == nil {
		p = &partition{}
	}
	low := p.first(func(e entry) bool { return within.below(e.sort) })
	high := p.first(func(e entry) bool { return !within.above(e.sort) })
	if startKey != nil {
		partition, start, err := r.start(startKey)
		if err != nil {
			return nil, err
		}
		if partition != within.partition || !within.within(start.sort) {
			return nil, validation("The provided starting key is outside query boundaries based on provided conditions")
		}
		at, found := p.place(start)
		switch {
		case !forward && at.compare(high) < 0:
			high = at
		case forward && at.compare(low) >= 0:
			if low = at; found {
				low.index++
			}
		}
	}
	return p.between(low, high, forward), nil
}

func (s *Store) scan(ctx context.Context, in *dynamodb.ScanInput) (*dynamodb.ScanOutput, error) {
	if err := refuse(
		option{"AttributesToGet", in.AttributesToGet != nil}, option{"ScanFilter", in.ScanFilter != nil},
		option{"ConditionalOperator", in.ConditionalOperator != ""}, measured(in.ReturnConsumedCapacity),
	); err != nil {
		return nil, err
	}
	segment, total := int(aws.ToInt32(in.Segment)), int(aws.ToInt32(in.TotalSegments))
	switch {
	case in.Segment == nil && in.TotalSegments == nil:
		total = 1
	case in.Segment == nil:
		return nil, validation("The Segment parameter is required but was not present in the request when parameter TotalSegments is present")
	case in.TotalSegments == nil:
		return nil, validation("The TotalSegments parameter is required but was not present in the request when Segment parameter is present")
	case total < 1 || total > segmentsMost:
		return nil, validation("Value '%d' at 'totalSegments' failed to satisfy constraint: Member must be between 1 and %d", total, segmentsMost)
	case segment < 0 || segment >= total:
		return nil, validation("The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: %d is not less than TotalSegments: %d", segment, total)
	}
	lag := s.behind(ctx, in.ConsistentRead)
	l := listing{in.Limit, in.FilterExpression, in.ProjectionExpression, in.Select, in.ExclusiveStartKey, false}
	read := func() (r reading, p *page, full bool, names map[string]bool, err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if r, err = s.reading(in.TableName, in.IndexName, aws.ToBool(in.ConsistentRead)); err != nil {
			return
		}
		given, err := newPlaceholders(in.ExpressionAttributeNames, in.ExpressionAttributeValues)
		if err != nil {
			return
		}
		if p, names, err = r.prepare(l, given); err != nil {
			return
		}
		if err = given.done(); err != nil {
			return
		}
		full, err = s.walk(r, p, in.ExclusiveStartKey, segment, total, lag)
		return
	}
	r, p, full, names, err := read()
	if err != nil {
		return nil, err
	}
	out := s.finish(ctx, r, p, full, names, l)
	return &dynamodb.ScanOutput{Items: out.items, Count: out.count, ScannedCount: out.scanned, LastEvaluatedKey: out.last}, nil
}

// segmentsMost is how many a scan may have (AWS, API reference of Scan).
const segmentsMost = 1_000_000
