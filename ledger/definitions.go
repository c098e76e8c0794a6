package ledger

import (
	"context"
	"fmt"
	"slices"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
)

// definitionsOf returns the definitions that a draft names, and fills the cache of credits for the pairs that it
// debits. It makes no request if all are cached. Otherwise it makes one request, and a second one for the cash of a
// settled trade whose currency was not cached. Names that do not exist are missing. Errors: those of lookup.
func (l *Ledger) definitionsOf(ctx context.Context, d draft) (*definitions, error) {
	known, keys := l.cachedDefinitions(d)
	for range 2 {
		keys.credits = l.uncachedCredits(d, known)
		if keys.empty() {
			break
		}
		if err := l.lookupInto(ctx, keys, known); err != nil {
			return nil, err
		}
		if known.checkNames(d) != nil { // the request is refused, and needs no credits
			break
		}
		keys = lookupKeys{}
	}
	return known, nil
}

// cachedDefinitions returns the cached definitions of a draft, and the keys of the others.
func (l *Ledger) cachedDefinitions(d draft) (known *definitions, keys lookupKeys) {
	room := &struct { // enough for most requests
		definitions
		accounts [4]Account
		assets   [2]events.AssetRegistered
	}{}
	known = &room.definitions
	known.accounts, known.assets = room.accounts[:0], room.assets[:0]
	for _, leg := range d.legs {
		if known.account(leg.Account) == nil {
			if account, ok := l.accounts.fresh(leg.Account, d.debits(leg.Account), d.credits(leg.Account)); ok {
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
	for _, id := range d.split.unmoved() {
		if known.account(id) != nil || slices.Contains(keys.accounts, id) {
			continue
		}
		if account, ok := l.accounts.anyAge(id); ok { // it exists, whatever its state is
			known.accounts = append(known.accounts, account)
		} else {
			keys.accounts = append(keys.accounts, id)
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
			l.credits.raise(p, found.credits[p])
			if len(account.Rates) > 0 {
				l.rates.read(p, found.guards[p].rates)
			}
			if found.guards[p].version == 0 {
				l.credits.setUnguarded(p, true)
			}
		}
	}
	return nil
}

// lookupKeys are the keys of a lookup. Entries may repeat.
type lookupKeys struct {
	accounts, assets []string      // ids
	group            string        // id; "" for none
	credits          []events.Pair // with their guards
}

func (k lookupKeys) empty() bool { return len(k.accounts)+len(k.assets)+len(k.credits) == 0 }

// tableKeys returns each key once.
func (k lookupKeys) tableKeys() []table.Key {
	size := 2*len(k.accounts) + len(k.assets) + 1 + 2*len(k.credits)
	keys, seen := make([]table.Key, 0, size), make(map[table.Key]bool, size)
	add := func(k table.Key) {
		if !seen[k] {
			seen[k] = true
			keys = append(keys, k)
		}
	}
	for _, account := range k.accounts {
		add(table.Account.Key(account))
		add(table.Current.Key(account))
	}
	for _, asset := range k.assets {
		add(table.Asset.Key(asset))
	}
	if k.group != "" {
		add(table.Group.Key(k.group))
	}
	for _, pair := range k.credits {
		add(table.Balance.Key(pair.Account, pair.Asset))
		add(table.Spend.Key(pair.Account, pair.Asset))
	}
	return keys
}

// lookupResult is the result of a lookup. It omits absent items.
type lookupResult struct {
	definitions
	group   *events.GroupRegistered
	credits map[events.Pair]events.Amount // funds as projected: a lower bound; no entry without a balance
	guards  map[events.Pair]guard         // of the pairs of lookupKeys.credits; no entry without a guard
}

// lookup reads definitions and projected credits, strongly consistent, with retries, and caches the definitions. It
// does not cache missing ones. Its error is an *Error.
func (l *Ledger) lookup(ctx context.Context, keys lookupKeys) (f lookupResult, err error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	var read readTime
	err = l.read(ctx, func(ctx context.Context) (time.Time, error) {
		read = readTimeNow(l.now)
		items, at, err := l.table.BatchGet(ctx, keys.tableKeys(), table.Strong)
		if err == nil {
			f, err = decodeLookup(items)
		}
		if err != nil {
			return time.Time{}, fmt.Errorf("look up definitions: %w", err)
		}
		return at, nil
	})
	if err != nil {
		return lookupResult{}, asError(err)
	}
	for _, account := range f.accounts {
		l.accounts.add(account, read)
	}
	for _, asset := range f.assets {
		l.assets.put(asset.ID, asset)
	}
	if f.group != nil {
		l.groups.put(f.group.ID, *f.group)
	}
	return f, nil
}

// lookupValid is lookup, without a request if id is not a valid id.
func (l *Ledger) lookupValid(ctx context.Context, id string, keys lookupKeys) (lookupResult, error) {
	if !events.ValidID(id) {
		return lookupResult{}, nil
	}
	return l.lookup(ctx, keys)
}

// definition returns what a lookup found, or its error, or absent if it found nothing.
func definition[T any](found *T, err error, absent *Error) (one T, _ error) {
	switch {
	case err != nil:
		return one, err
	case found == nil:
		return one, absent
	}
	return *found, nil
}

func decodeLookup(items []table.Item) (f lookupResult, _ error) {
	f.credits, f.guards = make(map[events.Pair]events.Amount), make(map[events.Pair]guard)
	var opened []events.AccountOpened
	changed := make(map[string]events.AccountChanged) // the newest change of each account
	for _, item := range items {
		key, err := table.KeyOf(item)
		var e events.Event
		if account, asset, ok := table.Balance.Parse(key); ok {
			f.credits[events.Pair{Account: account, Asset: asset}] = projectedFunds(item)
		} else if account, asset, ok := table.Spend.Parse(key); ok {
			pair := events.Pair{Account: account, Asset: asset}
			f.guards[pair], err = readGuard(pair, item)
		} else if account, ok := table.Current.Parse(key); ok {
			changed[account], err = table.DecodeCurrent(item)
		} else if err == nil {
			e, err = table.DecodeEvent(item)
		}
		if err != nil {
			return lookupResult{}, err
		}
		switch e := e.(type) {
		case events.AccountOpened:
			opened = append(opened, e)
		case events.AssetRegistered:
			f.assets = append(f.assets, e)
		case events.GroupRegistered:
			f.group = &e
		}
	}
	for _, opening := range opened {
		var newest *events.AccountChanged
		if change, ok := changed[opening.ID]; ok {
			newest = &change
		}
		f.accounts = append(f.accounts, NewAccount(opening, newest))
	}
	return f, nil
}

// projectedFunds decodes the funds in a balance's head. It returns 0 if they are absent or malformed: a valid lower
// bound. If it is too low for a debit, the exact funds are read from the postings.
func projectedFunds(balance table.Item) events.Amount {
	r := table.Open(balance, table.Balance.Type)
	if !r.Has(table.AttrHead) {
		return events.Amount{}
	}
	head := table.Read(r.Map(table.AttrHead))
	funds, err := head.Amount(table.AttrCredits).Add(head.OptionalAmount(table.AttrReturned))
	if r.Err() != nil || head.Err() != nil || err != nil {
		return events.Amount{}
	}
	return funds
}
