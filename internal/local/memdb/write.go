package memdb

import (
	"reflect"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
)

// writeOne answers PutItem, UpdateItem and DeleteItem: with what the item became, if that was asked for. Updating makes
// an item that isn't there, and deleting one is no error.
func (s *Store) writeOne(a action, in any) (after ddb.Item, err error) {
	r, err := newWriteRequest(a, in)
	if err != nil {
		return nil, err
	}
	writes, err := s.write([]writeRequest{r}, func(reasons []error) error { return reasons[0] }, true)
	if err != nil || r.ReturnValues == "" {
		return nil, err
	}
	return lend(writes[0].after, nil), nil
}

// A writeRequest has the fields of one action, alone or of a transaction.
type writeRequest struct {
	TableName, ConditionExpression, UpdateExpression *string
	ExpressionAttributeNames                         map[string]string
	ExpressionAttributeValues, Item, Key             ddb.Item
	ReturnValuesOnConditionCheckFailure              types.ReturnValuesOnConditionCheckFailure
	ReturnValues                                     types.ReturnValue

	action action
}

type action int

const (
	putting action = iota
	updating
	deleting
	checking // only its condition counts
)

// newWriteRequest reads a request by a pointer to it, or to the action of a transaction.
func newWriteRequest(a action, in any) (writeRequest, error) {
	r := writeRequest{action: a}
	err := decode(in, &r)
	if err == nil && r.ReturnValues != "" && (a != updating || r.ReturnValues != types.ReturnValueAllNew) {
		err = unsupported("ReturnValues " + string(r.ReturnValues))
	}
	return r, err
}

// writeRequestOf reads one action of a transaction.
func writeRequestOf(item types.TransactWriteItem) (r writeRequest, err error) {
	given := 0
	for a, in := range []any{item.Put, item.Update, item.Delete, item.ConditionCheck} { // by their actions' numbers
		if !reflect.ValueOf(in).IsNil() {
			given++
			r, err = newWriteRequest(action(a), in)
		}
	}
	if given != 1 {
		err = validation("TransactItems can only contain one of Check, Put, Update or Delete")
	}
	return r, err
}

// A write is a request that was read.
type write struct {
	table     *tableState
	action    action
	key       table.Key
	condition condition
	item      ddb.Item // to put, otherwise its key, which is the request's
	update    update
	shows     bool     // the item is shown if the condition fails
	after     ddb.Item // what the item became, once it is decided
}

// newWrite reads a request. The checks are made in the order of DynamoDB Local, so that a request with several faults
// gets the same answer: the table, the expressions, their placeholders, the key, the item. The lock is held.
func (s *Store) newWrite(r writeRequest) (*write, error) {
	t, err := s.table(r.TableName)
	if err != nil {
		return nil, err
	}
	w := &write{table: t, action: r.action}
	w.shows = r.ReturnValuesOnConditionCheckFailure == types.ReturnValuesOnConditionCheckFailureAllOld
	p := &placeholders{names: r.ExpressionAttributeNames, values: r.ExpressionAttributeValues}
	if w.condition, err = p.condition("ConditionExpression", r.ConditionExpression); err != nil {
		return nil, err
	}
	if w.update, err = p.update(r.UpdateExpression, t.keys().keys); err != nil {
		return nil, err
	}
	if err := p.done(); err != nil {
		return nil, err
	}
	given := r.Key
	if r.action == putting {
		given = r.Item
	}
	if w.key, err = t.keyOf(given, r.action != putting); err != nil {
		return nil, err
	}
	if w.item = given; r.action == putting { // what an update makes of the item is checked when that is known
		if w.item, err = keepItem(given); err == nil {
			err = t.check(w.item)
		}
	}
	return w, err
}

// decide returns what the item becomes, or the reason why the write cannot be made: a conflict with a transaction under
// way, or a condition that doesn't hold. The error is a ValidationException. It changes nothing.
func (w *write) decide(before ddb.Item) (after ddb.Item, reason, err error) {
	switch {
	case w.table.busy[w.key]:
		return before, errConflict(), nil
	case !w.condition.holds(before):
		failed := &types.ConditionalCheckFailedException{Message: aws.String("The conditional request failed")}
		if w.shows {
			failed.Item = lend(before, nil)
		}
		return before, failed, nil
	}
	switch w.action {
	case putting:
		return w.item, nil, nil
	case deleting:
		return nil, nil, nil
	case checking:
		return before, nil, nil
	}
	if after = before; after == nil {
		after, _ = keepItem(w.item) // two strings
	}
	if after, err = w.update.of(after); err == nil {
		err = w.table.check(after)
	}
	return after, nil, err
}
