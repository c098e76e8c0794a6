package ledger

import (
	"context"
	"maps"
	"slices"

	"ledger.example/events"
)

// definitions are the known accounts and assets that a request names. They are few, so searches are linear.
type definitions struct {
	accounts []*Account // each once
	assets   []*events.AssetRegistered
}

// account returns an account, nil if it is not known.
func (known *definitions) account(id string) *Account {
	if i := slices.IndexFunc(known.accounts, func(a *Account) bool { return a.ID == id }); i >= 0 {
		return known.accounts[i]
	}
	return nil
}

// asset returns an asset, nil if it is not known.
func (known *definitions) asset(id string) *events.AssetRegistered {
	if i := slices.IndexFunc(known.assets, func(a *events.AssetRegistered) bool { return a.ID == id }); i >= 0 {
		return known.assets[i]
	}
	return nil
}

// isUnlimited reports whether an account is known to have no limit.
func (known *definitions) isUnlimited(account string) bool {
	a := known.account(account)
	return a != nil && a.Overdraft.Unlimited
}

// currency returns an asset's currency, "" if the asset is not known.
func (known *definitions) currency(asset string) string {
	if a := known.asset(asset); a != nil {
		return a.Currency
	}
	return ""
}

// legs returns all legs of a draft. The cash legs of a settled trade are missing while its asset is not known.
func (known *definitions) legs(d draft) []LegRequest {
	if !d.settle {
		return d.legs
	}
	return d.withCash(known.currency(d.legs[0].Asset))
}

// definitionsOf returns the definitions that a draft names, and fills the cache of credits for the pairs that it
// debits. It makes no request if all are cached. Otherwise it makes one request, and a second one for the cash of a
// settled trade whose currency was not cached. Errors: those of checkNames and lookup.
func (l *Ledger) definitionsOf(ctx context.Context, d draft) (*definitions, error) {
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
	known = &definitions{ // enough for most requests
		accounts: make([]*Account, 0, 4), assets: make([]*events.AssetRegistered, 0, 2),
	}
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
	return slices.DeleteFunc(known.limitedDebits(d), func(p events.Pair) bool {
		_, ok := l.credits.fresh(p)
		return ok
	})
}

// limitedDebits returns the limited pairs that a draft debits, each once. An unknown account counts as limited.
func (known *definitions) limitedDebits(d draft) (pairs []events.Pair) {
	for _, leg := range known.legs(d) {
		pair := events.Pair{Account: leg.Account, Asset: leg.Asset}
		if leg.Quantity.Sign() < 0 && !known.isUnlimited(pair.Account) && !slices.Contains(pairs, pair) {
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

// checkNames checks that the definitions have the accounts and assets of a draft. Errors: CodeAccountNotFound, else
// CodeAssetNotFound, else CodeInvalidTransaction for a cost in an asset without a currency.
func (known *definitions) checkNames(d draft) *Error {
	f := d.accountFields(func(id string) bool { return known.account(id) == nil }, ruleAccount)
	if f != nil {
		return accountsNotFound(f)
	}
	for i, leg := range d.legs {
		if known.asset(leg.Asset) == nil {
			f.check(d.fields(i).asset, ruleAsset)
		}
	}
	if f != nil {
		return assetsNotFound(f)
	}
	for i, leg := range d.legs {
		if !leg.Cost.IsZero() && known.currency(leg.Asset) == "" {
			f.check(d.fields(i).cost, currencyViolation(leg.Asset))
		}
	}
	if d.settle && known.currency(d.legs[0].Asset) == "" {
		f.check(Field{Name: "settle"}, currencyViolation(d.legs[0].Asset))
	}
	return invalidTransaction(f)
}

func currencyViolation(asset string) string {
	return "needs an asset with a currency; " + asset + " has none"
}

// buildTransaction returns the transaction of a draft, without KSUIDs. The draft must have passed shape, rules and
// checkNames.
func (known *definitions) buildTransaction(d draft) events.TransactionPosted {
	legs := known.legs(d)
	t := events.TransactionPosted{
		ID:          d.ID,
		Kind:        d.kind,
		Description: d.Description,
		Metadata:    maps.Clone(d.Metadata),
		Legs:        make([]events.Leg, len(legs)),
		Fingerprint: fingerprint(d),
		Actor:       d.Actor,
		Reverses:    d.reverses,
	}
	if t.Metadata == nil {
		t.Metadata = map[string]string{}
	}
	for i, leg := range legs {
		t.Legs[i] = events.Leg{Account: leg.Account, Asset: leg.Asset, Quantity: leg.Quantity, Cost: leg.Cost}
	}
	return t
}
