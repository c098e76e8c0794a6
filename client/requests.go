package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"ledger.example/events"
)

// Annotation is what a request says of its transaction, beside what it moves.
type Annotation = events.Annotation

// Transfer moves a quantity of an asset from one account to another, or as much as fits. ID is the id of the
// transaction. The same transfer with the same ID gets the first answer again, with the quantity that it moved then.
type Transfer struct {
	ID string `json:"id" is:"ID"`
	Annotation
	From string `json:"from" is:"ID" in:"required"`
	// Must differ from `from`.
	To    string `json:"to" is:"ID" in:"required"`
	Asset string `json:"asset" is:"ID" in:"required"`
	// Required, unless `up_to` is given.
	Quantity events.Amount `json:"quantity,omitzero" is:"PositiveAmount" in:"required" without:"up_to"`
	// In place of a quantity: the most. As much is moved as `from` has above what it keeps.
	UpTo UpTo `json:"up_to,omitempty" is:"UpTo"`
	// With `up_to`: what stays in `from`. The default is `0`. Below zero, so much of its overdraft may be used.
	Keep *events.Amount `json:"keep,omitempty" is:"PostedAmount" with:"up_to"`
	// With `up_to`: the least. If `from` has less, nothing is moved. The default is `1`.
	AtLeast     *events.Amount `json:"at_least,omitempty" is:"PositiveAmount" with:"up_to"`
	Hold        *Hold          `json:"hold,omitempty" is:"Hold"`               // nil: it is posted at once
	EffectiveAt time.Time      `json:"effective_at,omitzero" is:"EffectiveAt"` // zero: now
}

// UpTo is the most that a transfer or a split moves: an amount above zero, in the asset's smallest unit, or All. The
// zero UpTo is none.
type UpTo string

// All moves all that there is.
const All UpTo = "all"

// Trade moves a quantity of an asset from seller to buyer, for a cost in the asset's currency.
type Trade struct {
	ID string `json:"id" is:"ID"`
	Annotation
	Asset string `json:"asset" is:"ID" in:"required"`
	Buyer string `json:"buyer" is:"ID" in:"required"`
	// Must differ from `buyer`.
	Seller   string        `json:"seller" is:"ID" in:"required"`
	Quantity events.Amount `json:"quantity" is:"PositiveAmount" in:"required"`
	// The total price, in the smallest unit of the asset's currency. `0` means a gift.
	Cost events.Amount `json:"cost" is:"UnsignedAmount" in:"required"`
	// The default is false. If true, the same transaction also has the cash legs: buyer −cost, seller +cost, in the
	// asset's currency. The asset must have a currency. A cost of zero adds no legs.
	Settle      bool      `json:"settle"`
	Hold        *Hold     `json:"hold,omitempty" is:"Hold"`               // nil: it is posted at once
	EffectiveAt time.Time `json:"effective_at,omitzero" is:"EffectiveAt"` // zero: now
}

// Split divides a quantity of an asset among accounts, or as much as fits. The ledger makes the postings, to the unit.
// The transaction is of the kind KindTransaction. The same split with the same ID gets the first answer again.
type Split struct {
	ID string `json:"id" is:"ID"`
	Annotation
	Asset string `json:"asset" is:"ID" in:"required"`
	// Required, unless `up_to` is given. With it, `from` is one account.
	Quantity events.Amount `json:"quantity,omitzero" is:"PositiveAmount" in:"required" without:"up_to"`
	From     From          `json:"from" is:"From" in:"required"`
	// In place of a quantity: the most. As much is divided as `from` has above what it keeps.
	UpTo UpTo `json:"up_to,omitempty" is:"UpTo"`
	// With `up_to`: what stays in `from`, if that is one account. The default is `0`. Below zero, so much of its
	// overdraft may be used.
	Keep *events.Amount `json:"keep,omitempty" is:"PostedAmount" with:"up_to" one:"from"`
	// With `up_to`: the least. If `from` has less, or what it has cannot be divided, nothing is moved. The default is
	// `1`.
	AtLeast *events.Amount `json:"at_least,omitempty" is:"PositiveAmount" with:"up_to"`
	// Who gets which part. The shares and quantities take at most the whole quantity. If they leave something, there is
	// a `rest`; with `up_to`, there always is. A portion of zero gets no posting, and all postings are at most 48.
	To          []Portion `json:"to" is:"Portion" in:"required" least:"1" most:"48"`
	Hold        *Hold     `json:"hold,omitempty" is:"Hold"`               // nil: it is posted at once
	EffectiveAt time.Time `json:"effective_at,omitzero" is:"EffectiveAt"` // zero: now
}

// From is what a split takes from: one account, or with UpTo a list of them.
type From struct {
	Account string   // id
	Sources []Source // in place of Account: they give in this order, a later one when those before it are used up
}

// IsList reports whether it is a list, also an empty one.
func (f From) IsList() bool { return f.Sources != nil }

// MarshalJSON returns it in the API's format.
func (f From) MarshalJSON() ([]byte, error) {
	if f.IsList() {
		return json.Marshal(f.Sources)
	}
	return json.Marshal(f.Account)
}

// UnmarshalJSON parses it in the API's format.
func (f *From) UnmarshalJSON(text []byte) error {
	*f = From{}
	if bytes.HasPrefix(text, []byte("[")) {
		return json.Unmarshal(text, &f.Sources)
	}
	return json.Unmarshal(text, &f.Account)
}

// Source is one of the accounts that a split takes from.
type Source struct {
	// Must differ from the other sources.
	Account string `json:"account" is:"ID" in:"required"`
	// What stays in it. The default is `0`. Below zero, so much of its overdraft may be used.
	Keep *events.Amount `json:"keep,omitempty" is:"PostedAmount"`
}

// Portion is what one account gets of a split: a share, a quantity, both together, or a part of the rest.
type Portion struct {
	// Must differ from those in `from`.
	Account string `json:"account" is:"ID" in:"required"`
	// A part of the whole quantity, rounded half up by itself.
	Share Share `json:"share,omitempty" is:"Share"`
	// Fixed, or in addition to the share.
	Quantity *events.Amount `json:"quantity,omitempty" is:"UnsignedAmount"`
	// A weight, without a share and without a quantity. What the shares and quantities leave is divided by the weights:
	// whole parts, then single units to the largest remainders, among equals to the earlier portion.
	Rest Weight `json:"rest,omitempty" least:"1" most:"1000000000"`
}

// Share is a part of a whole: above zero, and at most all. It is in percent with at most 9 decimals, such as "2.9%", or
// a fraction of numbers up to 1000000000, such as "19/119". The zero Share is none.
type Share string

// Weight says how a rest is divided. The zero Weight is none.
type Weight int

// TransactionRequest posts a transaction with any legs. For each asset, the quantities sum to zero. So do the costs.
type TransactionRequest struct {
	ID string `json:"id" is:"ID"`
	Annotation
	// The legs of the transaction.
	Postings    []Leg     `json:"postings" is:"LegRequest" in:"required" least:"2" most:"48"`
	Hold        *Hold     `json:"hold,omitempty" is:"Hold"`               // nil: it is posted at once
	EffectiveAt time.Time `json:"effective_at,omitzero" is:"EffectiveAt"` // zero: now
}

// Hold makes a request a hold: it reserves its debits until the hold is captured or released, or expires.
type Hold struct {
	// When the hold expires. RFC 3339, any offset; after now, and at most 31 days ahead. The default is 7 days ahead.
	ExpiresAt time.Time `json:"expires_at,omitzero"` // a retry must have the same time
}

// Part selects how much of a transaction a capture or a reversal takes. The zero Part takes all that is left.
type Part struct {
	// For a transfer or a trade. Not together with `postings`.
	Quantity *events.Amount `json:"quantity,omitempty" is:"UnsignedAmount"`
	// For a trade, together with `quantity`. If the trade is settled, the cash legs have this cost. The default is
	// zero.
	Cost *events.Amount `json:"cost,omitempty" is:"UnsignedAmount" with:"quantity"` // required if the trade has a cost
	// For any other transaction: one for each posting, in their order, balanced.
	Postings []Taken `json:"postings,omitempty" is:"TakenLeg" most:"48"`
}

// Taken is the part of one leg that is captured or reversed. It has the sign of the leg; zero takes nothing of it. Cost
// is required if the leg has a cost.
type Taken struct {
	Quantity events.Amount `json:"quantity" is:"PostedAmount" in:"required"`
	// The default is zero.
	Cost *events.Amount `json:"cost,omitempty" is:"PostedAmount"`
}

// Capture posts what a hold reserved, in whole or in part. What is not captured becomes available again. A hold ends
// once. The same capture sent again gets the first answer. Codes of *Error: hold_ended (with HoldStatus), hold_expired,
// exceeds_hold, cost_required, not_a_hold, nothing_captured.
type Capture struct {
	Transaction string `path:"id" json:"-" batch:"transaction" is:"ID" in:"required"` // id of the hold
	Part
}

// Release ends a hold without posting anything. What it reserved becomes available again. Codes of *Error: hold_ended
// (with HoldStatus), not_a_hold.
type Release struct {
	Transaction string `path:"id" json:"-" batch:"transaction" is:"ID" in:"required"` // id of the hold
	// Why the hold is released.
	Description string `json:"description,omitempty" is:"Text"`
}

// Reversal posts a transaction that reverses another one, in whole or in part. Codes of *Error: exceeds_reversible
// (with Left), nothing_to_reverse, cost_required.
type Reversal struct {
	// The transaction to reverse.
	Transaction string `path:"id" json:"-" batch:"transaction" is:"ID" in:"required"`
	ID          string `json:"id" is:"ID"` // of the reversing transaction
	Annotation
	EffectiveAt time.Time `json:"effective_at,omitzero" is:"EffectiveAt"` // zero: now
	Part
}

// Request is a request that Client.Post can send, alone or in a batch: a Transfer, a Trade, a Split, a
// TransactionRequest, a Capture, a Release, a Reversal, or a Command of one of these kinds.
type Request interface {
	// Command returns the request with its JSON body.
	Command() (Command, error)
}

// Command returns the command of the transfer.
func (t Transfer) Command() (Command, error) { return command(KindTransfer, t.ID, t) }

// Command returns the command of the trade.
func (t Trade) Command() (Command, error) { return command(KindTrade, t.ID, t) }

// Command returns the command of the split.
func (s Split) Command() (Command, error) { return command(KindSplit, s.ID, s) }

// Command returns the command of the transaction.
func (t TransactionRequest) Command() (Command, error) { return command(KindTransaction, t.ID, t) }

// Command returns the command of the capture.
func (r Capture) Command() (Command, error) {
	return commandOn(r.Transaction, KindCapture, r.Transaction, r)
}

// Command returns the command of the release.
func (r Release) Command() (Command, error) {
	return commandOn(r.Transaction, KindRelease, r.Transaction, r)
}

// Command returns the command of the reversal.
func (r Reversal) Command() (Command, error) { return commandOn(r.Transaction, KindReversal, r.ID, r) }

// Command returns the command itself.
func (cmd Command) Command() (Command, error) { return cmd, nil }

func command(kind Kind, id string, request any) (Command, error) {
	return commandOn("", kind, id, request)
}

func commandOn(of string, kind Kind, id string, request any) (Command, error) {
	body, err := json.Marshal(request)
	return Command{Kind: kind, ID: id, Of: of, Body: body}, err
}

// Sent returns the path and the JSON body that Client.Post sends for a request. It sends nothing.
func Sent(r Request) (path string, body []byte, err error) {
	k, err := callOf(r)
	return k.path, k.body, err
}

// Kind is the kind of a command.
type Kind string

// The kinds of command.
const (
	KindAsset       Kind = "asset"
	KindAccount     Kind = "account"
	KindTransaction Kind = "transaction"
	KindTransfer    Kind = "transfer"
	KindTrade       Kind = "trade"
	KindSplit       Kind = "split"
	KindChange      Kind = "change"   // changes the account with the command's ID; the body is an AccountPatch
	KindCapture     Kind = "capture"  // captures the hold with the command's ID, which is also its Of
	KindRelease     Kind = "release"  // releases that hold
	KindReversal    Kind = "reversal" // reverses the transaction with the id Of

	// The kinds that grant a user with the id ID a role on the account or in the group Of, and that put the account ID
	// into the group Of. Batches do not take them, nor those above that define or change something.
	KindMember      Kind = "member"
	KindGroupMember Kind = "group_member"
	KindGrouping    Kind = "grouping"
	KindGroup       Kind = "group"
)

// Command is one write with its id and its JSON body. It is idempotent, with one exception: a KindChange that is sent
// again after another change takes effect again.
type Command struct {
	Kind Kind
	ID   string // of what is written and answered; for a capture or a release, that is the hold
	Of   string // the hold to end, the transaction to reverse, or what has a member; "" for the other kinds
	Body []byte // the JSON body of the API's request; if it posts a transaction, it includes the same id
}

// inBatch returns the JSON body of the command in a batch.
func (cmd Command) inBatch() ([]byte, error) {
	fields, isObject := bytes.CutPrefix(bytes.TrimSpace(cmd.Body), []byte("{"))
	if cmd.Of == "" || !isObject {
		return cmd.Body, nil
	}
	of, err := json.Marshal(cmd.Of)
	if err != nil {
		return nil, err
	}
	body := append([]byte(`{"transaction":`), of...)
	if fields = bytes.TrimSpace(fields); !bytes.HasPrefix(fields, []byte("}")) {
		body = append(body, ',')
	}
	return append(body, fields...), nil
}

// Written is the answer to a write.
type Written struct {
	New bool   // this request wrote it; false if the same was written before
	Raw []byte // the API's JSON: the current asset or account, or the first answer for the transaction
}

// written returns the value and the outcome of a write.
func written[T any](r Reply[T], err error) (T, Written, error) {
	return r.Value, Written{New: r.New, Raw: r.Raw}, err
}

// Send sends a command. Errors: *Error and *DeniedError (nothing was written), *UnknownError, *UnreachableError,
// *StatusError, and ErrID (nothing was sent).
func (c *Client) Send(ctx context.Context, cmd Command) (Written, error) {
	return c.write(ctx, cmd)
}

// Post posts or reverses a transaction, places a hold, or ends one. Errors: those of Send. The type of the request
// documents its codes.
func (c *Client) Post(ctx context.Context, r Request) (Transaction, Written, error) {
	w, err := c.write(ctx, r)
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
func (c *Client) DryRun(ctx context.Context, r Request) (Reply[Transaction], error) {
	k, err := callOf(r)
	if err != nil {
		return Reply[Transaction]{}, err
	}
	k.makeDry()
	t, a, err := ask(ctx, c, k, func(t Transaction) error {
		if !t.DryRun {
			return errNotDry
		}
		return nil
	})
	return Reply[Transaction]{Value: t, Raw: a.body}, err
}

func (c *Client) write(ctx context.Context, r Request) (Written, error) {
	k, err := callOf(r)
	if err != nil {
		return Written{}, err
	}
	a, err := c.do(ctx, k)
	if err != nil {
		return Written{}, err
	}
	return Written{New: isNew(k, a), Raw: a.body}, nil
}

// isNew reports whether a request had an effect, rather than repeating an earlier one. Requests that create something
// are then answered with 201.
func isNew(k call, r attemptResult) bool {
	return r.status == http.StatusCreated || k.endsHold && r.status != 0 && !r.isReplay
}

// operations are those of the kinds of command.
var operations = map[Kind]Operation{
	KindTransaction: PostTransaction.Untyped(), KindTransfer: PostTransfer.Untyped(), KindTrade: PostTrade.Untyped(),
	KindSplit:   PostSplit.Untyped(),
	KindCapture: CaptureHold.Untyped(), KindRelease: ReleaseHold.Untyped(), KindReversal: ReverseTransaction.Untyped(),
	KindAsset: RegisterAsset.Untyped(), KindAccount: OpenAccount.Untyped(), KindChange: ChangeAccount.Untyped(),
	KindGroup: RegisterGroup.Untyped(), KindMember: GrantMember.Untyped(), KindGroupMember: GrantGroupMember.Untyped(),
	KindGrouping: GroupAccount.Untyped(),
}

// Fields returns the names of the fields of a line of an import with a command of the kind.
func (k Kind) Fields() (names []string) {
	for _, f := range FieldsOf(operations[k].In) {
		if name := cmp.Or(f.Tag.Get("batch"), f.JSON); f.Path != "" || f.IsSettable() {
			names = append(names, name)
		}
	}
	return names
}

func callOf(r Request) (call, error) {
	cmd, err := r.Command()
	if err != nil {
		return call{}, err
	}
	o, isKnown := operations[cmd.Kind]
	if !isKnown {
		return call{}, fmt.Errorf("unknown kind of command %q", cmd.Kind)
	}
	ids := []string{cmd.Of, cmd.ID}
	if n := strings.Count(o.Path, "{"); n == 1 && cmd.Of == "" && !o.CreatesTransaction() {
		ids = ids[1:]
	} else {
		ids = ids[:n]
	}
	k := o.call(ids...)
	k.id = cmd.ID
	if o.HasBody() {
		k.body = cmd.Body
	}
	if o.CreatesTransaction() {
		k.resources = append(k.resources, transactionPath(cmd.ID))
	}
	return k, k.err
}
