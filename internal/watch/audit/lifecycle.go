package audit

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"sync"
	"time"

	"ledger.example/internal/table"
)

// lifecycle is a transaction and, if it is a hold, its end.
type lifecycle struct {
	header
	exists bool
	lane   string   // in the lists that all transactions share; "" if it does not exist
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
	item := a.get(ctx, table.Outcome.Key(id))
	if end, ok := as[outcome](item); ok {
		l.end = &end
	}
	l.unreadable = l.end == nil && len(item) > 0 || l.end != nil && len(l.end.Legs) != len(l.Legs)
	return l
}

// readHeader reads a transaction without its end.
func (a *Audit) readHeader(ctx context.Context, id string) (l lifecycle) {
	item := a.get(ctx, table.Transaction.Key(id))
	if l.header, l.exists = as[header](item); !l.exists {
		l.ID, l.unreadable = id, len(item) > 0
		return l
	}
	l.lane = a.laneOf(ctx, l.header)
	return l
}

// lifecycleOf reads the transaction that an item needs for its comparison: the hold of an end or of an entry by expiry,
// the reversing transaction of a reversal, or that of an old backdated posting. For other items it reads nothing.
func (a *Audit) lifecycleOf(ctx context.Context, value any) (l lifecycle) {
	switch v := value.(type) {
	case outcome:
		l = a.readHeader(ctx, v.Transaction)
		l.end = &v
	case reversed:
		l = a.readHeader(ctx, v.By)
	case openHold:
		l = a.readLifecycle(ctx, v.Hold)
	case posting:
		if v.Backdated && v.RecordedAt.IsZero() {
			l = a.readHeader(ctx, v.Transaction)
		}
	}
	return l
}

// postings returns the postings that a transaction must have: those of its header, and those of its end if the end has
// the legs of the hold.
func (l lifecycle) postings() (all []posting) {
	require := func(leg leg, phase string, pending *big.Int) {
		all = append(all, posting{leg: leg, marks: marks{l.effective != "", phase, pending, l.RecordedAt},
			Transaction: l.ID, Kind: l.Kind, Description: l.Description})
	}
	for _, leg := range l.Legs {
		phase, pending := "", new(big.Int)
		if l.isHold() {
			phase, pending, leg.amounts = placed, leg.Quantity, amounts{new(big.Int), new(big.Int)}
		}
		require(leg, phase, pending)
	}
	if l.isHold() && l.end != nil && len(l.end.Legs) == len(l.Legs) {
		for i, leg := range l.end.Legs {
			require(leg, l.end.how, new(big.Int).Neg(l.Legs[i].Quantity))
		}
	}
	return all
}

// posted returns the legs that were posted: of a captured hold the legs of its end, of any other hold none.
func (l lifecycle) posted() []leg {
	switch {
	case !l.isHold():
		return l.Legs
	case l.end != nil && l.end.how == captured:
		return l.end.Legs
	}
	return nil
}

// accounts returns the accounts in the legs, each once.
func (h header) accounts() (all []string) {
	for _, leg := range h.Legs {
		if !slices.Contains(all, leg.Account) {
			all = append(all, leg.Account)
		}
	}
	return all
}

// checkEnd checks an end and compares it with its hold.
func (a *Audit) checkEnd(ctx context.Context, l lifecycle, key table.Key) {
	e := l.end
	switch {
	case l.unreadable:
		return // the scan reports it
	case !l.isHold():
		a.report(ctx, Finding{EndWithoutHold, key, "", e.how, "no end: transaction " + strconv.Quote(e.Transaction) +
			" is not a hold, or does not exist"})
		return
	}
	a.balanced(ctx, e.Legs, key)
	if right := l.endMismatch(); right != "" {
		a.report(ctx, Finding{EndWrong, key, fieldLegs, e.how + " at " + e.at.Format(instantForm) + ": " +
			legsText(e.Legs), right})
	}
}

// endMismatch describes the right end, if the end does not fit its hold. Otherwise it returns "".
func (l lifecycle) endMismatch() string {
	e := l.end
	if len(e.Legs) != len(l.Legs) {
		return "the legs of the hold: " + legsText(l.Legs)
	}
	isNothing := true
	for i, leg := range e.Legs {
		planned := l.Legs[i]
		if leg.Account != planned.Account || leg.Asset != planned.Asset || !within(leg.Quantity, planned.Quantity) ||
			!within(leg.Cost, planned.Cost) {
			return "the legs of the hold, each with its sign and at most its amount: " + legsText(l.Legs)
		}
		isNothing = isNothing && leg.Quantity.Sign() == 0 && leg.Cost.Sign() == 0
	}
	expires, _ := time.Parse(instantForm, l.ExpiresAt)
	switch last := l.Legs[len(l.Legs)-1].ID; {
	case e.Legs[0].ID <= last:
		return "KSUIDs after the hold's last, " + last
	case isNothing != (e.how != captured):
		return "amounts other than 0 if the hold was captured, else only 0"
	case e.how == captured && !e.at.Before(expires):
		return "captured before its expiry at " + l.ExpiresAt
	case e.how == expired && e.at.Before(expires.Add(-commandTimeout)):
		return "expired at " + l.ExpiresAt + " or later"
	case l.Kind == trade && len(e.Legs) == 4 && (!opposite(e.Legs[2].Quantity, e.Legs[0].Cost) ||
		e.Legs[3].Quantity.Cmp(e.Legs[0].Cost) != 0):
		return "cash legs with the amount of the cost"
	}
	return ""
}

// overdueAfter is how long after its expiry an open hold counts as overdue.
const overdueAfter = 15 * time.Minute

// countOverdue counts an overdue hold.
func (a *Audit) countOverdue(e openHold, l lifecycle) {
	isOpen := e.Version != voidVersion && !l.unreadable && l.isHold() && l.end == nil
	if isOpen && e.Expires < a.Now().UTC().Add(-overdueAfter).Format(instantForm) {
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

// reversalsOf reads a transaction's reversals.
func (a *Audit) reversalsOf(transaction string) items {
	first, last := table.Reversal.Key(transaction, 1), table.Reversal.Key(transaction, numbersMax)
	return a.itemsOf(first.PK, table.Range{From: first.SK, To: last.SK})
}

// compareReversals compares the reversals of a transaction with each other, with the posted legs and with the reversing
// transactions, once.
func (a *Audit) compareReversals(ctx context.Context, id string) (found []Finding) {
	l := a.readLifecycle(ctx, id)
	if l.unreadable {
		return nil
	}
	posted := l.posted()
	taken := make([]sums, len(posted))
	newest := int64(0)
	for item := range a.reversalsOf(id).all(ctx) {
		key := keyOf(item)
		_, number, _ := table.Reversal.Parse(key)
		found = append(found, gap(ReversalMissing, "reversal", newest, number, key)...)
		newest = number
		v, ok := as[reversed](item)
		if !ok {
			continue // the scan reports it
		}
		if right := v.mismatch(posted); right != "" {
			found = append(found, Finding{ReversalWrong, key, "Taken", legsText(v.Taken), right})
			continue
		}
		for i, leg := range v.Taken {
			taken[i].quantity.Add(&taken[i].quantity, leg.Quantity)
			taken[i].cost.Add(&taken[i].cost, leg.Cost)
		}
		found = append(found, a.compareReversing(ctx, v, key, posted)...)
	}
	for i, leg := range posted {
		if t := &taken[i]; !within(&t.quantity, leg.Quantity) || !within(&t.cost, leg.Cost) {
			found = append(found, Finding{ReversalExceeds, table.Transaction.Key(id),
				fmt.Sprintf("%s[%d]", fieldLegs, i), t.String(),
				fmt.Sprintf("at most quantity %s, cost %s", leg.Quantity, leg.Cost)})
		}
	}
	return found
}

// mismatch describes the right amounts, if the reversed amounts do not fit the posted legs. Otherwise it returns "".
func (v reversed) mismatch(posted []leg) (right string) {
	if posted == nil {
		return "no reversal: nothing was posted"
	}
	if len(v.Taken) != len(posted) {
		return fmt.Sprintf("an amount for each of the %d posted legs", len(posted))
	}
	for i, leg := range v.Taken {
		if leg.Quantity.Sign()*posted[i].Quantity.Sign() < 0 || leg.Cost.Sign()*posted[i].Cost.Sign() < 0 {
			return "amounts with the signs of the posted legs: " + legsText(posted)
		}
	}
	return ""
}

// compareReversing compares a reversal with its reversing transaction, whose legs are the opposite of the reversed
// amounts.
func (a *Audit) compareReversing(ctx context.Context, v reversed, key table.Key, posted []leg) []Finding {
	item := a.get(ctx, table.Transaction.Key(v.By))
	h, ok := as[header](item)
	if !ok && len(item) > 0 {
		return nil // the scan reports it
	}
	var wanted []leg
	isRight := ok && h.Reverses == v.Transaction &&
		(h.effective != "" || h.Legs[0].ID > posted[len(posted)-1].ID)
	for i, t := range v.Taken {
		if t.Quantity.Sign() == 0 && t.Cost.Sign() == 0 {
			continue
		}
		n := len(wanted)
		wanted = append(wanted, leg{Account: posted[i].Account, Asset: posted[i].Asset, amounts: t.amounts})
		isRight = isRight && n < len(h.Legs) && h.Legs[n].Account == posted[i].Account &&
			h.Legs[n].Asset == posted[i].Asset && opposite(h.Legs[n].Quantity, t.Quantity) &&
			opposite(h.Legs[n].Cost, t.Cost)
	}
	if !isRight || len(wanted) != len(h.Legs) {
		is := absent
		if ok {
			is = fmt.Sprintf("%s %q of %q: %s", h.Kind, h.ID, h.Reverses, legsText(h.Legs))
		}
		return []Finding{{ReversalWrong, key, "", is, fmt.Sprintf("a later reversal %q of %q with the opposite of: %s",
			v.By, v.Transaction, legsText(wanted))}}
	}
	return h.checkFingerprint(h.reversalRequests(v.Taken))
}

// unrecordedReversal reports a reversing transaction unless exactly one reversal names it.
func (a *Audit) unrecordedReversal(ctx context.Context, h header) (found []Finding) {
	if h.Kind != reversal {
		return nil
	}
	records := 0
	for item := range a.reversalsOf(h.Reverses).all(ctx) {
		v, ok := as[reversed](item)
		if !ok {
			return nil // the scan reports it
		}
		if v.By == h.ID {
			records++
		}
	}
	if records != 1 {
		found = append(found, Finding{ReversalUnrecorded, table.Transaction.Key(h.ID), "Reverses",
			fmt.Sprintf("%d reversals of %q name it", records, h.Reverses), "1 reversal that names it"})
	}
	return found
}
