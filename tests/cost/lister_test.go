package cost

import (
	"fmt"
	"testing"

	"ledger.example/events"
	"ledger.example/functions/stream"
	"ledger.example/functions/stream/streamtest"
	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
	"ledger.example/ledger"
	"ledger.example/projections"
	views "ledger.example/projections/dynamo"
)

// Listing a transaction takes one write unit, and one for each indexed metadata key that it has; its batch takes one
// for each started KB of its page. Nothing is read, as images show all, and a redelivery takes the same. What commands
// and projections take, the other tests of this package bound.
func TestCostOfLists(t *testing.T) {
	t.Parallel()
	l := newLives(t)
	lister := projections.NewLister(views.NewViews(l.Client, l.Table), []string{"order", "customer"}, l.now, nil)
	deliver := func(keys ...table.Key) {
		t.Helper()
		all := l.Contents()
		var images []ddb.Item
		for _, key := range keys {
			images = append(images, all[key])
		}
		streamtest.Deliver(t, stream.Handler(lister.List), streamtest.Images(t, images...))
	}
	post := func(metadata map[string]string) table.Key {
		t.Helper()
		r := ledger.PostTransfer{Annotation: l.note(false), From: outside, To: holder, Asset: "USD",
			Quantity: events.NewAmount(1)}
		r.Metadata = metadata
		id := l.post(r)
		// The meter learns that it is not listed yet.
		header, err := ddb.Only[events.TransactionPosted](ddb.DecodeEvent(l.Contents()[table.TransactionKey(id)]))
		if err != nil {
			t.Fatal(err)
		}
		ksuid := string(header.Legs[0].ID)
		unlisted := []table.Key{table.ListedKey(ksuid, id)}
		for key, value := range metadata {
			unlisted = append(unlisted, table.Key{PK: table.MetadataPK(key, value), SK: table.ListedSK(ksuid, id)})
		}
		l.absent(unlisted...)
		return table.TransactionKey(id)
	}

	one := post(map[string]string{"note": "x"})
	l.take(func() { deliver(one) }).wants(t, "one without indexed metadata", 0, 1+1, 1+1)
	one = post(map[string]string{"order": "1001", "note": "x"})
	l.take(func() { deliver(one) }).wants(t, "one with an indexed key", 0, 2+1, 2+1)
	l.take(func() { deliver(one) }).wants(t, "the same again", 0, 2+1, 2+1)
	var ten []table.Key
	for i := range 10 {
		ten = append(ten, post(map[string]string{"order": fmt.Sprint(i), "customer": "jane"}))
	}
	l.take(func() { deliver(ten...) }).wants(t, "ten with two indexed keys", 0, 10*3+1, 10*3+1)
	var hundred []table.Key
	for range 100 {
		hundred = append(hundred, post(nil))
	}
	l.take(func() { deliver(hundred...) }).wants(t, "a hundred", 0, 100+1, 100+9)
	hold := l.hold()
	l.release(hold)
	l.take(func() { deliver(table.OutcomeKey(hold)) }).wants(t, "the end of a hold", 0, 1, 1)
}
