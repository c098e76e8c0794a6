package client

import (
	"context"
	"time"

	"ledger.example/events"
)

// Balance is what one account holds of one asset.
type Balance struct {
	Account string `json:"account" names:"account"`
	Asset   string `json:"asset" names:"asset"`
	Sums
	// What can be spent, overdraft included; nil for no limit. A debit with an effective date counts once it is
	// projected.
	Available *events.Amount `json:"available"`
	// KSUID of the newest posting included; nil for none.
	AsOf        *string `json:"as_of" is:"KSUID"`
	AsOfTime    *string `json:"as_of_time" is:"Time"`         // RFC 3339; the time of that posting
	Consistency string  `json:"consistency" is:"Consistency"` // "strong" or "eventual"
}

// Sums are the sums of postings of one asset. Pending amounts are those of open holds. Debits, credits and pending
// amounts are not negative.
type Sums struct {
	Quantity       events.Amount `json:"quantity" is:"FoldedAmount" example:"350000"`
	NetExpenditure events.Amount `json:"net_expenditure" is:"FoldedAmount" example:"0"` // in the asset's currency
	Credits        events.Amount `json:"credits" is:"FoldedAmount" example:"500000"`
	Debits         events.Amount `json:"debits" is:"FoldedAmount" example:"150000"`
	PendingDebits  events.Amount `json:"pending_debits" is:"FoldedAmount" example:"0"`
	PendingCredits events.Amount `json:"pending_credits" is:"FoldedAmount" example:"0"`
	// The number of postings included, those of holds too.
	Postings int64 `json:"postings" least:"0" example:"3"`
}

// PastBalance is what one account held of one asset at a past time.
type PastBalance struct {
	Account string `json:"account" names:"account"`
	Asset   string `json:"asset" names:"asset"`
	Sums
	AsOf     *string `json:"as_of" is:"KSUID"`     // KSUID of the newest posting included; nil for none
	AsOfTime *string `json:"as_of_time" is:"Time"` // RFC 3339; the time of that posting
	At       string  `json:"at" is:"Time"`         // RFC 3339; the requested time
	// At is at least ten seconds ago, and no closing of the books that covers it awaits its final_at: only postings
	// with an effective date that is not in a closed period can change the balance.
	Settled     bool   `json:"settled"`
	Revision    int64  `json:"revision"`                     // equal revisions mean equal balances
	Consistency string `json:"consistency" is:"Consistency"` // "strong" or "eventual"
}

// Summary counts an account's balances.
type Summary struct {
	// The number of balances whose quantity is not zero.
	Holdings int64 `json:"holdings" least:"0"`
	// The number of balances.
	Assets         int64   `json:"assets" least:"0"`
	FirstPostingAt *string `json:"first_posting_at" is:"Time"`
	LastPostingAt  *string `json:"last_posting_at" is:"Time"`
}

// AccountPage is an account with its summary, its first balances and its newest postings.
type AccountPage = AccountPageOf[events.Amount]

// AccountPageOf is the page of an account. A is like that of PostedLegOf.
type AccountPageOf[A any] struct {
	Account  Account       `json:"account"`
	Summary  Summary       `json:"summary"` // zeros and nulls before it is projected
	Balances List[Balance] `json:"balances"`
	// The newest postings of all assets.
	Postings List[PostingOf[A]] `json:"postings"`
}

// BalancesQuery selects the balances of an account.
type BalancesQuery struct {
	AccountID
	Past
}

// BalanceQuery selects one balance of an account.
type BalanceQuery struct {
	AccountID
	AssetID
	Past
}

// Past selects the time of balances.
type Past struct {
	// A time in RFC 3339 format. The balance includes all postings at this time or before. Later than now means now.
	At time.Time `query:"at" time:"at" example:"2026-11-21T09:00:00Z"` // the zero time is now
	// `strong` includes every transaction that was acknowledged before the request. `eventual` is about a second
	// behind, and costs less.
	Strong bool `query:"consistency" is:"Consistency" enum:"strong,eventual" filter:"-"` // see Balances
}

// AccountPageQuery selects what is on the page of an account.
type AccountPageQuery struct {
	AccountID
	// How many of the newest postings are shown.
	Newest *int `query:"newest" least:"0" most:"100" default:"10"` // nil for 10
}

// The operations on balances.
var (
	// The balances of all accounts that hold or held the asset, by account.
	ListAssetHolders = Op[AssetID, List[Balance]]{
		ID: "listAssetHolders", Path: assetPath + "/holders", Summary: "List the holders of an asset", May: admins,
	}
	// The account, its summary, its balances, and its newest postings of all assets. Each list has a cursor. With
	// `newest=0`, the cursor of the postings is that of the first page.
	GetAccountSummary = Op[AccountPageQuery, AccountPage]{
		ID: "getAccountSummary", Path: accountPath + "/summary",
		Summary: "Get an account with its balances and newest postings", May: viewers,
	}
	// A strong read includes assets that are not projected yet. It costs three requests to the table for each asset.
	// With `at`, assets without a posting at that time are omitted, so a page may be short. Each asset costs two
	// requests. A page of strong or past balances is also short if it would cost 200 read units of the table; its first
	// balance may cost more.
	ListBalances = Op[BalancesQuery, List[Balance]]{
		ID: "listBalances", Path: accountPath + "/balances", Summary: "List an account's balances", May: viewers,
	}
	// If the account and the asset exist, so does the balance: it is zero if nothing is posted or projected yet. With
	// `at`, the balance includes all postings at that time or before.
	GetBalance = Op[BalanceQuery, Balance]{
		ID: "getBalance", Path: accountPath + "/balances/{asset}", Summary: "Get one balance", May: viewers,
	}
)

// LastBefore returns the last time before the end of a period. A balance at that time is the one of the period's end.
func LastBefore(end time.Time) time.Time { return end.Add(-time.Microsecond) }

// Holders lists the balances of all accounts that hold an asset, or once held it, by account.
func (c *Client) Holders(asset string) Listing[Balance] {
	return Listing[Balance]{c, ListAssetHolders.request(AssetID{asset})}
}

// AccountPage reads an account with its summary, its first balances, and its newest postings (0 to 100).
func (c *Client) AccountPage(ctx context.Context, account string, newest int) (Reply[AccountPage], error) {
	return GetAccountSummary.Call(ctx, c, AccountPageQuery{AccountID{account}, &newest})
}

// Balances lists an account's balances, by asset. If strong, they include every transaction that was acknowledged
// before the request.
func (c *Client) Balances(account string, strong bool) Listing[Balance] {
	return Listing[Balance]{c, ListBalances.request(BalancesQuery{AccountID{account}, Past{Strong: strong}})}
}

// BalancesAt lists what an account held at a past time, by asset. It omits assets that had no posting then.
func (c *Client) BalancesAt(account string, at time.Time, strong bool) Listing[PastBalance] {
	return Listing[PastBalance]{c, ListBalances.request(BalancesQuery{AccountID{account}, Past{at, strong}})}
}

// Balance reads what an account holds of an asset. If strong, it includes every transaction that was acknowledged
// before the request. Otherwise it is about a second behind. Errors: *Error (account_not_found, asset_not_found).
func (c *Client) Balance(ctx context.Context, account, asset string, strong bool) (Reply[Balance], error) {
	return GetBalance.Call(ctx, c, BalanceQuery{AccountID{account}, AssetID{asset}, Past{Strong: strong}})
}

// BalanceAt reads what an account held of an asset at a past time. It includes every posting at that time or before.
func (c *Client) BalanceAt(
	ctx context.Context, account, asset string, at time.Time, strong bool,
) (Reply[PastBalance], error) {
	q := BalanceQuery{AccountID{account}, AssetID{asset}, Past{at, strong}}
	return send[PastBalance](ctx, c, GetBalance.request(q))
}
