package client

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
)

// AssetRequest registers an asset. Assets are immutable.
type AssetRequest struct {
	ID          string `json:"-"`
	Name        string `json:"name" in:"required"`
	Description string `json:"description,omitempty"`
	Scale       int    `json:"scale" in:"required"`        // decimal places, 0 to 18
	Currency    string `json:"currency,omitempty" is:"ID"` // the asset in which its costs are counted; "" for no costs
}

// AccountRequest opens an account. The zero Overdraft allows none.
type AccountRequest struct {
	ID        string          `json:"-"`
	Name      string          `json:"name,omitempty"`
	Profile   json.RawMessage `json:"profile,omitempty"` // an object, at most 4 KB
	Overdraft Overdraft       `json:"overdraft,omitzero"`
}

// RegisterAsset registers an asset. The same request again succeeds. Errors: those of Send, with the codes asset_exists
// and asset_not_found (the currency).
func (c *Client) RegisterAsset(ctx context.Context, a AssetRequest) (Asset, Written, error) {
	return set(ctx, c, http.MethodPut, a, func(is Asset) bool { return is.ID == a.ID }, "assets", a.ID)
}

// OpenAccount opens an account. The same request again succeeds and returns the current account. Errors: those of Send,
// with the codes account_exists and asset_not_found (of an overdraft limit).
func (c *Client) OpenAccount(ctx context.Context, a AccountRequest) (Account, Written, error) {
	return set(ctx, c, http.MethodPut, a, func(is Account) bool { return is.ID == a.ID }, "accounts", a.ID)
}

// AccountPatch changes an account. Fields that are not set stay as they are. A field that is set replaces the whole
// field of the account.
type AccountPatch struct {
	Name      *string         `json:"name,omitempty"`
	Profile   json.RawMessage `json:"profile,omitempty"`   // an object
	Overdraft *Overdraft      `json:"overdraft,omitempty"` // limits cannot become unlimited, or the reverse
	State     string          `json:"state,omitempty"`     // StateOpen, StateFrozen or StateClosed

	// IfMatch is the version that the account must have, 0 for any.
	IfMatch int64 `json:"-"`
}

// Change is one version of an account.
type Change struct {
	Version int64        `json:"version"` // 1 is its opening
	At      string       `json:"at"`      // RFC 3339
	Actor   string       `json:"actor"`   // who made the change
	Changed AccountPatch `json:"changed"` // the new values; all values for the opening
}

// PatchAccount changes an account and returns the current account. A change that changes nothing creates no version, so
// a retry is safe. Errors: those of Send, with the codes account_not_found, invalid_change, and, with IfMatch,
// version_mismatch. A version_mismatch after an attempt without an answer is returned as an UnknownError: another
// request changed the account, either before that attempt or after it was applied. List the Changes to find out.
func (c *Client) PatchAccount(ctx context.Context, account string, p AccountPatch) (Reply[Account], error) {
	cmd, err := command(KindChange, account, p)
	if err != nil {
		return Reply[Account]{}, err
	}
	k, err := callOf(cmd)
	if err != nil {
		return Reply[Account]{}, err
	}
	if p.IfMatch > 0 {
		k.tag = `"` + strconv.FormatInt(p.IfMatch, 10) + `"`
	}
	is, r, err := ask(ctx, c, k, matches(account, func(is Account) bool { return is.ID == account }))
	return Reply[Account]{is, r.body}, err
}
