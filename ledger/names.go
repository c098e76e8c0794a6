package ledger

import (
	"slices"

	"ledger.example/events"
)

// definitions are the known accounts and assets that a request names. They are few, so searches are linear.
type definitions struct {
	accounts []Account // each once
	assets   []events.AssetRegistered
}

// account returns an account, nil if it is not known.
func (known *definitions) account(id string) *Account {
	if i := slices.IndexFunc(known.accounts, func(a Account) bool { return a.ID == id }); i >= 0 {
		return &known.accounts[i]
	}
	return nil
}

// asset returns an asset, nil if it is not known.
func (known *definitions) asset(id string) *events.AssetRegistered {
	if i := slices.IndexFunc(known.assets, func(a events.AssetRegistered) bool { return a.ID == id }); i >= 0 {
		return &known.assets[i]
	}
	return nil
}

// currency returns an asset's currency, "" if the asset is not known.
func (known *definitions) currency(asset string) string {
	if a := known.asset(asset); a != nil {
		return a.Currency
	}
	return ""
}

// legs returns all legs of a draft. The cash legs of a settled trade are missing while its asset is not known.
func (known *definitions) legs(d draft) []LegRequest {
	if !d.settle || d.legs[0].Cost.IsZero() || known.currency(d.legs[0].Asset) == "" {
		return d.legs
	}
	buyer, seller, currency := d.legs[0], d.legs[1], known.currency(d.legs[0].Asset)
	return append(slices.Clip(d.legs),
		LegRequest{Account: buyer.Account, Asset: currency, Quantity: buyer.Cost.Neg()},
		LegRequest{Account: seller.Account, Asset: currency, Quantity: buyer.Cost})
}

// limitedDebits returns the limited pairs that a draft debits, each once. An unknown account counts as limited.
func (known *definitions) limitedDebits(d draft) (pairs []events.Pair) {
	for _, leg := range known.legs(d) {
		pair, account := events.Pair{Account: leg.Account, Asset: leg.Asset}, known.account(leg.Account)
		limited := account == nil || !account.Overdraft.Unlimited
		if leg.Quantity.Sign() < 0 && limited && !slices.Contains(pairs, pair) {
			pairs = append(pairs, pair)
		}
	}
	return pairs
}

// checkNames checks that the definitions have the accounts and assets of a draft. Errors: CodeAccountNotFound, else
// CodeAssetNotFound, else CodeInvalidTransaction for a cost in an asset without a currency.
func (known *definitions) checkNames(d draft) *Error {
	f := d.accountFields(func(id string) bool { return known.account(id) == nil }, ruleAccount)
	if f != nil {
		return accountsNotFound(f)
	}
	for i, leg := range d.legs {
		if known.asset(leg.Asset) == nil {
			f.check(d.fields(i).asset, ruleAsset)
		}
	}
	if f != nil {
		return assetsNotFound(f)
	}
	for i, leg := range d.legs {
		if !leg.Cost.IsZero() && known.currency(leg.Asset) == "" {
			f.check(d.fields(i).cost, currencyViolation(leg.Asset))
		}
	}
	if d.settle && known.currency(d.legs[0].Asset) == "" {
		f.check(Field{Name: "settle"}, currencyViolation(d.legs[0].Asset))
	}
	return invalidTransaction(f)
}

func currencyViolation(asset string) string {
	return "needs an asset with a currency; " + asset + " has none"
}
