package client

import (
	"context"
	"encoding/json"
	"net/http"
)

// PageLimit is the maximum number of items on a page of a list.
const PageLimit = 100

// Reply is an answer of the API, parsed and as received. Only Raw has fields that this version does not know.
type Reply[T any] struct {
	Value T
	Raw   []byte // the JSON as received
	New   bool   // a write wrote it; false if the same was written before
}

// Ping returns nil if the API is alive. It does not retry if no connection can be made.
func (c *Client) Ping(ctx context.Context) error {
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/healthz", accept: func(text []byte) error {
		var health struct{}
		return json.Unmarshal(text, &health)
	}})
	return err
}

// ask sends a call and parses its answer, which must pass a check. It ignores unknown fields. With an error it returns
// zero values.
func ask[T any](ctx context.Context, c *Client, k call, check func(T) error) (value T, r attemptResult, err error) {
	k.accept = func(text []byte) error {
		value = *new(T)
		err := json.Unmarshal(text, &value)
		if err == nil && k.writes() {
			err = k.isAbout(text)
		}
		if err != nil {
			return err
		}
		return check(value)
	}
	if k.err != nil {
		return value, r, k.err
	}
	if r, err = c.do(ctx, k); err != nil {
		return *new(T), attemptResult{}, err
	}
	return value, r, nil
}
