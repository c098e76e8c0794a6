package projections_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
)

// figureRecords returns records of postings with their figures.
func figureRecords(postings []events.PostingRecorded) (batch []projections.Record) {
	for _, p := range postings {
		record := records(keysOf(events.Pair{Account: p.Account, Asset: p.Asset}, p.ID)...)[0]
		record.Figures = new(p.Figures())
		batch = append(batch, record)
	}
	return batch
}

// An account's holds are listed by status, newest first, and all open holds by expiry. Late and repeated records change
// nothing. Records without figures do not name the hold: then the projector reads the postings.
func TestHoldsAreListed(t *testing.T) {
	testHoldsAreListed(t, figureRecords)
	testHoldsAreListed(t, func(postings []events.PostingRecorded) []projections.Record {
		batch := figureRecords(postings)
		for i := range batch {
			batch[i].Figures = nil
		}
		return batch
	})
}

func testHoldsAreListed(t *testing.T, records func([]events.PostingRecorded) []projections.Record) {
	b := newBook(t)
	var first []projections.Record
	holds := map[string]events.TransactionPosted{}
	for i, id := range []string{"h1", "h2", "h3", "h4", "h5"} {
		h := viewstest.Held(id, 10*i)
		h.ExpiresAt = morning.Add(time.Duration(9-i) * time.Hour)
		holds[id] = h
		batch := records(b.Place(h))
		if i == 0 {
			first = batch
		}
		b.project(batch)
		viewstest.Same(t, "open before the lister", len(b.OpenHolds()), i)
		b.List(h)
	}
	viewstest.Same(t, "open", b.OpenHolds(), []string{"h5", "h4", "h3", "h2", "h1"})
	viewstest.Same(t, "held by jane", b.HoldsOf("jane", "held"), []string{"h5", "h4", "h3", "h2", "h1"})

	for id, ended := range map[string]events.HoldEnded{
		"h1": viewstest.Ended(holds["h1"], events.OutcomeCaptured, 30, 100),
		"h2": viewstest.Ended(holds["h2"], events.OutcomeReleased, 0, 110),
		"h4": viewstest.Ended(holds["h4"], events.OutcomeExpired, 0, 120),
	} {
		b.project(records(b.End(holds[id], ended)))
		b.List(ended)
	}
	b.project(first) // redelivered late: the hold must not become open again
	b.List(holds["h1"])
	for _, account := range []string{"jane", "shop"} {
		viewstest.Same(t, "captured", b.HoldsOf(account, "captured"), []string{"h1"})
		viewstest.Same(t, "released", b.HoldsOf(account, "released"), []string{"h2"})
		viewstest.Same(t, "expired", b.HoldsOf(account, "expired"), []string{"h4"})
		viewstest.Same(t, "held", b.HoldsOf(account, "held"), []string{"h5", "h3"})
		viewstest.Same(t, "all", b.HoldsOf(account, ""), []string{"h5", "h4", "h3", "h2", "h1"})
	}
	viewstest.Same(t, "open", b.OpenHolds(), []string{"h5", "h3"})

	page, err := b.Lists.HoldsOf(t.Context(), "jane", "captured", projections.Slice{Limit: 1})
	b.Must(err)
	if e := page.Items[0].Ended; e == nil || e.Legs[0].Quantity != events.NewAmount(-30) {
		t.Errorf("captured %+v", page.Items[0])
	}
	head := b.Stored(jane).Head
	if head.PendingDebits != events.NewAmount(100) || head.Debits != events.NewAmount(30) ||
		head.Returned != events.NewAmount(120) {
		t.Errorf("jane has %+v", head)
	}
	if head := b.Stored(events.Pair{Account: "shop", Asset: "USD"}).Head; head.PendingCredits != events.NewAmount(100) ||
		head.Credits != events.NewAmount(30) || !head.Returned.IsZero() {
		t.Errorf("shop has %+v", head)
	}
}

// hiddenEnds hides the end of a hold from the first reads: its postings became visible first.
type hiddenEnds struct {
	table.Table
	times int
}

func (v *hiddenEnds) BatchGet(ctx context.Context, keys []table.Key, c table.Consistency) (
	[]table.Item, time.Time, error,
) {
	items, at, err := v.Table.BatchGet(ctx, keys, c)
	if v.times--; v.times >= 0 {
		items = slices.DeleteFunc(items, func(i table.Item) bool {
			return table.Outcome.Is(table.TextOf(i[table.AttrSK]))
		})
	}
	return items, at, err
}

// Transactions become visible item by item: a posting of a hold's end may be visible before the end itself.
func TestRefreshWaitsForTheEndOfAHold(t *testing.T) {
	b := newBook(t)
	h := viewstest.Held("h1", 0)
	b.project(figureRecords(b.Place(h)))
	b.on(&hiddenEnds{b.Table, 2})
	b.project(figureRecords(b.End(h, viewstest.Ended(h, events.OutcomeReleased, 0, 10))))
	viewstest.Same(t, "released", b.HoldsOf("jane", "released"), []string{"h1"})
}

// For any sequence of postings and of placed and ended holds, the fold is the sum of the postings, computed
// independently, and Funds less Spent is what is available. Adding up two parts of the sequence gives the same fold.
func TestFoldIsTheSumOfItsPostings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type hold struct{ pending int64 }
		var (
			open                            []hold
			sum, upper                      projections.Fold
			quantity, held, promised, spent int64
			ofHolds, cost                   int64
			cut                             = rapid.IntRange(0, 20).Draw(t, "cut")
			lower                           projections.Fold
		)
		for i := range rapid.IntRange(1, 20).Draw(t, "postings") {
			c := rapid.Int64Range(-90, 90).Draw(t, "cost")
			p := projections.Posting{ID: ksuid(i), Figures: events.Figures{Cost: events.NewAmount(c)}}
			cost += c
			switch what := rapid.IntRange(0, 2).Draw(t, "what"); {
			case what == 0:
				q := rapid.Int64Range(-90, 90).Draw(t, "quantity")
				p.Quantity = events.NewAmount(q)
				quantity += q
				spent += max(0, -q)
			case what == 1 || len(open) == 0:
				q := rapid.Int64Range(-90, 90).Draw(t, "pending")
				p.Pending, p.Phase, p.Hold = events.NewAmount(q), events.PhasePlaced, "h"
				open = append(open, hold{pending: q})
				held, promised, spent = held+max(0, -q), promised+max(0, q), spent+max(0, -q)
			default:
				h := open[0]
				open = open[1:]
				part := rapid.Int64Range(0, max(h.pending, -h.pending)).Draw(t, "part")
				if h.pending < 0 {
					part = -part
				}
				p.Phase, p.Hold = events.PhaseCaptured, "h"
				p.Quantity, p.Pending = events.NewAmount(part), events.NewAmount(-h.pending)
				quantity += part
				held, promised = held-max(0, -h.pending), promised-max(0, h.pending)
			}
			if p.Phase != "" {
				ofHolds++
			}
			var err error
			if sum, err = sum.Add(p); err != nil || sum.Count != int64(i+1) || sum.Through != p.ID {
				t.Fatal(sum, err)
			}
			if i < cut {
				lower = sum
			}
		}
		funds, err := sum.Funds()
		if err != nil {
			t.Fatal(err)
		}
		all, err := sum.Spent()
		if err != nil {
			t.Fatal(err)
		}
		available, _ := funds.Sub(all)
		if sum.Quantity() != events.NewAmount(quantity) || sum.PendingDebits != events.NewAmount(held) ||
			sum.PendingCredits != events.NewAmount(promised) || all != events.NewAmount(spent) ||
			sum.Expenditure != events.NewAmount(cost) || available != events.NewAmount(quantity-held) {
			t.Fatalf("%+v: quantity %d, held %d, promised %d, spent %d", sum, quantity, held, promised, spent)
		}
		if upper, err = sum.Minus(lower); err != nil {
			t.Fatal(err)
		}
		if again, err := lower.Plus(upper); err != nil || again.Returned != sum.Returned ||
			again.Holds != sum.Holds || sum.Holds != ofHolds ||
			again.PendingDebits != sum.PendingDebits || again.PendingCredits != sum.PendingCredits {
			t.Fatalf("%+v in two parts is %+v, %v", sum, again, err)
		}
	})
}
