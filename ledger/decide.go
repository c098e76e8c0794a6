package ledger

import (
	"maps"

	"ledger.example/events"
)

// definitions are what a request's names stand for.
type definitions struct {
	accounts map[string]*events.AccountOpened
	assets   map[string]*events.AssetRegistered
}

// overdraft returns an account's policy, none while it isn't known.
func (d definitions) overdraft(account string) (o events.Overdraft) {
	if a := d.accounts[account]; a != nil {
		o = a.Overdraft
	}
	return o
}

// currency returns what an asset's costs are counted in, "" while it isn't known.
func (d definitions) currency(asset string) (currency string) {
	if a := d.assets[asset]; a != nil {
		currency = a.Currency
	}
	return currency
}

// check returns nil, or what of the request, which names these, doesn't exist or is forbidden by the definitions.
func (d definitions) check(r PostingRequest, accounts, assets []name) *Error {
	var f faults
	for _, n := range accounts {
		if _, ok := d.accounts[n.id]; !ok {
			f.add(n.path(), ruleAccount)
		}
	}
	if f != nil {
		return accountsNotFound(f)
	}
	for _, n := range assets {
		if _, ok := d.assets[n.id]; !ok {
			f.add(n.path(), ruleAsset)
		}
	}
	if f != nil {
		return assetsNotFound(f)
	}
	for _, n := range r.costed() {
		if d.currency(n.id) == "" {
			f.add(n.path(), "needs an asset with a currency, which "+n.id+" has not")
		}
	}
	if f != nil {
		return invalidTransaction(f)
	}
	return nil
}

// decide returns the transaction that a request expands to, without its KSUIDs, and the limits that it comes up against. The request has passed Shape, Rules and check.
func (d definitions) decide(r PostingRequest) (events.TransactionPosted, []limit) {
	settled, _ := r.settlement()
	legs := r.legs(d.currency(settled))
	a := r.annotation()
	t := events.TransactionPosted{
		ID:          a.ID,
		Kind:        r.kind(),
		Description: a.Description,
		Metadata:    maps.Clone(a.Metadata),
		Legs:        make([]events.Leg, len(legs)),
		Fingerprint: fingerprint(r),
		Actor:       a.Actor,
	}
	if t.Metadata == nil {
		t.Metadata = map[string]string{}
	}
	for i, leg := range legs {
		t.Legs[i] = events.Leg{Account: leg.Account, Asset: leg.Asset, Quantity: leg.Quantity, Cost: leg.Cost}
	}
	return t, limitsOf(legs, d.overdraft)
}
