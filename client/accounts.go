package client

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
)

// AssetRequest says what an asset is. Assets never change.
type AssetRequest struct {
	ID          string `json:"-"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Scale       int    `json:"scale"`              // decimal places, 0 to 18
	Currency    string `json:"currency,omitempty"` // the asset that its costs are counted in; "": it has no costs
}

// AccountRequest says how an account is opened. The zero Overdraft is none.
type AccountRequest struct {
	ID        string          `json:"-"`
	Name      string          `json:"name,omitempty"`
	Profile   json.RawMessage `json:"profile,omitempty"` // an object, at most 4 KB
	Overdraft Overdraft       `json:"overdraft,omitzero"`
}

// RegisterAsset registers an asset. The same again is no error. Errors: those of Send; *Error has asset_exists,
// asset_not_found (its currency).
func (c *Client) RegisterAsset(ctx context.Context, a AssetRequest) (Asset, Written, error) {
	return set(ctx, c, http.MethodPut, a, func(is Asset) bool { return is.ID == a.ID }, "assets", a.ID)
}

// OpenAccount opens an account. The same again is no error, and is answered with the account as it is now. Errors:
// those of Send; *Error has account_exists, asset_not_found (of a limit).
func (c *Client) OpenAccount(ctx context.Context, a AccountRequest) (Account, Written, error) {
	return set(ctx, c, http.MethodPut, a, func(is Account) bool { return is.ID == a.ID }, "accounts", a.ID)
}

// AccountPatch says what to change of an account. What is not set stays as it is; each part is replaced whole.
type AccountPatch struct {
	Name      *string         `json:"name,omitempty"`
	Profile   json.RawMessage `json:"profile,omitempty"`   // an object
	Overdraft *Overdraft      `json:"overdraft,omitempty"` // what has limits cannot become unlimited, nor back
	State     string          `json:"state,omitempty"`     // StateOpen, StateFrozen or StateClosed

	// IfMatch is the version that the account must have for the change, 0 for any.
	IfMatch int64 `json:"-"`
}

// Change is one version of an account.
type Change struct {
	Version int64        `json:"version"` // 1 is its opening
	At      string       `json:"at"`      // RFC 3339
	Actor   string       `json:"actor"`   // who
	Changed AccountPatch `json:"changed"` // what it became; of the opening, what it was
}

// PatchAccount changes an account, and returns it as it is now. A change that changes nothing makes no version, so the
// same change may be made again. Errors: those of Send; *Error has version_mismatch under IfMatch, invalid_change,
// account_not_found. Under IfMatch, version_mismatch after an attempt without an answer is an UnknownError: somebody
// else changed the account, before that attempt or after it. Changes tells.
func (c *Client) PatchAccount(ctx context.Context, account string, p AccountPatch) (Reply[Account], error) {
	cmd, err := command(KindChange, account, p)
	if err != nil {
		return Reply[Account]{}, err
	}
	k, err := cmd.call()
	if err != nil {
		return Reply[Account]{}, err
	}
	if p.IfMatch > 0 {
		k.tag = `"` + strconv.FormatInt(p.IfMatch, 10) + `"`
	}
	is, r, err := ask(ctx, c, k, about(account, func(is Account) bool { return is.ID == account }))
	return Reply[Account]{is, r.body}, err
}
