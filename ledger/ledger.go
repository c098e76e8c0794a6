// Package ledger is the write side: it decides what may be posted and appends it to the journal.
package ledger

import (
	"context"
	"log/slog"
	"time"

	"ledger.example/events"
)

// Ledger carries out commands. It is safe for concurrent use, and remembers definitions and known credits for as long
// as the process lives.
type Ledger struct{ _ int }

// Config is what a Ledger is made of.
type Config struct {
	Journal     Journal
	Projections Projections
	Minter      *events.Minter
	Now         func() time.Time // nil: time.Now
	Log         *slog.Logger
}

// New returns a ledger.
func New(c Config) *Ledger { panic("todo") }

// RegisterAsset registers an asset; created is false when it had been registered with the same body before.
func (l *Ledger) RegisterAsset(ctx context.Context, r RegisterAsset) (asset events.AssetRegistered, created bool, err error) {
	panic("todo")
}

// OpenAccount opens an account; created is false when it had been opened with the same body before.
func (l *Ledger) OpenAccount(ctx context.Context, r OpenAccount) (account events.AccountOpened, created bool, err error) {
	panic("todo")
}

// Post posts a transaction, transfer or trade.
func (l *Ledger) Post(ctx context.Context, r PostingRequest) (Posted, error) { panic("todo") }

// Grant records a role; created is true for the user's first role (also after a revocation).
func (l *Ledger) Grant(ctx context.Context, r GrantMember) (created bool, err error) { panic("todo") }

// Revoke records that a user has no role; it is no error when there was none.
func (l *Ledger) Revoke(ctx context.Context, r RevokeMember) error { panic("todo") }

// Asset returns an asset's definition, from memory when it was seen before. Errors: CodeAssetNotFound.
func (l *Ledger) Asset(ctx context.Context, id string) (events.AssetRegistered, error) { panic("todo") }

// Account returns an account's definition, from memory when it was seen before. Errors: CodeAccountNotFound.
func (l *Ledger) Account(ctx context.Context, id string) (events.AccountOpened, error) { panic("todo") }

// Transaction reads a transaction, strongly consistent. Errors: CodeTransactionNotFound.
func (l *Ledger) Transaction(ctx context.Context, id string) (events.TransactionPosted, error) {
	panic("todo")
}

// Shape returns every field of r that is out of range.
func (r RegisterAsset) Shape() []FieldError { panic("todo") }

// Shape returns every field of r that is out of range.
func (r OpenAccount) Shape() []FieldError { panic("todo") }

// Shape returns every field of r that is out of range.
func (r GrantMember) Shape() []FieldError { panic("todo") }

// Shape returns every field of r that is out of range.
func (r RevokeMember) Shape() []FieldError { panic("todo") }

// Shape implements PostingRequest.
func (r PostTransaction) Shape() []FieldError { panic("todo") }

// Shape implements PostingRequest.
func (r PostTransfer) Shape() []FieldError { panic("todo") }

// Shape implements PostingRequest.
func (r PostTrade) Shape() []FieldError { panic("todo") }

// Rules implements PostingRequest.
func (r PostTransaction) Rules() *Error { panic("todo") }

// Rules implements PostingRequest.
func (r PostTransfer) Rules() *Error { panic("todo") }

// Rules implements PostingRequest.
func (r PostTrade) Rules() *Error { panic("todo") }

func (PostTransaction) postingRequest() {}
func (PostTransfer) postingRequest()    {}
func (PostTrade) postingRequest()       {}
