package wiretest

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
)

// Sized returns an item as the cost model has it, nil for nil.
func Sized(t testing.TB, item wire.Item) table.Item {
	t.Helper()
	if item == nil {
		return nil
	}
	all := make(table.Item, len(item))
	for name, v := range item {
		all[name] = sizedValue(t, v)
	}
	return all
}

func sizedValue(t testing.TB, v types.AttributeValue) table.Value {
	t.Helper()
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return table.String(v.Value)
	case *types.AttributeValueMemberN:
		return table.Number(v.Value)
	case *types.AttributeValueMemberBOOL:
		return table.Bool(v.Value)
	case *types.AttributeValueMemberM:
		return table.Map(Sized(t, v.Value))
	case *types.AttributeValueMemberL:
		var elements []table.Value
		for _, e := range v.Value {
			elements = append(elements, sizedValue(t, e))
		}
		return table.List(elements...)
	}
	t.Fatalf("the cost model knows no %T", v)
	return table.Value{}
}
