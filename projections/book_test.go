package projections_test

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/projections"
	"ledger.example/projections/rebuild"
	"ledger.example/projections/viewstest"
)

var jane, morning, ksuid, ones = viewstest.Jane, viewstest.Morning, viewstest.ID, viewstest.Ones

// book is a viewstest.Book that records the log and counts pauses.
type book struct {
	*viewstest.Book
	log    bytes.Buffer
	pauses int
}

func newBook(t *testing.T) *book {
	b := &book{Book: viewstest.NewBook(t)}
	b.on(b.Table)
	return b
}

// on replaces the projector and the reader by new ones on another table, usually one that decorates the book's.
func (b *book) on(t table.Table) {
	t = viewstest.Strong(t)
	log := slog.New(slog.NewTextHandler(&b.log, nil))
	pause := func(ctx context.Context, _ int) error { b.pauses++; return ctx.Err() }
	b.Projector = projections.NewProjector(t, b.Clock, log)
	b.Projector.Pause(pause)
	b.Projector.RepairWith(rebuild.NewRebuilder(t, b.Clock, log))
	b.Reader = projections.NewReader(t, log)
	b.Reader.Pause(pause)
}

func posting(at int, quantity int64) projections.Posting {
	return projections.Posting{
		ID:      ksuid(at),
		Figures: events.Figures{Quantity: events.NewAmount(quantity), Cost: events.NewAmount(2 * quantity)},
	}
}

// upTo returns from, from+1, …, to.
func upTo(from, to int) []int {
	var all []int
	for n := from; n <= to; n++ {
		all = append(all, n)
	}
	return all
}

func (b *book) summary(account string) projections.Summary {
	b.Helper()
	s, err := b.Summary(b.Context(), account)
	b.Must(err)
	return s
}

// version is the version of a balance after n writes, if the first of them is now.
func (b *book) version(n int64) int64 { return b.Time.Truncate(time.Second).UnixMilli() + n }
