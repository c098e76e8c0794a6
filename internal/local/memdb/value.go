package memdb

import (
	"fmt"
	"reflect"
	"strings"
	"unique"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/ddb"
)

// The store keeps values of the types S, N, BOOL, NULL, M and L. What is kept never changes: items are copied when they
// come from a request, and again when they go into an answer. A nil item is an absent one.

// keepItem returns a copy of an item, or of the value of a map, with its numbers as DynamoDB keeps them. Names and
// strings are cloned, as they may be part of something larger, such as the body of a request. The error is a
// ValidationException.
func keepItem(given ddb.Item) (ddb.Item, error) {
	kept := make(ddb.Item, len(given))
	for name, v := range given {
		if name == "" {
			return nil, validation("Attribute name must not be empty")
		}
		var err error
		if kept[unique.Make(name).Value()], err = keep(v); err != nil {
			return nil, err
		}
	}
	return kept, nil
}

// keep is keepItem for one value.
func keep(v types.AttributeValue) (types.AttributeValue, error) {
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
		m, err := keepItem(v.Value)
		return &types.AttributeValueMemberM{Value: m}, err
	case *types.AttributeValueMemberL:
		l := make([]types.AttributeValue, len(v.Value))
		for i := range l {
			var err error
			if l[i], err = keep(v.Value[i]); err != nil {
				return nil, err
			}
		}
		return &types.AttributeValueMemberL{Value: l}, nil
	}
	return nil, unsupported("a value of type " + typeOf(v))
}

// lend returns a copy of a kept item for a caller, who may change it, with those attributes alone; nil names are all of
// them. It is nil for an absent item.
func lend(i ddb.Item, names map[string]bool) ddb.Item {
	if i == nil {
		return nil
	}
	lent, _ := keepItem(only(i, names)) // it was kept before
	return lent
}

// only returns an item's attributes of those names; nil names are all of them.
func only(i ddb.Item, names map[string]bool) ddb.Item {
	if names == nil {
		return i
	}
	part := make(ddb.Item, len(names))
	for name := range names {
		if v, ok := i[name]; ok {
			part[name] = v
		}
	}
	return part
}

// text returns a string's value, and whether it is one.
func text(v types.AttributeValue) (string, bool) {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value, true
	}
	return "", false
}

// equal reports whether two kept values are the same, or both absent.
func equal(a, b types.AttributeValue) bool { return reflect.DeepEqual(a, b) }

// compare orders two kept values. ok is false unless both are strings or both are numbers.
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

// typeOf is the name of a value's type in AWS's messages and in attribute_type, such as "S".
func typeOf(v types.AttributeValue) string {
	return strings.TrimPrefix(fmt.Sprintf("%T", v), "*types.AttributeValueMember")
}
