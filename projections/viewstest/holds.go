package viewstest

import (
	"log/slog"
	"slices"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/projections"
)

// minted returns two KSUIDs of a millisecond of the morning.
func minted(at int) []events.KSUID {
	ids, _, err := events.NewMinter(func() time.Time { return ID(at).Time() }, nil).Mint(2)
	if err != nil {
		panic(err)
	}
	return ids
}

// Held is a hold of 50 from jane for shop. It is placed at a millisecond of the morning and expires after an hour.
func Held(id string, at int) events.TransactionPosted {
	ids := minted(at)
	return events.TransactionPosted{
		ID: id, Kind: events.KindTransfer, Annotation: events.Annotation{Metadata: map[string]string{}},
		Fingerprint: "1:x", Actor: "test",
		ExpiresAt: Morning.Add(time.Hour),
		Legs: []events.Leg{
			{ID: ids[0], Account: "jane", Asset: "USD", Quantity: events.NewAmount(-50)},
			{ID: ids[1], Account: "shop", Asset: "USD", Quantity: events.NewAmount(50)},
		},
	}
}

// Ended is the end of a hold at a millisecond of the morning. captured is the captured amount.
func Ended(h events.TransactionPosted, outcome events.Outcome, captured int64, at int) events.HoldEnded {
	e := events.HoldEnded{Transaction: h.ID, Outcome: outcome, Actor: "test", Legs: slices.Clone(h.Legs)}
	for i, id := range minted(at) {
		e.Legs[i].ID = id
		e.Legs[i].Quantity = events.NewAmount(captured * int64(h.Legs[i].Quantity.Sign()))
	}
	return e
}

// Place puts a hold with its postings, and returns the postings.
func (b *Book) Place(h events.TransactionPosted) []events.PostingRecorded {
	b.Helper()
	b.Must(b.Put(b.Context(), h))
	return b.putAll(h.Postings())
}

// End puts the end of a hold with its postings, and returns the postings.
func (b *Book) End(h events.TransactionPosted, e events.HoldEnded) []events.PostingRecorded {
	b.Helper()
	b.Must(b.Put(b.Context(), e))
	return b.putAll(e.Postings(h))
}

func (b *Book) putAll(postings []events.PostingRecorded) []events.PostingRecorded {
	b.Helper()
	for _, p := range postings {
		b.Must(b.Put(b.Context(), p))
	}
	return postings
}

// List passes events to a lister.
func (b *Book) List(all ...events.Event) {
	b.Helper()
	lister := projections.NewLister(b.Table, nil, b.Clock, slog.New(slog.DiscardHandler))
	batch := make([]projections.Record, len(all))
	for i, e := range all {
		batch[i] = projections.RecordOf(table.EventItem(e))
	}
	if failed, err := lister.List(b.Context(), batch); failed != "" || err != nil {
		b.Fatal(failed, err)
	}
}

// HoldsOf returns the ids of an account's holds with one status, "" for all, in order.
func (b *Book) HoldsOf(account, status string) []string {
	b.Helper()
	return b.holds(func(s projections.Slice) (projections.Page[events.Transaction], error) {
		return b.Lists.HoldsOf(b.Context(), account, status, s)
	})
}

// OpenHolds returns the ids in the list by expiry, in order.
func (b *Book) OpenHolds() []string {
	b.Helper()
	return b.holds(func(s projections.Slice) (projections.Page[events.Transaction], error) {
		return b.Lists.OpenHolds(b.Context(), s)
	})
}

// holds reads all pages of a list.
func (b *Book) holds(read func(projections.Slice) (projections.Page[events.Transaction], error)) (ids []string) {
	b.Helper()
	for after := ""; ; {
		page, err := read(projections.Slice{After: after, Limit: 2})
		b.Must(err)
		for _, h := range page.Items {
			ids = append(ids, h.Header.ID)
		}
		if after = page.Next; after == "" {
			return ids
		}
	}
}
