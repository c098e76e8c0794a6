package wire

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
)

// String returns a string as the SDK has it.
func String(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// Amount returns an amount as the SDK has it: a number.
func Amount(a events.Amount) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: a.String()}
}

// Integer returns a number as the SDK has it.
func Integer(n int64) types.AttributeValue { return Amount(events.NewAmount(n)) }

// Flag returns a boolean as the SDK has it.
func Flag(b bool) types.AttributeValue { return &types.AttributeValueMemberBOOL{Value: b} }

// Map returns a map as the SDK has it.
func Map(i Item) types.AttributeValue { return &types.AttributeValueMemberM{Value: i} }

// value returns a value of an event's fields as the SDK has it.
func value(v any) types.AttributeValue {
	switch v := v.(type) {
	case string:
		return String(v)
	case events.Number:
		return &types.AttributeValueMemberN{Value: string(v)}
	case bool:
		return Flag(v)
	case events.Fields:
		return Map(values(v))
	case events.List:
		list := make([]types.AttributeValue, len(v))
		for i, element := range v {
			list[i] = value(element)
		}
		return &types.AttributeValueMemberL{Value: list}
	}
	// The codec promises that there are no others.
	panic(fmt.Sprintf("wire: an event's field holds a %T", v))
}

func values(f events.Fields) Item {
	i := make(Item, len(f)+keyAttributes)
	for name, v := range f {
		i[name] = value(v)
	}
	return i
}

// field returns a value of the SDK's as a value of an event's fields. An event holds no sets, binaries or nulls:
// those come back as the SDK has them, which the codec refuses as a wrong type.
func field(v types.AttributeValue) any {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return events.Number(v.Value)
	case *types.AttributeValueMemberBOOL:
		return v.Value
	case *types.AttributeValueMemberM:
		fields := make(events.Fields, len(v.Value))
		for name, element := range v.Value {
			fields[name] = field(element)
		}
		return fields
	case *types.AttributeValueMemberL:
		list := make(events.List, len(v.Value))
		for i, element := range v.Value {
			list[i] = field(element)
		}
		return list
	}
	return v
}
