// Package wire speaks to the one table through the AWS SDK: items to and from the domain's fields, keys, errors, and
// the store's clock. Both adapters are built on it, and neither imports the other.
package wire

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/ledger/table"
)

// Item is an item as the SDK has it.
type Item = map[string]types.AttributeValue

// Key returns k as the SDK wants it.
func Key(k table.Key) Item {
	return Item{table.AttrPK: String(k.PK), table.AttrSK: String(k.SK)}
}

// KeyOf returns the key of an item, or of the part of it that an index holds.
func KeyOf(i Item) (table.Key, error) {
	r := Read(i)
	k := table.Key{PK: r.Text(table.AttrPK), SK: r.Text(table.AttrSK)}
	return k, r.Err()
}

// IfAbsent is the condition that every write of an event carries: no item is there under its key.
const IfAbsent = "attribute_not_exists(" + table.AttrPK + ")"
