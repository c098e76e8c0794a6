package rebuild

import (
	"context"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/projections"
)

// Pause replaces the pause between attempts.
func (b *Rebuilder) Pause(pause func(ctx context.Context, failed int) error) { b.pause = pause }

var IsLate = isLate

const LateFor = lateFor

// BalanceAnd is balanceAnd.
func (b *Rebuilder) BalanceAnd(ctx context.Context, k events.Pair, throughs ...events.KSUID) (
	Stored[projections.Balance], []Stored[projections.Segment], time.Time, error,
) {
	return b.balanceAnd(ctx, k, throughs...)
}

// SummaryAnd is summaryAnd.
func (b *Rebuilder) SummaryAnd(ctx context.Context, account string, assets ...string) (
	Stored[projections.Summary], []Stored[projections.Balance], time.Time, error,
) {
	return b.summaryAnd(ctx, account, assets...)
}

// Rebuild rebuilds the items of a target. It returns the first error.
func (b *Rebuilder) Rebuild(ctx context.Context, t projections.Target) error {
	for _, r := range b.target(ctx, t, make(map[table.Key]bool)) {
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
	key := table.Membership.Key(of.Account, of.User)
	found, _, _, err := snapshot(ctx, b.table, key, projections.MembershipForm, nil, projections.MembershipForm)
	return found, err
}
