package repair

import (
	"context"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/projections"
)

// Views is the store as a rebuild needs it. It lists items, reads them even if they are malformed, and replaces them on
// the condition that they are unchanged. The rules for the ports of package projections apply.
type Views interface {
	projections.PostingReader

	// These methods are as in projections.ProjectorViews.
	NewestGrant(ctx context.Context, of projections.Membership) (projections.Membership, error)
	GroupedSince(ctx context.Context, account string, from int64) ([]projections.GroupedAccount, error)
	Write(ctx context.Context, c projections.Change) error

	// Accounts scans one page of the table and returns the accounts that have items on it, unordered. Other pages may
	// name the same accounts. from is "" for the first page, next is "" after the last. read counts the items.
	Accounts(ctx context.Context, from string) (accounts []string, read int, next string, err error)

	// FirstKey returns the first key of a partition within a range. Error: also ErrAbsent.
	FirstKey(ctx context.Context, partition string, within table.Range) (table.Key, error)

	// StoredSegments reads a page of the segments of k that end after `after`, ascending. more reports whether the
	// caller must continue after the last one. The Through of each segment is from its key, and may not be a KSUID.
	StoredSegments(ctx context.Context, k events.Pair, after events.KSUID) (
		found []Stored[projections.Segment], more bool, err error)

	// Snapshot reads, in one transaction, the balance of k and its segments that end at throughs, at most
	// SnapshotItems. Segments are in the order of throughs. It also returns the store's clock. ErrConflict: a
	// transaction on one of the items was in flight.
	Snapshot(ctx context.Context, k events.Pair, throughs []events.KSUID) (
		Stored[projections.Balance], []Stored[projections.Segment], time.Time, error)

	// SnapshotAccount is Snapshot for an account's summary and its balances of assets.
	SnapshotAccount(ctx context.Context, account string, assets []string) (
		Stored[projections.Summary], []Stored[projections.Balance], time.Time, error)

	// StoredMembership reads a membership on an account or in a group. StoredGrouped reads a place in a group.
	StoredMembership(ctx context.Context, of projections.Membership) (Stored[projections.Membership], error)
	StoredGrouped(ctx context.Context, account, group string) (Stored[projections.GroupedAccount], error)

	// GroupsAfter lists a page of the groups after `after` ("": from the first), by id. It is eventually consistent.
	// next is the group to continue after, "" at the end.
	GroupsAfter(ctx context.Context, after string) (groups []string, next string, err error)

	// Hold is as in projections.ProjectorViews.
	Hold(ctx context.Context, id string) (projections.Hold, error)

	// StoredHold reads an entry of a hold, and after it the transaction with that id, strongly consistent: a hold is
	// stored before its entries. An empty id is the one that the entry names. The entry has a fault if it is not the
	// one that the transaction has under key. A transaction without it, or that does not exist, has a void one.
	StoredHold(ctx context.Context, key table.Key, id string) (Stored[HoldEntry], projections.Hold, error)

	// PutHold writes the entry that h has under key, or a void one, if the stored one still has that revision. Errors:
	// those of Write.
	PutHold(ctx context.Context, key table.Key, h projections.Hold, read projections.Revision) error

	// WriteSummary writes s as version s.Version+1 if the stored one still has that revision. Errors: those of Write.
	WriteSummary(ctx context.Context, s projections.Summary, read projections.Revision) error

	// PutMembership writes m if the stored one still has that revision. Errors: those of Write. So does PutGrouped.
	PutMembership(ctx context.Context, m projections.Membership, read projections.Revision) error
	PutGrouped(ctx context.Context, g projections.GroupedAccount, read projections.Revision) error
}

// Stored is an item of a projection as read from the table. A refold trusts stored items; a rebuild does not.
type Stored[T any] struct {
	Value    T     // as far as it could be decoded; its key is always set; Version 0: not usable
	Exists   bool  // whether the item is stored
	Fault    error // how it differs from what this version would store; nil: it does not, or is absent
	Revision projections.Revision
}

// SnapshotItems is the maximum number of segments or balances in one snapshot, besides its first item.
const SnapshotItems = table.TransactionActions - 1

// dryRun is a Views that writes nothing. Its SnapshotAccount returns the balances and the summary that a rebuild would
// have written, so that a dry run computes the same summary as the rebuild. It is not safe for concurrent use.
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
func (*dryRun) PutHold(context.Context, table.Key, projections.Hold, projections.Revision) error {
	return nil
}

// PutMembership implements Views.
func (*dryRun) PutMembership(context.Context, projections.Membership, projections.Revision) error {
	return nil
}

// PutGrouped implements Views.
func (*dryRun) PutGrouped(context.Context, projections.GroupedAccount, projections.Revision) error {
	return nil
}
