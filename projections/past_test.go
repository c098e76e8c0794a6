package projections_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
)

// past is a store with a Past. Its projector closes segments after few postings.
type past struct {
	*viewstest.Store
	projector *projections.Projector
	past      *projections.Past
	posted    []projections.Posting // in any order
}

func newPast(t viewstest.T) *past {
	t.Helper()
	clock := func() time.Time { return morning.Add(time.Hour) }
	s := viewstest.NewStore(t, clock)
	p := &past{Store: s, projector: projections.NewProjector(s.Table, clock, slog.New(slog.DiscardHandler)),
		past: projections.NewPast(s.Table, clock)}
	p.projector.Tune(projections.Tuning{Stretch: 3, Segments: 2, Unsealed: 2})
	return p
}

// at is the n-th millisecond of the morning, the time in ksuid(n).
func at(n int) time.Time { return morning.Add(time.Duration(n) * time.Millisecond) }

// arrive puts a posting without projecting it.
func (p *past) arrive(ctx context.Context, one projections.Posting) error {
	p.posted = append(p.posted, one)
	slices.SortFunc(p.posted, func(a, b projections.Posting) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return p.Post(ctx, jane, one)
}

// sum adds up all postings from millisecond first through last, independently of package projections.
func (p *past) sum(first, last int) (quantity, cost, pending int64, count int64) {
	for _, one := range p.posted {
		if one.ID < ksuid(first) || one.ID > ksuid(last) {
			continue
		}
		quantity, cost, pending = quantity+toInt(one.Quantity), cost+toInt(one.Cost), pending+toInt(one.Pending)
		count++
	}
	return quantity, cost, pending, count
}

// toInt returns a small amount as an integer.
func toInt(a events.Amount) (n int64) {
	for _, c := range a.Abs().String() {
		n = 10*n + int64(c-'0')
	}
	return n * int64(a.Sign())
}

// isSum fails unless f is the sum of all postings from millisecond first through last.
func (p *past) isSum(t *rapid.T, what string, f projections.Fold, first, last int) {
	t.Helper()
	quantity, cost, pending, count := p.sum(first, last)
	shown, _ := f.PendingCredits.Sub(f.PendingDebits)
	if toInt(f.Quantity()) != quantity || toInt(f.Expenditure) != cost || toInt(shown) != pending || f.Count != count {
		t.Fatalf("%s: %+v, and the postings from %d to %d sum up to %d for %d, %d pending, %d of them", what, f, first,
			last, quantity, cost, pending, count)
	}
}

const lastMillisecond = 120

// drawPosting draws a posting at an unused millisecond. Some lie in segments that were closed before, like late or
// backdated postings.
func (p *past) drawPosting(t *rapid.T) projections.Posting {
	n := rapid.IntRange(1, lastMillisecond).Filter(func(n int) bool {
		return !slices.ContainsFunc(p.posted, func(one projections.Posting) bool { return one.ID == ksuid(n) })
	}).Draw(t, "millisecond")
	one := posting(n, rapid.Int64Range(-90, 90).Draw(t, "quantity"))
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0: // a hold that is placed
		one.Pending, one.Phase, one.Hold = one.Quantity, events.PhasePlaced, "h"
		one.Quantity, one.Cost = events.Amount{}, events.Amount{}
	case 1: // the end of one
		one.Pending, one.Phase, one.Hold = one.Quantity.Neg(), events.PhaseReleased, "h"
		one.Quantity, one.Cost = events.Amount{}, events.Amount{}
	}
	return one
}

// A balance as of any time is the sum of all postings until then, whatever the order of their arrival and projection,
// and whatever the store's page size.
func TestPastBalanceIsTheSumOfItsPostings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx, p := t.Context(), newPast(t)
		p.Page = rapid.SampledFrom([]int{0, 1, 2, 5}).Draw(t, "page")
		for range rapid.IntRange(0, 6).Draw(t, "batches") {
			var ids []events.KSUID
			for range rapid.IntRange(1, 8).Draw(t, "postings") {
				one := p.drawPosting(t)
				if err := p.arrive(ctx, one); err != nil {
					t.Fatal(err)
				}
				ids = append(ids, one.ID)
			}
			if err := p.projector.Refold(ctx, jane, ids); err != nil {
				t.Fatal(err)
			}
			n := rapid.IntRange(0, lastMillisecond+1).Draw(t, "as of")
			strong := rapid.Bool().Draw(t, "strong")
			b, err := p.past.Balance(ctx, jane, at(n), strong)
			if err != nil || !b.Settled {
				t.Fatal(b, err)
			}
			p.isSum(t, "as of", b.Fold, 0, n)
			listed, err := p.past.Balances(ctx, jane.Account, at(n), strong, projections.Slice{Limit: 1})
			if err != nil || len(listed.Items) != int(min(b.Count, 1)) || b.Count > 0 && listed.Items[0] != b {
				t.Fatalf("listed are %+v, one by one %+v, %v", listed, b, err)
			}
		}
	})
}

// In a statement of any period and page size, the opening balance plus all lines is the closing balance, even if
// postings arrive between pages. Each line shows the balance after it.
func TestStatementsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx, p := t.Context(), newPast(t)
		p.Page = rapid.SampledFrom([]int{0, 1, 3}).Draw(t, "page")
		var unprojected []events.KSUID
		post := func(most int) {
			for range rapid.IntRange(0, most).Draw(t, "postings") {
				one := p.drawPosting(t)
				if err := p.arrive(ctx, one); err != nil {
					t.Fatal(err)
				}
				unprojected = append(unprojected, one.ID)
			}
		}
		project := func() {
			if err := p.projector.Refold(ctx, jane, unprojected); err != nil {
				t.Fatal(err)
			}
			unprojected = nil
		}
		post(20)
		project()
		post(10)
		project()
		from := rapid.IntRange(0, lastMillisecond).Draw(t, "from")
		to := rapid.IntRange(from, lastMillisecond+1).Draw(t, "to")
		limit := rapid.IntRange(1, 12).Draw(t, "limit")
		busy := rapid.Bool().Draw(t, "busy")
		span := projections.Span{From: at(from), To: at(to)}
		var mark *projections.StatementMark
		var opening, balance projections.Fold
		var last events.KSUID
		lines := 0
		for {
			page, err := p.past.Statement(ctx, jane, span, mark, limit)
			if err != nil || !page.Settled || len(page.Lines) > limit {
				t.Fatal(page, err)
			}
			if mark == nil {
				p.isSum(t, "opening", page.Opening, 0, from-1)
				p.isSum(t, "closing", page.Closing, 0, to-1)
				opening, balance = page.Opening, page.Opening
			}
			if page.Opening.Quantity() != opening.Quantity() || page.Opening.Count != opening.Count {
				t.Fatalf("the opening was %+v and is %+v", opening, page.Opening)
			}
			for _, line := range page.Lines {
				if line.ID <= last || line.ID < ksuid(from) || line.ID >= ksuid(to) {
					t.Fatalf("%s after %s, from %s to %s", line.ID, last, ksuid(from), ksuid(to))
				}
				last = line.ID
				if balance, err = balance.Add(projections.Posting{ID: line.ID, Figures: line.Figures()}); err != nil {
					t.Fatal(err)
				}
				if balance.Quantity() != line.After {
					t.Fatalf("after %s it is %s, shown %s", line.ID, balance.Quantity(), line.After)
				}
				lines++
			}
			if page.Next == nil {
				if page.Closing != balance {
					t.Fatalf("opening and movements are %+v, the closing is %+v", balance, page.Closing)
				}
				break
			}
			if mark = page.Next; busy {
				if post(3); rapid.Bool().Draw(t, "projected") {
					project()
				}
			}
		}
		if _, _, _, count := p.sum(from, to-1); !busy && lines != int(count) {
			t.Fatalf("%d lines of %d postings", lines, count)
		}
	})
}

// lagging is a table whose eventually consistent queries find nothing.
type lagging struct{ table.Table }

func (l lagging) Query(ctx context.Context, q table.Query) (table.Page, error) {
	found, err := l.Table.Query(ctx, q)
	if q.Consistency == table.Eventual {
		found.Items = nil
	}
	return found, err
}

// A statement goes on in the ledger that has the last posting of the page before, also where an eventually consistent
// read does not find it, and in no other: the sums of the mark are wrong money there.
func TestStatementGoesOnInItsLedgerOnly(t *testing.T) {
	p, other := newPast(t), newPast(t)
	for n := range 4 {
		for i, ledger := range []*past{p, other} {
			if err := ledger.arrive(t.Context(), posting(n*10+i, 1)); err != nil {
				t.Fatal(err)
			}
		}
	}
	span := projections.Span{From: at(0), To: at(1000)}
	page, err := p.past.Statement(t.Context(), jane, span, nil, 2)
	if err != nil || page.Next == nil {
		t.Fatal(page, err)
	}
	clock := func() time.Time { return morning.Add(time.Hour) }
	for _, reads := range []*projections.Past{p.past, projections.NewPast(lagging{p.Table}, clock)} {
		if rest, err := reads.Statement(t.Context(), jane, span, page.Next, 2); err != nil || len(rest.Lines) != 2 {
			t.Errorf("the rest is %+v, %v", rest, err)
		}
	}
	if rest, err := other.past.Statement(t.Context(), jane, span, page.Next, 2); !errors.Is(err, projections.ErrNotInStatement) {
		t.Errorf("another ledger goes on with %+v, %v", rest, err)
	}
}

// Where segments are lost, not visible yet or overlap, Past reads the postings instead.
func TestPastBalanceWithDamagedSegments(t *testing.T) {
	all := upTo(1, 20)
	for name, damage := range map[string]func(viewstest.Damage, []projections.Segment){
		"whole":         func(viewstest.Damage, []projections.Segment) {},
		"the first one": func(d viewstest.Damage, s []projections.Segment) { d.LoseSegment(s[0]) },
		"the second and the third": func(d viewstest.Damage, s []projections.Segment) {
			d.LoseSegment(s[1])
			d.LoseSegment(s[2])
		},
		"the last one": func(d viewstest.Damage, s []projections.Segment) { d.LoseSegment(s[len(s)-1]) },
		"one that overlaps": func(d viewstest.Damage, s []projections.Segment) {
			d.Segment(projections.Segment{Pair: jane, After: ksuid(5), Fold: ones(8, 3)})
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPast(t)
			b := &book{Book: &viewstest.Book{T: t, Store: p.Store, Projector: p.projector}}
			b.Refold(jane, b.PostOnes(jane, all...)...)
			damage(p.Damage(), b.AllSegments(jane))
			for n := range 22 {
				got, err := p.past.Balance(t.Context(), jane, at(n), n%2 == 0)
				wanted := ones(min(n, 20), min(n, 20))
				if n == 0 {
					wanted = projections.Fold{}
				}
				if err != nil || got.Fold != wanted {
					t.Errorf("as of %d: %+v, %v", n, got, err)
				}
				span := projections.Span{From: at(n), To: at(21)}
				page, err := p.past.Statement(t.Context(), jane, span, nil, 100)
				if err != nil || len(page.Lines) != min(20, 21-n) || page.Opening.Count != int64(max(0, n-1)) ||
					page.Closing != ones(20, 20) {
					t.Errorf("from %d on: %+v, %v", n, page, err)
				}
			}
		})
	}
}

// A time is settled when it is further in the past than a command can take, by the earlier of two clocks.
func TestPastSettles(t *testing.T) {
	p := newPast(t)
	now := morning.Add(time.Hour)
	for _, c := range []struct {
		own, store, age time.Duration
		settled         bool
	}{
		{0, 0, 9 * time.Second, false}, {0, 0, 11 * time.Second, true},
		{-5 * time.Second, 0, 11 * time.Second, false}, {5 * time.Second, 0, 9 * time.Second, false},
		{0, 5 * time.Second, 9 * time.Second, false}, {-5 * time.Second, 5 * time.Second, 16 * time.Second, true},
	} {
		p.Now = func() time.Time { return now.Add(c.store) }
		reads := projections.NewPast(p.Table, func() time.Time { return now.Add(c.own) })
		b, err := reads.Balance(t.Context(), jane, now.Add(-c.age), true)
		page, err2 := reads.Statement(t.Context(), jane,
			projections.Span{From: now.Add(-time.Hour), To: now.Add(-c.age)}, nil, 1)
		if b.Settled != c.settled || page.Settled != c.settled || errors.Join(err, err2) != nil {
			t.Errorf("%+v: %t, %t", c, b.Settled, page.Settled)
		}
	}
}

// A past balance or a statement is settled once it is ten seconds old, by the earlier of both clocks, and once no closing
// that covers it awaits its FinalAt. The age of what was posted and the projections are not asked.
func TestSettled(t *testing.T) {
	closed := func(number int64, at, before time.Time) events.PeriodClosed {
		return events.PeriodClosed{Number: number, Before: before, Reason: "audited", Actor: "ann", At: at}
	}
	for _, c := range []struct {
		name     string
		now, at  time.Duration // of the own clock, and the time asked for: since the morning
		closings []events.PeriodClosed
		balance  bool
		whole    bool // a statement from the beginning
	}{
		{"young", time.Hour, time.Hour - 10*time.Second, nil, false, false},
		{"old", time.Hour, time.Hour - 10*time.Second - 2*time.Microsecond, nil, true, true},
		{"own clock ahead", 2 * time.Hour, time.Hour - 5*time.Second, nil, false, false},
		{"own clock behind", 30 * time.Minute, 40 * time.Minute, nil, false, false},
		{"closing", time.Hour, time.Minute, []events.PeriodClosed{closed(1, at(3_500_000), at(70_000))}, false, false},
		{"closing up to the time", time.Hour, time.Minute,
			[]events.PeriodClosed{closed(1, at(3_500_000), at(60_000))}, true, false},
		{"final", time.Hour, time.Minute, []events.PeriodClosed{closed(1, at(3_300_000), at(70_000))}, true, true},
		{"not final by the own clock", 59 * time.Minute, time.Minute,
			[]events.PeriodClosed{closed(1, at(3_300_000), at(70_000))}, false, false},
		{"an older closing", time.Hour, time.Minute, []events.PeriodClosed{closed(1, at(3_500_000), at(70_000)),
			closed(2, at(3_550_000), at(1_000))}, false, false},
	} {
		p := newPast(t)
		for _, e := range c.closings {
			if _, err := p.Table.Write(t.Context(), table.Write{Item: table.EventItem(e)}); err != nil {
				t.Fatal(err)
			}
		}
		past := projections.NewPast(p.Table, func() time.Time { return morning.Add(c.now) })
		b, err := past.Balance(t.Context(), jane, morning.Add(c.at), true)
		if err != nil || b.Settled != c.balance {
			t.Errorf("%s: balance settled %t, %v", c.name, b.Settled, err)
		}
		span := projections.Span{From: morning.Add(-time.Hour), To: morning.Add(c.at + time.Microsecond)}
		page, err := past.Statement(t.Context(), jane, span, nil, 10)
		if err != nil || page.Settled != c.whole {
			t.Errorf("%s: statement settled %t, %v", c.name, page.Settled, err)
		}
	}
}
