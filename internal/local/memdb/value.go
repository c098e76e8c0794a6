package memdb

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// A value is a value as the store keeps it: the letter of its type and a text. The text of a map has its attributes,
// that of a list its elements. Equal values are ==. The zero value is a missing attribute.
//
// The store supports values of the types S, N, BOOL, NULL, M and L.
type value struct {
	letter byte
	text   string
}

// The letters of the types.
const (
	packedText   = 'S'
	packedNumber = 'N'
	packedFlag   = 'F'
	packedNull   = '0'
	packedMap    = 'M'
	packedList   = 'L'
)

// typeNames has the names of the types in AWS's messages and in attribute_type.
var typeNames = map[byte]string{
	packedText: "S", packedNumber: "N", packedFlag: "BOOL", packedNull: "NULL", packedMap: "M", packedList: "L",
}

// valueOf returns a value of a request as the store keeps it. Numbers become canonical. The error is a
// ValidationException.
func valueOf(v types.AttributeValue) (kept value, err error) {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return value{packedText, v.Value}, nil
	case *types.AttributeValueMemberN:
		number, err := parseNumber(v.Value)
		return value{packedNumber, number}, err
	case *types.AttributeValueMemberBOOL:
		return value{packedFlag, fmt.Sprint(v.Value)}, nil
	case *types.AttributeValueMemberNULL:
		return value{packedNull, ""}, nil
	case *types.AttributeValueMemberM:
		m, err := pack(v.Value)
		return value{packedMap, string(m)}, err
	case *types.AttributeValueMemberL:
		var all []byte
		for _, element := range v.Value {
			kept, err := valueOf(element)
			if err != nil {
				return value{}, err
			}
			all = appendValue(all, kept)
		}
		return value{packedList, string(all)}, nil
	}
	return value{}, unsupported("a value of type " + typeOf(v))
}

// text returns the value of a string. ok is false if v is not a string.
func text(v types.AttributeValue) (s string, ok bool) {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value, true
	}
	return "", false
}

// compare orders two values. ok is false unless both are strings or both are numbers.
func compare(a, b value) (order int, ok bool) {
	switch {
	case a.letter != b.letter:
		return 0, false
	case a.letter == packedText:
		return strings.Compare(a.text, b.text), true
	case a.letter == packedNumber:
		return rational(a.text).Cmp(rational(b.text)), true
	}
	return 0, false
}

// typeOf returns the name of the type of a request's value, such as "S".
func typeOf(v types.AttributeValue) string {
	return strings.TrimPrefix(fmt.Sprintf("%T", v), "*types.AttributeValueMember")
}
