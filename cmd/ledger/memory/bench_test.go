package memory_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	template "ledger.example"
	"ledger.example/cmd/ledger/local"
	"ledger.example/cmd/ledger/memory"
	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
)

const books = "books"

// open returns a store with the ledger's table.
func open(t testing.TB, o memory.Options) (*memory.Store, *dynamodb.Client) {
	t.Helper()
	s := memory.New(o)
	client := s.DynamoDB()
	in, err := local.TableFromTemplate(template.YAML)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := local.CreateTable(t.Context(), client, in, books); err != nil {
		t.Fatal(err)
	}
	return s, client
}

// posting is about the item of a posting.
func posting(account string, n int) wire.Item {
	id := fmt.Sprintf("%027d", n)
	item := wire.Key(table.PostingKey(account, "USD", id))
	item[table.AttrSK2] = wire.String(table.PostingSK2(id))
	item[table.AttrType], item[table.AttrEventVersion] = wire.String("PostingRecorded"), wire.Integer(1)
	item["Quantity"], item["Cost"], item["Transaction"] = wire.Integer(int64(n)), wire.Integer(0), wire.String("t-"+id)
	return item
}

func BenchmarkGetItem(b *testing.B) {
	_, client := open(b, memory.Options{})
	put(b, client, posting("jane", 1))
	in := &dynamodb.GetItemInput{TableName: aws.String(books), Key: wire.Key(table.PostingKey("jane", "USD", fmt.Sprintf("%027d", 1)))}
	b.ReportAllocs()
	for b.Loop() {
		if out, err := client.GetItem(b.Context(), in); err != nil || out.Item == nil {
			b.Fatal(err)
		}
	}
}

// One account of a hundred thousand postings.
func BenchmarkTransactionsOfOneAccount(b *testing.B) {
	_, client := open(b, memory.Options{})
	n := 0
	post := func() {
		n++
		in := &dynamodb.TransactWriteItemsInput{}
		for _, account := range []string{"shop", fmt.Sprint("payer-", n%1000)} {
			in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Put: &types.Put{
				TableName: aws.String(books), Item: posting(account, n), ConditionExpression: aws.String(wire.IfAbsent),
			}})
		}
		if _, err := client.TransactWriteItems(b.Context(), in); err != nil {
			b.Fatal(err)
		}
	}
	for n < 100_000 {
		post()
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	defer func() { b.ReportMetric(float64(m.HeapAlloc)/float64(2*100_000), "heap-B/item") }()
	b.ReportAllocs()
	for b.Loop() {
		post()
	}
}

func put(t testing.TB, client *dynamodb.Client, item wire.Item) {
	t.Helper()
	if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(books), Item: item}); err != nil {
		t.Fatal(err)
	}
}
