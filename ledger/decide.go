package ledger

import (
	"maps"

	"ledger.example/events"
)

// definitions are what a request's names stand for.
type definitions struct {
	accounts []*events.AccountOpened // each once
	assets   []*events.AssetRegistered
}

// account returns an account, nil while it isn't known. A request names few: they are searched from the front.
func (d *definitions) account(id string) *events.AccountOpened {
	for _, a := range d.accounts {
		if a.ID == id {
			return a
		}
	}
	return nil
}

// asset is account's twin.
func (d *definitions) asset(id string) *events.AssetRegistered {
	for _, a := range d.assets {
		if a.ID == id {
			return a
		}
	}
	return nil
}

// overdraft returns an account's policy, none while it isn't known.
func (d *definitions) overdraft(account string) (o events.Overdraft) {
	if a := d.account(account); a != nil {
		o = a.Overdraft
	}
	return o
}

// currency returns what an asset's costs are counted in, "" while it isn't known.
func (d *definitions) currency(asset string) (currency string) {
	if a := d.asset(asset); a != nil {
		currency = a.Currency
	}
	return currency
}

// check returns nil, or what of the request, which names these, doesn't exist or is forbidden by the definitions.
func (d *definitions) check(r PostingRequest, accounts, assets []name) *Error {
	var f faults
	for _, n := range accounts {
		if d.account(n.id) == nil {
			f.add(n.path(), ruleAccount)
		}
	}
	if f != nil {
		return accountsNotFound(f)
	}
	for _, n := range assets {
		if d.asset(n.id) == nil {
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
func (d *definitions) decide(r PostingRequest) (events.TransactionPosted, []limit) {
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
