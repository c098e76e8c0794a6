package ledger

import (
	"context"
	"slices"

	"ledger.example/events"
)

// resolve returns the definitions that a draft names, and fills the cache of credits for the pairs that it debits. It
// makes no request if all are cached. Otherwise it makes one request, and a second one for the cash of a settled trade
// whose currency was not cached. Errors: those of checkNames and lookup.
func (l *Ledger) resolve(ctx context.Context, d draft) (*definitions, error) {
	known, keys := l.cachedDefinitions(d)
	keys.credits = l.uncachedCredits(d, known)
	warm := keys.empty()
	if !warm {
		if err := l.lookupInto(ctx, keys, known); err != nil {
			return nil, err
		}
	}
	if err := known.checkNames(d); err != nil {
		return nil, err
	}
	if warm {
		return known, nil
	}
	if keys = (lookupKeys{credits: l.uncachedCredits(d, known)}); !keys.empty() {
		if err := l.lookupInto(ctx, keys, known); err != nil {
			return nil, err
		}
	}
	return known, nil
}

// cachedDefinitions returns the cached definitions of a draft, and the keys of the others.
func (l *Ledger) cachedDefinitions(d draft) (known *definitions, keys lookupKeys) {
	known = newDefinitions()
	for _, leg := range d.legs {
		if known.account(leg.Account) == nil {
			if account := l.accounts.fresh(leg.Account, d.debits(leg.Account), d.credits(leg.Account)); account != nil {
				known.accounts = append(known.accounts, account)
			} else if !slices.Contains(keys.accounts, leg.Account) {
				keys.accounts = append(keys.accounts, leg.Account)
			}
		}
		if known.asset(leg.Asset) == nil {
			if asset, ok := l.assets.get(leg.Asset); ok {
				known.assets = append(known.assets, asset)
			} else if !slices.Contains(keys.assets, leg.Asset) {
				keys.assets = append(keys.assets, leg.Asset)
			}
		}
	}
	return known, keys
}

// uncachedCredits returns the limited pairs that a draft debits and whose credits are not cached. An unknown account
// counts as limited, so that its credits are read in the same request, although they may turn out not to be needed.
func (l *Ledger) uncachedCredits(d draft, known *definitions) (pairs []events.Pair) {
	for _, leg := range known.legs(d) {
		pair := events.Pair{Account: leg.Account, Asset: leg.Asset}
		if leg.Quantity.Sign() >= 0 || known.overdraft(pair.Account).Unlimited || slices.Contains(pairs, pair) {
			continue
		}
		if _, ok := l.credits.fresh(pair); !ok {
			pairs = append(pairs, pair)
		}
	}
	return pairs
}

// lookupInto looks up the keys and adds the results to known and to the caches.
func (l *Ledger) lookupInto(ctx context.Context, keys lookupKeys, known *definitions) error {
	found, err := l.lookup(ctx, keys)
	if err != nil {
		return err
	}
	known.accounts = append(known.accounts, found.accounts...)
	known.assets = append(known.assets, found.assets...)
	for _, p := range keys.credits {
		if account := known.account(p.Account); account != nil && !account.Overdraft.Unlimited {
			// Credits are zero if there is no balance yet. That is a lower bound, too, and saves the next lookup.
			l.credits.addLookup(p, found.credits[p], found.guards[p])
		}
	}
	return nil
}
