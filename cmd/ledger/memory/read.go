package memory

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
)

// behind asks how far behind a read is: a strongly consistent one is not.
func (s *Store) behind(ctx context.Context, strong *bool) time.Duration {
	if aws.ToBool(strong) || s.lag == nil {
		return 0
	}
	return s.lag(ctx)
}

// measured tells whether a request asks for what it consumed, which this store doesn't count.
func measured(r types.ReturnConsumedCapacity) option {
	return option{"ReturnConsumedCapacity", r != "" && r != types.ReturnConsumedCapacityNone}
}

// A get is one item to be read, as GetItem and its kin have it.
type get struct {
	books      *books
	key        table.Key
	projection map[string]bool
	fault      error // a ValidationException: the key cannot be one of this table
}

// get checks what is to be read. The lock is held.
func (s *Store) get(name *string, key wire.Item, names map[string]string, projection *string) (get, error) {
	b, err := s.table(name)
	if err != nil {
		return get{}, err
	}
	g := get{books: b}
	p, err := newPlaceholders(names, nil)
	if err != nil {
		return get{}, err
	}
	if g.projection, err = p.projection(projection); err != nil {
		return get{}, err
	}
	if err := p.done(); err != nil {
		return get{}, err
	}
	g.key, g.fault, err = b.keyOf(key, true)
	return g, err
}

// keyOf reads a key of the table: of an item, or with alone of a request that must give nothing else. A fault is a
// ValidationException too, for which a transaction is cancelled instead of refused.
func (b *books) keyOf(i wire.Item, alone bool) (k table.Key, fault, err error) {
	if alone && len(i) != len(b.keys) {
		return k, nil, errNoKey
	}
	for _, part := range []struct {
		name string
		most int
		text *string
	}{{b.partitionKey, partitionKeyBytes, &k.PK}, {b.sortKey, sortKeyBytes, &k.SK}} {
		v, ok := i[part.name]
		text, isText := v.(*types.AttributeValueMemberS)
		switch {
		case alone && !isText:
			fault = errNoKey
		case !ok:
			return k, nil, validation("One or more parameter values were invalid: Missing the key %s in the item", part.name)
		case !isText:
			fault = validation("One or more parameter values were invalid: Type mismatch for key %s expected: S actual: %s", part.name, typeOf(v))
		case text.Value == "":
			return k, nil, validation("One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: %s", part.name)
		case len(text.Value) > part.most:
			fault = validation("One or more parameter values were invalid: Size of key %s has exceeded the maximum size limit of %d bytes", part.name, part.most)
		default:
			*part.text = text.Value
		}
	}
	return k, fault, nil
}

var errNoKey = validation("The provided key element does not match the schema")

func (s *Store) getItem(ctx context.Context, in *dynamodb.GetItemInput) (*dynamodb.GetItemOutput, error) {
	if err := refuse(option{"AttributesToGet", in.AttributesToGet != nil}, measured(in.ReturnConsumedCapacity)); err != nil {
		return nil, err
	}
	lag := s.behind(ctx, in.ConsistentRead)
	s.mu.Lock()
	defer s.mu.Unlock()
	g, err := s.get(in.TableName, in.Key, in.ExpressionAttributeNames, in.ProjectionExpression)
	if err == nil {
		err = g.fault
	}
	if err != nil {
		return nil, err
	}
	found := g.books.base.row(g.key).as(s.lagged(lag)).item
	return &dynamodb.GetItemOutput{Item: found.only(g.projection).lent()}, nil
}

func (s *Store) batchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput) (*dynamodb.BatchGetItemOutput, error) {
	if err := refuse(measured(in.ReturnConsumedCapacity)); err != nil {
		return nil, err
	}
	total := 0
	lags := make(map[string]time.Duration)
	names := inOrder(in.RequestItems)
	for _, name := range names {
		r := in.RequestItems[name]
		if err := refuse(option{"AttributesToGet", r.AttributesToGet != nil}); err != nil {
			return nil, err
		}
		if len(r.Keys) == 0 {
			return nil, validation("The list of keys in RequestItems for BatchGetItem is required")
		}
		total += len(r.Keys)
		lags[name] = s.behind(ctx, r.ConsistentRead)
	}
	switch {
	case total == 0:
		return nil, validation("RequestItems must not be empty")
	case total > table.BatchGetKeys:
		return nil, validation("Too many items requested for the BatchGetItem call")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := &dynamodb.BatchGetItemOutput{
		Responses:       make(map[string][]map[string]types.AttributeValue),
		UnprocessedKeys: make(map[string]types.KeysAndAttributes),
	}
	for _, name := range names {
		r := in.RequestItems[name]
		seen := make(map[table.Key]bool, len(r.Keys))
		items := []map[string]types.AttributeValue{}
		at := s.lagged(lags[name])
		for _, key := range r.Keys {
			g, err := s.get(&name, key, r.ExpressionAttributeNames, r.ProjectionExpression)
			if err == nil {
				err = g.fault
			}
			if err != nil {
				return nil, err
			}
			if seen[g.key] {
				return nil, validation("Provided list of item keys contains duplicates")
			}
			seen[g.key] = true
			if found := g.books.base.row(g.key).as(at).item; found != nil {
				items = append(items, found.only(g.projection).lent())
			}
		}
		out.Responses[name] = items
	}
	return out, nil
}

func (s *Store) transactGetItems(in *dynamodb.TransactGetItemsInput) (*dynamodb.TransactGetItemsOutput, error) {
	if err := refuse(measured(in.ReturnConsumedCapacity)); err != nil {
		return nil, err
	}
	if n := len(in.TransactItems); n == 0 || n > table.TransactionActions {
		return nil, validation("Value at 'transactItems' failed to satisfy constraint: Member must have between 1 and %d items", table.TransactionActions)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := make(map[place]bool, len(in.TransactItems))
	reasons := make([]types.CancellationReason, len(in.TransactItems))
	out := &dynamodb.TransactGetItemsOutput{Responses: make([]types.ItemResponse, len(in.TransactItems))}
	refused, size := false, 0
	for n, action := range in.TransactItems {
		if action.Get == nil {
			return nil, validation("Invalid Request: TransactGetRequest should contain Get action")
		}
		g, err := s.get(action.Get.TableName, action.Get.Key, action.Get.ExpressionAttributeNames, action.Get.ProjectionExpression)
		if err != nil {
			return nil, err
		}
		reasons[n].Code = aws.String(wire.ReasonNone)
		at := place{g.books, g.key}
		switch {
		case g.fault != nil:
			refused = true
			reasons[n] = faultReason(g.fault)
			continue
		case seen[at]:
			return nil, errTwice
		case g.books.busy[g.key]:
			refused = true
			reasons[n] = conflictReason()
			continue
		}
		seen[at] = true
		found := g.books.base.row(g.key).current()
		size += found.bytes()
		out.Responses[n].Item = found.only(g.projection).lent()
	}
	switch {
	case refused:
		return nil, cancelled(reasons)
	case size > table.TransactionBytes:
		return nil, validation("Collection size of items exceeds %d bytes", table.TransactionBytes)
	}
	return out, nil
}
