package audit

import (
	"context"
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
}

// life reads a transaction. readable is false if its header or its end cannot be read, or do not fit: then there is
// nothing to compare with, and the scan reports them.
func (a *Audit) life(ctx context.Context, id string) (l life, readable bool) {
	item := a.get(ctx, table.TransactionKey(id))
	if l.header, l.exists = as[header](item); !l.exists {
		l.id = id
		return l, len(item) == 0
	}
	if !l.isHold() {
		return l, true
	}
	item = a.get(ctx, table.OutcomeKey(id))
	end, ok := as[outcome](item)
	if !ok {
		return l, len(item) == 0
	}
	l.end = &end
	return l, len(end.legs) == len(l.legs)
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

// Items of the scan together with what they belong to, which says how old they are.
type (
	// endOf is an outcome. of is nil if there is no such hold.
	endOf struct {
		outcome
		of *header
	}
	// reversalBy is a reversal. by is nil if its reversing transaction cannot be read.
	reversalBy struct {
		reversed
		by *header
	}
	// openHoldOf is a hold's entry by expiry. of and end are nil if they cannot be read, or do not exist.
	openHoldOf struct {
		openHold
		of  *header
		end *outcome
	}
)

// joined reads what an item belongs to, if it does not say when it was written.
func (a *Audit) joined(ctx context.Context, value any) any {
	switch v := value.(type) {
	case outcome:
		item := a.get(ctx, table.TransactionKey(v.hold))
		h, ok := as[header](item)
		if ok && h.isHold() {
			return endOf{v, &h}
		}
		if ok || len(item) == 0 { // the scan reports one that cannot be read
			return endOf{v, nil}
		}
	case reversed:
		if h, ok := as[header](a.get(ctx, table.TransactionKey(v.by))); ok {
			return reversalBy{v, &h}
		}
		return reversalBy{v, nil}
	case openHold:
		e := openHoldOf{openHold: v}
		if l, readable := a.life(ctx, v.hold); readable && l.exists && l.isHold() {
			e.of, e.end = &l.header, l.end
		}
		return e
	}
	return value
}

// end checks an outcome by itself, and against its hold.
func (a *Audit) end(ctx context.Context, e endOf, key table.Key) {
	if e.of == nil {
		a.report(ctx, Finding{EndWithoutHold, key, "", e.how, "no end: there is no hold " + strconv.Quote(e.hold)})
		return
	}
	a.balanced(ctx, e.legs, key)
	if wrong := e.wrong(); wrong != "" {
		a.report(ctx, Finding{EndWrong, key, fieldLegs, e.how + " at " + e.at.Format(instantForm) + ": " +
			legsText(e.legs), wrong})
	}
}

// wrong returns how the end does not fit its hold, "" if it does.
func (e endOf) wrong() string {
	if len(e.legs) != len(e.of.legs) {
		return "the legs of the hold: " + legsText(e.of.legs)
	}
	isNothing := true
	for i, l := range e.legs {
		planned := e.of.legs[i]
		if l.account != planned.account || l.asset != planned.asset || !within(l.quantity, planned.quantity) ||
			!within(l.cost, planned.cost) {
			return "the legs of the hold, each with its sign and at most what was held: " + legsText(e.of.legs)
		}
		isNothing = isNothing && l.quantity.Sign() == 0 && l.cost.Sign() == 0
	}
	expires, _ := time.Parse(instantForm, e.of.expires)
	switch last := e.of.legs[len(e.of.legs)-1].ksuid; {
	case e.legs[0].ksuid <= last:
		return "KSUIDs after the last of the hold, " + last
	case isNothing != (e.how != captured):
		return "something in each leg that is captured, and nothing in the others"
	case e.how == captured && !e.at.Before(expires):
		return "captured before " + e.of.expires
	case e.how == expired && e.at.Before(expires.Add(-commandTimeout)):
		return "expired from " + e.of.expires + " on"
	case e.of.kind == trade && len(e.legs) == 4 && (!opposite(e.legs[2].quantity, e.legs[0].cost) ||
		e.legs[3].quantity.Cmp(e.legs[0].cost) != 0):
		return "cash as much as the cost"
	}
	return ""
}

// overdueAfter is how long after its expiry an open hold is taken for one that nothing ends.
const overdueAfter = 15 * time.Minute

// noteOverdue counts an open hold that should have expired.
func (a *Audit) noteOverdue(e openHoldOf) {
	if e.of != nil && e.end == nil && e.expires < a.Now().UTC().Add(-overdueAfter).Format(instantForm) {
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
