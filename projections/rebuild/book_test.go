package rebuild_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"ledger.example/internal/table"
	"ledger.example/projections"
	"ledger.example/projections/rebuild"
	"ledger.example/projections/viewstest"
)

var (
	jane, morning, ksuid, ones = viewstest.Jane, viewstest.Morning, viewstest.ID, viewstest.Ones

	tuning  = projections.Tuning{Stretch: 4, Segments: 10}
	quietly = slog.New(slog.DiscardHandler)
)

// book is a viewstest.Book with a rebuilder.
type book struct {
	*viewstest.Book
	rebuilder *rebuild.Rebuilder
}

func newBook(t *testing.T) *book {
	b := &book{Book: viewstest.NewBook(t)}
	b.Projector, b.rebuilder = on(b.Table, b.Clock, tuning)
	b.Reader = projections.NewReader(b.Table, quietly)
	return b
}

// segmented is a book of twenty postings in five segments.
func segmented(t *testing.T) *book {
	b := newBook(t)
	b.PostSegments()
	return b
}

// on returns a projector and a rebuilder on a table.
func on(t table.Table, clock func() time.Time, tuning projections.Tuning) (*projections.Projector, *rebuild.Rebuilder) {
	t = viewstest.Strong(t)
	p, b := projections.NewProjector(t, clock, quietly), rebuild.NewRebuilder(t, clock, quietly)
	p.RepairWith(b)
	p.Tune(tuning)
	b.Tune(tuning)
	b.Pause(func(ctx context.Context, _ int) error { return ctx.Err() })
	return p, b
}
