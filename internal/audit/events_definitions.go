package audit

import (
	"context"
	"sync"

	"ledger.example/internal/store"
)

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
	cache   map[store.Key]definition
	missing map[store.Key]bool // reported
}

// definition looks up an account, an asset or a group. isMissing is true only the first time that it is found missing.
func (a *Audit) definition(ctx context.Context, k store.Key) (found definition, isMissing bool) {
	d := &a.definitions
	d.mu.Lock()
	found, ok := d.cache[k]
	d.mu.Unlock()
	if !ok {
		item := a.get(ctx, k)
		found.exists = len(item) > 0
		if defined, ok := as[asset](item); ok {
			found.readable, found.currency = true, defined.currency
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
	return found, true
}

// asset looks up an asset that the item with key by names. It reports a missing asset once.
func (a *Audit) asset(ctx context.Context, id string, by store.Key) definition {
	k := store.Asset.Key(id)
	found, isMissing := a.definition(ctx, k)
	if isMissing {
		a.report(ctx, Finding{AssetMissing, k, "", absent, "a registered asset: " + by.PK + " " + by.SK + " names it"})
	}
	return found
}

// account looks up the account whose partition has the item with key by. It reports a missing account once, and has its
// items checked.
func (a *Audit) account(ctx context.Context, id string, by store.Key) {
	k := store.Account.Key(id)
	if _, isMissing := a.definition(ctx, k); isMissing {
		a.report(ctx, Finding{AccountMissing, k, "", absent, "an opened account: its partition has " + by.SK})
		a.enqueue(ctx, account{id: id})
	}
}
