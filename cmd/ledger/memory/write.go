package memory

import (
	"cmp"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
)

// A write is a put, an update, a deletion or a check of one item, read from its request.
type write struct {
	books     *books
	key       table.Key
	condition condition
	become    update // what the item becomes, given what it is
	checks    bool   // only its condition counts
	shows     bool   // the item is wanted when the condition fails
	fault     error  // a ValidationException: the key or the item cannot be one of this table
}

// conditional is what every write has.
type conditional struct {
	table      *string
	expression *string
	names      map[string]string
	values     wire.Item
	onFailure  types.ReturnValuesOnConditionCheckFailure
}

// write reads what all writes have in common; step reads the rest, with the placeholders. The lock is held.
func (s *Store) write(c conditional, step func(w *write, p *placeholders) error) (*write, error) {
	b, err := s.table(c.table)
	if err != nil {
		return nil, err
	}
	w := &write{books: b, shows: c.onFailure == types.ReturnValuesOnConditionCheckFailureAllOld}
	p, err := newPlaceholders(c.names, c.values)
	if err != nil {
		return nil, err
	}
	if w.condition, err = s.condition(p, c.expression); err != nil {
		return nil, err
	}
	if err := step(w, p); err != nil {
		return nil, err
	}
	return w, p.done()
}

// conditionsKept is how many conditions are kept at most.
const conditionsKept = 100

// condition reads a condition. One without placeholders means the same each time, and is kept: nearly every write has such a
// one. The lock is held.
func (s *Store) condition(p *placeholders, text *string) (condition, error) {
	plain := text != nil && p.names == nil && p.values == nil
	if plain && s.conditions[*text] != nil {
		return s.conditions[*text], nil
	}
	c, _, err := p.condition(conditionExpression, text)
	if plain && err == nil && len(s.conditions) < conditionsKept {
		s.conditions[*text] = c
	}
	return c, err
}

func (s *Store) put(in *types.Put) (*write, error) {
	c := conditional{in.TableName, in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues, in.ReturnValuesOnConditionCheckFailure}
	return s.write(c, func(w *write, _ *placeholders) error {
		whole, err := keptItem(in.Item)
		if err != nil {
			return err
		}
		w.become = func(item) (item, error) { return whole, nil }
		if w.key, w.fault, err = w.books.keyOf(in.Item, false); err != nil {
			return err
		}
		fault, err := w.books.check(whole)
		if w.fault = cmp.Or(w.fault, fault); w.fault != nil {
			return nil
		}
		return err
	})
}

func (s *Store) update(in *types.Update) (*write, error) {
	c := conditional{in.TableName, in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues, in.ReturnValuesOnConditionCheckFailure}
	return s.write(c, func(w *write, p *placeholders) error {
		key, err := keptItem(in.Key)
		if err != nil {
			return err
		}
		if w.key, w.fault, err = w.books.keyOf(in.Key, true); err != nil {
			return err
		}
		change, err := p.update(in.UpdateExpression, w.books.keys)
		if err != nil {
			return err
		}
		w.become = func(before item) (item, error) {
			if before == nil {
				before = key
			}
			after, err := change(before)
			if err != nil {
				return nil, err
			}
			fault, err := w.books.check(after)
			return after, cmp.Or(fault, err)
		}
		return nil
	})
}

func (s *Store) delete(in *types.Delete) (*write, error) {
	c := conditional{in.TableName, in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues, in.ReturnValuesOnConditionCheckFailure}
	return s.write(c, func(w *write, _ *placeholders) (err error) {
		w.become = func(item) (item, error) { return nil, nil }
		w.key, w.fault, err = w.books.keyOf(in.Key, true)
		return err
	})
}

func (s *Store) check(in *types.ConditionCheck) (*write, error) {
	c := conditional{in.TableName, in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues, in.ReturnValuesOnConditionCheckFailure}
	return s.write(c, func(w *write, _ *placeholders) (err error) {
		w.checks = true
		w.become = func(i item) (item, error) { return i, nil }
		w.key, w.fault, err = w.books.keyOf(in.Key, true)
		return err
	})
}

// check returns a ValidationException for an item that is too large or has an index's key that cannot be one. A fault is one,
// too, for which a transaction is cancelled instead of refused; it comes first.
func (b *books) check(i item) (fault, err error) {
	if i.bytes() > table.ItemBytes {
		return nil, validation("Item size has exceeded the maximum allowed size")
	}
	for _, x := range b.indexes {
		for _, part := range []struct {
			name string
			most int
		}{{x.partitionKey, partitionKeyBytes}, {x.sortKey, sortKeyBytes}} {
			switch v := i.get(part.name).(type) {
			case nil:
			case *types.AttributeValueMemberS:
				if v.Value == "" {
					err = validation("One or more parameter values are not valid. A value specified for a secondary index key is not supported. The AttributeValue for a key attribute cannot contain an empty string value. IndexName: %s, IndexKey: %s", x.name, part.name)
				}
				if len(v.Value) > part.most {
					fault = validation("One or more parameter values were invalid: Size of the key %s has exceeded the maximum size limit of %d bytes IndexName: %s", part.name, part.most, x.name)
				}
			default:
				mismatch := validation("One or more parameter values were invalid: Type mismatch for Index Key %s Expected: S Actual: %s IndexName: %s", part.name, typeOf(v), x.name)
				if _, ordered := compare(v, v); ordered {
					fault = mismatch
				} else {
					err = mismatch
				}
			}
		}
	}
	if fault != nil {
		return fault, nil
	}
	return nil, err
}

// breach returns an error if the write would change, overwrite or delete an event.
func (w *write) breach(before item) error {
	if w.checks || before.get(table.AttrEventVersion) == nil {
		return nil
	}
	return fmt.Errorf("memory: a write to an event that is there: %s %s in table %s", w.key.PK, w.key.SK, w.books.name)
}

// alone carries out a write that is a request of its own. It returns the item as it was and as it became.
func (s *Store) alone(read func() (*write, error)) (before, after item, err error) {
	warned := false
	for {
		before, after, breach, err := s.attempt(read, warned)
		if breach == nil {
			return before, after, err
		}
		s.violation(breach)
		warned = true
	}
}

// attempt is alone, unless the write would breach our promise and nobody was warned yet: then it does nothing and returns
// the breach.
func (s *Store) attempt(read func() (*write, error), warned bool) (before, after item, breach, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, err := read()
	if err == nil {
		err = w.fault
	}
	if err != nil {
		return nil, nil, nil, err
	}
	if w.books.busy[w.key] {
		return nil, nil, nil, &types.TransactionConflictException{Message: aws.String("Transaction is ongoing for the item")}
	}
	before = w.books.base.row(w.key).current()
	if !w.condition(before) {
		failed := &types.ConditionalCheckFailedException{Message: aws.String(conditionFailed)}
		if w.shows {
			failed.Item = before.lent()
		}
		return nil, nil, nil, failed
	}
	if after, err = w.become(before); err != nil {
		return nil, nil, nil, err
	}
	if breach := w.breach(before); breach != nil && !warned {
		return nil, nil, breach, nil
	}
	s.apply(w.books, w.key, after)
	return before, after, nil, nil
}

const conditionFailed = "The conditional request failed"

func (s *Store) putItem(in *dynamodb.PutItemInput) (*dynamodb.PutItemOutput, error) {
	if err := refuse(
		option{"Expected", in.Expected != nil}, option{"ConditionalOperator", in.ConditionalOperator != ""},
		option{"ReturnItemCollectionMetrics", in.ReturnItemCollectionMetrics != ""},
		option{"ReturnValues " + string(in.ReturnValues), !none(in.ReturnValues)}, measured(in.ReturnConsumedCapacity),
	); err != nil {
		return nil, err
	}
	_, _, err := s.alone(func() (*write, error) {
		return s.put(&types.Put{
			TableName: in.TableName, Item: in.Item, ConditionExpression: in.ConditionExpression,
			ExpressionAttributeNames: in.ExpressionAttributeNames, ExpressionAttributeValues: in.ExpressionAttributeValues,
			ReturnValuesOnConditionCheckFailure: in.ReturnValuesOnConditionCheckFailure,
		})
	})
	return &dynamodb.PutItemOutput{}, err
}

func none(r types.ReturnValue) bool { return r == "" || r == types.ReturnValueNone }

func (s *Store) updateItem(in *dynamodb.UpdateItemInput) (*dynamodb.UpdateItemOutput, error) {
	if err := refuse(
		option{"AttributeUpdates", in.AttributeUpdates != nil},
		option{"Expected", in.Expected != nil}, option{"ConditionalOperator", in.ConditionalOperator != ""},
		option{"ReturnItemCollectionMetrics", in.ReturnItemCollectionMetrics != ""},
		option{"ReturnValues " + string(in.ReturnValues), !none(in.ReturnValues) && in.ReturnValues != types.ReturnValueAllNew},
		measured(in.ReturnConsumedCapacity),
	); err != nil {
		return nil, err
	}
	_, after, err := s.alone(func() (*write, error) {
		return s.update(&types.Update{
			TableName: in.TableName, Key: in.Key, ConditionExpression: in.ConditionExpression, UpdateExpression: in.UpdateExpression,
			ExpressionAttributeNames: in.ExpressionAttributeNames, ExpressionAttributeValues: in.ExpressionAttributeValues,
			ReturnValuesOnConditionCheckFailure: in.ReturnValuesOnConditionCheckFailure,
		})
	})
	out := &dynamodb.UpdateItemOutput{}
	if err == nil && in.ReturnValues == types.ReturnValueAllNew {
		out.Attributes = after.lent()
	}
	return out, err
}

func (s *Store) deleteItem(in *dynamodb.DeleteItemInput) (*dynamodb.DeleteItemOutput, error) {
	if err := refuse(
		option{"Expected", in.Expected != nil}, option{"ConditionalOperator", in.ConditionalOperator != ""},
		option{"ReturnItemCollectionMetrics", in.ReturnItemCollectionMetrics != ""},
		option{"ReturnValues " + string(in.ReturnValues), !none(in.ReturnValues)}, measured(in.ReturnConsumedCapacity),
	); err != nil {
		return nil, err
	}
	_, _, err := s.alone(func() (*write, error) {
		return s.delete(&types.Delete{
			TableName: in.TableName, Key: in.Key, ConditionExpression: in.ConditionExpression,
			ExpressionAttributeNames: in.ExpressionAttributeNames, ExpressionAttributeValues: in.ExpressionAttributeValues,
			ReturnValuesOnConditionCheckFailure: in.ReturnValuesOnConditionCheckFailure,
		})
	})
	return &dynamodb.DeleteItemOutput{}, err
}
