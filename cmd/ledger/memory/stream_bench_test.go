package memory_test

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/cmd/ledger/memory"
	"ledger.example/events"
	"ledger.example/functions/api"
	"ledger.example/functions/service"
	"ledger.example/functions/stream/streamtest"
	"ledger.example/ledger/wire"
)

// A batch of 100 postings, of one balance or of as many, by a projector that goes on. Putting them isn't counted.
func BenchmarkProject(b *testing.B) {
	const batch = 100
	for _, balances := range []int{1, batch} {
		b.Run(fmt.Sprintf("balances=%d", balances), func(b *testing.B) {
			_, client := open(b, memory.Options{})
			s, err := service.New(service.Config{Client: client, Table: books, Actor: api.LocalActor, Version: "v1", Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				b.Fatal(err)
			}
			handle := s.Stream()
			began, n := time.Now().Add(-24*time.Hour), 0
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				var items []wire.Item
				in := &dynamodb.TransactWriteItemsInput{}
				for i := range batch {
					n++
					item := wire.EventItem(events.PostingRecorded{
						Leg: events.Leg{
							ID:      events.FirstKSUID(began.Add(time.Duration(n) * time.Millisecond)), // settled
							Account: fmt.Sprintf("shop-%d", i%balances), Asset: "USD", Quantity: events.NewAmount(1),
						},
						Transaction: "t", Kind: events.KindTransfer,
					})
					items = append(items, item)
					in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Put: &types.Put{TableName: aws.String(books), Item: item}})
				}
				e := streamtest.Postings(b, items...)
				if _, err := client.TransactWriteItems(b.Context(), in); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				streamtest.Deliver(b, handle, e)
			}
		})
	}
}
