package audit

import (
	"context"
	"sync"

	"ledger.example/ledger/table"
)

const (
	// definitionsKept is how many accounts and assets are remembered at least, and half of how many at most. A scan meets the
	// items of an account one after the other, as a rule: a wrong guess costs a read, never a finding.
	definitionsKept = 20_000
	// missingTold is how many missing ones are told apart: beyond that one may be reported again.
	missingTold = 10_000
)

// definition is what is known of an account or an asset.
type definition struct {
	exists   bool
	readable bool   // of an asset: currency is known
	currency string // of an asset; "" when it has none
}

// definitions remembers the accounts and assets that were looked up last. It is safe for concurrent use.
type definitions struct {
	audit *Audit

	mu         sync.Mutex
	fresh, old map[table.Key]definition
	missing    map[table.Key]bool
}

func newDefinitions(a *Audit) *definitions {
	return &definitions{audit: a, fresh: make(map[table.Key]definition), missing: make(map[table.Key]bool)}
}

func (d *definitions) look(ctx context.Context, k table.Key) (definition, error) {
	d.mu.Lock()
	found, ok := d.fresh[k]
	if !ok {
		if found, ok = d.old[k]; ok {
			d.keep(k, found)
		}
	}
	d.mu.Unlock()
	if ok {
		return found, nil
	}
	item, err := d.audit.get(ctx, k)
	if err != nil {
		return definition{}, err
	}
	found.exists = len(item) > 0
	if a, ok := as[asset](item); ok {
		found.readable, found.currency = true, a.currency
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.keep(k, found)
	return found, nil
}

// keep remembers one more, and forgets those that nobody asked for since as many others were.
func (d *definitions) keep(k table.Key, found definition) {
	if len(d.fresh) >= definitionsKept {
		d.fresh, d.old = make(map[table.Key]definition), d.fresh
	}
	d.fresh[k] = found
}

// lacks tells whether this is the first time that a definition is found missing.
func (d *definitions) lacks(k table.Key) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.missing[k] {
		return false
	}
	if len(d.missing) < missingTold {
		d.missing[k] = true
	}
	return true
}

// asset looks up an asset that an item names, and reports it once when there is none.
func (a *Audit) asset(ctx context.Context, id string, by table.Key) (definition, error) {
	k := table.AssetKey(id)
	found, err := a.known.look(ctx, k)
	if err == nil && !found.exists && a.known.lacks(k) {
		a.report(Finding{Code: AssetMissing, Key: k, Stored: absent, Recomputed: "an asset: " + by.PK + " " + by.SK + " is in it"})
	}
	return found, err
}

// account looks up the account in whose partition an item lies. One without an opening is reported once, and walked all
// the same.
func (a *Audit) account(ctx context.Context, id string, by table.Key) error {
	k := table.AccountKey(id)
	found, err := a.known.look(ctx, k)
	if err != nil || found.exists || !a.known.lacks(k) {
		return err
	}
	a.report(Finding{Code: AccountMissing, Key: k, Stored: absent, Recomputed: "an account: it has " + by.SK})
	return a.enqueue(ctx, account{id: id})
}
