package memdb

import (
	"ledger.example/internal/table"
)

// Maximum sizes of keys (AWS, "Quotas in Amazon DynamoDB").
const (
	partitionKeyBytes = 2048
	sortKeyBytes      = 1024
)

// keyOf returns the table's key in i. With keyOnly, i must have no other attributes. The error is a
// ValidationException.
func (t *tableState) keyOf(i table.Item, keyOnly bool) (k table.Key, err error) {
	x := t.keys()
	if keyOnly && len(i) != len(x.keys) {
		return k, validation("The provided key element does not match the schema")
	}
	k.PK, _ = text(i[x.partitionKey])
	k.SK, _ = text(i[x.sortKey])
	if err = checkKey(x.partitionKey, k.PK, partitionKeyBytes); err == nil {
		err = checkKey(x.sortKey, k.SK, sortKeyBytes)
	}
	return k, err
}

// checkKey returns a ValidationException unless the text is valid for a key.
func checkKey(name, text string, maxBytes int) error {
	if text == "" || len(text) > maxBytes {
		return validation("The key %s must be a string of 1 to %d bytes", name, maxBytes)
	}
	return nil
}

// check returns a ValidationException if an item is too large or has an invalid index key.
func (t *tableState) check(i packed) error {
	if i.size(nil) > table.ItemBytes {
		return validation("Item size has exceeded the maximum allowed size")
	}
	for _, x := range t.indexes[1:] {
		for _, key := range [...]struct {
			name     string
			maxBytes int
		}{{x.partitionKey, partitionKeyBytes}, {x.sortKey, sortKeyBytes}} {
			v := i.get(key.name)
			if v.letter == 0 {
				continue
			}
			if v.letter != packedText {
				v.text = ""
			}
			if err := checkKey(key.name, v.text, key.maxBytes); err != nil {
				return err
			}
		}
	}
	return nil
}
