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

// definition looks up an account, an asset or a group, which the item with key by needs. A missing one is reported
// once, with code. Only then isMissing is true.
func (a *Audit) definition(ctx context.Context, k, by store.Key, code Code, wanted string) (
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
	a.report(ctx, Finding{code, k, "", absent, wanted + ": " + by.PK + " " + by.SK + " needs it"})
	return found, true
}

func (a *Audit) asset(ctx context.Context, id string, by store.Key) definition {
	found, _ := a.definition(ctx, store.Asset.Key(id), by, AssetMissing, "a registered asset")
	return found
}

// account looks up an account. The items of a missing one are checked, too.
func (a *Audit) account(ctx context.Context, id string, by store.Key) {
	if _, isMissing := a.definition(ctx, store.Account.Key(id), by, AccountMissing, "an opened account"); isMissing {
		a.enqueue(ctx, account{id: id})
	}
}

// group looks up a group. The members of a missing one are checked, too.
func (a *Audit) group(ctx context.Context, id string, by store.Key) {
	if _, isMissing := a.definition(ctx, store.Group.Key(id), by, GroupMissing, "a registered group"); isMissing {
		a.checkGroup(ctx, id)
	}
}
