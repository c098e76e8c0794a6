package memdb

import (
	"context"
	"maps"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/table"
)

// A listRequest has the fields of a query and of a scan.
type listRequest struct {
	TableName, IndexName, KeyConditionExpression, ProjectionExpression, FilterExpression *string
	ConsistentRead, ScanIndexForward                                                     *bool
	ExpressionAttributeNames                                                             map[string]string
	ExpressionAttributeValues, ExclusiveStartKey                                         table.Item
	Limit, Segment, TotalSegments                                                        *int32
	Select                                                                               types.Select // "" or COUNT
	ReturnConsumedCapacity                                                               types.ReturnConsumedCapacity

	isScan            bool
	segment, segments int // a scan returns the partitions whose hash modulo segments is segment
}

// query answers Query: one partition of the table or an index, in the order of the sort key or its reverse.
func (s *Store) query(ctx context.Context, in *dynamodb.QueryInput) (*dynamodb.QueryOutput, error) {
	l := listRequest{segments: 1}
	if err := decode(in, &l); err != nil {
		return nil, err
	}
	if l.FilterExpression != nil {
		return nil, unsupported("a filter of a query")
	}
	return s.list(ctx, l)
}

// scan answers Scan: one segment of the table or an index, in the order of the hashes of its partition keys.
func (s *Store) scan(ctx context.Context, in *dynamodb.ScanInput) (*dynamodb.ScanOutput, error) {
	l := listRequest{isScan: true, segments: 1}
	if err := decode(in, &l); err != nil {
		return nil, err
	}
	if l.segment = int(aws.ToInt32(l.Segment)); l.TotalSegments != nil {
		l.segments = int(*l.TotalSegments)
	}
	if (l.Segment == nil) != (l.TotalSegments == nil) || l.segment < 0 || l.segment >= l.segments {
		return nil, validation("Segment %d of TotalSegments %d: both or neither are needed", l.segment, l.segments)
	}
	out, err := s.list(ctx, l)
	if err != nil {
		return nil, err
	}
	return &dynamodb.ScanOutput{
		Items: out.Items, Count: out.Count, ScannedCount: out.ScannedCount, LastEvaluatedKey: out.LastEvaluatedKey,
		ConsumedCapacity: out.ConsumedCapacity,
	}, nil
}

// list reads a page and truncates it as Options.Page says. The LastEvaluatedKey of a truncated page is the key of its
// last item, or the ExclusiveStartKey if the page is empty.
func (s *Store) list(ctx context.Context, l listRequest) (*dynamodb.QueryOutput, error) {
	p, err := s.findPage(l, s.readTime(ctx, l.ConsistentRead))
	if err != nil {
		return nil, err
	}
	if s.options.Page != nil {
		n := min(max(s.options.Page(ctx, len(p.read)), 0), len(p.read))
		if n == 0 && l.ExclusiveStartKey == nil {
			n = min(1, len(p.read)) // there is no key for a LastEvaluatedKey
		}
		p.full = p.full || n < len(p.read)
		p.read = p.read[:n]
	}
	n, isCount := len(p.read), l.Select == types.SelectCount
	out := &dynamodb.QueryOutput{ScannedCount: int32(n)}
	bytes := 0
	for _, i := range p.read {
		bytes += i.size(p.projected)
	}
	halves := useRead(ctx, aws.ToString(l.IndexName), p.partition, bytes, readKind(l.ConsistentRead))
	if l.ReturnConsumedCapacity != "" {
		units := float64(halves) / 2
		out.ConsumedCapacity = &types.ConsumedCapacity{TableName: l.TableName, CapacityUnits: &units}
	}
	if !isCount {
		out.Items = make([]map[string]types.AttributeValue, 0, n)
	}
	for _, i := range p.read {
		if !p.filter.holds(i, p.projected) {
			continue
		}
		if out.Count++; !isCount {
			out.Items = append(out.Items, i.item(p.shown))
		}
	}
	switch {
	case p.full && n > 0:
		out.LastEvaluatedKey = p.read[n-1].item(p.keys)
	case p.full:
		out.LastEvaluatedKey = maps.Clone(l.ExclusiveStartKey)
	}
	return out, nil
}

// A page is a page of a query or of a scan.
type page struct {
	projected map[string]bool // attributes in the index; nil: all
	shown     map[string]bool // attributes to return, likewise
	keys      map[string]bool // attributes of a LastEvaluatedKey
	filter    condition       // of the items to return
	read      []packed        // all items
	full      bool            // there may be more items after it
	partition string          // its key; "" of a scan
}

// findPage reads a page as of a time: items up to the limit, or up to 1 MB.
func (s *Store) findPage(l listRequest, at time.Time) (*page, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.table(l.TableName)
	if err != nil {
		return nil, err
	}
	x, err := t.index(l.IndexName, aws.ToBool(l.ConsistentRead))
	if err != nil {
		return nil, err
	}
	from, to, projection, filter, err := l.expressions(x)
	if err != nil {
		return nil, err
	}
	forward := l.ScanIndexForward == nil || *l.ScanIndexForward
	var start entry // its row is nil without an ExclusiveStartKey
	if l.ExclusiveStartKey != nil {
		if start, err = t.startEntry(x, l.ExclusiveStartKey); err != nil {
			return nil, err
		}
		switch {
		case start.less(from) || to.less(start):
			return nil, validation("The provided starting key is outside query boundaries")
		case forward:
			from = start
		default:
			to = start
		}
	}
	p, bytes := &page{projected: x.projected, shown: projection, filter: filter, keys: x.keys}, 0
	if !l.isScan {
		p.partition = from.partition
	}
	if p.shown == nil {
		p.shown = x.projected
	}
	x.visit(from, to, forward, func(e entry) bool {
		i := e.row.at(at)
		isStart := start.row != nil && !e.less(start) && !start.less(e)
		if isStart || e.hash%uint64(l.segments) != uint64(l.segment) || !x.matches(e, i) {
			return true
		}
		p.read = append(p.read, i)
		bytes += i.size(x.projected)
		p.full = len(p.read) == int(aws.ToInt32(l.Limit)) || bytes >= table.QueryPageBytes
		return !p.full
	})
	return p, nil
}

// expressions parses the expressions and checks the limit. It returns the lowest and the highest entry to read, the
// attributes to return, and the filter.
func (l listRequest) expressions(x *index) (from, to entry, projection map[string]bool, filter condition, err error) {
	if l.Limit != nil && *l.Limit < 1 {
		err = validation("Value '%d' at 'limit' failed to satisfy constraint: at least 1", *l.Limit)
		return from, to, nil, nil, err
	}
	switch {
	case l.Select != "" && l.Select != types.SelectCount:
		return from, to, nil, nil, unsupported(string(l.Select))
	case l.Select != "" && l.ProjectionExpression != nil:
		err = validation("Cannot specify the ProjectionExpression when choosing to get only the Count")
		return from, to, nil, nil, err
	}
	p := &placeholders{names: l.ExpressionAttributeNames, values: l.ExpressionAttributeValues}
	if l.isScan {
		from, to = entry{row: firstRow}, entry{^uint64(0), afterAll, afterAll, lastRow}
	} else if from, to, err = p.keyCondition(l.KeyConditionExpression, x); err != nil {
		return from, to, nil, nil, err
	}
	if projection, err = p.projection(l.ProjectionExpression); err != nil {
		return from, to, nil, nil, err
	}
	for name := range projection {
		if x.projected != nil && !x.projected[name] {
			err = validation("Global secondary index %s does not project %s", x.name, name)
			return from, to, nil, nil, err
		}
	}
	if filter, err = p.condition("FilterExpression", l.FilterExpression); err != nil {
		return from, to, nil, nil, err
	}
	return from, to, projection, filter, p.done()
}

// startEntry reads an ExclusiveStartKey. The item need not exist. In an index the key has the keys of the index and of
// the table, which orders items with equal index keys.
func (t *tableState) startEntry(x *index, given table.Item) (entry, error) {
	for name := range x.keys {
		if value, _ := text(given[name]); value == "" || len(given) != len(x.keys) {
			return entry{}, validation("The provided starting key is invalid")
		}
	}
	r := &row{}
	r.key.PK, _ = text(given[t.keys().partitionKey])
	r.key.SK, _ = text(given[t.keys().sortKey])
	i, err := pack(given)
	e, _ := x.entryFor(r, i)
	return e, err
}
