package tabletest

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/table"
)

// Damage makes the named attribute one of any kind, or removes it.
func Damage(item table.Item, name, value string, kind uint8) {
	switch kind % 10 {
	case 0:
		delete(item, name)
	case 1:
		item[name] = table.String(value)
	case 2:
		item[name] = &types.AttributeValueMemberN{Value: value}
	case 3:
		item[name] = table.Flag(value != "")
	case 4:
		item[name] = &types.AttributeValueMemberNULL{Value: true}
	case 5:
		item[name] = &types.AttributeValueMemberB{Value: []byte(value)}
	case 6:
		item[name] = &types.AttributeValueMemberSS{Value: []string{value}}
	case 7:
		item[name] = table.Map(table.Item{value: table.String(value)})
	case 8:
		item[name] = &types.AttributeValueMemberL{Value: []types.AttributeValue{table.String(value), nil}}
	case 9:
		item[name] = nil // of a kind that this SDK does not know
	}
}
