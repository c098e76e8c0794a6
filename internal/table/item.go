package table

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
)

// KeyItem returns k in the SDK's form.
func KeyItem(k Key) Item {
	return Item{AttrPK: String(k.PK), AttrSK: String(k.SK)}
}

// Begin returns a new item of a guard or a projection, with its key, its type and the version of its form.
func Begin(k Key, kind string) Item {
	item := KeyItem(k)
	item[AttrType], item[AttrForm] = String(kind), form
	return item
}

// form is the version of every stored form.
var form = Integer(events.Form)

// KeyOf returns the key of an item or of an index entry. Error: ErrMalformedItem.
func KeyOf(i Item) (Key, error) {
	r := Read(i)
	k := Key{PK: r.Text(AttrPK), SK: r.Text(AttrSK)}
	return k, r.Err()
}

// ItemKey returns the key of an item that the table returned or takes. A part that is no string is "".
func ItemKey(i Item) Key { return Key{PK: TextOf(i[AttrPK]), SK: TextOf(i[AttrSK])} }

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

// SizeOf returns the size of an item by DynamoDB's rules: the bytes of its names and values. A nil item has size 0.
func SizeOf(i Item) int {
	total := 0
	for name, value := range i {
		total += len(name) + valueBytes(value)
	}
	return total
}

// valueBytes returns the size of a value by DynamoDB's rules. The ledger stores no sets and no binaries.
func valueBytes(value types.AttributeValue) int {
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return NumberBytes(v.Value)
	case *types.AttributeValueMemberM:
		return CollectionBytes + SizeOf(v.Value) + len(v.Value)*ElementBytes
	case *types.AttributeValueMemberL:
		total := CollectionBytes
		for _, element := range v.Value {
			total += valueBytes(element) + ElementBytes
		}
		return total
	}
	return 1 // a boolean or a null
}
