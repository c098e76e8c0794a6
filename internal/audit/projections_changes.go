package audit

import (
	"context"
	"fmt"
	"maps"
	"math/big"

	"ledger.example/internal/store"
)

// checkChanges compares the changes of an account with each other and with the current account. It returns the account
// with the highest limits that it ever had.
func (a *Audit) checkChanges(ctx context.Context, acct account, p partition) account {
	changed, found := a.compareChanges(ctx, acct, p.current, p.families[changePrefix].next)
	a.confirm(ctx, found, func() []Finding {
		key := store.Current.Key(acct.id)
		changed, found = a.compareChanges(ctx, acct, a.get(ctx, key), a.itemsOf(key.PK, store.Change.All()))
		return found
	})
	return changed
}

// compareChanges compares the changes of an account once. item is the current account, read before the changes. The
// account that it returns is not known if one of them is unreadable.
func (a *Audit) compareChanges(ctx context.Context, acct account, item attributes, changes items) (
	_ account, found []Finding,
) {
	stored, exists := as[current](item)
	readable := acct.known && (exists || len(item) == 0)
	for item := range changes.all(ctx) {
		c, ok := as[change](item)
		readable = readable && ok
		found = append(found, gap(ChangeMissing, "change", acct.version, c.number, keyOf(item))...)
		if c.unlimited != acct.unlimited || !acct.closedAt.IsZero() {
			found = append(found, Finding{ChangeImpossible, keyOf(item), "", c.String(),
				"no such change of an account with " + acct.String()})
		}
		acct.become(c)
		if highest := acct.highestBeside(c.limits); len(found) == 0 && !maps.EqualFunc(highest, c.highest, sameAmount) {
			found = append(found, Finding{ChangeImpossible, keyOf(item), "Highest", fmt.Sprint(c.highest),
				fmt.Sprint(highest)})
		}
	}
	if !readable {
		acct.known = false
		return acct, nil // the scan reports it
	}
	is := absent
	if exists {
		is = stored.newest.String()
	}
	switch {
	case exists && stored.newest.number > acct.version:
		found = append(found, Finding{ChangeMissing, store.Change.Key(acct.id, stored.newest.number), "", absent, is})
	case exists && stored.newest.checksum != acct.checksum, !exists && acct.version > 1:
		found = append(found, Finding{AccountCurrentWrong, store.Current.Key(acct.id), "", is, acct.String()})
	}
	return acct, found
}

// limitsKept bounds the number of assets with a limit, over all versions of an account. The audit does not check the
// limits of an account with more.
const limitsKept = 10_000

// become applies a change to the account. Of the old and the new limit of an asset it keeps the higher one.
func (a *account) become(c change) {
	limits := maps.Clone(c.limits)
	for asset, limit := range a.limits {
		if higher := limits[asset]; higher == nil || higher.Cmp(limit) < 0 {
			if limits == nil {
				limits = maps.Clone(a.limits)
			}
			limits[asset] = limit
		}
	}
	a.limits, a.version, a.changedAt, a.checksum = limits, c.number, c.at, c.checksum
	a.known = a.known && len(limits) <= limitsKept
	if c.state == closed && a.closedAt.IsZero() {
		a.closedAt = c.at
	}
}

// highestBeside returns the limits of the account that are higher than those in limits.
func (a account) highestBeside(limits map[string]*big.Int) map[string]*big.Int {
	highest := maps.Clone(a.limits)
	maps.DeleteFunc(highest, func(asset string, limit *big.Int) bool {
		now := limits[asset]
		return now == nil && limit.Sign() == 0 || now != nil && limit.Cmp(now) <= 0
	})
	return highest
}

func sameAmount(a, b *big.Int) bool { return a.Cmp(b) == 0 }

// refreshed returns an account with the changes that were written since it was read.
func (a *Audit) refreshed(ctx context.Context, acct account) account {
	if !acct.known || acct.unlimited {
		return acct // nothing is judged by its limits
	}
	newer := store.Change.All().Since(store.Number(acct.version + 1))
	for item := range a.itemsOf(store.Account.PK(acct.id), newer).all(ctx) {
		c, ok := as[change](item)
		acct.become(c)
		acct.known = acct.known && ok
	}
	return acct
}

// String returns an account as findings show it.
func (a account) String() string {
	s := fmt.Sprintf("version %d, unlimited %t, checksum %s", a.version, a.unlimited, a.checksum)
	if !a.closedAt.IsZero() {
		s += ", closed"
	}
	return s
}

func (c change) String() string {
	return fmt.Sprintf("version %d, unlimited %t, checksum %s, %s", c.number, c.unlimited, c.checksum, c.state)
}
