package memdb

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"ledger.example/internal/table"
	_ "ledger.example/tests/harness/full" // fixes the seed
)

// anyItem draws items of all types, with long texts and with maps in lists.
func anyItem(t *rapid.T, label string, depth int) table.Item {
	i := table.Item{}
	for n := range rapid.IntRange(0, 4).Draw(t, label+" attributes") {
		name := fmt.Sprint(label, ".", n)
		i[name] = anyValue(t, name, depth)
	}
	return i
}

func anyValue(t *rapid.T, label string, depth int) types.AttributeValue {
	kinds := 4
	if depth > 0 {
		kinds = 6
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, label+" type") {
	case 0:
		length := rapid.SampledFrom([]int{0, 1, 127, 128, 1 << 14}).Draw(t, label+" length")
		return &types.AttributeValueMemberS{Value: strings.Repeat("é", length/2) + strings.Repeat("x", length%2)}
	case 1:
		return &types.AttributeValueMemberN{Value: fmt.Sprint(rapid.Int64().Draw(t, label))}
	case 2:
		return &types.AttributeValueMemberBOOL{Value: rapid.Bool().Draw(t, label)}
	case 3:
		return &types.AttributeValueMemberNULL{Value: true}
	case 4:
		return &types.AttributeValueMemberM{Value: anyItem(t, label, depth-1)}
	}
	l := []types.AttributeValue{}
	for n := range rapid.IntRange(0, 3).Draw(t, label+" elements") {
		l = append(l, anyValue(t, fmt.Sprint(label, ".", n), depth-1))
	}
	return &types.AttributeValueMemberL{Value: l}
}

// A packed item comes back, whole or in part, and equal items are packed alike.
func TestPackedItemsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		i := anyItem(t, "", 2)
		i["PK"] = table.String("a")
		p, err := pack(i)
		if err != nil {
			t.Fatal(err)
		}
		back := p.item(nil)
		again, err := pack(back)
		if !reflect.DeepEqual(back, i) || again != p || err != nil || p.size(nil) != table.SizeOf(i) {
			t.Fatalf("%q is of\n%v and comes back as\n%v", p, i, back)
		}
		wanted := map[string]bool{"missing": true}
		for name, v := range i {
			if kept, err := valueOf(v); p.get(name) != kept || err != nil || typeNames[kept.letter] != typeOf(v) {
				t.Fatalf("%s is %v, %v", name, p.get(name), err)
			}
			if rapid.Bool().Draw(t, "in the part") {
				wanted[name] = true
			}
		}
		maps.DeleteFunc(i, func(name string, _ types.AttributeValue) bool { return !wanted[name] })
		if part := p.item(wanted); !reflect.DeepEqual(part, i) || p.size(wanted) != table.SizeOf(i) {
			t.Fatalf("the part %v is %v", wanted, part)
		}
	})
	if i := packed("").item(nil); i != nil {
		t.Errorf("a missing item is %v", i)
	}
}
