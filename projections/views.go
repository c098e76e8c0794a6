package projections

import (
	"context"
	"time"

	"ledger.example/events"
)

// The ports of this package. Every method makes one request to the store, or one for each page, is safe for concurrent
// use and honours ctx. All reads are strongly consistent. Errors wrap those of package store: reads return
// ErrThrottled, ErrUnavailable or ErrMalformedItem (for events, the errors of package events); writes return
// ErrConflict, ErrThrottled, ErrUnavailable or ErrUnknownOutcome. Their texts do not name the operation: callers add
// it.

// Balances reads and writes balances. Refolds and strong reads share it.
type Balances interface {
	// Balance reads the balance of k. It returns the zero balance if none is stored. It also returns the store's clock
	// in whole seconds, zero if unknown.
	Balance(ctx context.Context, k events.Pair) (Balance, time.Time, error)

	PostingReader

	// SegmentFrom reads the first segment of k whose Through is at or after id. The segment may begin after id. Error:
	// also ErrAbsent.
	SegmentFrom(ctx context.Context, k events.Pair, id events.KSUID) (Segment, error)

	// BalanceWithSegment reads the balance of k and the segment that ends at through in one serializable request.
	// Errors: also ErrConflict, and ErrAbsent if no such segment is stored.
	BalanceWithSegment(ctx context.Context, k events.Pair, through events.KSUID) (Balance, Segment, error)

	// Write writes c atomically: in one plain conditional write if c is a balance alone, else in a transaction.
	// ErrConflict: a version had changed, or another transaction was in flight.
	Write(ctx context.Context, c Change) error
}

// PostingReader reads postings.
type PostingReader interface {
	// Postings reads at most a page of the postings of k after `after` and through `through` ("": to the end),
	// ascending. more reports whether the caller must continue after the last one. It may be true for an empty page.
	Postings(ctx context.Context, k events.Pair, after, through events.KSUID) (found []Posting, more bool, err error)
}

// ProjectorViews is the store as a Projector needs it.
type ProjectorViews interface {
	Balances

	// Summary reads an account's summary. It returns the zero summary if none is stored.
	Summary(ctx context.Context, account string) (Summary, error)

	// IsClosed reports whether account is closed.
	IsClosed(ctx context.Context, account string) (bool, error)

	// NewestGrant reads the newest grant or revocation of a user on an account or in a group as a membership. Error:
	// also ErrAbsent.
	NewestGrant(ctx context.Context, of Membership) (Membership, error)

	// GroupedSince reads the changes of account's groups from the number `from` on. For each group that they name, it
	// returns the account's place according to the newest change that names it, by group. It makes one request for
	// each page. Error: also ErrAbsent, if there are no such changes.
	GroupedSince(ctx context.Context, account string, from int64) ([]GroupedAccount, error)

	// WriteGrouped writes g. If a place with the same or a higher number is stored, it writes nothing and returns nil.
	// If the account was taken out, the item leaves the inverse index.
	WriteGrouped(ctx context.Context, g GroupedAccount) error

	// Hold reads a hold's header and its end. Error: also ErrAbsent, without a header.
	Hold(ctx context.Context, id string) (Hold, error)

	// WriteHold writes each entry of h, unless one with the same or a higher h.Version() is stored. It makes one
	// request for each account in the legs, and one more. An ended hold leaves the list by expiry.
	WriteHold(ctx context.Context, h Hold) error

	// WriteMembership writes m. If a membership with the same or a higher number is stored, it writes nothing and
	// returns nil. A revoked membership leaves the inverse index.
	WriteMembership(ctx context.Context, m Membership) error
}

// ReaderViews is the store as a Reader needs it.
type ReaderViews interface {
	Balances
	AssetFinder
	SegmentReader

	// CountPostings counts the postings of k after `after` and through `through` ("": to the end). It makes one request
	// for each megabyte of postings.
	CountPostings(ctx context.Context, k events.Pair, after, through events.KSUID) (int64, error)
}

// SegmentReader reads segments.
type SegmentReader interface {
	// Segments reads at most a page of the segments of k that end after `after` and at through or before ("": all),
	// ascending. more is as in Postings. It also returns the store's clock, zero if unknown.
	Segments(ctx context.Context, k events.Pair, after, through events.KSUID) (
		found []Segment, more bool, at time.Time, err error)
}

// AssetFinder finds the assets of an account through its postings.
type AssetFinder interface {
	// NextAsset returns the first asset after `after` ("": the first of all) in which account has postings. It makes
	// one request, and one more for each malformed key that it skips. Error: also ErrAbsent, if there is none.
	NextAsset(ctx context.Context, account, after string) (string, error)
}

// PastViews is the store as Past needs it. Its reads may be eventually consistent.
type PastViews interface {
	PostingReader
	AssetFinder
	SegmentReader

	// Entries reads at most limit complete postings. Otherwise it is like Postings. It also returns the store's clock.
	Entries(ctx context.Context, k events.Pair, after, through events.KSUID, limit int) (
		found []events.PostingRecorded, more bool, at time.Time, err error)
}

// Repairer rebuilds balances that a refold finds lost. Errors are those of the ports above.
type Repairer interface {
	// IsLost reports whether the item of b was lost. b counts nothing yet or is unfinished. Its item was lost if there
	// are segments that b does not count. ErrConflict: the balance changed in between.
	IsLost(ctx context.Context, b Balance) (bool, error)
	// RebuildLost rebuilds the lost balance of k.
	RebuildLost(ctx context.Context, k events.Pair) error
	// CountSummary recomputes the account's summary and adds it to c. It is for a c that creates a balance whose item
	// may have been lost: the stored summary may count that balance already.
	CountSummary(ctx context.Context, c *Change) error
}

// SegmentsMax is the maximum number of segments in one Change. With the balance and the summary they stay below the 100
// actions of a DynamoDB transaction.
const SegmentsMax = 90

// Change is one write of a refold or a rebuild. Balance and Summary carry the version that was read. The write stores
// the next version.
type Change struct {
	Balance  Balance   // written if the stored version is unchanged
	Segments []Segment // at most SegmentsMax, all of the balance's pair; written unconditionally
	Summary  *Summary  // written if the stored version is unchanged; nil: not written

	// Revision and SummaryRevision, if not nil, are compared instead of the version: for items without a usable
	// version.
	Revision, SummaryRevision *Revision
}

// Revision identifies one state of a stored item, which may be absent or lack a usable version. It changes with every
// write.
type Revision string

// RevisionAbsent is the revision of an item that is not stored.
const RevisionAbsent Revision = ""
