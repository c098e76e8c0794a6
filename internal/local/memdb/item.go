package memdb

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
)

// Sizes of keys in bytes (AWS, "Quotas in Amazon DynamoDB").
const (
	partitionKeyBytes = 2048
	sortKeyBytes      = 1024
)

// Errors of keys. Which of them is a fault, and thus a reason of a cancelled transaction, is as DynamoDB Local has it.
var (
	errNoKey    = validation("The provided key element does not match the schema")
	errEmptyKey = validation("The AttributeValue for a key attribute cannot contain an empty string value")
)

// keyOf reads a key of the table: that of an item, or with alone one of a request that gives nothing else. A fault
// is a ValidationException too, for which a transaction is cancelled instead of refused.
func (t *tableState) keyOf(i ddb.Item, alone bool) (k table.Key, fault, err error) {
	if alone && len(i) != len(t.keys().keys) {
		return k, nil, errNoKey
	}
	for _, part := range []struct {
		name string
		most int
		kept *string
	}{{t.keys().partitionKey, partitionKeyBytes, &k.PK}, {t.keys().sortKey, sortKeyBytes, &k.SK}} {
		v, ok := i[part.name]
		value, isText := text(v)
		switch {
		case alone && !isText:
			fault = errNoKey
		case !ok:
			return k, nil, validation("Missing the key %s in the item", part.name)
		case !isText:
			fault = validation("Type mismatch for key %s expected: S actual: %s", part.name, typeOf(v))
		case value == "":
			return k, nil, errEmptyKey
		case len(value) > part.most:
			fault = validation("Size of key %s has exceeded the maximum size limit of %d bytes", part.name, part.most)
		default:
			*part.kept = value
		}
	}
	return k, fault, nil
}

// check returns a ValidationException for an item that is too large or has a key of an index that cannot be one. A
// fault is one, too, for which a transaction is cancelled instead of refused; it comes first.
func (t *tableState) check(i ddb.Item) (fault, err error) {
	if ddb.ItemBytes(i) > table.ItemBytes {
		return nil, validation("Item size has exceeded the maximum allowed size")
	}
	for _, x := range t.indexes[1:] {
		for name, most := range map[string]int{x.partitionKey: partitionKeyBytes, x.sortKey: sortKeyBytes} {
			value, isText := text(i[name])
			_, isNumber := i[name].(*types.AttributeValueMemberN)
			switch {
			case i[name] == nil || isText && value != "" && len(value) <= most:
			case value == "" && isText:
				err = errEmptyKey
			case isNumber || isText:
				fault = validation("The key %s of index %s is too long, or has a wrong type", name, x.name)
			default:
				err = validation("The key %s of index %s has a wrong type", name, x.name)
			}
		}
	}
	if fault != nil {
		return fault, nil
	}
	return nil, err
}
