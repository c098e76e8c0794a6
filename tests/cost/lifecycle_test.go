package cost

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/functions/stream/streamtest"
	"ledger.example/internal/table"
	"ledger.example/ledger"
)

// partner is another account with a limit.
const partner = "customers:00000042"

// limitedBank is a bank in which holder and partner have money and shares. warm is a metered ledger with warm caches.
type limitedBank struct {
	*bank
	warm         *ledger.Ledger
	projected    map[table.Key]bool // postings that were projected
	listed       map[table.Key]bool // events that were listed
	transactions int
}

func newLimitedBank(t *testing.T) *limitedBank {
	t.Helper()
	b := &limitedBank{bank: newBank(t), projected: make(map[table.Key]bool),
		listed: make(map[table.Key]bool)}
	b.warm = b.coldLedger()
	if _, _, err := b.warm.OpenAccount(t.Context(), ledger.OpenAccount{ID: partner, Actor: "tester"}); err != nil {
		t.Fatal(err)
	}
	for _, account := range []string{holder, partner} {
		for _, asset := range []string{"USD", share} {
			b.post(ledger.PostTransfer{Annotation: b.note(false), From: outside, To: account, Asset: asset,
				Quantity: events.NewAmount(1_000_000)})
		}
	}
	b.projectNew()
	// Creates the guards and balances, and fills the caches.
	b.post(b.settled(false))
	r := b.settled(false)
	r.Buyer, r.Seller = r.Seller, r.Buyer
	b.post(r)
	b.capture(b.hold())
	b.projectNew()
	return b
}

// note returns an annotation with a new id, and with a hold or without one.
func (b *limitedBank) note(hold bool) ledger.Annotation {
	b.transactions++
	note := ledger.Annotation{ID: fmt.Sprintf("orders:%09d", b.transactions), Actor: typicalInputs().actor}
	if hold {
		note.Hold = &ledger.HoldRequest{}
	}
	return note
}

// trade returns a trade of two legs between the limited accounts. With settled, it has four.
func (b *limitedBank) trade(hold bool) ledger.PostTrade {
	return ledger.PostTrade{Annotation: b.note(hold), Asset: share, Buyer: holder, Seller: partner,
		Quantity: events.NewAmount(10), Cost: events.NewAmount(1500)}
}

func (b *limitedBank) settled(hold bool) ledger.PostTrade {
	r := b.trade(hold)
	r.Settle = true
	return r
}

func (b *limitedBank) post(r ledger.Request) string {
	b.t.Helper()
	posted, err := b.warm.Post(b.t.Context(), r)
	if err != nil {
		b.t.Fatal(err)
	}
	return posted.Header.ID
}

// hold places a hold of two legs.
func (b *limitedBank) hold() string { return b.post(b.trade(true)) }

func (b *limitedBank) capture(id string) { b.end(id, 0) }

// end captures this many shares of a held trade, with a proportional cost. 0: all.
func (b *limitedBank) end(id string, shares int64) {
	b.t.Helper()
	if _, err := b.warm.Post(b.t.Context(), ledger.CaptureRequest{Transaction: id, Part: partOf(shares),
		Actor: typicalInputs().actor}); err != nil {
		b.t.Fatal(err)
	}
}

// partOf returns a part of a trade: this many shares, with a proportional cost. 0: all.
func partOf(shares int64) (p ledger.Part) {
	if shares != 0 {
		quantity := events.NewAmount(shares)
		p.Quantity, p.Cost = &quantity, new(events.NewAmount(150*shares))
	}
	return p
}

func (b *limitedBank) release(id string) {
	b.t.Helper()
	if _, err := b.warm.Post(b.t.Context(), ledger.ReleaseRequest{Transaction: id,
		Actor: typicalInputs().actor}); err != nil {
		b.t.Fatal(err)
	}
}

// endTogether captures one hold and releases the other in a batch.
func (b *limitedBank) endTogether(atomic bool, captured, released string) {
	b.t.Helper()
	actor := typicalInputs().actor
	results, err := b.warm.PostBatch(b.t.Context(), []ledger.Request{
		ledger.CaptureRequest{Transaction: captured, Actor: actor}, ledger.ReleaseRequest{Transaction: released, Actor: actor},
	}, atomic)
	if err != nil || results[0].Err != nil || results[1].Err != nil {
		b.t.Fatal(results, err)
	}
}

func (b *limitedBank) reverse(id string, shares int64) {
	b.t.Helper()
	if _, err := b.warm.Post(b.t.Context(), ledger.ReverseRequest{Annotation: b.note(false), Part: partOf(shares),
		Transaction: id}); err != nil {
		b.t.Fatal(err)
	}
}

// projectNew projects everything posted since the last call, in one batch.
func (b *limitedBank) projectNew() {
	b.t.Helper()
	var images []table.Item
	all := b.Contents()
	for _, key := range b.Projected() {
		if !b.projected[key] {
			b.projected[key] = true
			images = append(images, all[key])
		}
	}
	streamtest.Deliver(b.t, b.Service.Stream(), streamtest.Images(b.t, images...))
}

// listNew lists everything posted since the last call, in one batch.
func (b *limitedBank) listNew() {
	b.t.Helper()
	var images []table.Item
	for key, item := range b.Contents() {
		if table.IsJournaled(key.SK) && !b.listed[key] {
			b.listed[key] = true
			images = append(images, item)
		}
	}
	streamtest.Deliver(b.t, b.lister(), streamtest.Images(b.t, images...))
}

// line returns the cost of a step as a line of a table.
func (c measured) line(what string) line { return line{what, costText(c.Tally)} }

func (c measured) mention(text string) bool {
	return strings.Contains(strings.Join(c.lines, " "), text)
}

// TestCostOfHoldsAndReversals measures trades, holds, their ends and reversals between two limited accounts, with warm
// caches.
func TestCostOfHoldsAndReversals(t *testing.T) {
	t.Parallel()
	b := newLimitedBank(t)
	var lines []line
	step := func(what string, step func()) measured {
		t.Helper()
		c := b.measure(step)
		lines = append(lines, c.line(what))
		return c
	}

	step("a trade", func() { b.post(b.trade(false)) })
	b.projectNew()
	b.listNew()
	var held string
	placed := step("placing a hold of a trade", func() { held = b.hold() })
	if !placed.mention("SPEND#" + share) {
		t.Errorf("a hold was placed without its guard: %q", placed.lines)
	}
	step("projecting it", b.projectNew)
	step("listing it", b.listNew)
	ended := step("capture", func() { b.capture(held) })
	step("projecting the capture", b.projectNew)
	step("listing the capture", b.listNew)
	step("the same capture again", func() { b.capture(held) })
	other := b.hold()
	released := step("release", func() { b.release(other) })
	if ended.mention("SPEND#") || released.mention("SPEND#") {
		t.Errorf("the end of a hold uses a guard: %q, %q", ended.lines, released.lines)
	}
	step("reversal of a trade", func() { b.reverse(held, 0) })
	part := b.hold()
	step("capture of a part", func() { b.end(part, 4) })
	step("reversal of a part of that", func() { b.reverse(part, 1) })
	step("reversal of another part", func() { b.reverse(part, 2) })

	step("a settled trade", func() { b.post(b.settled(false)) })
	step("placing a hold of a settled trade", func() { held = b.post(b.settled(true)) })
	step("capture of a settled trade", func() { b.capture(held) })

	for _, atomic := range []bool{false, true} {
		held, other := b.hold(), b.hold()
		what := "a batch of a capture and a release"
		if atomic {
			what = "an atomic batch of them"
		}
		step(what, func() { b.endTogether(atomic, held, other) })
	}

	f := figures{heading: "Holds and reversals", of: "step"}
	f.add("requests, items and units", lines)
	f.check(t)
}

// The first debit of an account and asset creates the guard, with three more small requests. Later debits, also from
// other processes, do not need them.
func TestCostOfFirstDebit(t *testing.T) {
	t.Parallel()
	b := newLimitedBank(t)
	const fresh = "customers:00000099"
	if _, _, err := b.warm.OpenAccount(t.Context(), ledger.OpenAccount{ID: fresh, Actor: "tester"}); err != nil {
		t.Fatal(err)
	}
	spend := func() {
		b.post(ledger.PostTransfer{Annotation: b.note(false), From: fresh, To: outside, Asset: "USD",
			Quantity: events.NewAmount(10)})
	}
	b.post(ledger.PostTransfer{Annotation: b.note(false), From: outside, To: fresh, Asset: "USD",
		Quantity: events.NewAmount(1000)})
	b.projectNew()
	b.warm = b.coldLedger()
	first := b.measure(spend)
	b.warm = b.coldLedger()
	second := b.measure(spend)
	third := b.measure(spend)
	f := figures{heading: "The first debit", of: "step"}
	f.add("requests, items and units", []line{
		first.line("the first debit of an account and asset, by a process that starts"),
		second.line("the second, by another process that starts"),
		third.line("the third"),
	})
	f.check(t)
}

// TestCostOfSweep measures sweeps with different numbers of due holds. Open holds that are not due cost nothing.
func TestCostOfSweep(t *testing.T) {
	t.Parallel()
	f := figures{heading: "By holds that are due", of: "holds that are due"}
	for _, due := range []int{0, 1, 20} {
		few, many := sweep(t, 3, due), sweep(t, 60, due)
		if costText(few.Tally) != costText(many.Tally) {
			t.Errorf("%d due: %s with 3 open, %s with 60", due, costText(few.Tally), costText(many.Tally))
		}
		f.add(thousands(due), []line{many.line("a sweep")})
	}
	f.check(t)
}

// sweep measures the sweep of a ledger with this many open and due holds.
func sweep(t *testing.T, open, due int) measured {
	b := newLimitedBank(t)
	for range open {
		b.hold()
	}
	soon := b.now().Add(time.Minute)
	for range due {
		r := b.trade(true)
		r.Hold.ExpiresAt = &soon
		b.post(r)
	}
	b.projectNew()
	b.listNew()
	b.clock.Add(int64(2 * time.Minute))
	return b.measure(func() {
		if swept, err := b.warm.Sweep(t.Context()); err != nil || swept.Expired != due {
			t.Fatalf("of %d, %d expired: %+v, %v", due, swept.Expired, swept, err)
		}
	})
}
