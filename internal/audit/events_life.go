package audit

import (
	"context"
	"math/big"
	"strconv"
	"sync"
	"time"

	"ledger.example/internal/table"
)

// life is a transaction, and if it is a hold, how it ended.
type life struct {
	header
	exists bool
	end    *outcome // nil: it has not ended

	// unreadable: the header or the end cannot be read, or they do not fit. Then there is nothing to compare with, and
	// the scan reports them.
	unreadable bool
}

// life reads a transaction.
func (a *Audit) life(ctx context.Context, id string) life {
	l := a.begun(ctx, id)
	if !l.isHold() {
		return l
	}
	item := a.get(ctx, table.OutcomeKey(id))
	if end, ok := as[outcome](item); ok {
		l.end = &end
	}
	l.unreadable = l.end == nil && len(item) > 0 || l.end != nil && len(l.end.legs) != len(l.legs)
	return l
}

// begun reads a transaction without its end.
func (a *Audit) begun(ctx context.Context, id string) (l life) {
	item := a.get(ctx, table.TransactionKey(id))
	if l.header, l.exists = as[header](item); !l.exists {
		l.id, l.unreadable = id, len(item) > 0
	}
	return l
}

// lifeOf reads the transaction that says how old an item is, if the item does not say it: of an end its hold, of a
// reversal the reversing transaction, of an entry by expiry its hold.
func (a *Audit) lifeOf(ctx context.Context, value any) (l life) {
	switch v := value.(type) {
	case outcome:
		l = a.begun(ctx, v.hold)
		l.end = &v
	case reversed:
		l = a.begun(ctx, v.by)
	case openHold:
		l = a.life(ctx, v.hold)
	}
	return l
}

// postings returns what the items of the legs must contain.
func (h header) postings() []posting {
	all := make([]posting, len(h.legs))
	for i, leg := range h.legs {
		p := posting{event: h.event, leg: leg, transaction: h.id, description: h.description}
		p.kind, p.pending = h.kind, new(big.Int)
		if h.isHold() {
			p.phase, p.pending = placed, p.quantity
			p.quantity, p.cost = new(big.Int), new(big.Int)
		}
		all[i] = p
	}
	return all
}

// endPostings returns what the items of the end's legs must contain: nothing if it has none that fit the hold.
func (l life) endPostings() []posting {
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

// posted returns the legs that were posted: of a hold what was captured. Of an open hold, and of one that was given
// back, there are none.
func (l life) posted() []leg {
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

// checkEnd checks an end by itself, and against its hold.
func (a *Audit) checkEnd(ctx context.Context, l life, key table.Key) {
	e := l.end
	switch {
	case l.unreadable: // the scan reports it
		return
	case !l.isHold():
		a.report(ctx, Finding{EndWithoutHold, key, "", e.how, "no end: there is no hold " + strconv.Quote(e.hold)})
		return
	}
	a.balanced(ctx, e.legs, key)
	if right := l.rightEnd(); right != "" {
		a.report(ctx, Finding{EndWrong, key, fieldLegs, e.how + " at " + e.at.Format(instantForm) + ": " +
			legsText(e.legs), right})
	}
}

// rightEnd returns what the end should be, if it does not fit its hold, else "".
func (l life) rightEnd() string {
	e := l.end
	if len(e.legs) != len(l.legs) {
		return "the legs of the hold: " + legsText(l.legs)
	}
	isNothing := true
	for i, leg := range e.legs {
		planned := l.legs[i]
		if leg.account != planned.account || leg.asset != planned.asset || !within(leg.quantity, planned.quantity) ||
			!within(leg.cost, planned.cost) {
			return "the legs of the hold, each with its sign and at most what was held: " + legsText(l.legs)
		}
		isNothing = isNothing && leg.quantity.Sign() == 0 && leg.cost.Sign() == 0
	}
	expires, _ := time.Parse(instantForm, l.expires)
	switch last := l.legs[len(l.legs)-1].ksuid; {
	case e.legs[0].ksuid <= last:
		return "KSUIDs after the last of the hold, " + last
	case isNothing != (e.how != captured):
		return "something in each leg that is captured, and nothing in the others"
	case e.how == captured && !e.at.Before(expires):
		return "captured before " + l.expires
	case e.how == expired && e.at.Before(expires.Add(-commandTimeout)):
		return "expired from " + l.expires + " on"
	case l.kind == trade && len(e.legs) == 4 && (!opposite(e.legs[2].quantity, e.legs[0].cost) ||
		e.legs[3].quantity.Cmp(e.legs[0].cost) != 0):
		return "cash as much as the cost"
	}
	return ""
}

// overdueAfter is how long after its expiry an open hold is taken for one that nothing ends.
const overdueAfter = 15 * time.Minute

// noteOverdue counts an open hold that should have expired.
func (a *Audit) noteOverdue(e openHold, l life) {
	if !l.unreadable && l.isHold() && l.end == nil && e.expires < a.Now().UTC().Add(-overdueAfter).Format(instantForm) {
		a.count(func(r *Report) { r.Overdue++ })
	}
}

// recently remembers the last ids of a scan, which finds the items of a partition one after the other. It is safe for
// concurrent use.
type recently struct {
	mu   sync.Mutex
	ids  [4 * MostSegments]string
	next int
}

// isNew reports whether an id is none of the last, and remembers it.
func (r *recently) isNew(id string) bool {
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
