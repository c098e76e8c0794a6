package projections

import (
	"context"
	"time"

	"ledger.example/events"
	"ledger.example/ledger/table"
)

// Found is an item of a projection as it is stored, whoever wrote it. Refolds trust what they read; a rebuild doesn't.
type Found[T any] struct {
	Value T     // what could be read of it; its key always
	There bool  // whether there is such an item
	Fault error // why it is not as this code would have stored it; nil: it is, or it isn't there
	Mark  Mark
	// Versioned tells whether Value has the version that the next write can count on from.
	Versioned bool
}

// Mark names one state of an item: what its version is, or that it has none. It stays as it is until somebody writes the
// item, and a write can ask that it did.
type Mark string

// SnapshotItems is the most segments, or balances, that one snapshot takes beside the one item that it is about.
const SnapshotItems = table.TransactionActions - 1

// Listing is by which of an account's items its assets or its users are listed.
type Listing int

// The listings of assets, and those of users.
const (
	ByPostings Listing = iota
	ByBalances
	BySegments
	ByGrants
	ByMemberships
)

// Repairs is what a rebuild needs of the store beside what a refold does: to list what is there, to read it whatever it is,
// and to write on the condition that it is still what was read. The rules of Views hold.
type Repairs interface {
	// Accounts lists the accounts of which there is any item, by reading the whole table page by page: those of one page,
	// in no order and perhaps with more on other pages, and where to go on ("" at the end). An empty from is the beginning.
	Accounts(ctx context.Context, from string) (accounts []string, read int, next string, err error)

	// NextOf returns the first asset, or user, after `after` ("" for the first) of which account has such an item. It need not be
	// an id. ErrAbsent: no more.
	NextOf(ctx context.Context, account string, by Listing, after string) (string, error)

	// StoredSegments reads the segments of k that end after `after`, ascending, at most a page; more tells whether to go on after
	// the last. The Through of each is that of its key, which need not be a KSUID.
	StoredSegments(ctx context.Context, k Key, after events.KSUID) (found []Found[Segment], more bool, err error)

	// Snapshot reads the balance of k and its segments that end at throughs, at most SnapshotItems of them, all as they were at
	// one instant, and the store's clock. Segments come in the order of throughs. ErrConflict: a transaction was under way on one.
	Snapshot(ctx context.Context, k Key, throughs []events.KSUID) (Found[Balance], []Found[Segment], time.Time, error)

	// SnapshotAccount reads an account's summary and its balances of assets, likewise.
	SnapshotAccount(ctx context.Context, account string, assets []string) (Found[Summary], []Found[Balance], time.Time, error)

	// StoredMembership reads a membership.
	StoredMembership(ctx context.Context, account, user string) (Found[Membership], error)

	// WriteSummary writes s with the version s.Version+1 if the stored one's mark is still that. Errors: those of Write.
	WriteSummary(ctx context.Context, s Summary, mark Mark) error

	// PutMembership puts m if the stored one's mark is still that. Errors: those of Write.
	PutMembership(ctx context.Context, m Membership, mark Mark) error
}
