package memdb

import (
	"fmt"
	"reflect"
	"strings"
	"unique"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/store"
)

// The store supports values of the types S, N, BOOL, NULL, M and L. Stored values are immutable: items are copied when
// they come from a request, and again for an answer. A nil item is a missing item.

// copyItemIn returns a copy of an item or of a map for storing, with canonical numbers. It clones names and strings,
// because they may retain something larger, such as the body of a request. The error is a ValidationException.
func copyItemIn(given store.Item) (store.Item, error) {
	kept := make(store.Item, len(given))
	for name, v := range given {
		if name == "" {
			return nil, validation("Attribute name must not be empty")
		}
		var err error
		if kept[unique.Make(name).Value()], err = copyIn(v); err != nil {
			return nil, err
		}
	}
	return kept, nil
}

// copyIn is copyItemIn for one value.
func copyIn(v types.AttributeValue) (types.AttributeValue, error) {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return &types.AttributeValueMemberS{Value: strings.Clone(v.Value)}, nil
	case *types.AttributeValueMemberN:
		number, err := parseNumber(v.Value)
		return &types.AttributeValueMemberN{Value: strings.Clone(number)}, err
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

// copyOut returns a copy of a stored item for a caller, who may change it. It has the attributes in names, or all if
// names is nil. It is nil for a missing item.
func copyOut(i store.Item, names map[string]bool) store.Item {
	if i == nil {
		return nil
	}
	copied, _ := copyItemIn(only(i, names)) // no error: the item is stored
	return copied
}

// only returns the attributes of an item in names, or all if names is nil.
func only(i store.Item, names map[string]bool) store.Item {
	if names == nil {
		return i
	}
	part := make(store.Item, len(names))
	for name := range names {
		if v, ok := i[name]; ok {
			part[name] = v
		}
	}
	return part
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
