// Package ddb translates between the AWS SDK and the domain: items, keys and errors. It implements store.Table, encodes
// and decodes events, and reads DynamoDB's clock. All functions are safe for concurrent use.
package ddb

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/table"
)

// Item is an item in the SDK's form.
type Item = map[string]types.AttributeValue

// Key returns k in the SDK's form.
func Key(k table.Key) Item {
	return Item{table.AttrPK: String(k.PK), table.AttrSK: String(k.SK)}
}

// Begin returns a new item of a guard or a projection, with its key, its type and the version of its form.
func Begin(k table.Key, kind string) Item {
	item := Key(k)
	item[table.AttrType], item[table.AttrForm] = String(kind), form
	return item
}

// form is the version of every stored form.
var form = Integer(events.Form)

// KeyOf returns the key of an item or of an index entry. Error: store.ErrMalformedItem.
func KeyOf(i Item) (table.Key, error) {
	r := Read(i)
	k := table.Key{PK: r.Text(table.AttrPK), SK: r.Text(table.AttrSK)}
	return k, r.Err()
}

// String returns a string attribute.
func String(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// Amount returns a number attribute.
func Amount(a events.Amount) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: a.String()}
}

// Integer returns a number attribute.
func Integer(n int64) types.AttributeValue { return Amount(events.NewAmount(n)) }

// Flag returns a boolean attribute.
func Flag(b bool) types.AttributeValue { return &types.AttributeValueMemberBOOL{Value: b} }

// Map returns a map attribute.
func Map(i Item) types.AttributeValue { return &types.AttributeValueMemberM{Value: i} }

// ItemBytes returns the size of an item by DynamoDB's rules: the bytes of its names and values. A nil item has size 0.
func ItemBytes(i Item) int {
	total := 0
	for name, value := range i {
		total += len(name) + ValueBytes(value)
	}
	return total
}

// ValueBytes returns the size of a value by DynamoDB's rules. The ledger stores no sets and no binaries.
func ValueBytes(value types.AttributeValue) int {
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return table.NumberBytes(v.Value)
	case *types.AttributeValueMemberM:
		return table.CollectionBytes + ItemBytes(v.Value) + len(v.Value)*table.ElementBytes
	case *types.AttributeValueMemberL:
		total := table.CollectionBytes
		for _, element := range v.Value {
			total += ValueBytes(element) + table.ElementBytes
		}
		return total
	}
	return 1 // a boolean or a null
}
