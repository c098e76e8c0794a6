package audit

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"ledger.example/internal/store"
)

// kindPeriod is the name of the stored event.
const kindPeriod = "PeriodClosed"

// finalAfter is how long after its closing something may still be recorded in a period.
const finalAfter = 5 * time.Minute

// period is a closing of the books before a time.
type period struct {
	event
	number int64
	before time.Time
}

func readPeriod(r *reader, key []string) period {
	var p period
	r.read(
		must(store.AttrNumber, aGrant, &p.number),
		must("Before", anInstant, &p.before),
		must("Reason", aName, nil),
		anActor,
		must("At", anInstant, &p.at),
	)
	p.number = r.numbered(p.number, key)
	return p
}

// periods are the closings of the books, in the order of their numbers. They are safe for concurrent use.
type periods struct {
	mu         sync.Mutex
	all        []period
	isRead     bool
	unreadable bool // one is unusable, or missing: the scan, or checkPeriods, reports it
}

// upTo returns the closings, read again if there are fewer than number. ok is false if they cannot be relied on.
func (a *Audit) upTo(ctx context.Context, number int64) (all []period, ok bool) {
	p := &a.periods
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.isRead || int64(len(p.all)) < number {
		p.all, p.isRead, p.unreadable = nil, true, false
		for item := range a.itemsOf(store.Period.PK(), store.Period.All()).all(ctx) {
			one, isOne := as[period](item)
			p.unreadable = p.unreadable || !isOne || one.number != int64(len(p.all))+1
			p.all = append(p.all, one)
		}
	}
	return p.all, !p.unreadable
}

// checkPeriods looks for a gap before a closing.
func (a *Audit) checkPeriods(ctx context.Context, p period, key store.Key) {
	before := store.Key{PK: key.PK, SK: store.Period.SK(store.Number(p.number - 1))}
	if p.number > 1 && len(a.get(ctx, before)) == 0 {
		a.report(ctx, gap(PeriodMissing, "closing", p.number-2, p.number, key)...)
	}
}

// checkClosed checks that a transaction with an effective date was recorded in no closed period.
func (a *Audit) checkClosed(ctx context.Context, h header, key store.Key) {
	if h.effective == "" {
		return
	}
	all, ok := a.upTo(ctx, h.period)
	if !ok || ctx.Err() != nil {
		return
	}
	effective := timeOf(h.legs)
	final := 0
	for i, p := range slices.Backward(all) {
		if !h.at.Before(p.at.Add(finalAfter)) {
			final = i + 1
			break
		}
	}
	switch n := int(h.period); {
	case n > len(all):
		a.report(ctx, Finding{PostedInClosed, key, fieldPeriod, fmt.Sprint(n), fmt.Sprintf("at most %d", len(all))})
	case n < final:
		a.report(ctx, Finding{PostedInClosed, key, fieldPeriod, fmt.Sprint(n),
			fmt.Sprintf("%d or more: it was final when this was recorded", final)})
	case n > 0 && effective.Before(all[n-1].before):
		a.report(ctx, Finding{PostedInClosed, key, fieldLegs, "effective at " + h.effective,
			"at or after " + all[n-1].before.Format(instantForm)})
	}
}
