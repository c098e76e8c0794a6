package projections

import (
	"context"
	"log/slog"
	"time"

	"ledger.example/events"
)

// SettleWindow is how old a posting must be to be counted as settled: longer than a command may live.
const SettleWindow = 10 * time.Second

// StretchPostings is how many settled postings close a segment.
const StretchPostings = 256

// Projector refolds. It is safe for concurrent use.
type Projector struct {
	_ int
}

// NewProjector returns a projector on views; now is its own clock (nil: time.Now).
func NewProjector(views Views, now func() time.Time, log *slog.Logger) *Projector { panic("todo") }

// Refold counts every posting of marks (which are committed) in the balance of k, in as many saves as it takes.
func (p *Projector) Refold(ctx context.Context, k Key, marks []events.KSUID) error { panic("todo") }

// Remember brings the membership of user on account up to its newest grant.
func (p *Projector) Remember(ctx context.Context, account, user string) error { panic("todo") }

// Record is one record of the table's stream: what it changed, and its name for partial failures.
type Record struct {
	SequenceNumber string
	PK, SK         string
	Removed        bool // a REMOVE record: never ours to act on; logged
}

// Project applies a batch: it marks, refolds each (account, asset) once, remembers memberships, and skips our own writes. It returns the lowest-in-order
// failed record's sequence number ("" when all succeeded); err when the batch's first record failed, or nothing can be said.
func (p *Projector) Project(ctx context.Context, batch []Record) (failed string, err error) {
	panic("todo")
}

// Reader answers strong reads by the same fold as refolds, and makes sure of postings for commands. It is safe for concurrent use.
type Reader struct{ _ int }

// NewReader returns a reader on views.
func NewReader(views Views, now func() time.Time, log *slog.Logger) *Reader { panic("todo") }

// Balance returns the balance of k with every posting acknowledged before the call in Head. floor, when not nil, is the lowest quantity that the account's
// limit allows: below it the read is repeated up to five times, then shown and alarmed.
func (r *Reader) Balance(ctx context.Context, k Key, floor *events.Amount) (Balance, error) {
	panic("todo")
}

// Balances is Balance for the assets of an account after s.After, found through the posting keys; floor gives each asset's.
func (r *Reader) Balances(ctx context.Context, account string, floor func(asset string) *events.Amount, s Slice) (Listed[Balance], error) {
	panic("todo")
}

// Credits returns all that account was ever credited of asset, exactly.
func (r *Reader) Credits(ctx context.Context, account, asset string) (events.Amount, error) {
	panic("todo")
}

// MakeSure returns nil when every later strong read is certain to include the committed posting id. table.ErrConflict: not counted yet, or somebody came first.
func (r *Reader) MakeSure(ctx context.Context, account, asset string, id events.KSUID) error {
	panic("todo")
}
