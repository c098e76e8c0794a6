package memdb

import (
	"cmp"
	"context"
	"reflect"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/table"
)

// writeOne answers PutItem, UpdateItem and DeleteItem. It returns the updated item if the request asks for it. An
// update creates a missing item. Deleting a missing item is not an error.
func (s *Store) writeOne(ctx context.Context, a action, in any) (after table.Item, err error) {
	r, err := newWriteRequest(a, in)
	if err != nil {
		return nil, err
	}
	writes, err := s.write(ctx, []writeRequest{r}, false, true)
	if err != nil || r.ReturnValues == "" {
		return nil, err
	}
	return writes[0].after.item(nil), nil
}

// A writeRequest has the fields of a write, or of an action of a transaction.
type writeRequest struct {
	TableName, ConditionExpression, UpdateExpression *string
	ExpressionAttributeNames                         map[string]string
	ExpressionAttributeValues, Item, Key             table.Item
	ReturnValuesOnConditionCheckFailure              types.ReturnValuesOnConditionCheckFailure
	ReturnValues                                     types.ReturnValue

	action action
}

type action int

const (
	putting action = iota
	updating
	deleting
	checking // a condition without a write
)

// newWriteRequest decodes a request, or an action of a transaction. in is a pointer to it.
func newWriteRequest(a action, in any) (writeRequest, error) {
	r := writeRequest{action: a}
	err := decode(in, &r)
	if err == nil && r.ReturnValues != "" && (a != updating || r.ReturnValues != types.ReturnValueAllNew) {
		err = unsupported("ReturnValues " + string(r.ReturnValues))
	}
	return r, err
}

// writeRequestOf decodes an item of a TransactWriteItems.
func writeRequestOf(item types.TransactWriteItem) (r writeRequest, err error) {
	given := 0
	for a, in := range []any{item.Put, item.Update, item.Delete, item.ConditionCheck} { // in the order of the constants
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

// A write is a parsed writeRequest.
type write struct {
	table      *tableState
	action     action
	key        table.Key
	condition  condition
	item       packed // the item to put; for other actions its key
	update     update
	returnsOld bool // a failed condition returns the item
	// Set by Store.write: the item before the write, and after it if the write is not refused.
	before, after packed
}

// newWrite parses a request. It makes the checks in the order of DynamoDB Local, so that a request with several faults
// gets the same error: the table, the expressions, their placeholders, the key, the item. The lock is held.
func (s *Store) newWrite(r writeRequest) (*write, error) {
	t, err := s.table(r.TableName)
	if err != nil {
		return nil, err
	}
	w := &write{table: t, action: r.action}
	w.returnsOld = r.ReturnValuesOnConditionCheckFailure == types.ReturnValuesOnConditionCheckFailureAllOld
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
	if w.item, err = pack(given); err == nil && r.action == putting { // decide checks an updated item
		err = t.check(w.item)
	}
	return w, err
}

// decide returns the item after the write, or the reason for rejecting the write: a conflict with a transaction in
// progress, or a failed condition. The error is a ValidationException. It changes nothing.
func (w *write) decide(before packed) (after packed, reason, err error) {
	switch {
	case w.table.busy[w.key]:
		return before, errConflict(), nil
	case !w.condition.holds(before, nil):
		failed := &types.ConditionalCheckFailedException{Message: aws.String("The conditional request failed")}
		if w.returnsOld {
			failed.Item = before.item(nil)
		}
		return before, failed, nil
	}
	switch w.action {
	case putting:
		return w.item, nil, nil
	case deleting:
		return "", nil, nil
	case checking:
		return before, nil, nil
	}
	if after, err = w.update.apply(cmp.Or(before, w.item)); err == nil {
		err = w.table.check(after)
	}
	return after, nil, err
}
