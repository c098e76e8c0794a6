package audit

import (
	"context"
	"fmt"

	"ledger.example/internal/store"
)

// reversalsOf reads a transaction's reversals.
func (a *Audit) reversalsOf(transaction string) items {
	first, last := store.Reversal.Key(transaction, 1), store.Reversal.Key(transaction, grantsMax)
	return a.itemsOf(first.PK, store.Range{From: first.SK, To: last.SK})
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
		_, number, _ := store.Reversal.Parse(key)
		found = append(found, gap(ReversalMissing, "reversal", newest, number, key)...)
		newest = number
		v, ok := as[reversed](item)
		if !ok {
			continue // the scan reports it
		}
		if right := v.mismatch(posted); right != "" {
			found = append(found, Finding{ReversalWrong, key, fieldTaken, legsText(v.taken), right})
			continue
		}
		for i, leg := range v.taken {
			taken[i].quantity.Add(&taken[i].quantity, leg.quantity)
			taken[i].cost.Add(&taken[i].cost, leg.cost)
		}
		found = append(found, a.compareReversing(ctx, v, key, posted)...)
	}
	for i, leg := range posted {
		if t := &taken[i]; !within(&t.quantity, leg.quantity) || !within(&t.cost, leg.cost) {
			found = append(found, Finding{ReversalExceeds, store.Transaction.Key(id),
				fmt.Sprintf("%s[%d]", fieldLegs, i), t.String(),
				fmt.Sprintf("at most quantity %s, cost %s", leg.quantity, leg.cost)})
		}
	}
	return found
}

// mismatch describes the right amounts, if the reversed amounts do not fit the posted legs. Otherwise it returns "".
func (v reversed) mismatch(posted []leg) (right string) {
	if posted == nil {
		return "no reversal: nothing was posted"
	}
	if len(v.taken) != len(posted) {
		return fmt.Sprintf("an amount for each of the %d posted legs", len(posted))
	}
	for i, leg := range v.taken {
		if leg.quantity.Sign()*posted[i].quantity.Sign() < 0 || leg.cost.Sign()*posted[i].cost.Sign() < 0 {
			return "amounts with the signs of the posted legs: " + legsText(posted)
		}
	}
	return ""
}

// compareReversing compares a reversal with its reversing transaction, whose legs are the opposite of the reversed
// amounts.
func (a *Audit) compareReversing(ctx context.Context, v reversed, key store.Key, posted []leg) []Finding {
	item := a.get(ctx, store.Transaction.Key(v.by))
	h, ok := as[header](item)
	if !ok && len(item) > 0 {
		return nil // the scan reports it
	}
	var wanted []leg
	isRight := ok && h.reverses == v.transaction &&
		(h.effective != "" || h.legs[0].ksuid > posted[len(posted)-1].ksuid)
	for i, t := range v.taken {
		if t.quantity.Sign() == 0 && t.cost.Sign() == 0 {
			continue
		}
		n := len(wanted)
		wanted = append(wanted, leg{account: posted[i].account, asset: posted[i].asset, quantity: t.quantity,
			cost: t.cost})
		isRight = isRight && n < len(h.legs) && h.legs[n].account == posted[i].account &&
			h.legs[n].asset == posted[i].asset && opposite(h.legs[n].quantity, t.quantity) &&
			opposite(h.legs[n].cost, t.cost)
	}
	if !isRight || len(wanted) != len(h.legs) {
		is := absent
		if ok {
			is = fmt.Sprintf("%s %q of %q: %s", h.kind, h.id, h.reverses, legsText(h.legs))
		}
		return []Finding{{ReversalWrong, key, "", is, fmt.Sprintf("a later reversal %q of %q with the opposite of: %s",
			v.by, v.transaction, legsText(wanted))}}
	}
	return h.checkFingerprint(h.reversalRequests(v.taken))
}

// unrecordedReversal reports a reversing transaction unless exactly one reversal names it.
func (a *Audit) unrecordedReversal(ctx context.Context, h header) (found []Finding) {
	if h.kind != reversal {
		return nil
	}
	records := 0
	for item := range a.reversalsOf(h.reverses).all(ctx) {
		v, ok := as[reversed](item)
		if !ok {
			return nil // the scan reports it
		}
		if v.by == h.id {
			records++
		}
	}
	if records != 1 {
		found = append(found, Finding{ReversalUnrecorded, store.Transaction.Key(h.id), "Reverses",
			fmt.Sprintf("%d reversals of %q name it", records, h.reverses), "1 reversal that names it"})
	}
	return found
}
