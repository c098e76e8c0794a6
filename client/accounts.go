package client

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"ledger.example/events"
)

// AccountID names an account.
type AccountID struct {
	Account string `path:"account"`
}

// Account is a holder of assets. A new account has an ID, a Name, a Profile and an Overdraft; the ledger sets the rest.
type Account struct {
	ID        string            `path:"account" json:"id" is:"ID" in:"same" example:"jane" names:"account"`
	Name      string            `json:"name" is:"Text" example:"Jane Doe"`
	Profile   json.RawMessage   `json:"profile,omitempty" is:"Profile" list:"-"` // an object, at most 4 KB
	Overdraft Overdraft         `json:"overdraft,omitzero" is:"Overdraft"`
	Metadata  map[string]string `json:"metadata,omitempty" is:"Metadata"`
	// By asset, then by `per` and `zone`.
	Rates []Rate `json:"rates,omitempty" is:"Rate" most:"100"`
	State string `json:"state" is:"AccountState" in:"same" example:"open"`
	// 1 when opened. Each change adds 1.
	Version int64 `json:"version" in:"same" least:"1" most:"999999999999" example:"1"`
	// The time of the opening.
	CreatedAt string `json:"created_at" is:"Time" in:"same" example:"2026-11-21T09:00:00.000000Z"`
	// Who created it.
	Actor string `json:"actor,omitempty" is:"Actor" in:"same" list:"-"`
}

// Rate is a limit over time: the most that the debits of an asset sum up to in one day, week or month.
type Rate struct {
	Asset string `json:"asset" is:"ID" in:"required" example:"EUR" names:"asset"`
	// A week begins on Monday.
	Per string `json:"per" is:"Per" in:"required" example:"day"`
	// Whose days they are. UTC unless given.
	Zone     Zone          `json:"zone,omitempty" is:"Zone" absent:"nowhere" example:"Europe/Berlin"`
	Quantity events.Amount `json:"quantity" is:"PositiveAmount" in:"required" example:"50000"`
}

// Zone is the name of a time zone in the IANA Time Zone Database, "" for UTC.
type Zone string

// Text formats an instant as the clocks of the zone show it: "2026-11-29 00:00 Europe/Berlin". A zone that this program
// does not know is UTC.
func (z Zone) Text(at time.Time) string {
	in, err := time.LoadLocation(string(z))
	if err != nil {
		in = time.UTC
	}
	return at.In(in).Format("2006-01-02 15:04 ") + in.String()
}

// UsedRate is a limit over time, and what is used of it now.
type UsedRate struct {
	Rate
	// What the debits of the present day, week or month sum up to, without what ended holds gave back.
	Used events.Amount `json:"used" is:"FoldedAmount" example:"12000"`
	// What may still be debited; funds are another matter.
	Available events.Amount `json:"available" is:"FoldedAmount" example:"38000"`
	// When the next day, week or month begins, with nothing used.
	OpensAt string `json:"opens_at" is:"Time" example:"2026-11-22T23:00:00.000000Z"`
}

// The states of an account.
const (
	StateOpen   = "open"
	StateFrozen = "frozen" // it cannot be debited, except by holds that were placed before
	StateClosed = "closed" // it can never be debited or credited again
)

// AccountPatch is the fields of an account that change, with their new values. Fields that are not set stay as they
// are. A field that is set replaces the whole field of the account.
type AccountPatch struct {
	Name    *string         `json:"name,omitempty" is:"Text"`
	Profile json.RawMessage `json:"profile,omitempty" is:"Profile"` // an object
	// An empty object means no overdraft. An account cannot switch between `unlimited` and limited.
	Overdraft *Overdraft `json:"overdraft,omitempty" is:"Overdraft"`
	// An empty object removes all.
	Metadata map[string]string `json:"metadata,omitzero" is:"Metadata"`
	// An empty list removes all. An account with an unlimited overdraft cannot have rates.
	Rates []Rate `json:"rates,omitzero" is:"Rate" most:"100"`
	// `closed` is final. Only an account without balances and open holds can be closed.
	State string `json:"state,omitempty" is:"AccountState"`

	// The ETag that the account must have, which is its version in quotes. `*` means any version.
	IfMatch int64 `json:"-" header:"If-Match"` // 0 for any
}

// Change is one version of an account.
type Change struct {
	// 1 is the opening.
	Version int64  `json:"version" least:"1" most:"999999999999" example:"2"`
	At      string `json:"at" is:"Time" example:"2026-11-22T08:00:00.000000Z"`
	Actor   string `json:"actor" is:"Actor"` // who made the change
	// For the opening, all fields that were set.
	Changed AccountPatch `json:"changed" is:"ChangedFields" example:"{\"state\":\"frozen\"}"`
}

// AccountsQuery selects accounts.
type AccountsQuery struct {
	ByPrefix
	// An indexed metadata key and its value. `KEY` stands for the key. The error of another key names the indexed ones.
	Metadata map[string]string `query:"metadata.KEY" is:"MetadataValue" example:"gold"` // one, or none
}

// AccountChange is the change of an account.
type AccountChange struct {
	ID string `path:"account" json:"id" is:"ID" in:"same"`
	AccountPatch
	Version   int64  `json:"version" in:"same" least:"1" most:"999999999999"`
	CreatedAt string `json:"created_at" is:"Time" in:"same"`
	Actor     string `json:"actor" is:"Actor" in:"same"`
}

const accountPath = "/v1/accounts/{account}"

// The operations on accounts.
var (
	// A body that says what the account was opened with, or what it is now, gets 200 and the current account. Another
	// body gets 409. So an answer of `GET` can be sent back: `id`, `created_at`, `actor`, `version` and `state` are
	// accepted if they are equal to the stored values. Store personal data elsewhere: old profiles stay in the
	// account's changes.
	OpenAccount = Op[Account, Account]{
		ID: "openAccount", Method: http.MethodPut, Path: accountPath, Summary: "Open an account", May: admins,
		Tagged: true, OK: "The account exists, as the body says. It is shown as it is now.", Created: "Opened.",
		Refusals: "account_exists asset_not_found",
	}
	// Replaces the fields that are given. A request that changes nothing creates no version. With `If-Match`, only
	// this version is changed. The change applies to every debit that begins after the answer. A closed account may
	// still be credited for up to 15 minutes. An edited answer of `GET` can be sent back.
	ChangeAccount = Op[AccountChange, Account]{
		ID: "changeAccount", Method: http.MethodPatch, Path: accountPath, Summary: "Change an account", May: admins,
		Tagged: true, OK: "The current account.", Refusals: "version_mismatch invalid_change asset_not_found",
	}
	// Strongly consistent. The ETag is the version.
	GetAccount = Op[AccountID, Account]{
		ID: "getAccount", Path: accountPath, Summary: "Get an account", May: viewers, Tagged: true,
	}
	// Who changed what, and when. The opening is the last entry. Strongly consistent.
	ListChanges = Op[AccountID, List[Change]]{
		ID: "listChanges", Path: accountPath + "/changes", Summary: "List an account's changes, newest first",
		May: viewers,
	}
	// The account's limits over time, with what is used of each. Strongly consistent: every debit that was acknowledged
	// before the request counts.
	ListRates = Op[AccountID, List[UsedRate]]{
		ID: "listRates", Path: accountPath + "/rates", Summary: "List an account's limits over time", May: viewers,
	}
	// By id. With `prefix`, only ids that begin with it. With `metadata.KEY`, only accounts that have this value of an
	// indexed metadata key. New accounts may be missing for a moment. Profiles are
	// omitted.
	ListAccounts = Op[AccountsQuery, List[Account]]{
		ID: "listAccounts", Path: "/v1/accounts", Summary: "List accounts", May: admins,
	}
)

// OpenAccount opens an account. The same request again succeeds and returns the current account. Errors: those of Send,
// with the codes account_exists and asset_not_found (of an overdraft limit).
func (c *Client) OpenAccount(ctx context.Context, a Account) (Account, Written, error) {
	return written(OpenAccount.Call(ctx, c, a))
}

// Account reads an account. Errors: *Error (account_not_found).
func (c *Client) Account(ctx context.Context, id string) (Reply[Account], error) {
	return GetAccount.Call(ctx, c, AccountID{id})
}

// TaggedAccounts lists accounts as a query says, by id. Profiles are omitted.
func (c *Client) TaggedAccounts(by AccountsQuery) Listing[Account] {
	return Listing[Account]{c, ListAccounts.request(by)}
}

// Accounts lists the accounts whose ids begin with a prefix, "" for all, by id. Profiles are omitted.
func (c *Client) Accounts(prefix string) Listing[Account] {
	return Listing[Account]{c, ListAccounts.request(AccountsQuery{ByPrefix: ByPrefix{prefix}})}
}

// Changes lists an account's opening and its changes, newest first.
func (c *Client) Changes(account string) Listing[Change] {
	return Listing[Change]{c, ListChanges.request(AccountID{account})}
}

// Rates lists an account's limits over time, with what is used of each.
func (c *Client) Rates(account string) Listing[UsedRate] {
	return Listing[UsedRate]{c, ListRates.request(AccountID{account})}
}

// PatchAccount changes an account and returns the current account. A change that changes nothing creates no version, so
// a retry is safe. Errors: those of Send, with the codes account_not_found, invalid_change, and, with IfMatch,
// version_mismatch. A version_mismatch after an attempt without an answer is returned as an UnknownError: another
// request changed the account, either before that attempt or after it was applied. List the Changes to find out.
func (c *Client) PatchAccount(ctx context.Context, account string, p AccountPatch) (Reply[Account], error) {
	return ChangeAccount.Call(ctx, c, AccountChange{ID: account, AccountPatch: p})
}
