package importer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"ledger.example/client"
)

// book is a ledger in memory with the rules that matter to an import: assets and accounts must exist, a limited account
// cannot be overdrawn, and an id is used once. before is called at the start of every Send.
type book struct {
	mu       sync.Mutex
	assets   map[string]bool
	accounts map[string]bool // to unlimited
	frozen   map[string]bool
	posted   map[string]string
	balances map[[2]string]int
	moved    map[string]moved
	sent     []string // ids in the order of execution
	asked    int      // number of reads of accounts

	before func(ctx context.Context, cmd client.Command) error
}

func newBook() *book {
	return &book{assets: map[string]bool{}, accounts: map[string]bool{}, frozen: map[string]bool{}, posted: map[string]string{}, balances: map[[2]string]int{},
		moved: map[string]moved{}, before: func(context.Context, client.Command) error { return nil }}
}

// moved is a transfer: held, captured, released, posted or reversed.
type moved struct {
	from, to, asset, state string
	quantity               int
}

func (b *book) Account(_ context.Context, id string) (client.Reply[client.Account], error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked++
	unlimited, ok := b.accounts[id]
	if !ok {
		return client.Reply[client.Account]{}, refusal("account_not_found")
	}
	a := client.Account{ID: id, Overdraft: client.Overdraft{Unlimited: unlimited}}
	return client.Reply[client.Account]{Value: a}, nil
}

func refusal(code string) error { return &client.Error{Status: 422, Code: code} }

func (b *book) Send(ctx context.Context, cmd client.Command) (client.Written, error) {
	if err := b.before(ctx, cmd); err != nil {
		return client.Written{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sent = append(b.sent, cmd.ID)
	used := string(cmd.Kind) + " " + cmd.ID
	if cmd.Kind == client.KindChange {
		used += string(cmd.Body)
	}
	if body, ok := b.posted[used]; ok {
		if body != string(cmd.Body) {
			return client.Written{}, refusal("transaction_id_reused")
		}
		return client.Written{}, nil
	}
	if err := b.apply(cmd); err != nil {
		return client.Written{}, err
	}
	b.posted[used] = string(cmd.Body)
	return client.Written{New: true}, nil
}

func (b *book) apply(cmd client.Command) error {
	var body struct {
		Currency        string
		Overdraft       client.Overdraft
		From, To, Asset string
		State           string
		Quantity        int `json:",string"`
		Hold            *struct{}
	}
	if err := json.Unmarshal(cmd.Body, &body); err != nil {
		return refusal("malformed_body")
	}
	switch cmd.Kind {
	case client.KindAsset:
		if body.Currency != "" && !b.assets[body.Currency] {
			return refusal("asset_not_found")
		}
		b.assets[cmd.ID] = true
	case client.KindAccount:
		b.accounts[cmd.ID] = body.Overdraft.Unlimited
	case client.KindChange:
		b.frozen[cmd.ID] = body.State == client.StateFrozen
	case client.KindCapture, client.KindRelease, client.KindReversal:
		return b.change(cmd)
	case client.KindTransfer:
		unlimited, from := b.accounts[body.From]
		_, to := b.accounts[body.To]
		have := [2]string{body.From, body.Asset}
		switch {
		case !from || !to:
			return refusal("account_not_found")
		case !b.assets[body.Asset]:
			return refusal("asset_not_found")
		case b.frozen[body.From]:
			return refusal("account_frozen")
		case !unlimited && b.balances[have] < body.Quantity:
			return refusal("insufficient_funds")
		}
		b.balances[have] -= body.Quantity
		m := moved{body.From, body.To, body.Asset, "held", body.Quantity}
		if body.Hold == nil {
			m.state = "posted"
			b.balances[[2]string{body.To, body.Asset}] += body.Quantity
		}
		b.moved[cmd.ID] = m
	}
	return nil
}

// change ends or reverses a transfer, always all of it.
func (b *book) change(cmd client.Command) error {
	m, ok := b.moved[cmd.Of]
	from, to := [2]string{m.from, m.asset}, [2]string{m.to, m.asset}
	isReversal := cmd.Kind == client.KindReversal
	switch {
	case !ok:
		return refusal("transaction_not_found")
	case !isReversal && m.state != "held":
		return refusal("hold_ended")
	case isReversal && m.state != "posted" && m.state != "captured":
		return refusal("nothing_to_reverse")
	case isReversal && !b.accounts[m.to] && b.balances[to] < m.quantity:
		return refusal("insufficient_funds")
	}
	switch cmd.Kind {
	case client.KindCapture:
		m.state = "captured"
		b.balances[to] += m.quantity
	case client.KindRelease:
		m.state = "released"
		b.balances[from] += m.quantity
	default:
		m.state = "reversed"
		b.balances[to] -= m.quantity
		b.balances[from] += m.quantity
		b.moved[cmd.ID] = moved{m.to, m.from, m.asset, "posted", m.quantity}
	}
	b.moved[cmd.Of] = m
	return nil
}

// anEarlierFile places holds of jane for ann.
func (b *book) anEarlierFile() {
	for n := range 6 {
		b.moved[fmt.Sprint("old-", n)] = moved{"jane", "ann", "USD", "held", 3 + n}
	}
}

// failures collects the failures that an import reports.
type failures struct{ list []Failure }

func (f *failures) add(one Failure) { f.list = append(f.list, one) }

func (f *failures) lines() map[int]string {
	m := make(map[int]string)
	for _, one := range f.list {
		m[one.Line] = one.Err.Error()
		var e *client.Error
		if errors.As(one.Err, &e) {
			m[one.Line] = e.Code
		}
	}
	return m
}

func run(ctx context.Context, b *book, clients int, file io.Reader) (Counts, *failures, error) {
	var f failures
	i := New(Config{Ledger: b, Clients: clients, OnFailure: f.add})
	err := i.Run(ctx, file)
	return i.Counts(), &f, err
}

// imports imports a file in which every line is good.
func imports(t *testing.T, l Ledger, together Batches, clients int, file string) Counts {
	t.Helper()
	i := New(Config{Ledger: l, Batches: together, Clients: clients, OnFailure: func(f Failure) { t.Error(f) }})
	if err := i.Run(t.Context(), strings.NewReader(file)); err != nil {
		t.Fatal(err)
	}
	return i.Counts()
}

// transfer is the line of a transfer of USD, with more fields or none.
func transfer(id, from, to string, quantity int, more string) string {
	return fmt.Sprintf(`{"transfer":{"id":%q,"from":%q,"to":%q,"asset":"USD","quantity":"%d"%s}}`+"\n", id, from, to, quantity, more)
}

const opening = `{"asset":{"id":"USD"}}
{"account":{"id":"bank","overdraft":"unlimited"}}
{"account":{"id":"jane"}}
`
