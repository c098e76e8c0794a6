package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// Kind says what a command writes.
type Kind string

// The kinds of command.
const (
	KindAsset       Kind = "asset"
	KindAccount     Kind = "account"
	KindTransaction Kind = "transaction"
	KindTransfer    Kind = "transfer"
	KindTrade       Kind = "trade"
)

// Command is one write with its id. It may be sent any number of times and has one effect at most.
type Command struct {
	Kind Kind
	ID   string
	Body []byte // JSON as the API wants it; of a transaction, transfer or trade it holds the same id
}

// Written is the answer to a command.
type Written struct {
	New bool   // this request wrote it; false: the same had been written before
	Raw []byte // the API's JSON: the asset, account or transaction as it was first written
}

// Send carries out a command. Errors: *Error and *DeniedError (refused: nothing was written by it), *UnknownError,
// *UnreachableError, *StatusError; ErrID wrapped when nothing was sent.
func (c *Client) Send(ctx context.Context, cmd Command) (Written, error) {
	k, err := callOf(cmd)
	if err != nil {
		return Written{}, err
	}
	r, err := c.do(ctx, k)
	if err != nil {
		return Written{}, err
	}
	return Written{New: r.status == http.StatusCreated, Raw: r.body}, nil
}

// PostTransfer posts a transfer. Errors: those of Send.
func (c *Client) PostTransfer(ctx context.Context, t Transfer) (Transaction, Written, error) {
	return post(ctx, c, KindTransfer, t.ID, t)
}

// PostTrade posts a trade. Errors: those of Send.
func (c *Client) PostTrade(ctx context.Context, t Trade) (Transaction, Written, error) {
	return post(ctx, c, KindTrade, t.ID, t)
}

func post(ctx context.Context, c *Client, kind Kind, id string, request any) (Transaction, Written, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return Transaction{}, Written{}, err
	}
	w, err := c.Send(ctx, Command{Kind: kind, ID: id, Body: body})
	if err != nil {
		return Transaction{}, Written{}, err
	}
	var t Transaction
	if err := json.Unmarshal(w.Raw, &t); err != nil {
		return Transaction{}, Written{}, fmt.Errorf("%q was posted, but the reply cannot be read: %w", id, err)
	}
	return t, w, nil
}

func callOf(cmd Command) (call, error) {
	k := call{method: http.MethodPost, body: cmd.Body, id: cmd.ID, accept: names(cmd.ID)}
	var err error
	switch cmd.Kind {
	case KindAsset:
		k.method = http.MethodPut
		k.path, err = segments("assets", cmd.ID)
	case KindAccount:
		k.method = http.MethodPut
		k.path, err = segments("accounts", cmd.ID)
	case KindTransaction:
		k.path = "/v1/transactions"
	case KindTransfer:
		k.path = "/v1/transfers"
	case KindTrade:
		k.path = "/v1/trades"
	default:
		err = fmt.Errorf("unknown kind of command %q", cmd.Kind)
	}
	return k, err
}

// names accepts a reply that tells of the thing asked for: a 200 of some other program is no answer.
func names(id string) func([]byte) error {
	return func(text []byte) error {
		var answer struct {
			ID *string `json:"id"`
		}
		if err := json.Unmarshal(text, &answer); err != nil {
			return err
		}
		if answer.ID == nil || *answer.ID != id {
			return fmt.Errorf("it does not name %q", id)
		}
		return nil
	}
}
