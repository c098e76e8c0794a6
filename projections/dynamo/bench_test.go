package dynamo_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/ledger/wire/wiretest"
	"ledger.example/projections"
	"ledger.example/projections/dynamo"
)

func page(b *testing.B, n int) string {
	ids, _, _ := events.NewMinter(time.Now, nil).Mint(n)
	var items []string
	for _, id := range ids {
		items = append(items, fmt.Sprintf(`{"SK":{"S":"POSTING#USD#%[1]s"},"Type":{"S":"PostingRecorded"},"V":{"N":"1"},"Quantity":{"N":"-2500"},"Cost":{"N":"0"}}`, id))
	}
	return fmt.Sprintf(`{"Count":%d,"ScannedCount":%d,"Items":[%s]}`, n, n, strings.Join(items, ","))
}

func BenchmarkPostings(b *testing.B) {
	body := page(b, 1000)
	_, client := wiretest.New(b, wiretest.Always(wiretest.OK(body)))
	views := dynamo.NewViews(client, "books")
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		p, _, err := views.Postings(b.Context(), projections.Key{Account: "users:alice:cash", Asset: "USD"}, "", "")
		if err != nil || len(p) != 1000 {
			b.Fatal(err, len(p))
		}
	}
}
