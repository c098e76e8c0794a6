package projections

import (
	"context"
	"time"

	"ledger.example/events"
)

// The ports of this package. Every method makes one request to the store, or one for each page, is safe for
// concurrent use and honours ctx. All reads are strongly consistent. Errors are those of package store, wrapped:
// reads return ErrThrottled, ErrUnavailable or ErrMalformedItem (of an event those of package events), writes return
// ErrConflict, ErrThrottled, ErrUnavailable or ErrUnknownOutcome. None says what was being done: its caller does.

// Balances reads and writes balances: what refolds and strong reads have in common.
type Balances interface {
	// Balance reads the balance of k, the zero balance when there is none. It also returns the store's clock in whole
	// seconds, which is zero when the store did not tell it.
	Balance(ctx context.Context, k events.Pair) (Balance, time.Time, error)

	PostingReader

	// SegmentFrom reads the first segment of k whose Through is at or after id. It need not contain id. Error: also
	// ErrAbsent.
	SegmentFrom(ctx context.Context, k events.Pair, id events.KSUID) (Segment, error)

	// BalanceWithSegment reads the balance of k and the segment that ends at through in one serializable request.
	// Errors: also ErrAbsent, when there is no such segment, and ErrConflict.
	BalanceWithSegment(ctx context.Context, k events.Pair, through events.KSUID) (Balance, Segment, error)

	// Write writes c, all or nothing: in one plain conditional write when c is a balance alone, else in a transaction.
	// ErrConflict: a version had changed, or another transaction was under way.
	Write(ctx context.Context, c Change) error
}

// PostingReader reads postings.
type PostingReader interface {
	// Postings reads at most a page of the postings of k after `after` and through `through` ("": to the end),
	// ascending. more reports whether to go on after the last one; it may be true although there are none, when a
	// page was cut.
	Postings(ctx context.Context, k events.Pair, after, through events.KSUID) (found []Posting, more bool, err error)
}

// ProjectorViews is what a Projector needs of the store.
type ProjectorViews interface {
	Balances

	// Summary reads an account's summary, the zero summary when there is none.
	Summary(ctx context.Context, account string) (Summary, error)

	// IsClosed reports whether account is closed.
	IsClosed(ctx context.Context, account string) (bool, error)

	// NewestGrant reads the newest grant or revocation of a user on an account or in a group as a membership. Error:
	// also ErrAbsent.
	NewestGrant(ctx context.Context, of Membership) (Membership, error)

	// GroupedSince reads the changes of account's groups from a number on, and returns the account's place in each
	// group that they name as the newest change says it, by group. It makes one request for each page. Error: also
	// ErrAbsent, when there is no such change.
	GroupedSince(ctx context.Context, account string, from int64) ([]Grouped, error)

	// WriteGrouped writes g unless a place of at least g.Number is stored, which is no error. One that was taken out
	// leaves the inverse index.
	WriteGrouped(ctx context.Context, g Grouped) error

	// Hold reads a hold's header and its end. Error: also ErrAbsent, without a header.
	Hold(ctx context.Context, id string) (Hold, error)

	// WriteHold writes the entries of h unless entries of at least h.Version() are stored, which is no error. It makes
	// one request for each account in the legs, and one more. An ended hold leaves the list by expiry.
	WriteHold(ctx context.Context, h Hold) error

	// WriteMembership writes m unless a membership of at least m.Number is stored, which is no error. A revoked one
	// leaves the inverse index.
	WriteMembership(ctx context.Context, m Membership) error
}

// ReaderViews is what a Reader needs of the store.
type ReaderViews interface {
	Balances
	AssetFinder
}

// AssetFinder finds the assets of an account through its postings.
type AssetFinder interface {
	// NextAsset returns the first asset after `after` ("": of all) in which account has postings. It makes one
	// request, and one more for each malformed key on the way. Error: also ErrAbsent, when there is no such asset.
	NextAsset(ctx context.Context, account, after string) (string, error)
}

// PastViews is what reads of the past need of the store. Its reads may be eventually consistent.
type PastViews interface {
	PostingReader
	AssetFinder

	// Segments reads at most a page of the segments of k that end after `after` and at through or before, ascending.
	// more is that of Postings. It also returns the store's clock, which is zero when the store did not tell it.
	Segments(ctx context.Context, k events.Pair, after, through events.KSUID) (
		found []Segment, more bool, at time.Time, err error)

	// Entries is Postings for at most limit whole postings, with the store's clock.
	Entries(ctx context.Context, k events.Pair, after, through events.KSUID, limit int) (
		found []events.PostingRecorded, more bool, at time.Time, err error)
}

// Repairer repairs what a refold finds lost. Errors are those of the ports above.
type Repairer interface {
	// IsLost reports whether the item of b, which counts nothing yet or is unfinished, was lost: then there are
	// segments that it does not count. ErrConflict: the balance changed meanwhile.
	IsLost(ctx context.Context, b Balance) (bool, error)
	// RebuildLost rebuilds the balance of k, which was lost.
	RebuildLost(ctx context.Context, k events.Pair) error
	// CountSummary adds the account's summary to c, which makes a balance that may have been stored before: the stored
	// summary may count it already.
	CountSummary(ctx context.Context, c *Change) error
}

// SegmentsMax is the most segments of one Change. With balance and summary it stays below the 100 actions of a
// transaction.
const SegmentsMax = 90

// Change is one write of a refold or a rebuild. Balance and Summary carry the version that was read; the next one is
// stored.
type Change struct {
	Balance  Balance   // written if the stored version is unchanged
	Segments []Segment // at most SegmentsMax, all of the balance's pair; written unconditionally
	Summary  *Summary  // written if the stored version is unchanged; nil: not written

	// Revision and SummaryRevision, if given, are compared instead of the version: for items without a usable version.
	Revision, SummaryRevision *Revision
}

// Revision identifies one state of a stored item: its version, or that it is absent or has no usable version. It
// changes with every write.
type Revision string

// RevisionAbsent is the revision of an item that is not stored.
const RevisionAbsent Revision = ""
