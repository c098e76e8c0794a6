package memory_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/cmd/ledger/memory"
	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
)

// keptMost is the most that may be kept of a request that says little, in bytes, and paddingBytes what else it has.
const keptMost, paddingBytes = 20 << 10, 200 << 10

// kept returns how many bytes of each of n requests are held afterwards.
func kept(n int, request func(i int)) int64 {
	heap := func() int64 {
		runtime.GC()
		runtime.GC() // what pools held on to goes with the second
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	for i := range n {
		request(i)
	}
	return (heap() - before) / int64(n)
}

// The store holds what was posted, and not the requests that it was part of.
func TestBodiesAreNotKept(t *testing.T) {
	h := newAPI(t)
	spaces := strings.Repeat(" ", paddingBytes)
	for _, c := range []struct{ path, body string }{
		{"/v1/transfers", `{"id":"transfer-%d","from":"bank","to":"jane","asset":"USD","quantity":"5"%s}`},
		{"/v1/transactions", `{"id":"transaction-%d","description":"rent","metadata":{"month":"May"},"postings":[{"account":"bank","asset":"USD","quantity":"-5"},{"account":"joe","asset":"USD","quantity":"5"}]%s}`},
	} {
		n := kept(50, func(i int) { send(t, h, "POST", c.path, fmt.Sprintf(c.body, i, spaces)) })
		if n > keptMost {
			t.Errorf("%s: %d bytes of each request are kept", c.path, n)
		}
	}
	runtime.KeepAlive(h)
}

// Strings of a put or an update are cloned, whatever they are part of: keys, texts, numbers, the keys of maps.
func TestStringsAreCloned(t *testing.T) {
	s, client := open(t, memory.Options{})
	part := func(of string) string { return (of + strings.Repeat(" ", paddingBytes))[:len(of)] }
	text := func(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }
	for name, put := range map[string]func(wire.Item, string){
		"PK":     func(i wire.Item, id string) { i[table.AttrPK] = text(part(id)) },
		"SK":     func(i wire.Item, id string) { i[table.AttrSK] = text(part(id)) },
		"text":   func(i wire.Item, id string) { i["a"] = text(part(id)) },
		"number": func(i wire.Item, _ string) { i["a"] = &types.AttributeValueMemberN{Value: part("12")} },
		"map": func(i wire.Item, _ string) {
			i["a"] = &types.AttributeValueMemberM{Value: wire.Item{part("b"): text("c")}}
		},
		"list": func(i wire.Item, _ string) {
			i["a"] = &types.AttributeValueMemberL{Value: []types.AttributeValue{text(part("c"))}}
		},
	} {
		n := kept(50, func(i int) {
			id := fmt.Sprintf("%s-%d", name, i)
			item := wire.Item{table.AttrPK: text(id), table.AttrSK: text(id)}
			put(item, id)
			if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(books), Item: item}); err != nil {
				t.Fatal(err)
			}
		})
		if n > keptMost {
			t.Errorf("%s: %d bytes of each put are kept", name, n)
		}
	}
	n := kept(50, func(i int) {
		id := text(part(fmt.Sprint(i)))
		_, err := client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: aws.String(books), Key: wire.Item{table.AttrPK: id, table.AttrSK: id}, UpdateExpression: aws.String("SET a = :a"),
			ExpressionAttributeValues: wire.Item{":a": id},
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	if n > keptMost {
		t.Errorf("%d bytes of each update are kept", n)
	}
	runtime.KeepAlive(s)
}
