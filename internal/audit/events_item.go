package audit

import (
	"context"
	"fmt"
	"math/big"
	"time"

	"ledger.example/internal/store"
)

// checkItem checks one item of the scan, and adds what the reconciler must compare with other items.
func (a *Audit) checkItem(ctx context.Context, item attributes) {
	key := keyOf(item)
	value, found := decode(item)
	a.report(ctx, found...)
	id, isAccount := store.Account.Parse(key)
	kind := textOf(item[store.AttrType])
	if kinds[kind] == nil {
		kind = "unknown"
	}
	a.count(func(r *Report) {
		r.Counts.Items++
		r.ByKind[kind]++
		if isAccount {
			r.Counts.Accounts++
		}
		switch value.(type) {
		case header:
			r.Counts.Transactions++
		case posting:
			r.Counts.Postings++
		}
	})
	if isAccount {
		opened, readable := value.(account)
		if !readable {
			opened = account{id: id}
		}
		for id := range opened.limits {
			a.asset(ctx, id, key)
		}
		a.reconciler.addItem(ctx, value, lifecycle{}, key)
		a.enqueue(ctx, opened)
		return
	}
	if id, ok := store.Account.Owner(key); ok {
		a.account(ctx, id, key)
	}
	if id, ok := store.Group.Owner(key); ok {
		a.group(ctx, id, key)
	}
	if _, asset, _, ok := store.Posting.Parse(key); ok && value == nil {
		a.reconciler.noteUnreadable(asset)
	}
	l := a.lifecycleOf(ctx, value)
	a.reconciler.addItem(ctx, value, l, key)
	switch v := value.(type) {
	case header:
		a.header(ctx, v, key)
		a.checkClosed(ctx, v, key)
	case period:
		a.checkPeriods(ctx, v, key)
	case posting:
		a.asset(ctx, v.asset, key)
		a.reconciler.addToAsset(v)
	case outcome:
		a.checkEnd(ctx, l, key)
	case reversed:
		if a.checkedReversals.add(v.transaction) {
			look := func() []Finding { return a.compareReversals(ctx, v.transaction) }
			a.confirm(ctx, look(), look)
		}
	case change:
		for id := range v.limits {
			a.asset(ctx, id, key)
		}
	case group:
		a.checkGroup(ctx, v.id)
	case grouping:
		for _, id := range v.groups {
			a.group(ctx, id, key)
		}
		a.group(ctx, v.changed(), key)
	case openHold:
		a.countOverdue(v, l)
	case listEntry:
		a.checkUnindexed(ctx, v, key)
	case journalPage:
		a.checkPage(ctx, v, key)
	case asset:
		if v.currency != "" {
			a.asset(ctx, v.currency, key)
		}
	case balance, segment, guard:
		a.asset(ctx, store.FirstID(key.SK), key)
	}
}

// header checks a header without other items.
func (a *Audit) header(ctx context.Context, h header, key store.Key) {
	for i, leg := range h.legs {
		name := fmt.Sprintf("%s[%d]", fieldLegs, i)
		if leg.quantity.Sign() == 0 && leg.cost.Sign() == 0 {
			a.report(ctx, Finding{TransactionShape, key, name, noSum, "a quantity or a cost other than 0"})
		}
		if known := a.asset(ctx, leg.asset, key); leg.cost.Sign() != 0 && known.readable && known.currency == "" {
			a.report(ctx, Finding{CostWithoutCurrency, key, name, leg.cost.String(), "0"})
		}
	}
	a.balanced(ctx, h.legs, key)
	if last := h.at.Add(holdMax); h.isHold() && (h.kind == reversal || h.expires > last.Format(instantForm)) {
		a.report(ctx, Finding{TransactionShape, key, "ExpiresAt", h.expires, "at most " + last.Format(instantForm) +
			", and no hold of a reversal"})
	}
	if h.kind == reversal {
		return // compareReversing checks its fingerprint
	}
	requests, wrong := h.requests(a.asset(ctx, h.legs[0].asset, key))
	if wrong != "" {
		a.report(ctx, Finding{TransactionShape, key, fieldLegs, legsText(h.legs), wrong})
		return
	}
	a.report(ctx, h.checkFingerprint(requests)...)
}

// holdMax is more than the longest duration of a hold.
const holdMax = 31*24*time.Hour + time.Minute

// balanced checks that legs sum to zero.
func (a *Audit) balanced(ctx context.Context, legs []leg, key store.Key) {
	sums := make(sumsByAsset)
	for _, leg := range legs {
		sums.add(leg.asset, leg)
	}
	for asset, sum := range sums {
		if !sum.isZero() {
			a.report(ctx, Finding{TransactionUnbalanced, key, fieldLegs, fmt.Sprintf("%s: %s", asset, sum), noSum})
		}
	}
}

// sums are the sums of some legs of one asset. Those of a transaction, and of the whole ledger, are zero.
type sums struct{ quantity, cost, pending big.Int }

const noSum = "quantity 0, cost 0"

func (s *sums) String() string {
	text := fmt.Sprintf("quantity %s, cost %s", &s.quantity, &s.cost)
	if s.pending.Sign() != 0 {
		text += fmt.Sprintf(", pending %s", &s.pending)
	}
	return text
}

func (s *sums) isZero() bool {
	return s.quantity.Sign() == 0 && s.cost.Sign() == 0 && s.pending.Sign() == 0
}

// sumsByAsset are the sums of legs, by the id of the asset.
type sumsByAsset map[string]*sums

func (s sumsByAsset) add(asset string, l leg) {
	if s[asset] == nil {
		s[asset] = new(sums)
	}
	s[asset].quantity.Add(&s[asset].quantity, l.quantity)
	s[asset].cost.Add(&s[asset].cost, l.cost)
	if l.pending != nil {
		s[asset].pending.Add(&s[asset].pending, l.pending)
	}
}
