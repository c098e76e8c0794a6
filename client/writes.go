package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
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
	KindChange      Kind = "change" // of an account, with its id: the body is an AccountPatch
)

// Command is one write with its id. It may be sent any number of times and has one effect at most. A change is made
// again if another one came between.
type Command struct {
	Kind Kind
	ID   string
	Body []byte // JSON as the API wants it; of a transaction, transfer or trade it holds the same id
}

// Written is the answer to a command, or to any other write.
type Written struct {
	New bool   // this request wrote it; false: the same had been written before
	Raw []byte // the API's JSON: the asset or account as it is now, the transaction as it was first answered
}

// Send carries out a command. Errors: *Error and *DeniedError (refused: nothing was written by it), *UnknownError,
// *UnreachableError, *StatusError; ErrID wrapped when nothing was sent.
func (c *Client) Send(ctx context.Context, cmd Command) (Written, error) {
	return c.write(ctx, cmd)
}

// Post posts a transaction, or ends a hold. Errors: those of Send, and those of the request.
func (c *Client) Post(ctx context.Context, p Post) (Transaction, Written, error) {
	w, err := c.write(ctx, p)
	if err != nil {
		return Transaction{}, Written{}, err
	}
	var t Transaction
	if err := json.Unmarshal(w.Raw, &t); err != nil {
		return Transaction{}, Written{}, fmt.Errorf("it was done, but the reply cannot be read: %w", err)
	}
	return t, w, nil
}

// DryRun asks what a request would be answered, and writes nothing. The answer promises nothing: what is stored may
// change before the request itself is sent. Errors: *Error, as the request itself would be refused, and those of a
// read.
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

// isNew reports whether an answer is to the request that did it. What is made anew is answered by 201. An end of a hold
// and a change make nothing.
func isNew(k call, r attempted) bool {
	return r.status == http.StatusCreated || k.makesNothing && !r.isReplay
}

// postPaths are where commands with an id of their own are posted.
var postPaths = map[Kind]string{
	KindTransaction: "/v1/transactions", KindTransfer: "/v1/transfers", KindTrade: "/v1/trades",
}

func callOf(r Request) (call, error) {
	cmd, err := r.Command()
	if err != nil {
		return call{}, err
	}
	k := call{method: http.MethodPost, path: postPaths[cmd.Kind], body: cmd.Body, id: cmd.ID, accept: names(cmd.ID)}
	k.about = []string{transactionPath(cmd.ID)}
	switch {
	case cmd.Kind == KindAsset || cmd.Kind == KindAccount:
		k.method = http.MethodPut
		k.path, err = segments(string(cmd.Kind)+"s", cmd.ID)
		k.about = []string{k.path}
	case cmd.Kind == KindChange:
		k.method = http.MethodPatch
		k.path, err = segments("accounts", cmd.ID)
		k.about = []string{k.path}
	case k.path == "":
		err = fmt.Errorf("unknown kind of command %q", cmd.Kind)
	}
	return k, err
}

// callOn is a write below the path of a transaction. id is of the transaction that answers it. Whether the first one
// exists, an earlier send may change.
func callOn(transaction, what, id string, request any) (call, error) {
	path, err := segments("transactions", transaction, what)
	if err != nil {
		return call{}, err
	}
	body, err := json.Marshal(request)
	return call{
		method: http.MethodPost, path: path, body: body, id: id, accept: names(id), makesNothing: id == transaction,
		about: []string{transactionPath(transaction), transactionPath(id)},
	}, err
}

// names accepts a reply with the id that was sent: a 200 of some other program is no answer.
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
