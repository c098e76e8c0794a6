package audit

import (
	"context"
	"fmt"
	"math/big"

	"ledger.example/ledger/table"
)

// look checks one item of the scan by itself, and notes what must be compared with others.
func (a *Audit) look(ctx context.Context, item attributes) error {
	a.counts.items.Add(1)
	key := keyOf(item)
	value, found := decode(item)
	a.report(found...)
	if id, ok := table.ParseAccount(key); ok {
		opened, readable := value.(account)
		if !readable {
			opened = account{id: id}
		}
		a.counts.accounts.Add(1)
		if err := a.overdraftAssets(ctx, opened, key); err != nil {
			return err
		}
		return a.enqueue(ctx, opened)
	}
	if id, ok := accountOf(key); ok {
		if err := a.account(ctx, id, key); err != nil {
			return err
		}
	}
	if _, asset, _, ok := table.ParsePosting(key); ok && value == nil {
		a.ledger.unreadable(asset)
	}
	switch v := value.(type) {
	case asset:
		if v.currency == "" {
			return nil
		}
		_, err := a.asset(ctx, v.currency, key)
		return err
	case header:
		return a.header(ctx, v, key)
	case posting:
		a.counts.postings.Add(1)
		if _, err := a.asset(ctx, v.asset, key); err != nil {
			return err
		}
		return a.ledger.met(ctx, v, key)
	case balance:
		_, err := a.asset(ctx, v.asset, key)
		return err
	case segment:
		_, err := a.asset(ctx, v.asset, key)
		return err
	case guard:
		_, err := a.asset(ctx, v.asset, key)
		return err
	}
	return nil
}

func (a *Audit) overdraftAssets(ctx context.Context, opened account, key table.Key) error {
	for id := range opened.limits {
		if _, err := a.asset(ctx, id, key); err != nil {
			return err
		}
	}
	return nil
}

// header checks a header by itself and expects its postings.
func (a *Audit) header(ctx context.Context, h header, key table.Key) error {
	a.counts.transactions.Add(1)
	currencies := make(map[string]definition)
	for _, leg := range h.legs {
		if _, ok := currencies[leg.asset]; ok {
			continue
		}
		found, err := a.asset(ctx, leg.asset, key)
		if err != nil {
			return err
		}
		currencies[leg.asset] = found
	}
	tell := func(code Code, attribute, stored, right string) {
		a.report(Finding{Code: code, Key: key, Attribute: attribute, Stored: stored, Recomputed: right})
	}
	for asset, sum := range sumsOf(h.legs) {
		if sum.quantity.Sign() != 0 || sum.cost.Sign() != 0 {
			tell(TransactionUnbalanced, fieldLegs, fmt.Sprintf("%s: %s", asset, sum), noSum)
		}
	}
	for i, leg := range h.legs {
		name := fmt.Sprintf("%s[%d]", fieldLegs, i)
		if leg.quantity.Sign() == 0 && leg.cost.Sign() == 0 {
			tell(TransactionShape, name, "quantity 0, cost 0", "one that is not 0")
		}
		if known := currencies[leg.asset]; leg.cost.Sign() != 0 && known.readable && known.currency == "" {
			tell(CostWithoutCurrency, name, leg.cost.String(), "0")
		}
	}
	requests, wrong := h.requests(currencies[h.legs[0].asset])
	if wrong != "" {
		tell(TransactionShape, fieldLegs, legsText(h.legs), wrong)
		// What was asked for cannot be told, then.
	} else if right, ok := h.fingerprints(requests); !ok {
		tell(FingerprintDiffers, fieldFingerprint, h.fingerprint, right)
	}
	return a.ledger.expect(ctx, h)
}

// sums of some legs of one asset.
type sums struct{ quantity, cost big.Int }

const noSum = "quantity 0, cost 0"

func (s *sums) String() string { return fmt.Sprintf("quantity %s, cost %s", &s.quantity, &s.cost) }

func (s *sums) add(l leg) {
	s.quantity.Add(&s.quantity, l.quantity)
	s.cost.Add(&s.cost, l.cost)
}

func sumsOf(legs []leg) map[string]*sums {
	all := make(map[string]*sums)
	for _, l := range legs {
		if all[l.asset] == nil {
			all[l.asset] = new(sums)
		}
		all[l.asset].add(l)
	}
	return all
}
