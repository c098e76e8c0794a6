package cost

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/functions/stream/streamtest"
	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
	"ledger.example/ledger"
)

// partner has a limit, as holder has.
const partner = "customers:00000042"

// lives is a bank in which two limited accounts have money and shares, with a warm ledger that is metered.
type lives struct {
	*bank
	warm *ledger.Ledger
	seen map[table.Key]bool // postings that were projected
	made int
}

func newLives(t *testing.T) *lives {
	t.Helper()
	l := &lives{bank: newBank(t), seen: make(map[table.Key]bool)}
	l.warm = l.then()
	if _, _, err := l.warm.OpenAccount(t.Context(), ledger.OpenAccount{ID: partner, Actor: "tester"}); err != nil {
		t.Fatal(err)
	}
	for _, account := range []string{holder, partner} {
		for _, asset := range []string{"USD", share} {
			l.post(ledger.PostTransfer{Annotation: l.note(false), From: outside, To: account, Asset: asset,
				Quantity: events.NewAmount(1_000_000)})
		}
	}
	l.projectNew()
	// Guards, balances and what a warm process knows are there from here on.
	l.post(l.settled(false))
	r := l.settled(false)
	r.Buyer, r.Seller = r.Seller, r.Buyer
	l.post(r)
	l.capture(l.hold())
	l.projectNew()
	return l
}

// note has a new id, and places a hold or doesn't.
func (l *lives) note(hold bool) ledger.Annotation {
	l.made++
	note := ledger.Annotation{ID: fmt.Sprintf("orders:%09d", l.made), Actor: everyday().actor}
	if hold {
		note.Hold = &ledger.HoldRequest{}
	}
	return note
}

// trade is one of two legs between the limited accounts, settled one of four.
func (l *lives) trade(hold bool) ledger.PostTrade {
	return ledger.PostTrade{Annotation: l.note(hold), Asset: share, Buyer: holder, Seller: partner,
		Quantity: events.NewAmount(10), Cost: events.NewAmount(1500)}
}

func (l *lives) settled(hold bool) ledger.PostTrade {
	r := l.trade(hold)
	r.Settle = true
	return r
}

func (l *lives) post(r ledger.PostingRequest) string {
	l.t.Helper()
	posted, err := l.warm.Post(l.t.Context(), r)
	if err != nil {
		l.t.Fatal(err)
	}
	return posted.Transaction.ID
}

// hold places a hold of two legs.
func (l *lives) hold() string { return l.post(l.trade(true)) }

func (l *lives) capture(id string) { l.end(id, 0) }

// end captures so many shares of a trade, and a proportional cost; 0 stands for all.
func (l *lives) end(id string, shares int64) {
	l.t.Helper()
	if _, err := l.warm.Capture(l.t.Context(), ledger.CaptureRequest{Transaction: id, Part: partOf(shares),
		Actor: everyday().actor}); err != nil {
		l.t.Fatal(err)
	}
}

// partOf names so many shares of a trade, with their cost; 0 stands for all.
func partOf(shares int64) (p ledger.Part) {
	if shares != 0 {
		quantity := events.NewAmount(shares)
		p.Quantity, p.Cost = &quantity, events.NewAmount(150*shares)
	}
	return p
}

func (l *lives) release(id string) {
	l.t.Helper()
	if _, err := l.warm.Release(l.t.Context(), ledger.ReleaseRequest{Transaction: id,
		Actor: everyday().actor}); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lives) reverse(id string, shares int64) {
	l.t.Helper()
	if _, err := l.warm.Reverse(l.t.Context(), ledger.ReverseRequest{Annotation: l.note(false), Part: partOf(shares),
		Transaction: id}); err != nil {
		l.t.Fatal(err)
	}
}

// know lets the meter see that a hold is not listed yet.
func (l *lives) know(id string) {
	l.t.Helper()
	life, err := l.warm.Life(l.t.Context(), id)
	if err != nil {
		l.t.Fatal(err)
	}
	keys := []table.Key{table.OpenHoldKey(events.FormatTime(life.Header.ExpiresAt), id)}
	for _, leg := range life.Header.Legs {
		keys = append(keys, table.HoldKey(leg.Account, string(life.Header.Legs[0].ID)))
	}
	l.absent(keys...)
}

// projectNew projects what was posted since the last call, as one batch.
func (l *lives) projectNew() {
	l.t.Helper()
	var images []ddb.Item
	all := l.Contents()
	for _, key := range l.Projected() {
		if !l.seen[key] {
			l.seen[key] = true
			images = append(images, all[key])
		}
	}
	streamtest.Deliver(l.t, l.Service.Stream(), streamtest.Images(l.t, images...))
}

// wants fails the test if a step takes other requests, or more write units.
func (c taken) wants(t *testing.T, what string, reads, writes int, units int64) line {
	t.Helper()
	if c.reads != reads || c.writes != writes || c.WriteUnits > units {
		t.Errorf("%s takes %s: wanted %d reads, %d writes, at most %d write units:\n\t%s", what, costOf(c.Tally), reads,
			writes, units, strings.Join(c.lines, "\n\t"))
	}
	return line{what, costOf(c.Tally)}
}

func (c taken) names(text string) bool { return strings.Contains(strings.Join(c.lines, " "), text) }

// TestHoldsAndReversals measures the life of money between two limited accounts, by processes that are warm.
func TestHoldsAndReversals(t *testing.T) {
	t.Parallel()
	l := newLives(t)
	var lines []line
	step := func(what string, step func(), reads, writes int, units int64) taken {
		t.Helper()
		c := l.take(step)
		lines = append(lines, c.wants(t, what, reads, writes, units))
		return c
	}

	step("a trade", func() { l.post(l.trade(false)) }, 0, 1, 10)
	l.projectNew()
	var held string
	placed := step("placing a hold of a trade", func() { held = l.hold() }, 0, 1, 12)
	if !placed.names("SPEND#" + share) {
		t.Errorf("a hold was placed without its guard: %q", placed.lines)
	}
	l.know(held)
	step("projecting it, which lists it", l.projectNew, 3, 5, 8)
	ended := step("capture", func() { l.capture(held) }, 1, 1, 10)
	step("projecting the capture", l.projectNew, 3, 5, 10)
	step("the same capture again", func() { l.capture(held) }, 2, 0, 0)
	other := l.hold()
	released := step("release", func() { l.release(other) }, 1, 1, 10)
	if ended.names("SPEND#") || released.names("SPEND#") {
		t.Errorf("an end touches a guard: %q, %q", ended.lines, released.lines)
	}
	step("reversal of a trade", func() { l.reverse(held, 0) }, 1, 1, 12)
	part := l.hold()
	step("capture of a part", func() { l.end(part, 4) }, 1, 1, 10)
	step("reversal of a part of that", func() { l.reverse(part, 1) }, 1, 1, 12)
	step("reversal of another part", func() { l.reverse(part, 2) }, 1, 1, 12)

	step("a settled trade", func() { l.post(l.settled(false)) }, 0, 1, 18)
	step("placing a hold of a settled trade", func() { held = l.post(l.settled(true)) }, 0, 1, 18)
	step("capture of a settled trade", func() { l.capture(held) }, 1, 1, 14)

	f := figures{heading: "Holds and reversals", of: "step"}
	f.add("requests, items and units", lines)
	f.check(t)
}

// The first debit ever of an account and asset makes its guard, which takes three small requests. Later debits take
// none of them, whichever process they come from.
func TestFirstDebit(t *testing.T) {
	t.Parallel()
	l := newLives(t)
	const fresh = "customers:00000099"
	if _, _, err := l.warm.OpenAccount(t.Context(), ledger.OpenAccount{ID: fresh, Actor: "tester"}); err != nil {
		t.Fatal(err)
	}
	spend := func() {
		l.post(ledger.PostTransfer{Annotation: l.note(false), From: fresh, To: outside, Asset: "USD",
			Quantity: events.NewAmount(10)})
	}
	l.post(ledger.PostTransfer{Annotation: l.note(false), From: outside, To: fresh, Asset: "USD",
		Quantity: events.NewAmount(1000)})
	l.projectNew()
	l.warm = l.then()
	first := l.take(spend)
	l.warm = l.then()
	second := l.take(spend)
	third := l.take(spend)
	f := figures{heading: "The first debit", of: "step"}
	f.add("requests, items and units", []line{
		first.wants(t, "the first debit of an account and asset, by a process that starts", 2, 3, 13),
		second.wants(t, "the second, by another process that starts", 1, 1, 10),
		third.wants(t, "the third", 0, 1, 10),
	})
	f.check(t)
}

// TestSweep measures a sweep by the holds that are due. Those that are open and not due cost it nothing.
func TestSweep(t *testing.T) {
	t.Parallel()
	f := figures{heading: "By holds that are due", of: "holds that are due"}
	for _, due := range []int{0, 1, 20} {
		few, many := sweep(t, 3, due), sweep(t, 60, due)
		if costOf(few.Tally) != costOf(many.Tally) {
			t.Errorf("%d due: %s with 3 open, %s with 60", due, costOf(few.Tally), costOf(many.Tally))
		}
		f.add(thousands(due), []line{many.wants(t, "a sweep", table.OpenHoldsShards+due, due, int64(10*due))})
	}
	f.check(t)
}

// sweep measures the sweep of a ledger with so many holds.
func sweep(t *testing.T, open, due int) taken {
	l := newLives(t)
	for range open {
		l.hold()
	}
	soon := l.now().Add(time.Minute)
	for range due {
		r := l.trade(true)
		r.Hold.ExpiresAt = &soon
		l.post(r)
	}
	l.projectNew()
	l.clock.Add(int64(2 * time.Minute))
	return l.take(func() {
		if swept, err := l.warm.Sweeper().Sweep(t.Context()); err != nil || swept.Expired != due {
			t.Fatalf("of %d, %d expired: %+v, %v", due, swept.Expired, swept, err)
		}
	})
}
