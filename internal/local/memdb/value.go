package memdb

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/store"
)

// The store supports values of the types S, N, BOOL, NULL, M and L. A nil item is a missing item.

// copyItemIn returns a copy of an item or of a map of a request, with canonical numbers. The error is a
// ValidationException.
func copyItemIn(given store.Item) (store.Item, error) {
	kept := make(store.Item, len(given))
	for name, v := range given {
		if name == "" {
			return nil, validation("Attribute name must not be empty")
		}
		var err error
		if kept[name], err = copyIn(v); err != nil {
			return nil, err
		}
	}
	return kept, nil
}

// copyIn is copyItemIn for one value.
func copyIn(v types.AttributeValue) (types.AttributeValue, error) {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return &types.AttributeValueMemberS{Value: v.Value}, nil
	case *types.AttributeValueMemberN:
		number, err := parseNumber(v.Value)
		return &types.AttributeValueMemberN{Value: number}, err
	case *types.AttributeValueMemberBOOL:
		return &types.AttributeValueMemberBOOL{Value: v.Value}, nil
	case *types.AttributeValueMemberNULL:
		return &types.AttributeValueMemberNULL{Value: true}, nil
	case *types.AttributeValueMemberM:
		m, err := copyItemIn(v.Value)
		return &types.AttributeValueMemberM{Value: m}, err
	case *types.AttributeValueMemberL:
		l := make([]types.AttributeValue, len(v.Value))
		for i := range l {
			var err error
			if l[i], err = copyIn(v.Value[i]); err != nil {
				return nil, err
			}
		}
		return &types.AttributeValueMemberL{Value: l}, nil
	}
	return nil, unsupported("a value of type " + typeOf(v))
}

// text returns the value of a string. ok is false if v is not a string.
func text(v types.AttributeValue) (s string, ok bool) {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value, true
	}
	return "", false
}

// equal reports whether two stored values are the same, or both missing.
func equal(a, b types.AttributeValue) bool { return reflect.DeepEqual(a, b) }

// compare orders two stored values. ok is false unless both are strings or both are numbers.
func compare(a, b types.AttributeValue) (order int, ok bool) {
	switch a := a.(type) {
	case *types.AttributeValueMemberS:
		if b, ok := b.(*types.AttributeValueMemberS); ok {
			return strings.Compare(a.Value, b.Value), true
		}
	case *types.AttributeValueMemberN:
		if b, ok := b.(*types.AttributeValueMemberN); ok {
			return rational(a.Value).Cmp(rational(b.Value)), true
		}
	}
	return 0, false
}

// typeOf returns the name of a value's type in AWS's messages and in attribute_type, such as "S".
func typeOf(v types.AttributeValue) string {
	return strings.TrimPrefix(fmt.Sprintf("%T", v), "*types.AttributeValueMember")
}
