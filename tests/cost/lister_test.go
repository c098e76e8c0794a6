package cost

import (
	"fmt"
	"log/slog"
	"testing"

	"ledger.example/events"
	"ledger.example/functions/stream"
	"ledger.example/functions/stream/streamtest"
	"ledger.example/internal/table"
	"ledger.example/ledger"
	"ledger.example/projections"
)

// lister returns a lister with the store's clock, for two indexed keys.
func (b *bank) lister() stream.Function {
	lister := projections.NewLister(table.NewTable(b.Client, b.Table), []string{"order", "customer"}, b.now,
		slog.New(slog.DiscardHandler))
	return stream.Handler(lister.List)
}

// Listing a transaction takes one write unit, and one for each of its indexed metadata keys. Each batch also takes one
// for each started KB of its journal page. The lister reads nothing, because records have images: only the end of a hold
// reads its header, unless that is in the same batch, and the log of lanes is read once in two minutes. A hold takes two
// more, one of them in the index of open holds, and its end two. A redelivery costs the same.
func TestCostOfLists(t *testing.T) {
	t.Parallel()
	b := newLimitedBank(t)
	list := b.lister()
	deliver := func(keys ...table.Key) {
		t.Helper()
		all := b.Contents()
		var images []table.Item
		for _, key := range keys {
			images = append(images, all[key])
		}
		streamtest.Deliver(t, list, streamtest.Images(t, images...))
	}
	post := func(metadata map[string]string) table.Key {
		t.Helper()
		r := ledger.PostTransfer{Annotation: b.note(false), From: outside, To: holder, Asset: "USD",
			Quantity: events.NewAmount(1)}
		r.Metadata = metadata
		return table.Transaction.Key(b.post(r))
	}

	if c := b.measure(func() { deliver(post(nil)) }); c.reads != 1 || c.ReadHalves != 2 {
		t.Errorf("the log of lanes: %s", costText(c.Tally))
	}
	check := func(what string, reads, writes int, units int64, keys ...table.Key) {
		t.Helper()
		c := b.measure(func() { deliver(keys...) })
		if c.reads != reads || c.writes != writes || c.WriteUnits != units {
			t.Errorf("%s took %s: want %d reads, %d writes, %d write units:\n%q", what, costText(c.Tally), reads, writes,
				units, c.lines)
		}
	}
	one := post(map[string]string{"note": "x"})
	check("one without indexed metadata", 0, 1+1, 1+1, one)
	one = post(map[string]string{"order": "1001", "note": "x"})
	check("one with an indexed key", 0, 2+1, 2+1, one)
	check("the same again", 0, 2+1, 2+1, one)
	var ten []table.Key
	for i := range 10 {
		ten = append(ten, post(map[string]string{"order": fmt.Sprint(i), "customer": "jane"}))
	}
	check("ten with two indexed keys", 0, 10*3+1, 10*3+1, ten...)
	var hundred []table.Key
	for range 100 {
		hundred = append(hundred, post(nil))
	}
	check("a hundred", 0, 100+1, 100+9, hundred...)
	hold := b.hold()
	b.release(hold)
	placed, ended := table.Transaction.Key(hold), table.Outcome.Key(hold)
	check("a hold that ends in its batch", 0, 1+1+1, 1+1+1, placed, ended)
	hold = b.hold()
	b.release(hold)
	placed, ended = table.Transaction.Key(hold), table.Outcome.Key(hold)
	check("a hold", 0, 2+1, 3+1, placed)
	check("the end of a hold", 1, 1+1, 2+1, ended)
	check("the end again", 1, 1+1, 1+1, ended)

	// An account takes a unit for each list, and those of the index if the list changes. One that never had metadata takes
	// none, whatever changes.
	open := func(id string, metadata map[string]string) table.Key {
		t.Helper()
		_, _, err := b.warm.OpenAccount(t.Context(), ledger.OpenAccount{ID: id, Metadata: metadata, Actor: "tester"})
		if err != nil {
			t.Fatal(err)
		}
		return table.Account.Key(id)
	}
	change := func(id, name string, metadata *map[string]string) table.Key {
		t.Helper()
		a, err := b.warm.ChangeAccount(t.Context(), ledger.ChangeAccount{ID: id, Name: &name, Metadata: metadata, Actor: "tester"})
		if err != nil {
			t.Fatal(err)
		}
		return table.Change.Key(id, a.Version)
	}
	check("an account without metadata", 0, 1, 1, open("plain", nil))
	check("its change", 0, 1, 1, change("plain", "Plain", nil))
	check("an account with metadata that is not indexed", 0, 1, 1, open("noted", map[string]string{"note": "x"}))
	check("its change", 0, 2+1, 2+1, change("noted", "Noted", nil))
	check("an account with two indexed keys", 0, 2+1, 4+1, open("gold", map[string]string{"order": "1", "customer": "2"}))
	check("its change of a name", 0, 2+1, 2+1, change("gold", "Gold", nil))
	check("its change of a value", 0, 2+1, 4+1, change("gold", "Gold", &map[string]string{"order": "1", "customer": "3"}))
	check("its change to no metadata", 0, 2+1, 4+1, change("gold", "Gold", &map[string]string{}))
}
