package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// AccountPatch says what to change of an account. What is not set stays as it is; each part is replaced whole.
type AccountPatch struct {
	Name      *string         `json:"name,omitempty"`
	Profile   json.RawMessage `json:"profile,omitempty"`   // an object
	Overdraft json.RawMessage `json:"overdraft,omitempty"` // an amount for each asset; none may become unlimited
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
	path, err := segments("accounts", account)
	if err != nil {
		return Reply[Account]{}, err
	}
	k := call{method: http.MethodPatch, path: path, id: account, about: []string{path}, accept: names(account)}
	if k.body, err = json.Marshal(p); err != nil {
		return Reply[Account]{}, err
	}
	if p.IfMatch > 0 {
		k.tag = `"` + strconv.FormatInt(p.IfMatch, 10) + `"`
	}
	r, err := c.do(ctx, k)
	if err != nil {
		return Reply[Account]{}, err
	}
	reply := Reply[Account]{Raw: r.body}
	if err := json.Unmarshal(r.body, &reply.Value); err != nil {
		return Reply[Account]{}, fmt.Errorf("%q was changed, but the reply cannot be read: %w", account, err)
	}
	return reply, nil
}
