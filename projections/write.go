package projections

import (
	"context"
	"fmt"

	"ledger.example/internal/store"
)

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

// Write writes c atomically: in one plain conditional write if c is a balance alone, else in a transaction.
// ErrConflict: a version had changed, or another transaction was in flight.
func (v *Views) Write(ctx context.Context, c Change) error {
	if len(c.Segments) > SegmentsMax {
		return fmt.Errorf("%d segments in one change", len(c.Segments))
	}
	next := c.Balance
	next.Version++
	balance := BalanceForm.Replace(next, revisionRead(c.Balance.Version, c.Revision))
	if len(c.Segments) == 0 && c.Summary == nil {
		_, err := v.table.Write(ctx, balance)
		return err
	}
	writes := []store.Write{balance}
	for _, s := range c.Segments {
		// Segments need no condition: they are always written with their balance, whose version protects them.
		writes = append(writes, store.Write{Item: segmentItem(s)})
	}
	if c.Summary != nil {
		next := *c.Summary
		next.Version++
		writes = append(writes, SummaryForm.Replace(next, revisionRead(c.Summary.Version, c.SummaryRevision)))
	}
	_, err := v.table.Transact(ctx, writes)
	return err
}
