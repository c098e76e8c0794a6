package repair_test

import (
	"log/slog"
	"testing"

	"ledger.example/projections"
	"ledger.example/projections/rebuild"
	"ledger.example/projections/viewstest"
)

var quietly = slog.New(slog.DiscardHandler)

// book is a viewstest.Book with a rebuilder.
type book struct {
	*viewstest.Book
	rebuilder *rebuild.Rebuilder
}

func newBook(t *testing.T) *book {
	b := &book{Book: viewstest.NewBook(t)}
	strong := viewstest.Strong(b.Table)
	b.Projector = projections.NewProjector(strong, b.Clock, quietly)
	b.rebuilder = rebuild.NewRebuilder(strong, b.Clock, quietly)
	b.Projector.RepairWith(b.rebuilder)
	return b
}
