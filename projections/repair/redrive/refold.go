package redrive

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/projections"
	"ledger.example/projections/repair"
)

// idsOf returns the KSUIDs in keys of postings.
func idsOf(keys map[store.Key]bool) (ids []events.KSUID) {
	for k := range keys {
		ids = append(ids, events.KSUID(store.LastID(k.SK)))
	}
	return ids
}

// list lists the headers and ends of holds with these keys.
func (r *Run) list(ctx context.Context, keys map[store.Key]bool) error {
	if r.config.DryRun || len(keys) == 0 {
		return nil
	}
	var batch []projections.Record
	for k := range keys {
		batch = append(batch, projections.Record{SequenceNumber: k.PK, PK: k.PK, SK: k.SK})
	}
	failed, err := r.config.List(ctx, batch)
	if failed != "" {
		err = fmt.Errorf("%s could not be listed", failed)
	}
	return err
}

// present returns which of these distinct keys have an item in the table. Reads are strongly consistent.
func (r *Run) present(ctx context.Context, keys []store.Key) (map[store.Key]bool, error) {
	items, _, err := r.config.Table.BatchGet(ctx, keys, store.Strong)
	if err != nil {
		return nil, err
	}
	present := make(map[store.Key]bool, len(items))
	for _, item := range items {
		key, err := store.KeyOf(item)
		if err != nil {
			return nil, err
		}
		present[key] = true
	}
	return present, nil
}

// refold updates a target: it refolds a balance for the postings ids, or refreshes a membership or places in groups. It
// reports whether a balance was written. Without ids it does nothing.
func (r *Run) refold(ctx context.Context, target projections.Target, ids []events.KSUID) (wrote bool, err error) {
	watched := &watchedTable{Table: r.config.Table, holds: make(map[string]bool)}
	if r.config.DryRun {
		watched.Table = store.NewOverlay(r.config.Table)
	}
	quiet := slog.New(slog.DiscardHandler)
	p := projections.NewProjector(watched, nil, quiet)
	p.RepairWith(repair.NewRebuilder(watched, nil, quiet))
	err = p.RetryThrottled(ctx, func() error {
		switch {
		case len(ids) == 0:
			return nil
		case target.View != nil:
			return p.Refresh(ctx, target, projections.Seen{})
		}
		if err := p.Refold(ctx, events.Pair{Account: target.Account, Asset: target.Asset}, ids); err != nil {
			return err
		}
		// A posting of each hold was read. So the hold's header, which makes entry version 1, is being committed.
		seen := projections.Seen{Lowest: 1, Highest: 1}
		for hold := range watched.holds {
			of := projections.Target{View: projections.Holds, Hold: hold}
			if err := p.Refresh(ctx, of, seen); err != nil {
				return err
			}
		}
		return nil
	})
	return watched.wrote, err
}

// watchedTable is a store.Table that records whether a balance was written, and the holds whose postings were read. It
// is for one refold, which queries and writes balances one request at a time.
type watchedTable struct {
	store.Table
	wrote bool
	holds map[string]bool
}

// Query implements store.Table.
func (w *watchedTable) Query(ctx context.Context, q store.Query) (store.Page, error) {
	page, err := w.Table.Query(ctx, q)
	for _, item := range page.Items {
		if store.TextOf(item[events.FigurePhase]) != "" { // the transaction of such a posting is the hold
			w.holds[store.TextOf(item[events.FigureTransaction])] = true
		}
	}
	return page, err
}

// Write implements store.Table.
func (w *watchedTable) Write(ctx context.Context, write store.Write) (time.Time, error) {
	at, err := w.Table.Write(ctx, write)
	w.watch(err, write)
	return at, err
}

// Transact implements store.Table.
func (w *watchedTable) Transact(ctx context.Context, writes []store.Write) (time.Time, error) {
	at, err := w.Table.Transact(ctx, writes)
	w.watch(err, writes...)
	return at, err
}

// watch records a balance among writes, if they were applied.
func (w *watchedTable) watch(err error, writes ...store.Write) {
	for _, write := range writes {
		if err == nil && store.TextOf(write.Item[store.AttrType]) == store.Balance.Type {
			w.wrote = true
		}
	}
}
