package projections

import (
	"context"
	"errors"
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

// WriteMembership writes m. If a membership with the same or a higher number is stored, it writes nothing and returns
// nil. A revoked membership leaves the inverse index.
func (v *Views) WriteMembership(ctx context.Context, m Membership) error {
	return v.putNewer(ctx, membershipItem(m), store.AttrNumber, m.Number)
}

// WriteGrouped writes g. If a place with the same or a higher number is stored, it writes nothing and returns nil. If
// the account was taken out, the item leaves the inverse index.
func (v *Views) WriteGrouped(ctx context.Context, g GroupedAccount) error {
	return v.putNewer(ctx, groupedItem(g), store.AttrNumber, g.Number)
}

// putNewer puts item, whose attribute of that name is number. If the stored item has the same or a higher number, it
// writes nothing and returns nil.
func (v *Views) putNewer(ctx context.Context, item store.Item, name string, number int64) error {
	older := store.Write{
		Item: item, If: store.IfAbsent + " OR #number < :number",
		Names:  map[string]string{"#number": name},
		Values: store.Item{":number": store.Integer(number)},
	}
	_, err := v.table.Write(ctx, older)
	if _, refused := errors.AsType[*store.Refused](err); refused {
		return nil // the stored item is as new or newer
	}
	return err
}
