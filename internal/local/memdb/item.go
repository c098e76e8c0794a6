package memdb

import (
	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
)

// Sizes of keys in bytes (AWS, "Quotas in Amazon DynamoDB").
const (
	partitionKeyBytes = 2048
	sortKeyBytes      = 1024
)

// keyOf reads a key of the table: that of an item, or with alone one of a request that gives nothing else. The error is
// a ValidationException.
func (t *tableState) keyOf(i ddb.Item, alone bool) (k table.Key, err error) {
	x := t.keys()
	if alone && len(i) != len(x.keys) {
		return k, validation("The provided key element does not match the schema")
	}
	if k.PK, err = keyPart(i, x.partitionKey, partitionKeyBytes); err == nil {
		k.SK, err = keyPart(i, x.sortKey, sortKeyBytes)
	}
	return k, err
}

// keyPart returns an attribute that is a part of a key. The error is a ValidationException.
func keyPart(i ddb.Item, name string, most int) (string, error) {
	value, isText := text(i[name])
	if !isText || value == "" || len(value) > most {
		return "", validation("The key %s must be a string of 1 to %d bytes", name, most)
	}
	return value, nil
}

// check returns a ValidationException for an item that is too large or has a key of an index that cannot be one.
func (t *tableState) check(i ddb.Item) error {
	if ddb.ItemBytes(i) > table.ItemBytes {
		return validation("Item size has exceeded the maximum allowed size")
	}
	for _, x := range t.indexes[1:] {
		for name, most := range map[string]int{x.partitionKey: partitionKeyBytes, x.sortKey: sortKeyBytes} {
			if i[name] == nil {
				continue
			}
			if _, err := keyPart(i, name, most); err != nil {
				return err
			}
		}
	}
	return nil
}
