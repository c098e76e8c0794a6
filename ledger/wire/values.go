package wire

import (
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
