package repair

import (
	"context"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/projections"
)

// Views is the store as a rebuild needs it: to list what is there, to read it whatever it is, and to write on the
// condition that it is still what was read. The rules for the ports of package projections apply.
type Views interface {
	projections.PostingReader

	// These are those of projections.ProjectorViews.
	NewestGrant(ctx context.Context, of projections.Membership) (projections.Membership, error)
	GroupedSince(ctx context.Context, account string, from int64) ([]projections.Grouped, error)
	Write(ctx context.Context, c projections.Change) error

	// Accounts reads the table page by page and returns the accounts that have any item on a page, in no order; other
	// pages may have more items of them. from is "" for the first page, next is "" after the last. read counts items.
	Accounts(ctx context.Context, from string) (accounts []string, read int, next string, err error)

	// FirstKey returns the first key of a partition within a range. Error: also ErrAbsent.
	FirstKey(ctx context.Context, partition string, within table.Range) (table.Key, error)

	// StoredSegments reads a page of the segments of k that end after `after`, ascending; more reports whether to go on
	// after the last. The Through of each is that of its key, which need not be a KSUID.
	StoredSegments(ctx context.Context, k events.Pair, after events.KSUID) (
		found []Stored[projections.Segment], more bool, err error)

	// Snapshot reads the balance of k and its segments that end at throughs, at most SnapshotItems, all as they were at
	// one instant, and the store's clock. Segments come in the order of throughs. ErrConflict: a transaction was under
	// way on one.
	Snapshot(ctx context.Context, k events.Pair, throughs []events.KSUID) (
		Stored[projections.Balance], []Stored[projections.Segment], time.Time, error)

	// SnapshotAccount does the same for an account's summary and its balances of assets.
	SnapshotAccount(ctx context.Context, account string, assets []string) (
		Stored[projections.Summary], []Stored[projections.Balance], time.Time, error)

	// StoredMembership reads a membership of an account or of a group, StoredGrouped a place in a group.
	StoredMembership(ctx context.Context, of projections.Membership) (Stored[projections.Membership], error)
	StoredGrouped(ctx context.Context, account, group string) (Stored[projections.Grouped], error)

	// GroupsAfter lists a page of the groups after one ("": from the first), by id. It is eventually consistent. next
	// is the group to go on after, "" at the end.
	GroupsAfter(ctx context.Context, after string) (groups []string, next string, err error)

	// Hold is that of projections.ProjectorViews.
	Hold(ctx context.Context, id string) (projections.Hold, error)

	// StoredHold reads an account's entry of h or, without an account, the entry by expiry.
	StoredHold(ctx context.Context, h projections.Hold, account string) (Stored[HoldEntry], error)

	// PutHold writes that entry if the stored one still has that revision. Errors: those of Write.
	PutHold(ctx context.Context, h projections.Hold, account string, read projections.Revision) error

	// WriteSummary writes s as version s.Version+1 if the stored one still has that revision. Errors: those of Write.
	WriteSummary(ctx context.Context, s projections.Summary, read projections.Revision) error

	// PutMembership writes m if the stored one still has that revision. Errors: those of Write. PutGrouped likewise.
	PutMembership(ctx context.Context, m projections.Membership, read projections.Revision) error
	PutGrouped(ctx context.Context, g projections.Grouped, read projections.Revision) error
}

// Found is an item of a projection as it is stored, whoever wrote it. Refolds trust what they read; a rebuild does not.
type Stored[T any] struct {
	Value    T     // what could be read of it; its key always; Version 0: none that the next write can count on from
	Exists   bool  // whether the item is stored
	Fault    error // why it is not as this code would have stored it; nil: it is, or it is not there
	Revision projections.Revision
}

// SnapshotItems is the most segments, or balances, that one snapshot takes beside the one item that it is about.
const SnapshotItems = table.TransactionActions - 1

// dryRun are views that write nothing. What a rebuild would have written to balances and the summary they return in
// SnapshotAccount, so that a dry run finds in a summary what the rebuild would find. One goroutine uses them.
type dryRun struct {
	Views
	balances  map[events.Pair]projections.Balance
	summaries map[string]projections.Summary
}

// Write implements Views.
func (d *dryRun) Write(_ context.Context, c projections.Change) error {
	d.balances[c.Balance.Pair] = c.Balance
	if c.Summary != nil {
		d.summaries[c.Summary.Account] = *c.Summary
	}
	return nil
}

// SnapshotAccount implements Views.
func (d *dryRun) SnapshotAccount(ctx context.Context, account string, assets []string) (
	Stored[projections.Summary], []Stored[projections.Balance], time.Time, error,
) {
	summary, balances, at, err := d.Views.SnapshotAccount(ctx, account, assets)
	if s, ok := d.summaries[account]; ok {
		summary = Stored[projections.Summary]{Value: s, Exists: true, Revision: summary.Revision}
	}
	for i := range balances {
		if b, ok := d.balances[balances[i].Value.Pair]; ok {
			balances[i] = Stored[projections.Balance]{Value: b, Exists: true, Revision: balances[i].Revision}
		}
	}
	return summary, balances, at, err
}

// WriteSummary implements Views.
func (*dryRun) WriteSummary(context.Context, projections.Summary, projections.Revision) error {
	return nil
}

// PutHold implements Views.
func (*dryRun) PutHold(context.Context, projections.Hold, string, projections.Revision) error {
	return nil
}

// PutMembership implements Views.
func (*dryRun) PutMembership(context.Context, projections.Membership, projections.Revision) error {
	return nil
}

// PutGrouped implements Views.
func (*dryRun) PutGrouped(context.Context, projections.Grouped, projections.Revision) error {
	return nil
}
