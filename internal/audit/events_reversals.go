package audit

import (
	"context"
	"fmt"
	"strconv"

	"ledger.example/internal/table"
)

// reversalsOf reads a transaction's reversals.
func (a *Audit) reversalsOf(transaction string) items {
	first, last := table.ReversalKey(transaction, 1), table.ReversalKey(transaction, grantsMax)
	return a.itemsOf(first.PK, table.Range{From: first.SK, To: last.SK})
}

// checkReversals compares the reversals of a transaction with each other, with what was posted and with the reversing
// transactions.
func (a *Audit) checkReversals(ctx context.Context, id string) {
	a.confirm(ctx, examineRounds, examinePause, func() []Finding { return a.reversals(ctx, id) })
}

// reversals reads and compares them once.
func (a *Audit) reversals(ctx context.Context, id string) (found []Finding) {
	l := a.life(ctx, id)
	if l.unreadable {
		return nil
	}
	posted := l.posted()
	taken := make([]sums, len(posted))
	newest := int64(0)
	for item := range a.reversalsOf(id).all(ctx) {
		key := keyOf(item)
		_, number, _ := table.ParseReversal(key)
		if missing := newest + 1; missing < number { // one finding for a gap, by its first number
			found = append(found, Finding{ReversalMissing, table.ReversalKey(id, missing), "", absent,
				"a reversal: there is one of number " + strconv.FormatInt(number, 10)})
		}
		newest = number
		v, ok := as[reversed](item)
		if !ok {
			continue // the scan reports it
		}
		if right := v.mayBeOf(posted); right != "" {
			found = append(found, Finding{ReversalWrong, key, fieldTaken, legsText(v.taken), right})
			continue
		}
		for i, of := range v.taken {
			taken[i].quantity.Add(&taken[i].quantity, of.quantity)
			taken[i].cost.Add(&taken[i].cost, of.cost)
		}
		found = append(found, a.reversing(ctx, v, key, posted)...)
	}
	for i, of := range posted {
		if t := &taken[i]; !within(&t.quantity, of.quantity) || !within(&t.cost, of.cost) {
			found = append(found, Finding{ReversalExceeds, table.TransactionKey(id),
				fmt.Sprintf("%s[%d]", fieldLegs, i), t.String(),
				fmt.Sprintf("at most quantity %s, cost %s", of.quantity, of.cost)})
		}
	}
	return found
}

// mayBeOf returns what the reversal should have taken back instead, if it cannot be one of the posted legs.
func (v reversed) mayBeOf(posted []leg) (right string) {
	if posted == nil {
		return "no reversal: nothing was posted"
	}
	if len(v.taken) != len(posted) {
		return fmt.Sprintf("an amount of each of %d legs", len(posted))
	}
	for i, of := range v.taken {
		if of.quantity.Sign()*posted[i].quantity.Sign() < 0 || of.cost.Sign()*posted[i].cost.Sign() < 0 {
			return "amounts with the signs of what was posted: " + legsText(posted)
		}
	}
	return ""
}

// reversing compares a reversal with its reversing transaction: its legs are the opposite of what was taken back.
func (a *Audit) reversing(ctx context.Context, v reversed, key table.Key, posted []leg) []Finding {
	item := a.get(ctx, table.TransactionKey(v.by))
	h, ok := as[header](item)
	if !ok && len(item) > 0 {
		return nil // the scan reports it
	}
	var wanted []leg
	isRight := ok && h.reverses == v.transaction &&
		(h.effective != "" || h.legs[0].ksuid > posted[len(posted)-1].ksuid)
	for i, of := range v.taken {
		if of.quantity.Sign() == 0 && of.cost.Sign() == 0 {
			continue
		}
		n := len(wanted)
		wanted = append(wanted, leg{account: posted[i].account, asset: posted[i].asset, quantity: of.quantity,
			cost: of.cost})
		isRight = isRight && n < len(h.legs) && h.legs[n].account == posted[i].account &&
			h.legs[n].asset == posted[i].asset && opposite(h.legs[n].quantity, of.quantity) &&
			opposite(h.legs[n].cost, of.cost)
	}
	if !isRight || len(wanted) != len(h.legs) {
		is := absent
		if ok {
			is = fmt.Sprintf("%s %q of %q: %s", h.kind, h.id, h.reverses, legsText(h.legs))
		}
		return []Finding{{ReversalWrong, key, "", is, fmt.Sprintf("a later reversal %q of %q, opposite to: %s", v.by,
			v.transaction, legsText(wanted))}}
	}
	if right, ok := h.fingerprints(h.askedToReverse(v.taken)); !ok {
		return []Finding{{FingerprintDiffers, table.TransactionKey(h.id), fieldFingerprint, h.fingerprint, right}}
	}
	return nil
}

// unrecorded finds a reversing transaction that not exactly one reversal names.
func (a *Audit) unrecorded(ctx context.Context, h header) (found []Finding) {
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
		found = append(found, Finding{ReversalUnrecorded, table.TransactionKey(h.id), "Reverses",
			fmt.Sprintf("%d reversals of %q name it", records, h.reverses), "one"})
	}
	return found
}
