package audit

import (
	"context"
	"math/big"
	"strconv"
	"sync"
	"time"

	"ledger.example/internal/store"
)

// lifecycle is a transaction and, if it is a hold, its end.
type lifecycle struct {
	header
	exists bool
	end    *outcome // nil: it has not ended

	// unreadable: the header or the end is unusable, or they have different numbers of legs. Then there is nothing to
	// compare with. The scan reports them.
	unreadable bool
}

// readLifecycle reads a transaction and its end.
func (a *Audit) readLifecycle(ctx context.Context, id string) lifecycle {
	l := a.readHeader(ctx, id)
	if !l.isHold() {
		return l
	}
	item := a.get(ctx, store.Outcome.Key(id))
	if end, ok := as[outcome](item); ok {
		l.end = &end
	}
	l.unreadable = l.end == nil && len(item) > 0 || l.end != nil && len(l.end.legs) != len(l.legs)
	return l
}

// readHeader reads a transaction without its end.
func (a *Audit) readHeader(ctx context.Context, id string) (l lifecycle) {
	item := a.get(ctx, store.Transaction.Key(id))
	if l.header, l.exists = as[header](item); !l.exists {
		l.id, l.unreadable = id, len(item) > 0
	}
	return l
}

// lifecycleOf reads the transaction that an item needs for its comparison: the hold of an end or of an entry by expiry,
// or the reversing transaction of a reversal. For other items it reads nothing.
func (a *Audit) lifecycleOf(ctx context.Context, value any) (l lifecycle) {
	switch v := value.(type) {
	case outcome:
		l = a.readHeader(ctx, v.hold)
		l.end = &v
	case reversed:
		l = a.readHeader(ctx, v.by)
	case openHold:
		l = a.readLifecycle(ctx, v.hold)
	}
	return l
}

// postings returns the postings that a header must have.
func (h header) postings() []posting {
	all := make([]posting, len(h.legs))
	for i, leg := range h.legs {
		p := posting{event: h.event, leg: leg, transaction: h.id, description: h.description}
		p.kind, p.backdated, p.pending = h.kind, h.effective != "", new(big.Int)
		if h.isHold() {
			p.phase, p.pending = placed, p.quantity
			p.quantity, p.cost = new(big.Int), new(big.Int)
		}
		all[i] = p
	}
	return all
}

// endPostings returns the postings that an end must have: none without an end whose legs fit the hold.
func (l lifecycle) endPostings() []posting {
	if !l.isHold() || l.end == nil || len(l.end.legs) != len(l.legs) {
		return nil
	}
	all := make([]posting, len(l.legs))
	for i, leg := range l.end.legs {
		p := posting{event: l.end.event, leg: leg, transaction: l.id, description: l.description}
		p.kind, p.phase, p.pending = l.kind, l.end.how, new(big.Int).Neg(l.legs[i].quantity)
		all[i] = p
	}
	return all
}

// posted returns the legs that were posted: of a captured hold the legs of its end, of any other hold none.
func (l lifecycle) posted() []leg {
	switch {
	case !l.isHold():
		return l.legs
	case l.end != nil && l.end.how == captured:
		return l.end.legs
	}
	return nil
}

// accounts returns the accounts in the legs, each once.
func (h header) accounts() (all []string) {
	known := make(map[string]bool)
	for _, leg := range h.legs {
		if !known[leg.account] {
			known[leg.account] = true
			all = append(all, leg.account)
		}
	}
	return all
}

// checkEnd checks an end and compares it with its hold.
func (a *Audit) checkEnd(ctx context.Context, l lifecycle, key store.Key) {
	e := l.end
	switch {
	case l.unreadable:
		return // the scan reports it
	case !l.isHold():
		a.report(ctx, Finding{EndWithoutHold, key, "", e.how, "no end: transaction " + strconv.Quote(e.hold) +
			" is not a hold, or does not exist"})
		return
	}
	a.balanced(ctx, e.legs, key)
	if right := l.endMismatch(); right != "" {
		a.report(ctx, Finding{EndWrong, key, fieldLegs, e.how + " at " + e.at.Format(instantForm) + ": " +
			legsText(e.legs), right})
	}
}

// endMismatch describes the right end, if the end does not fit its hold. Otherwise it returns "".
func (l lifecycle) endMismatch() string {
	e := l.end
	if len(e.legs) != len(l.legs) {
		return "the legs of the hold: " + legsText(l.legs)
	}
	isNothing := true
	for i, leg := range e.legs {
		planned := l.legs[i]
		if leg.account != planned.account || leg.asset != planned.asset || !within(leg.quantity, planned.quantity) ||
			!within(leg.cost, planned.cost) {
			return "the legs of the hold, each with its sign and at most its amount: " + legsText(l.legs)
		}
		isNothing = isNothing && leg.quantity.Sign() == 0 && leg.cost.Sign() == 0
	}
	expires, _ := time.Parse(instantForm, l.expires)
	switch last := l.legs[len(l.legs)-1].ksuid; {
	case e.legs[0].ksuid <= last:
		return "KSUIDs after the hold's last, " + last
	case isNothing != (e.how != captured):
		return "amounts other than 0 if the hold was captured, else only 0"
	case e.how == captured && !e.at.Before(expires):
		return "captured before its expiry at " + l.expires
	case e.how == expired && e.at.Before(expires.Add(-commandTimeout)):
		return "expired at " + l.expires + " or later"
	case l.kind == trade && len(e.legs) == 4 && (!opposite(e.legs[2].quantity, e.legs[0].cost) ||
		e.legs[3].quantity.Cmp(e.legs[0].cost) != 0):
		return "cash legs with the amount of the cost"
	}
	return ""
}

// overdueAfter is how long after its expiry an open hold counts as overdue.
const overdueAfter = 15 * time.Minute

// countOverdue counts an overdue hold.
func (a *Audit) countOverdue(e openHold, l lifecycle) {
	isOpen := e.version != voidVersion && !l.unreadable && l.isHold() && l.end == nil
	if isOpen && e.expires < a.Now().UTC().Add(-overdueAfter).Format(instantForm) {
		a.count(func(r *Report) { r.Overdue++ })
	}
}

// recentIDs remembers the last ids of a scan, which returns the items of a partition one after the other. It is safe
// for concurrent use.
type recentIDs struct {
	mu   sync.Mutex
	ids  [4 * MostSegments]string
	next int
}

// add remembers an id. It returns false if it remembered the id before.
func (r *recentIDs) add(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, known := range r.ids {
		if known == id {
			return false
		}
	}
	r.ids[r.next] = id
	r.next = (r.next + 1) % len(r.ids)
	return true
}
