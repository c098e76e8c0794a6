package projections_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
)

// A projector applies records of the table's stream. The records name the postings, and the projector reads them from
// the table. Records may be repeated.
func ExampleProjector() {
	ctx := context.Background()
	db := viewstest.NewStore(example{}, time.Now)
	jane := events.Pair{Account: "jane", Asset: "USD"}
	posted := projections.Posting{ID: ksuid(1), Figures: events.Figures{Quantity: events.NewAmount(500)}}
	if err := db.Post(ctx, jane, posted); err != nil {
		panic(err)
	}

	projector := projections.NewProjector(db.Table, time.Now, quiet)
	key := store.Posting.Key(jane.Account, jane.Asset, string(posted.ID))
	record := projections.Record{SequenceNumber: "1", PK: key.PK, SK: key.SK}
	failed, err := projector.Project(ctx, []projections.Record{record, record})
	fmt.Printf("failed from record %q on, error %v\n", failed, err)

	b, _, _ := db.Balance(ctx, jane)
	s, _ := db.Summary(ctx, "jane")
	fmt.Println("balance", b.Head.Quantity(), "of", b.Head.Count, "posting;", s.Assets, "asset")
	// Output:
	// failed from record "" on, error <nil>
	// balance 500 of 1 posting; 1 asset
}

// A strong read includes postings that the projector has not counted yet.
func ExampleReader() {
	ctx := context.Background()
	db := viewstest.NewStore(example{}, time.Now)
	jane := events.Pair{Account: "jane", Asset: "USD"}
	if err := db.Post(ctx, jane, projections.Posting{ID: ksuid(1), Figures: events.Figures{Quantity: events.NewAmount(500)}}); err != nil {
		panic(err)
	}

	reader := projections.NewReader(db.Table, quiet)
	stored, _, _ := db.Balance(ctx, jane)
	strong, _ := reader.Balance(ctx, jane, nil)
	fmt.Println("stored", stored.Head.Quantity(), "strong", strong.Head.Quantity())
	fmt.Println(reader.EnsureVisible(ctx, jane.Account, jane.Asset, ksuid(1)))
	// Output:
	// stored 0 strong 500
	// <nil>
}

var quiet = slog.New(slog.DiscardHandler)

// example is a viewstest.T for examples.
type example struct{}

func (example) Helper()                  {}
func (example) Fatal(args ...any)        { panic(fmt.Sprint(args...)) }
func (example) Context() context.Context { return context.Background() }
