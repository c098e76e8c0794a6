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

// Rebuild rebuilds the items of a target. It returns the first error.
func (b *Rebuilder) Rebuild(ctx context.Context, t projections.Target) error {
	for _, r := range b.target(ctx, t, make(map[store.Key]bool)) {
		if r.Err != nil {
			return r.Err
		}
	}
	return nil
}

// StoredMembership reads and inspects a membership.
func (b *Rebuilder) StoredMembership(ctx context.Context, of projections.Membership) (
	Stored[projections.Membership], error,
) {
	item, _, err := b.table.Get(ctx, store.ItemKey(projections.MembershipForm.Item(of)), store.Strong)
	if err != nil {
		return Stored[projections.Membership]{}, err
	}
	return inspect(item, projections.MembershipForm, func(m *projections.Membership) {
		m.Account, m.User = of.Account, of.User
	})
}

// Scan is scan.
func (b *Rebuilder) Scan(ctx context.Context) error {
	return b.scan(ctx, store.Scan{}, func(store.Page) error { return nil })
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
