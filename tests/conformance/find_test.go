package conformance

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/projections"
)

// listedTransaction puts a header and its list entries. Every third transaction is a hold, and every second hold has
// ended. Every fourth transaction has the metadata order=1.
func (s *listSuite) listedTransaction(number int) (projections.Transaction, string) {
	s.t.Helper()
	at := s.from.Add(time.Duration(number) * time.Microsecond)
	minter := events.NewMinter(func() time.Time { return at }, nil)
	legs := func(quantity int64) []events.Leg {
		ids, _, err := minter.Mint(2)
		s.must(err)
		return []events.Leg{{ID: ids[0], Account: "a", Asset: "USD", Quantity: events.NewAmount(-quantity)},
			{ID: ids[1], Account: "b", Asset: "USD", Quantity: events.NewAmount(quantity)}}
	}
	t := projections.Transaction{Header: events.TransactionPosted{
		ID: fmt.Sprintf("t-%02d", number), Kind: events.KindTransfer, Actor: "test", Fingerprint: "1:f",
		Legs: legs(1),
	}}
	if number%4 == 0 {
		t.Header.Metadata = map[string]string{"order": "1"}
	}
	if number%3 == 0 {
		t.Header.ExpiresAt = at.Add(time.Hour)
	}
	s.must(s.Put(s.t.Context(), t.Header))
	if number%6 == 0 {
		t.Ended = &events.HoldEnded{Transaction: t.Header.ID, Outcome: events.OutcomeReleased, Actor: "test",
			Legs: legs(0)}
		s.must(s.Put(s.t.Context(), *t.Ended))
	}
	for _, row := range projections.ListedRows(t.Header, []string{"order"}) {
		_, err := s.table.Write(s.t.Context(), store.Write{Item: projections.Listings.Item(row.Value)})
		s.must(err)
	}
	return t, listedText(t)
}

// listedText returns what a list shows of a transaction.
func listedText(t projections.Transaction) string {
	return fmt.Sprint(t.Header.ID, t.Header.Legs, t.Header.Metadata["order"], t.Header.IsHold(), t.Ended != nil)
}

func TestTransactions(t *testing.T) {
	onBothStores(t, func(t *testing.T, s *listSuite) {
		var all, ordered []string
		for i := range 24 {
			one, text := s.listedTransaction(i)
			if all = append(all, text); one.Header.Metadata != nil {
				ordered = append(ordered, text)
			}
		}
		by := func(search projections.Search) listing[string] {
			return func(ctx context.Context, _ string, p projections.Slice) (projections.Page[string], error) {
				page, err := s.Transactions(ctx, search, p)
				texts := projections.Page[string]{Next: page.Next}
				for _, one := range page.Items {
					texts.Items = append(texts.Items, listedText(one))
				}
				return texts, err
			}
		}
		span := projections.Span{From: s.from.Add(6 * time.Microsecond), To: s.from.Add(18 * time.Microsecond)}
		for _, oldestFirst := range []bool{true, false} {
			in := func(some []string) []string {
				if some = slices.Clone(some); !oldestFirst {
					slices.Reverse(some)
				}
				return some
			}
			checkPages(t, by(projections.Search{OldestFirst: oldestFirst}), "", in(all)...)
			checkPages(t, by(projections.Search{OldestFirst: oldestFirst, Span: span}), "", in(all[6:18])...)
			checkPages(t, by(projections.Search{OldestFirst: oldestFirst, Key: "order", Value: "1"}), "",
				in(ordered)...)
			checkPages(t, by(projections.Search{OldestFirst: oldestFirst, Key: "order", Value: "1", Span: span}), "",
				in(ordered[2:5])...)
			checkPages(t, by(projections.Search{OldestFirst: oldestFirst, Key: "order", Value: "2"}), "")
			reversed := projections.Span{From: span.To, To: span.From}
			checkPages(t, by(projections.Search{OldestFirst: oldestFirst, Span: reversed}), "")
		}
	})
}
