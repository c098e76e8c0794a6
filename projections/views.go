package projections

import (
	"context"
	"time"

	"ledger.example/events"
)

// Views is the store as refolds and strong reads see it. Every read is strongly consistent. Every method makes one request to
// the store (a page at a time), is safe for concurrent use and honours ctx. Errors are those of package table, wrapped:
// reads ErrThrottled, ErrUnavailable; Together also ErrConflict; writes ErrConflict, ErrThrottled, ErrUnavailable, ErrUnknownOutcome.
type Views interface {
	// Balance reads the balance of k (the zero balance when there is none), and the store's clock (whole seconds; zero when not told).
	Balance(ctx context.Context, k Key) (Balance, time.Time, error)

	// Postings reads the postings of k after `after` and through `through` (an empty through: to the end), ascending, at most a page;
	// more tells whether to go on after the last one (true even with no postings, when a page was cut).
	Postings(ctx context.Context, k Key, after, through events.KSUID) (postings []Posting, more bool, err error)

	// SegmentFrom reads the first segment of k whose Through is at or after id; it need not contain id. ErrAbsent: none.
	SegmentFrom(ctx context.Context, k Key, id events.KSUID) (Segment, error)

	// Together reads the balance of k and the segment that ends at through in one serializable request. ErrAbsent: no such segment.
	Together(ctx context.Context, k Key, through events.KSUID) (Balance, Segment, error)

	// Summary reads an account's summary (the zero summary when there is none).
	Summary(ctx context.Context, account string) (Summary, error)

	// Write writes c, all or nothing: the balance on its version (c.Balance.Version is the version read; version+1 is stored), c.Segments, and
	// c.Summary on its version when not nil. One plain conditional write when it is the balance alone. ErrConflict: a version had changed,
	// or another transaction was under way.
	Write(ctx context.Context, c Change) error

	// NewestGrant reads the newest grant or revocation of user on account as a membership, strongly. ErrAbsent: none.
	NewestGrant(ctx context.Context, account, user string) (Membership, error)

	// WriteMembership puts m unless a membership of at least m.Number is there already (that is no error): a revoked one leaves the inverse index.
	WriteMembership(ctx context.Context, m Membership) error

	// Assets lists the assets in which account has postings, strongly, ascending, by skipping through the posting keys, one request an asset: the first asset
	// after `after` ("" for the first). ErrAbsent: no more.
	NextAsset(ctx context.Context, account, after string) (string, error)

	Repairs
}

// SegmentsMax is the most segments one Change may carry: with balance and summary it stays below the 100 actions of a transaction.
const SegmentsMax = 90

// Change is one write of a refold.
type Change struct {
	Balance  Balance
	Segments []Segment // at most SegmentsMax
	Summary  *Summary  // nil: untouched

	// Where a mark is given, the item that it was found with must still have it, instead of the version that is given; what is
	// stored has the next version all the same. Rebuilds mark what has no version to compare, or none to trust.
	Mark, SummaryMark *Mark
}
