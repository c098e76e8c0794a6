package repair

import (
	"context"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/projections"
)

// Pause replaces the pause between attempts.
func (b *Rebuilder) Pause(pause func(ctx context.Context, failed int) error) { b.pause = pause }

var IsLate = isLate

const LateFor = lateFor

// Snapshot is snapshot.
func (b *Rebuilder) Snapshot(ctx context.Context, k events.Pair, throughs []events.KSUID) (
	Stored[projections.Balance], []Stored[projections.Segment], time.Time, error,
) {
	return b.snapshot(ctx, k, throughs)
}

// SnapshotAccount is snapshotAccount.
func (b *Rebuilder) SnapshotAccount(ctx context.Context, account string, assets []string) (
	Stored[projections.Summary], []Stored[projections.Balance], time.Time, error,
) {
	return b.snapshotAccount(ctx, account, assets)
}

// StoredMembership is storedMembership.
func (b *Rebuilder) StoredMembership(ctx context.Context, of projections.Membership) (
	Stored[projections.Membership], error,
) {
	return b.storedMembership(ctx, of)
}

// Accounts is accounts.
func (b *Rebuilder) Accounts(ctx context.Context, from store.Item) ([]string, int, store.Item, error) {
	return b.accounts(ctx, from)
}

// FirstKey is firstKey.
func (b *Rebuilder) FirstKey(ctx context.Context, partition string, within store.Range) (store.Key, error) {
	return b.firstKey(ctx, partition, within)
}

// SegmentsAfter is segmentsAfter.
func (b *Rebuilder) SegmentsAfter(ctx context.Context, k events.Pair, after events.KSUID) (
	[]Stored[projections.Segment], bool, error,
) {
	return b.segmentsAfter(ctx, k, after)
}
