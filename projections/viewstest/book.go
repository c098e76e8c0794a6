package viewstest

import (
	"reflect"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/projections"
)

// Morning is the time of the first postings in tests, and Jane their usual pair.
var (
	Morning = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	Jane    = events.Pair{Account: "jane", Asset: "USD"}
)

// ID returns the first KSUID of the n-th millisecond of the morning.
func ID(n int) events.KSUID {
	return events.FirstKSUID(Morning.Add(time.Duration(n) * time.Millisecond))
}

// Book is a store with a projector and a reader, which tests set. All have the same clock.
type Book struct {
	*testing.T
	*Store
	Time      time.Time
	Projector *projections.Projector
	Reader    *projections.Reader
}

// NewBook returns an empty book. Its time is one hour after Morning.
func NewBook(t *testing.T) *Book {
	b := &Book{T: t, Time: Morning}
	b.Store = NewStore(t, b.Clock)
	b.Time = Morning.Add(time.Hour)
	return b
}

func (b *Book) Clock() time.Time { return b.Time }

// Must ends the test if err is not nil.
func (b *Book) Must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// PostOnes puts postings of quantity 1 and cost 2 at milliseconds of the morning, and returns their KSUIDs.
func (b *Book) PostOnes(k events.Pair, at ...int) []events.KSUID {
	b.Helper()
	return b.post(k, false, at)
}

// PostBackdated is PostOnes for transactions with an effective date, recorded now.
func (b *Book) PostBackdated(k events.Pair, at ...int) []events.KSUID {
	b.Helper()
	return b.post(k, true, at)
}

func (b *Book) post(k events.Pair, backdated bool, at []int) []events.KSUID {
	b.Helper()
	ids := make([]events.KSUID, len(at))
	for i, n := range at {
		ids[i] = ID(n)
		one := events.Figures{Quantity: events.NewAmount(1), Cost: events.NewAmount(2), Backdated: backdated}
		if backdated {
			one.RecordedAt = b.Time
		}
		b.Must(b.Post(b.Context(), k, projections.Posting{ID: ids[i], Figures: one}))
	}
	return ids
}

// Ones is the fold of n postings of PostOnes.
func Ones(through, n int) projections.Fold {
	amount := events.NewAmount(int64(n))
	return projections.Fold{
		Through: ID(through), Credits: amount, Expenditure: events.NewAmount(int64(2 * n)), Count: int64(n),
	}
}

// PostSegments puts and projects twenty postings of Jane, at even milliseconds, in segments of four.
func (b *Book) PostSegments() {
	b.Helper()
	var even []int
	for n := range 20 {
		even = append(even, 2*n+2)
	}
	b.Projector.Tune(projections.Tuning{Stretch: 4, Segments: 10})
	b.Refold(Jane, b.PostOnes(Jane, even...)...)
	Same(b.T, "segments", len(b.AllSegments(Jane)), 5)
}

// Refold refolds the balance of k with the projector.
func (b *Book) Refold(k events.Pair, ids ...events.KSUID) {
	b.Helper()
	b.Must(b.Projector.Refold(b.Context(), k, ids))
}

// Stored reads the balance of k.
func (b *Book) Stored(k events.Pair) projections.Balance {
	b.Helper()
	stored, _, err := b.Balance(b.Context(), k)
	b.Must(err)
	return stored
}

// Same fails t unless got equals wanted.
func Same[T any](t testing.TB, what string, got, wanted T) {
	t.Helper()
	if !reflect.DeepEqual(got, wanted) {
		t.Errorf("%s:\n got    %+v\n wanted %+v", what, got, wanted)
	}
}
