package meter

import (
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
)

// numberBytesMost is the largest size of a number, of 38 digits and a sign: what an update may make of one.
const numberBytesMost = 21

// A write is a put or an update of one item.
type write struct {
	key       table.Key
	condition string
	put       bool
	after     image // of a put
	growth    int   // of an update: by how many bytes it makes the item larger at most
}

func (m *Meter) putOf(item wire.Item, condition *string) write {
	return write{key: keyOf(item), condition: aws.ToString(condition), put: true, after: m.imageOf(item)}
}

// updateOf is the write of an update, whose expression must name all attributes by ExpressionAttributeNames and give all
// values by ExpressionAttributeValues.
func updateOf(key wire.Item, condition *string, names map[string]string, values wire.Item) write {
	w := write{key: keyOf(key), condition: aws.ToString(condition)}
	for _, name := range names {
		w.growth += len(name)
	}
	for _, value := range values {
		if _, number := value.(*types.AttributeValueMemberN); number {
			w.growth += numberBytesMost
		} else {
			w.growth += bytesOf(value)
		}
	}
	return w
}

// transaction lists the writes of the actions on the meter's table. A deletion or a check, which the ledger never sends, is
// counted as guessed.
func (m *Meter) transaction(actions []types.TransactWriteItem) (writes []write, guessed int64) {
	writes = make([]write, 0, len(actions))
	for _, a := range actions {
		switch {
		case a.Put != nil && aws.ToString(a.Put.TableName) == m.table:
			writes = append(writes, m.putOf(a.Put.Item, a.Put.ConditionExpression))
		case a.Update != nil && aws.ToString(a.Update.TableName) == m.table:
			u := a.Update
			writes = append(writes, updateOf(u.Key, u.ConditionExpression, u.ExpressionAttributeNames, u.ExpressionAttributeValues))
		case a.Delete != nil || a.ConditionCheck != nil:
			guessed++
		}
	}
	return writes, guessed
}

// wrote counts the writes of a request, by the error that it came back with. Throttled and refused ones consume nothing.
func (m *Meter) wrote(t *Tally, writes []write, transactional bool, err error) {
	var cancelled *types.TransactionCanceledException
	var failed *types.ConditionalCheckFailedException
	switch {
	case err == nil:
		for _, w := range writes {
			m.applied(t, w, transactional)
		}
	case errors.As(err, &cancelled):
		t.Cancelled++
		for i, w := range writes {
			if len(cancelled.CancellationReasons) == len(writes) {
				m.found(w.key, cancelled.CancellationReasons[i].Item)
			}
			m.refused(t, w, transactional)
		}
	case errors.As(err, &failed):
		t.Cancelled++
		for _, w := range writes {
			m.found(w.key, failed.Item)
			m.refused(t, w, transactional)
		}
	case errors.Is(wire.WriteError(err), table.ErrUnknownOutcome): // it may have been written
		for _, w := range writes {
			m.applied(t, w, transactional)
		}
	}
}

// found remembers the item that a failed condition told of.
func (m *Meter) found(k table.Key, item wire.Item) {
	if len(item) > 0 {
		m.seen.set(k, m.imageOf(item))
	}
}

// applied counts a write that was made.
func (m *Meter) applied(t *Tally, w write, transactional bool) {
	t.ItemsWritten++
	if !w.put {
		t.WriteUnits += m.updated(t, w, transactional)
		return
	}
	before, known := m.seen.set(w.key, w.after)
	switch {
	case w.condition == wire.IfAbsent:
		before = image{}
	case !known:
		before = w.after
		units := w.after.units(before, transactional)
		if made := w.after.units(image{}, transactional); made != units {
			t.Guessed++
			if strings.HasPrefix(w.condition, wire.IfAbsent) { // or something that only an item that is there can meet
				before = image{}
			}
		}
	}
	t.WriteUnits += int64(w.after.units(before, transactional))
}

// updated returns the units of an update. An item that was not seen is taken as having nothing but its key.
func (m *Meter) updated(t *Tally, w write, transactional bool) int64 {
	before, _ := m.seen.of(w.key)
	least := max(before.bytes, keyBytes(w.key))
	units := table.TableUnits(least+w.growth, transactional)
	if units != table.TableUnits(least, transactional) || before.entries != [indexes]entry{} {
		t.Guessed++
	}
	return int64(units)
}

// refused counts a write whose condition failed, or whose transaction was cancelled.
func (m *Meter) refused(t *Tally, w write, transactional bool) {
	if !w.put {
		t.WriteUnits += m.updated(t, w, transactional)
		return
	}
	before, known := m.seen.of(w.key)
	bytes := before.bytes
	if transactional || !known {
		bytes = max(bytes, w.after.bytes)
	}
	t.WriteUnits += int64(table.TableUnits(bytes, transactional))
}

// keyBytes is the size of an item that has nothing but its key.
func keyBytes(k table.Key) int {
	return len(table.AttrPK) + len(k.PK) + len(table.AttrSK) + len(k.SK)
}

// keyOf reads a key as far as it is there.
func keyOf(item wire.Item) table.Key {
	return table.Key{PK: text(item[table.AttrPK]), SK: text(item[table.AttrSK])}
}

func text(v types.AttributeValue) string {
	s, ok := v.(*types.AttributeValueMemberS)
	if !ok {
		return ""
	}
	return s.Value
}
