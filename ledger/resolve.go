package ledger

import (
	"context"
	"slices"

	"ledger.example/events"
)

// resolve returns the definitions that a draft names, and fills the cache of credits for the pairs that it debits. It
// makes no request if all are cached. Otherwise it makes one request, and a second one for the cash of a settled trade
// whose currency was not cached. Errors: those of definitions.check, and of the store.
func (l *Ledger) resolve(ctx context.Context, p draft) (*definitions, error) {
	d, keys := l.cachedDefinitions(p)
	keys.Credits = l.uncachedCredits(p, d)
	warm := keys.empty()
	if !warm {
		if err := l.lookupInto(ctx, keys, d); err != nil {
			return nil, err
		}
	}
	if err := d.checkNames(p); err != nil {
		return nil, err
	}
	if warm {
		return d, nil
	}
	if keys = (LookupKeys{Credits: l.uncachedCredits(p, d)}); !keys.empty() {
		if err := l.lookupInto(ctx, keys, d); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// cachedDefinitions returns the cached definitions of a draft, and the keys of the others.
func (l *Ledger) cachedDefinitions(p draft) (d *definitions, keys LookupKeys) {
	d = newDefinitions()
	for _, leg := range p.legs {
		if d.account(leg.Account) == nil {
			if account := l.accounts.fresh(leg.Account, p.debits(leg.Account), p.credits(leg.Account)); account != nil {
				d.accounts = append(d.accounts, account)
			} else if !slices.Contains(keys.Accounts, leg.Account) {
				keys.Accounts = append(keys.Accounts, leg.Account)
			}
		}
		if d.asset(leg.Asset) == nil {
			if asset, ok := l.assets.get(leg.Asset); ok {
				d.assets = append(d.assets, asset)
			} else if !slices.Contains(keys.Assets, leg.Asset) {
				keys.Assets = append(keys.Assets, leg.Asset)
			}
		}
	}
	return d, keys
}

// uncachedCredits returns the limited pairs that a draft debits and whose credits are not cached. An unknown account
// counts as limited, so that its credits are read in the same request, although they may turn out not to be needed.
func (l *Ledger) uncachedCredits(p draft, d *definitions) (pairs []events.Pair) {
	for _, leg := range d.legs(p) {
		pair := events.Pair{Account: leg.Account, Asset: leg.Asset}
		if leg.Quantity.Sign() >= 0 || d.overdraft(pair.Account).Unlimited || slices.Contains(pairs, pair) {
			continue
		}
		if _, ok := l.credits.fresh(pair); !ok {
			pairs = append(pairs, pair)
		}
	}
	return pairs
}

// lookupInto looks up the keys and adds the results to d and to the caches.
func (l *Ledger) lookupInto(ctx context.Context, keys LookupKeys, d *definitions) error {
	found, err := l.lookup(ctx, keys)
	if err != nil {
		return err
	}
	for _, id := range keys.Accounts {
		if account, ok := found.Accounts[id]; ok {
			d.accounts = append(d.accounts, &account)
		}
	}
	for _, id := range keys.Assets {
		if asset, ok := found.Assets[id]; ok {
			d.assets = append(d.assets, &asset)
		}
	}
	for _, p := range keys.Credits {
		if account := d.account(p.Account); account != nil && !account.Overdraft.Unlimited {
			// Credits are zero if there is no balance yet. That is a lower bound, too, and saves the next lookup.
			l.credits.addLookup(p, found.Credits[p], found.Guards[p])
		}
	}
	return nil
}

func (k LookupKeys) empty() bool { return len(k.Accounts)+len(k.Assets)+len(k.Credits) == 0 }
