package memdb

import (
	"ledger.example/internal/store"
)

// Maximum sizes of keys (AWS, "Quotas in Amazon DynamoDB").
const (
	partitionKeyBytes = 2048
	sortKeyBytes      = 1024
)

// keyOf returns the table's key in i. With keyOnly, i must have no other attributes. The error is a
// ValidationException.
func (t *tableState) keyOf(i store.Item, keyOnly bool) (k store.Key, err error) {
	x := t.keys()
	if keyOnly && len(i) != len(x.keys) {
		return k, validation("The provided key element does not match the schema")
	}
	if k.PK, err = keyPart(i, x.partitionKey, partitionKeyBytes); err == nil {
		k.SK, err = keyPart(i, x.sortKey, sortKeyBytes)
	}
	return k, err
}

// keyPart returns the string of a key attribute. The error is a ValidationException.
func keyPart(i store.Item, name string, maxBytes int) (string, error) {
	value, isText := text(i[name])
	if !isText || value == "" || len(value) > maxBytes {
		return "", validation("The key %s must be a string of 1 to %d bytes", name, maxBytes)
	}
	return value, nil
}

// check returns a ValidationException if an item is too large or has an invalid index key.
func (t *tableState) check(i store.Item) error {
	if store.SizeOf(i) > store.ItemBytes {
		return validation("Item size has exceeded the maximum allowed size")
	}
	for _, x := range t.indexes[1:] {
		for name, maxBytes := range map[string]int{x.partitionKey: partitionKeyBytes, x.sortKey: sortKeyBytes} {
			if i[name] == nil {
				continue
			}
			if _, err := keyPart(i, name, maxBytes); err != nil {
				return err
			}
		}
	}
	return nil
}
