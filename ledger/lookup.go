package ledger

import (
	"context"
	"fmt"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// lookupKeys are the keys of a lookup. Entries may repeat.
type lookupKeys struct {
	accounts, assets []string      // ids
	group            string        // id; "" for none
	credits          []events.Pair // with their guards
}

func (k lookupKeys) empty() bool { return len(k.accounts)+len(k.assets)+len(k.credits) == 0 }

// tableKeys returns each key once.
func (k lookupKeys) tableKeys() []store.Key {
	size := 2*len(k.accounts) + len(k.assets) + 1 + 2*len(k.credits)
	keys, seen := make([]store.Key, 0, size), make(map[store.Key]bool, size)
	add := func(k store.Key) {
		if !seen[k] {
			seen[k] = true
			keys = append(keys, k)
		}
	}
	for _, account := range k.accounts {
		add(store.Account.Key(account))
		add(store.Current.Key(account))
	}
	for _, asset := range k.assets {
		add(store.Asset.Key(asset))
	}
	if k.group != "" {
		add(store.Group.Key(k.group))
	}
	for _, pair := range k.credits {
		add(store.Balance.Key(pair.Account, pair.Asset))
		add(store.Spend.Key(pair.Account, pair.Asset))
	}
	return keys
}

// lookupResult is the result of a lookup. It omits absent items.
type lookupResult struct {
	definitions
	group   *events.GroupRegistered
	credits map[events.Pair]events.Amount // funds as projected: a lower bound; no entry without a balance
	guards  map[events.Pair]guard         // of the pairs of lookupKeys.credits; no entry without a guard

	opened  []events.AccountOpened            // accounts,
	changed map[string]*events.AccountChanged // and the newest change of each, if there is one
}

// lookup reads definitions and projected credits, strongly consistent, with retries, and caches the definitions. It
// does not cache missing ones. Its error is an *Error.
func (l *Ledger) lookup(ctx context.Context, keys lookupKeys) (f lookupResult, err error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	var read readTime
	err = l.read(ctx, func(ctx context.Context) (time.Time, error) {
		read = readTimeNow(l.now)
		items, at, err := l.table.BatchGet(ctx, keys.tableKeys(), store.Strong)
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
		l.groups.put(f.group.ID, f.group)
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

func decodeLookup(items []store.Item) (f lookupResult, err error) {
	f.credits, f.guards = make(map[events.Pair]events.Amount), make(map[events.Pair]guard)
	f.changed = make(map[string]*events.AccountChanged)
	for _, item := range items {
		if err := f.add(item); err != nil {
			return lookupResult{}, err
		}
	}
	for _, opening := range f.opened {
		account := NewAccount(opening, f.changed[opening.ID])
		f.accounts = append(f.accounts, &account)
	}
	return f, nil
}

// add adds an item. The accounts follow from all items.
func (f *lookupResult) add(item store.Item) error {
	key, err := store.KeyOf(item)
	if err != nil {
		return err
	}
	if account, asset, ok := store.Balance.Parse(key); ok {
		f.credits[events.Pair{Account: account, Asset: asset}] = projectedFunds(item)
		return nil
	}
	if account, asset, ok := store.Spend.Parse(key); ok {
		pair := events.Pair{Account: account, Asset: asset}
		f.guards[pair], err = readGuard(pair, item)
		return err
	}
	if account, ok := store.Current.Parse(key); ok {
		newest, err := store.DecodeCurrent(item)
		f.changed[account] = &newest
		return err
	}
	e, err := store.DecodeEvent(item)
	switch e := e.(type) {
	case events.AccountOpened:
		f.opened = append(f.opened, e)
	case events.AssetRegistered:
		f.assets = append(f.assets, &e)
	case events.GroupRegistered:
		f.group = &e
	}
	return err
}

// projectedFunds decodes the funds in a balance's head. It returns 0 if they are absent or malformed: a valid lower
// bound. If it is too low for a debit, the exact funds are read from the postings.
func projectedFunds(balance store.Item) events.Amount {
	r := store.Open(balance, store.Balance.Type)
	if !r.Has(store.AttrHead) {
		return events.Amount{}
	}
	head := store.Read(r.Map(store.AttrHead))
	funds, err := head.Amount(store.AttrCredits).Add(head.OptionalAmount(store.AttrReturned))
	if r.Err() != nil || head.Err() != nil || err != nil {
		return events.Amount{}
	}
	return funds
}
