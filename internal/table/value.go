package table

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// TextOf returns the text of a string attribute, "" for other types.
func TextOf(v types.AttributeValue) string {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

// DigitsOf returns the digits of a number attribute, "" for other types.
func DigitsOf(v types.AttributeValue) string {
	if n, ok := v.(*types.AttributeValueMemberN); ok {
		return n.Value
	}
	return ""
}

// Digits returns a number attribute with these digits.
func Digits(digits string) types.AttributeValue { return &types.AttributeValueMemberN{Value: digits} }

// TypeOf returns the code of an attribute's type, as attribute_type takes it, such as "N"; "" for nil.
func TypeOf(v types.AttributeValue) string {
	if v == nil {
		return ""
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", v), "*types.AttributeValueMember") // how the SDK names its Go types
}

// Maps returns a list attribute of maps.
func Maps(all []Item) types.AttributeValue {
	list := make([]types.AttributeValue, len(all))
	for i, item := range all {
		list[i] = Map(item)
	}
	return &types.AttributeValueMemberL{Value: list}
}
