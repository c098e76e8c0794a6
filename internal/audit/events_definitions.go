package audit

import (
	"context"
	"sync"

	"ledger.example/internal/table"
)

const (
	// definitionsCached bounds the cache of accounts and assets. It is emptied when it is full: a miss costs a read. A
	// scan finds the items of an account one after the other, so misses are rare.
	definitionsCached = 20_000
	// missingReported bounds the missing ones that are reported only once.
	missingReported = 10_000
)

// definition is what is known of an account or an asset.
type definition struct {
	exists   bool
	readable bool   // of an asset: currency is known
	currency string // of an asset; "" if it has none
}

// definitions caches accounts and assets. It is safe for concurrent use.
type definitions struct {
	mu      sync.Mutex
	cache   map[table.Key]definition
	missing map[table.Key]bool // reported
}

// definition looks up an account or an asset. isMissing is true the first time that it is found missing.
func (a *Audit) definition(ctx context.Context, k table.Key) (found definition, isMissing bool) {
	d := &a.known
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

// asset looks up an asset that the item at key by names, and reports it once if there is none.
func (a *Audit) asset(ctx context.Context, id string, by table.Key) definition {
	k := table.AssetKey(id)
	found, isMissing := a.definition(ctx, k)
	if isMissing {
		a.report(ctx, Finding{AssetMissing, k, "", absent, "an asset: " + by.PK + " " + by.SK + " is in it"})
	}
	return found
}

// account looks up the account in whose partition the item at key by is. One without an opening is reported once, and
// checked all the same.
func (a *Audit) account(ctx context.Context, id string, by table.Key) {
	k := table.AccountKey(id)
	if _, isMissing := a.definition(ctx, k); isMissing {
		a.report(ctx, Finding{AccountMissing, k, "", absent, "an account: it has " + by.SK})
		a.enqueue(ctx, account{id: id})
	}
}
