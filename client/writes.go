package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
)

// Kind is the kind of a command.
type Kind string

// The kinds of command.
const (
	KindAsset       Kind = "asset"
	KindAccount     Kind = "account"
	KindTransaction Kind = "transaction"
	KindTransfer    Kind = "transfer"
	KindTrade       Kind = "trade"
	KindChange      Kind = "change" // changes the account with the command's ID; the body is an AccountPatch
)

// Command is one write with its id and its JSON body. It is idempotent, with one exception: a KindChange that is sent
// again after another change takes effect again.
type Command struct {
	Kind Kind
	ID   string
	Body []byte // the JSON body of the API's request; for a transaction, transfer or trade it includes the same id
}

// Written is the answer to a write.
type Written struct {
	New bool   // this request wrote it; false if the same was written before
	Raw []byte // the API's JSON: the current asset or account, or the first answer for the transaction
}

// Send sends a command. Errors: *Error and *DeniedError (nothing was written), *UnknownError, *UnreachableError,
// *StatusError, and ErrID (nothing was sent).
func (c *Client) Send(ctx context.Context, cmd Command) (Written, error) {
	return c.write(ctx, cmd)
}

// Post posts or reverses a transaction, places a hold, or ends one. Errors: those of Send. The type of the request
// documents its codes.
func (c *Client) Post(ctx context.Context, p Post) (Transaction, Written, error) {
	w, err := c.write(ctx, p)
	if err != nil {
		return Transaction{}, Written{}, err
	}
	var t Transaction
	if err := json.Unmarshal(w.Raw, &t); err != nil {
		return Transaction{}, Written{}, fmt.Errorf("the request succeeded, but the reply cannot be read: %w", err)
	}
	return t, w, nil
}

// DryRun returns what the API would answer to a request, and writes nothing. The real request may get another answer
// if the ledger changes before. Errors: the *Error that the request would get, and those of a read.
func (c *Client) DryRun(ctx context.Context, p Post) (Reply[Transaction], error) {
	k, err := p.call()
	if err != nil {
		return Reply[Transaction]{}, err
	}
	k.isDry, k.query = true, url.Values{"dry_run": {"true"}}
	t, r, err := ask(ctx, c, k, func(t Transaction) error {
		if !t.DryRun {
			return errNotDry
		}
		return nil
	})
	return Reply[Transaction]{t, r.body}, err
}

func (c *Client) write(ctx context.Context, p Post) (Written, error) {
	k, err := p.call()
	if err != nil {
		return Written{}, err
	}
	r, err := c.do(ctx, k)
	if err != nil {
		return Written{}, err
	}
	return Written{New: isNew(k, r), Raw: r.body}, nil
}

// isNew reports whether a request had an effect, rather than repeating an earlier one. Requests that create something
// are then answered with 201.
func isNew(k call, r attemptResult) bool {
	return r.status == http.StatusCreated || k.createsNothing && !r.isReplay
}

// postPaths are the paths of the kinds of command that are posted with their id in the body.
var postPaths = map[Kind]string{
	KindTransaction: "/v1/transactions", KindTransfer: "/v1/transfers", KindTrade: "/v1/trades",
}

func callOf(r Request) (call, error) {
	cmd, err := r.Command()
	if err != nil {
		return call{}, err
	}
	k := call{method: http.MethodPost, path: postPaths[cmd.Kind], body: cmd.Body, id: cmd.ID, accept: hasID(cmd.ID)}
	k.resources = []string{transactionPath(cmd.ID)}
	switch {
	case cmd.Kind == KindAsset || cmd.Kind == KindAccount:
		k.method = http.MethodPut
		k.path, err = segments(string(cmd.Kind)+"s", cmd.ID)
		k.resources = []string{k.path}
	case cmd.Kind == KindChange:
		k.method = http.MethodPatch
		k.path, err = segments("accounts", cmd.ID)
		k.resources = []string{k.path}
	case k.path == "":
		err = fmt.Errorf("unknown kind of command %q", cmd.Kind)
	}
	return k, err
}

// callOn returns a POST below the path of a transaction, for example to .../capture. id is the id of the transaction
// that is answered.
func callOn(transaction, action, id string, request any) (call, error) {
	path, err := segments("transactions", transaction, action)
	if err != nil {
		return call{}, err
	}
	body, err := json.Marshal(request)
	return call{
		method: http.MethodPost, path: path, body: body, id: id, accept: hasID(id), createsNothing: id == transaction,
		resources: []string{transactionPath(transaction), transactionPath(id)},
	}, err
}

// hasID returns a check that a reply has the id that was sent. It rejects a 200 from some other program.
func hasID(id string) func([]byte) error {
	return func(text []byte) error {
		var answer struct {
			ID *string `json:"id"`
		}
		if err := json.Unmarshal(text, &answer); err != nil {
			return err
		}
		if answer.ID == nil || *answer.ID != id {
			return fmt.Errorf("it does not have the id %q", id)
		}
		return nil
	}
}
