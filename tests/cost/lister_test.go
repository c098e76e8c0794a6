package cost

import (
	"fmt"
	"testing"

	"ledger.example/events"
	"ledger.example/functions/stream"
	"ledger.example/functions/stream/streamtest"
	"ledger.example/internal/store"
	"ledger.example/ledger"
	"ledger.example/projections"
)

// Listing a transaction takes one write unit, and one for each of its indexed metadata keys. Each batch also takes one
// for each started KB of its journal page. The lister reads nothing, because records have images. A redelivery costs
// the same.
func TestCostOfLists(t *testing.T) {
	t.Parallel()
	b := newLimitedBank(t)
	lister := projections.NewLister(store.NewTable(b.Client, b.Table), []string{"order", "customer"}, b.now, nil)
	deliver := func(keys ...store.Key) {
		t.Helper()
		all := b.Contents()
		var images []store.Item
		for _, key := range keys {
			images = append(images, all[key])
		}
		streamtest.Deliver(t, stream.Handler(lister.List), streamtest.Images(t, images...))
	}
	post := func(metadata map[string]string) store.Key {
		t.Helper()
		r := ledger.PostTransfer{Annotation: b.note(false), From: outside, To: holder, Asset: "USD",
			Quantity: events.NewAmount(1)}
		r.Metadata = metadata
		return store.Transaction.Key(b.post(r))
	}

	one := post(map[string]string{"note": "x"})
	b.measure(func() { deliver(one) }).check(t, "one without indexed metadata", 0, 1+1, 1+1)
	one = post(map[string]string{"order": "1001", "note": "x"})
	b.measure(func() { deliver(one) }).check(t, "one with an indexed key", 0, 2+1, 2+1)
	b.measure(func() { deliver(one) }).check(t, "the same again", 0, 2+1, 2+1)
	var ten []store.Key
	for i := range 10 {
		ten = append(ten, post(map[string]string{"order": fmt.Sprint(i), "customer": "jane"}))
	}
	b.measure(func() { deliver(ten...) }).check(t, "ten with two indexed keys", 0, 10*3+1, 10*3+1)
	var hundred []store.Key
	for range 100 {
		hundred = append(hundred, post(nil))
	}
	b.measure(func() { deliver(hundred...) }).check(t, "a hundred", 0, 100+1, 100+9)
	hold := b.hold()
	b.release(hold)
	b.measure(func() { deliver(store.Outcome.Key(hold)) }).check(t, "the end of a hold", 0, 1, 1)
}
