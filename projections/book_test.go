package projections_test

import (
	"bytes"
	"context"
	"log/slog"
	"reflect"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
)

var jane = projections.Key{Account: "jane", Asset: "USD"}

// book is a store in memory with a projector and a reader on it, all of one clock.
type book struct {
	*testing.T
	*viewstest.Memory
	projector *projections.Projector
	reader    *projections.Reader
	now       time.Time
	log       bytes.Buffer
	pauses    int
}

func newBook(t *testing.T) *book {
	b := &book{T: t, Memory: viewstest.NewMemory(), now: morning.Add(time.Hour)}
	b.Memory.Now = b.clock
	b.on(b.Memory)
	return b
}

func (b *book) clock() time.Time { return b.now }

// on puts projector and reader on other views, which end in the same store.
func (b *book) on(views projections.Views) {
	log := slog.New(slog.NewTextHandler(&b.log, nil))
	pause := func(ctx context.Context, _ int) error { b.pauses++; return ctx.Err() }
	b.projector = projections.NewProjector(views, b.clock, log)
	b.projector.Pause(pause)
	b.reader = projections.NewReader(views, log)
	b.reader.Pause(pause)
}

func (b *book) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// post puts postings of quantity 1 and cost 2 at the given milliseconds of the morning, and returns their KSUIDs.
func (b *book) post(k projections.Key, at ...int) []events.KSUID {
	b.Helper()
	ids := make([]events.KSUID, len(at))
	for i, n := range at {
		ids[i] = ksuid(n)
		b.must(b.Post(b.Context(), k, posting(n, 1)))
	}
	return ids
}

func posting(at int, quantity int64) projections.Posting {
	return projections.Posting{ID: ksuid(at), Quantity: events.NewAmount(quantity), Cost: events.NewAmount(2 * quantity)}
}

// upTo returns from, from+1, to.
func upTo(from, to int) []int {
	var all []int
	for n := from; n <= to; n++ {
		all = append(all, n)
	}
	return all
}

func (b *book) refold(k projections.Key, marks ...events.KSUID) {
	b.Helper()
	b.must(b.projector.Refold(b.Context(), k, marks))
}

func (b *book) stored(k projections.Key) projections.Balance {
	b.Helper()
	stored, _, err := b.Balance(b.Context(), k)
	b.must(err)
	return stored
}

func (b *book) summary(account string) projections.Summary {
	b.Helper()
	s, err := b.Summary(b.Context(), account)
	b.must(err)
	return s
}

// ones is the fold of n postings of post.
func ones(through, n int) projections.Fold {
	return projections.Fold{Through: ksuid(through), Credits: events.NewAmount(int64(n)), Expenditure: events.NewAmount(int64(2 * n)), Count: int64(n)}
}

func same[T any](t testing.TB, what string, got, wanted T) {
	t.Helper()
	if !reflect.DeepEqual(got, wanted) {
		t.Errorf("%s:\n got    %+v\n wanted %+v", what, got, wanted)
	}
}
