package client

import (
	"context"
	"encoding/json"
	"net/url"
)

// RawRequest is a request of an operation whose In is not known to the program that sends it.
type RawRequest struct {
	IDs   []string   // of the path, in its order
	Query url.Values // nil for none
	ID    string     // of the transaction that it creates, which is also in the body; "" if it creates none
	Body  []byte     // JSON; nil for none
}

// Invoke sends a request, which is no batch, or makes a dry run of it. Errors: those of Op.Call, and ErrID.
func (o Operation) Invoke(ctx context.Context, c *Client, r RawRequest, isDry bool) (Reply[json.RawMessage], error) {
	k := o.call(r.IDs...)
	if r.ID != "" {
		k.id, k.resources = r.ID, append(k.resources, transactionPath(r.ID))
	}
	k.query, k.body = r.Query, r.Body
	if isDry {
		k.makeDry()
	}
	value, answer, err := ask(ctx, c, k, func(text json.RawMessage) error {
		var is struct {
			DryRun bool `json:"dry_run"`
		}
		if err := json.Unmarshal(text, &is); err != nil || is.DryRun == isDry {
			return err
		}
		return errNotDry
	})
	return Reply[json.RawMessage]{Value: value, Raw: answer.body, New: isNew(k, answer)}, err
}
