package ledger

import (
	"maps"

	"ledger.example/events"
)

// definitions are what a request's names stand for.
type definitions struct {
	accounts map[string]events.AccountOpened
	assets   map[string]events.AssetRegistered
}

// check returns nil, or what of the request doesn't exist or is forbidden by the definitions.
func (d definitions) check(r PostingRequest) *Error {
	accounts, assets := r.names()
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
		if d.assets[n.id].Currency == "" {
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
	legs := r.legs(d.assets[settled].Currency)
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
	return t, limitsOf(legs, func(account string) events.Overdraft { return d.accounts[account].Overdraft })
}
