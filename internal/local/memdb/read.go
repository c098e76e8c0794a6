package memdb

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/table"
)

// readTime returns the time as of which a read sees the table. The zero time is now, as for strongly consistent reads.
func (s *Store) readTime(ctx context.Context, strong *bool) time.Time {
	if aws.ToBool(strong) || s.options.Lag == nil {
		return time.Time{}
	}
	if lag := s.options.Lag(ctx); lag > 0 {
		return s.time().Add(-min(lag, maxLag))
	}
	return time.Time{}
}

// A readRequest has the fields of a GetItem, of an action of TransactGetItems, and of a BatchGetItem for one table.
type readRequest struct {
	TableName, ProjectionExpression *string
	ExpressionAttributeNames        map[string]string
	ConsistentRead                  *bool
	Key                             table.Item
	Keys                            []map[string]types.AttributeValue
}

// A get is a parsed request for one item.
type get struct {
	table      *tableState
	key        table.Key
	projection map[string]bool
}

// get parses a request for one item. The lock is held.
func (s *Store) get(r readRequest) (g get, err error) {
	if g.table, err = s.table(r.TableName); err != nil {
		return g, err
	}
	p := &placeholders{names: r.ExpressionAttributeNames}
	if g.projection, err = p.projection(r.ProjectionExpression); err != nil {
		return g, err
	}
	if err := p.done(); err != nil {
		return g, err
	}
	g.key, err = g.table.keyOf(r.Key, true)
	return g, err
}

// read reads an item as of a time. It returns nil if there is none. The lock is held.
func (s *Store) read(ctx context.Context, r readRequest, at time.Time) (table.Item, table.Key, error) {
	g, err := s.get(r)
	if err != nil {
		return nil, g.key, err
	}
	found := g.table.row(g.key).at(at)
	useRead(ctx, "", g.key.PK, found.size(nil), readKind(r.ConsistentRead))
	return found.item(g.projection), g.key, nil
}

// getItem answers GetItem. A missing item is not an error.
func (s *Store) getItem(ctx context.Context, in *dynamodb.GetItemInput) (*dynamodb.GetItemOutput, error) {
	var r readRequest
	if err := decode(in, &r); err != nil {
		return nil, err
	}
	at := s.readTime(ctx, r.ConsistentRead)
	s.mu.Lock()
	defer s.mu.Unlock()
	found, _, err := s.read(ctx, r, at)
	return &dynamodb.GetItemOutput{Item: found}, err
}

// batchGetItem answers BatchGetItem for one table. All keys are processed, so UnprocessedKeys is always empty.
func (s *Store) batchGetItem(
	ctx context.Context, in *dynamodb.BatchGetItemInput,
) (*dynamodb.BatchGetItemOutput, error) {
	var all struct {
		RequestItems map[string]types.KeysAndAttributes
	}
	if err := decode(in, &all); err != nil {
		return nil, err
	}
	if len(all.RequestItems) != 1 {
		return nil, unsupported("a BatchGetItem of zero or several tables")
	}
	out := &dynamodb.BatchGetItemOutput{Responses: make(map[string][]map[string]types.AttributeValue)}
	for name, keys := range all.RequestItems {
		r := readRequest{TableName: &name}
		if err := decode(&keys, &r); err != nil {
			return nil, err
		}
		if n := len(r.Keys); n == 0 || n > table.BatchGetKeys {
			return nil, validation("Too many items requested for the BatchGetItem call, or none: %d", n)
		}
		at, seen := s.readTime(ctx, r.ConsistentRead), make(map[table.Key]bool, len(r.Keys))
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, r.Key = range r.Keys {
			found, k, err := s.read(ctx, r, at)
			if err != nil {
				return nil, err
			}
			if seen[k] {
				return nil, validation("Provided list of item keys contains duplicates")
			}
			if seen[k] = true; found != nil {
				out.Responses[name] = append(out.Responses[name], found)
			}
		}
	}
	return out, nil
}

// transactGetItems answers TransactGetItems with a snapshot. It cancels the request if an item is part of a write
// transaction in progress.
func (s *Store) transactGetItems(
	ctx context.Context, in *dynamodb.TransactGetItemsInput,
) (*dynamodb.TransactGetItemsOutput, error) {
	var all struct{ TransactItems []types.TransactGetItem }
	if err := decode(in, &all); err != nil {
		return nil, err
	}
	if n := len(all.TransactItems); n == 0 || n > table.TransactionActions {
		return nil, errActions(table.TransactionActions)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := make(map[itemRef]bool)
	conflicts := make([]error, len(all.TransactItems))
	out := &dynamodb.TransactGetItemsOutput{Responses: make([]types.ItemResponse, len(all.TransactItems))}
	type sized struct {
		key   string
		bytes int
	}
	refused, size, sizes := false, 0, make([]sized, 0, len(all.TransactItems))
	for n, action := range all.TransactItems {
		var r readRequest
		if err := decode(action.Get, &r); err != nil {
			return nil, err
		}
		g, err := s.get(r)
		if err != nil {
			return nil, err
		}
		at := itemRef{g.table, g.key}
		switch {
		case seen[at]:
			return nil, errTwice
		case g.table.busy[g.key]:
			conflicts[n], refused = errConflict(), true
			continue
		}
		seen[at] = true
		found := g.table.row(g.key).current()
		sizes = append(sizes, sized{g.key.PK, found.size(nil)})
		size += found.size(nil)
		out.Responses[n].Item = found.item(g.projection)
	}
	switch {
	case refused:
		return nil, cancelled(conflicts)
	case size > table.TransactionBytes:
		return nil, validation("Collection size of items exceeds %d bytes", table.TransactionBytes)
	}
	for _, i := range sizes {
		useRead(ctx, "", i.key, i.bytes, table.TransactionalRead)
	}
	return out, nil
}
