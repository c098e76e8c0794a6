package ledger

import (
	"context"
	"slices"

	"ledger.example/events"
)

// resolve returns the definitions that a draft names, and makes sure that credits are known of each pair that it
// debits. When all of that is cached it makes no request. Else it makes one, and one more for the cash of a settled
// trade whose currency was not known. Errors: those of definitions.check, and of the store.
func (l *Ledger) resolve(ctx context.Context, p draft) (*definitions, error) {
	d, keys := l.cached(p)
	keys.Credits = l.unknownCredits(p, d)
	warm := keys.empty()
	if !warm {
		if err := l.learn(ctx, keys, d); err != nil {
			return nil, err
		}
	}
	if err := d.check(p); err != nil {
		return nil, err
	}
	if warm {
		return d, nil
	}
	if keys = (LookupKeys{Credits: l.unknownCredits(p, d)}); !keys.empty() {
		if err := l.learn(ctx, keys, d); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// cached returns the definitions that are cached, and the keys of the others.
func (l *Ledger) cached(p draft) (d *definitions, keys LookupKeys) {
	d = newDefinitions()
	for _, leg := range p.legs {
		if d.account(leg.Account) == nil {
			if account := l.accounts.of(leg.Account, p.debits(leg.Account), p.credits(leg.Account)); account != nil {
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

// unknownCredits returns the pairs that a draft debits and of whose credits nothing is known. While an account is not
// known it is taken for one with a limit: then its credits are read in the same request, and perhaps not needed.
func (l *Ledger) unknownCredits(p draft, d *definitions) (pairs []events.Pair) {
	for _, leg := range d.legs(p) {
		pair := events.Pair{Account: leg.Account, Asset: leg.Asset}
		if leg.Quantity.Sign() >= 0 || d.overdraft(pair.Account).Unlimited || slices.Contains(pairs, pair) {
			continue
		}
		if _, ok := l.credits.of(pair); !ok {
			pairs = append(pairs, pair)
		}
	}
	return pairs
}

// learn looks up the keys and adds what it finds to d and to the caches.
func (l *Ledger) learn(ctx context.Context, keys LookupKeys, d *definitions) error {
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
			// With no balance yet this is zero: a lower bound too, and it saves the next lookup.
			l.credits.found(p, found.Credits[p], found.Guards[p])
		}
	}
	return nil
}

func (k LookupKeys) empty() bool { return len(k.Accounts)+len(k.Assets)+len(k.Credits) == 0 }
