package conformance

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"ledger.example/events"
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
	e := projections.ListedEntry{ID: t.Header.Legs[0].ID, Transaction: t.Header.ID}
	if number%4 == 0 {
		t.Header.Metadata = map[string]string{"order": "1"}
	}
	if number%3 == 0 {
		t.Header.ExpiresAt, e.Held = at.Add(time.Hour), true
	}
	s.must(s.Put(s.t.Context(), t.Header))
	if number%6 == 0 {
		t.Ended = &events.HoldEnded{Transaction: t.Header.ID, Outcome: events.OutcomeReleased, Actor: "test",
			Legs: legs(0)}
		s.must(s.Put(s.t.Context(), *t.Ended))
	}
	for _, key := range projections.ListedKeys(t.Header, []string{"order"}) {
		_, err := s.views.WriteListed(s.t.Context(), key, e)
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

// The journal is read in order, in pages of every size, and each read returns the time of the store's clock.
func TestJournalPages(t *testing.T) {
	onBothStores(t, func(t *testing.T, s *listSuite) {
		var wanted []projections.JournalPage
		for i := range 10 {
			p := projections.JournalPage{ID: events.FirstKSUID(s.from.Add(time.Duration(i) * time.Second)),
				Void: i == 3}
			for n := range 1 + 33*(i%4) {
				p.Entries = append(p.Entries, projections.JournalEntry{
					Event: projections.JournalPosted, At: s.from, Transaction: fmt.Sprintf("t-%d-%d", i, n)})
			}
			_, err := s.views.WriteJournal(s.t.Context(), p)
			s.must(err)
			wanted = append(wanted, p)
		}
		for _, limit := range []int{1, 3, 100} {
			var got []projections.JournalPage
			for after := ""; ; {
				some, at, err := s.JournalPages(t.Context(), after, limit)
				s.must(err)
				if age := time.Since(at); age < -time.Minute || age > time.Minute || len(some) > limit {
					t.Fatalf("%d pages at %v", len(some), at)
				}
				if len(some) == 0 {
					break
				}
				got, after = append(got, some...), string(some[len(some)-1].ID)
			}
			if !reflect.DeepEqual(got, wanted) {
				t.Errorf("by %d: %v, want %v", limit, got, wanted)
			}
		}
	})
}
