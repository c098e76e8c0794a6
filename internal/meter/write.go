package meter

import (
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/store"
)

// numberBytesMax is the largest size of a number: 38 digits and a sign. An update may grow a number to it.
const numberBytesMax = 21

// A write is a put, an update or, in a transaction, a condition check of one item.
type write struct {
	key       store.Key
	condition string
	put       bool
	check     bool
	after     image // of a put
	growth    int   // the most bytes that an update adds
}

func (m *Meter) putOf(item store.Item, condition *string) write {
	return write{key: store.ItemKey(item), condition: aws.ToString(condition), put: true, after: m.imageOf(item)}
}

// updateOf returns the write of an update. All its names must be in ExpressionAttributeNames, and all its values in
// ExpressionAttributeValues.
func updateOf(key store.Item, condition *string, names map[string]string, values store.Item) write {
	w := write{key: store.ItemKey(key), condition: aws.ToString(condition)}
	for _, name := range names {
		w.growth += len(name)
	}
	for _, value := range values {
		if _, number := value.(*types.AttributeValueMemberN); number {
			w.growth += numberBytesMax
		} else {
			w.growth += store.ValueBytes(value)
		}
	}
	return w
}

// countWrites counts the units that a request's writes consumed. err is the request's error.
func (m *Meter) countWrites(t *Tally, request any, err error) {
	switch in := request.(type) {
	case *dynamodb.PutItemInput:
		m.wrote(t, []write{m.putOf(in.Item, in.ConditionExpression)}, false, err)
	case *dynamodb.UpdateItemInput:
		m.wrote(t, []write{updateOf(in.Key, in.ConditionExpression, in.ExpressionAttributeNames,
			in.ExpressionAttributeValues)}, false, err)
	case *dynamodb.TransactWriteItemsInput:
		writes, guessed := m.transaction(in.TransactItems)
		t.Guessed += guessed
		m.wrote(t, writes, true, err)
	}
}

// transaction returns the writes to the meter's table. The ledger never sends deletions; each counts as guessed.
func (m *Meter) transaction(actions []types.TransactWriteItem) (writes []write, guessed int64) {
	writes = make([]write, 0, len(actions))
	for _, a := range actions {
		switch {
		case a.Put != nil && aws.ToString(a.Put.TableName) == m.table:
			writes = append(writes, m.putOf(a.Put.Item, a.Put.ConditionExpression))
		case a.Update != nil && aws.ToString(a.Update.TableName) == m.table:
			u := a.Update
			writes = append(writes, updateOf(u.Key, u.ConditionExpression, u.ExpressionAttributeNames,
				u.ExpressionAttributeValues))
		case a.ConditionCheck != nil && aws.ToString(a.ConditionCheck.TableName) == m.table:
			writes = append(writes, write{key: store.ItemKey(a.ConditionCheck.Key), check: true})
		case a.Delete != nil:
			guessed++
		}
	}
	return writes, guessed
}

// wrote counts the writes of a request, depending on its error. Throttled and rejected requests consume nothing.
func (m *Meter) wrote(t *Tally, writes []write, transactional bool, err error) {
	var cancelled *types.TransactionCanceledException
	var failed *types.ConditionalCheckFailedException
	switch {
	case err == nil:
		for _, w := range writes {
			m.applied(t, w, transactional)
		}
	case errors.As(err, &cancelled):
		for i, w := range writes {
			if len(cancelled.CancellationReasons) == len(writes) {
				m.cacheItem(w.key, cancelled.CancellationReasons[i].Item)
			}
			m.rejected(t, w, transactional)
		}
	case errors.As(err, &failed):
		for _, w := range writes {
			m.cacheItem(w.key, failed.Item)
			m.rejected(t, w, transactional)
		}
	case errors.Is(store.WriteError(err), store.ErrUnknownOutcome): // it may have been applied
		for _, w := range writes {
			m.applied(t, w, transactional)
		}
	}
}

// cacheItem caches the item that a failed condition returned, if it returned one.
func (m *Meter) cacheItem(k store.Key, item store.Item) {
	if len(item) > 0 {
		m.cache.swap(k, m.imageOf(item))
	}
}

// applied counts a write that was applied.
func (m *Meter) applied(t *Tally, w write, transactional bool) {
	if !w.check {
		t.ItemsWritten++
	}
	if !w.put {
		t.WriteUnits += m.updated(t, w, transactional)
		return
	}
	before, known := m.cache.swap(w.key, w.after)
	switch {
	case w.condition == store.IfAbsent:
		before = image{}
	case !known:
		before = w.after
		units := w.after.units(before, transactional)
		if created := w.after.units(image{}, transactional); created != units {
			t.Guessed++
			if strings.HasPrefix(w.condition, store.IfAbsent) { // any other condition requires an existing item
				before = image{}
			}
		}
	}
	t.WriteUnits += int64(w.after.units(before, transactional))
}

// updated returns the units of an update or of a condition check. It assumes that an item that is not cached has only
// its key.
func (m *Meter) updated(t *Tally, w write, transactional bool) int64 {
	before, _ := m.cache.get(w.key)
	least := max(before.bytes, keyBytes(w.key))
	units := store.TableUnits(least+w.growth, transactional)
	if w.check {
		return int64(units)
	}
	if units != store.TableUnits(least, transactional) || before.entries != [indexes]entry{} {
		t.Guessed++
	}
	return int64(units)
}

// rejected counts a write whose condition failed, or whose transaction was cancelled. A single write consumes the units
// of the existing item, as AWS documents. AWS does not document the units of a cancelled transaction. It is counted
// like one that succeeded, without the units of the indexes.
func (m *Meter) rejected(t *Tally, w write, transactional bool) {
	if !w.put {
		t.WriteUnits += m.updated(t, w, transactional)
		return
	}
	before, known := m.cache.get(w.key)
	bytes := before.bytes
	if transactional || !known {
		bytes = max(bytes, w.after.bytes)
	}
	t.WriteUnits += int64(store.TableUnits(bytes, transactional))
}

// keyBytes returns the size of an item that has only its key.
func keyBytes(k store.Key) int {
	return len(store.AttrPK) + len(k.PK) + len(store.AttrSK) + len(k.SK)
}
