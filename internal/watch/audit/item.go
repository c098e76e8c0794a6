package audit

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"sync"
	"time"

	"ledger.example/internal/table"
)

// checkItem checks one item of the scan, and adds what the reconciler must compare with other items.
func (a *Audit) checkItem(ctx context.Context, item attributes) {
	key := keyOf(item)
	value, found := decode(item)
	a.report(ctx, found...)
	id, isAccount := table.Account.Parse(key)
	kind := textOf(item[table.AttrType])
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
			opened = account{ID: id}
		}
		for id := range opened.limits {
			a.asset(ctx, id, key)
		}
		a.assetsOf(ctx, opened.Rates, key)
		a.reconciler.addItem(ctx, value, lifecycle{}, key)
		a.enqueue(ctx, opened)
		return
	}
	if id, ok := table.Account.Owner(key); ok {
		a.account(ctx, id, key)
	}
	if id, ok := table.Group.Owner(key); ok {
		a.group(ctx, id, key)
	}
	if _, asset, _, ok := table.Posting.Parse(key); ok && value == nil {
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
	case growth:
		a.checkGrowth(ctx, v, key)
	case posting:
		a.asset(ctx, v.Asset, key)
		a.reconciler.addToAsset(v)
	case outcome:
		a.checkEnd(ctx, l, key)
	case reversed:
		if a.checkedReversals.add(v.Transaction) {
			look := func() []Finding { return a.compareReversals(ctx, v.Transaction) }
			a.confirm(ctx, look(), look)
		}
	case change:
		for id := range v.Overdraft.limits {
			a.asset(ctx, id, key)
		}
		a.assetsOf(ctx, v.Rates, key)
	case group:
		a.checkGroup(ctx, v.ID)
	case grouping:
		for _, id := range v.Groups {
			a.group(ctx, id, key)
		}
		a.group(ctx, v.changed(), key)
	case openHold:
		a.countOverdue(v, l)
	case listEntry:
		a.checkUnindexed(ctx, v, key)
	case tagged:
		if a.checkedTags.add(v.Account) {
			a.checkTags(ctx, v.Account)
		}
	case journalPage:
		a.progress.list(v)
		a.checkPage(ctx, v, key)
	case asset:
		if v.Currency != "" {
			a.asset(ctx, v.Currency, key)
		}
	case balance, segment, guard:
		a.asset(ctx, table.FirstID(key.SK), key)
	}
}

// header checks a header without other items.
func (a *Audit) header(ctx context.Context, h header, key table.Key) {
	for i, leg := range h.Legs {
		name := fmt.Sprintf("%s[%d]", fieldLegs, i)
		if leg.Quantity.Sign() == 0 && leg.Cost.Sign() == 0 {
			a.report(ctx, Finding{TransactionShape, key, name, noSum, "a quantity or a cost other than 0"})
		}
		if known := a.asset(ctx, leg.Asset, key); leg.Cost.Sign() != 0 && known.readable && known.currency == "" {
			a.report(ctx, Finding{CostWithoutCurrency, key, name, leg.Cost.String(), "0"})
		}
	}
	a.balanced(ctx, h.Legs, key)
	if last := h.at.Add(holdMax); h.isHold() && (h.Kind == reversal || h.ExpiresAt > last.Format(instantForm)) {
		a.report(ctx, Finding{TransactionShape, key, "ExpiresAt", h.ExpiresAt, "at most " + last.Format(instantForm) +
			", and no hold of a reversal"})
	}
	if h.Kind == reversal {
		return // compareReversing checks its fingerprint
	}
	requests, wrong := h.requests(a.asset(ctx, h.Legs[0].Asset, key))
	if wrong != "" {
		a.report(ctx, Finding{TransactionShape, key, fieldLegs, legsText(h.Legs), wrong})
		return
	}
	a.report(ctx, h.checkFingerprint(requests)...)
}

// holdMax is more than the longest duration of a hold.
const holdMax = 31*24*time.Hour + time.Minute

// balanced checks that legs sum to zero.
func (a *Audit) balanced(ctx context.Context, legs []leg, key table.Key) {
	sums := make(sumsByAsset)
	for _, leg := range legs {
		sums.add(leg.Asset, posting{leg: leg})
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

func (s sumsByAsset) add(asset string, p posting) {
	if s[asset] == nil {
		s[asset] = new(sums)
	}
	s[asset].quantity.Add(&s[asset].quantity, p.Quantity)
	s[asset].cost.Add(&s[asset].cost, p.Cost)
	if p.Pending != nil {
		s[asset].pending.Add(&s[asset].pending, p.Pending)
	}
}

const (
	// definitionsCached bounds the cache. A full cache is emptied. Misses cost a read. They are rare, because a scan
	// returns the items of an account one after the other.
	definitionsCached = 20_000
	// missingReported bounds the number of missing definitions that are reported only once.
	missingReported = 10_000
)

// definition says whether an account, an asset or a group exists.
type definition struct {
	exists   bool
	readable bool   // it is an asset, and currency is known
	currency string // of an asset; "" if it has none
}

// definitions caches definitions by key. It is safe for concurrent use.
type definitions struct {
	mu      sync.Mutex
	cache   map[table.Key]definition
	missing map[table.Key]bool // reported
}

// definition looks up an account, an asset or a group, which the item with key by needs. A missing one is reported
// once, with code. Only then isMissing is true.
func (a *Audit) definition(ctx context.Context, k, by table.Key, code Code, wanted string) (
	found definition, isMissing bool,
) {
	d := &a.definitions
	d.mu.Lock()
	found, ok := d.cache[k]
	d.mu.Unlock()
	if !ok {
		item := a.get(ctx, k)
		found.exists = len(item) > 0
		if defined, ok := as[asset](item); ok {
			found.readable, found.currency = true, defined.Currency
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.cache) >= definitionsCached {
		clear(d.cache)
	}
	d.cache[k] = found
	if found.exists || d.missing[k] {
		return found, false
	}
	if len(d.missing) < missingReported {
		d.missing[k] = true
	}
	a.report(ctx, Finding{code, k, "", absent, wanted + ": " + by.PK + " " + by.SK + " needs it"})
	return found, true
}

func (a *Audit) asset(ctx context.Context, id string, by table.Key) definition {
	found, _ := a.definition(ctx, table.Asset.Key(id), by, AssetMissing, "a registered asset")
	return found
}

// assetsOf looks up the assets of rates.
func (a *Audit) assetsOf(ctx context.Context, all rates, by table.Key) {
	for _, r := range all {
		a.asset(ctx, r.Asset, by)
	}
}

// account looks up an account. The items of a missing one are checked, too.
func (a *Audit) account(ctx context.Context, id string, by table.Key) {
	if _, isMissing := a.definition(ctx, table.Account.Key(id), by, AccountMissing, "an opened account"); isMissing {
		a.enqueue(ctx, account{ID: id})
	}
}

// group looks up a group. The members of a missing one are checked, too.
func (a *Audit) group(ctx context.Context, id string, by table.Key) {
	if _, isMissing := a.definition(ctx, table.Group.Key(id), by, GroupMissing, "a registered group"); isMissing {
		a.checkGroup(ctx, id)
	}
}

// finalAfter is how long after its closing something may still be recorded in a period.
const finalAfter = 5 * time.Minute

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
		for item := range a.itemsOf(table.Period.PK(), table.Period.All()).all(ctx) {
			one, isOne := as[period](item)
			p.unreadable = p.unreadable || !isOne || one.Number != int64(len(p.all))+1
			p.all = append(p.all, one)
		}
	}
	return p.all, !p.unreadable
}

// checkPeriods looks for a gap before a closing.
func (a *Audit) checkPeriods(ctx context.Context, p period, key table.Key) {
	before := table.Key{PK: key.PK, SK: table.Period.SK(table.Number(p.Number - 1))}
	if p.Number > 1 && len(a.get(ctx, before)) == 0 {
		a.report(ctx, gap(PeriodMissing, "closing", p.Number-2, p.Number, key)...)
	}
}

// checkClosed checks that a transaction with an effective date was recorded in no closed period.
func (a *Audit) checkClosed(ctx context.Context, h header, key table.Key) {
	if h.effective == "" {
		return
	}
	all, ok := a.upTo(ctx, h.Period)
	if !ok || ctx.Err() != nil {
		return
	}
	effective := timeOf(h.Legs)
	final := 0
	for i, p := range slices.Backward(all) {
		if !h.at.Before(p.At.Add(finalAfter)) {
			final = i + 1
			break
		}
	}
	switch n := int(h.Period); {
	case n > len(all):
		a.report(ctx, Finding{PostedInClosed, key, "Period", fmt.Sprint(n), fmt.Sprintf("at most %d", len(all))})
	case n < final:
		a.report(ctx, Finding{PostedInClosed, key, "Period", fmt.Sprint(n),
			fmt.Sprintf("%d or more: it was final when this was recorded", final)})
	case n > 0 && effective.Before(all[n-1].Before):
		a.report(ctx, Finding{PostedInClosed, key, fieldLegs, "effective at " + h.effective,
			"at or after " + all[n-1].Before.Format(instantForm)})
	}
}
