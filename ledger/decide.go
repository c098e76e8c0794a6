package ledger

import (
	"maps"
	"slices"

	"ledger.example/events"
)

// definitions are the known ones of the accounts and assets that a request names. They are few, so searches are linear.
type definitions struct {
	accounts []*Account // each once
	assets   []*events.AssetRegistered

	fewAccounts [4]*Account // enough for most requests
	fewAssets   [2]*events.AssetRegistered
}

func newDefinitions() *definitions {
	d := &definitions{}
	d.accounts, d.assets = d.fewAccounts[:0], d.fewAssets[:0]
	return d
}

// account returns an account, nil if it is not known.
func (d *definitions) account(id string) *Account {
	if i := slices.IndexFunc(d.accounts, func(a *Account) bool { return a.ID == id }); i >= 0 {
		return d.accounts[i]
	}
	return nil
}

// asset returns an asset, nil if it is not known.
func (d *definitions) asset(id string) *events.AssetRegistered {
	if i := slices.IndexFunc(d.assets, func(a *events.AssetRegistered) bool { return a.ID == id }); i >= 0 {
		return d.assets[i]
	}
	return nil
}

// overdraft returns an account's policy, that of no overdraft if the account is not known.
func (d *definitions) overdraft(account string) events.Overdraft {
	if a := d.account(account); a != nil {
		return a.Overdraft
	}
	return events.Overdraft{}
}

// currency returns an asset's currency, "" if the asset is not known.
func (d *definitions) currency(asset string) string {
	if a := d.asset(asset); a != nil {
		return a.Currency
	}
	return ""
}

// legs returns all legs of a draft. The cash legs of a settled trade are missing while its asset is not known.
func (d *definitions) legs(p draft) []LegRequest {
	if !p.settle {
		return p.legs
	}
	return p.withCash(d.currency(p.legs[0].Asset))
}

// checkNames checks that the definitions have the accounts and assets of a draft. Errors: CodeAccountNotFound, else
// CodeAssetNotFound, else CodeInvalidTransaction for a cost in an asset without a currency.
func (d *definitions) checkNames(p draft) *Error {
	var f faults
	for i, leg := range p.legs {
		if d.account(leg.Account) == nil {
			f.check(p.fields(i).account, ruleAccount)
		}
	}
	if f != nil {
		return accountsNotFound(f)
	}
	for i, leg := range p.legs {
		if d.asset(leg.Asset) == nil {
			f.check(p.fields(i).asset, ruleAsset)
		}
	}
	if f != nil {
		return assetsNotFound(f)
	}
	for i, leg := range p.legs {
		if !leg.Cost.IsZero() && d.currency(leg.Asset) == "" {
			f.check(p.fields(i).cost, brokenByCurrency(leg.Asset))
		}
	}
	if p.settle && d.currency(p.legs[0].Asset) == "" {
		f.check(Field{Name: "settle"}, brokenByCurrency(p.legs[0].Asset))
	}
	return invalidTransaction(f)
}

func brokenByCurrency(asset string) string {
	return "needs an asset with a currency; " + asset + " has none"
}

// buildTransaction returns the transaction of a draft, without KSUIDs. The draft must have passed shape, rules and
// checkNames.
func (d *definitions) buildTransaction(p draft) events.TransactionPosted {
	legs := d.legs(p)
	t := events.TransactionPosted{
		ID:          p.note.ID,
		Kind:        p.kind,
		Description: p.note.Description,
		Metadata:    maps.Clone(p.note.Metadata),
		Legs:        make([]events.Leg, len(legs)),
		Fingerprint: fingerprint(p),
		Actor:       p.note.Actor,
		Reverses:    p.reverses,
	}
	if t.Metadata == nil {
		t.Metadata = map[string]string{}
	}
	for i, leg := range legs {
		t.Legs[i] = events.Leg{Account: leg.Account, Asset: leg.Asset, Quantity: leg.Quantity, Cost: leg.Cost}
	}
	return t
}
