package redrive

import (
	"context"
	"fmt"
	"log/slog"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/projections"
	"ledger.example/projections/repair"
)

// idsOf returns the KSUIDs in keys of postings.
func idsOf(keys map[table.Key]bool) (ids []events.KSUID) {
	for k := range keys {
		ids = append(ids, events.KSUID(table.LastID(k.SK)))
	}
	return ids
}

// list lists the headers and ends of holds with these keys.
func (r *Run) list(ctx context.Context, keys map[table.Key]bool) error {
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

// refold updates a target: it refolds a balance for the postings ids, or refreshes a membership or places in groups. It
// reports whether a balance was written. Without ids it does nothing.
func (r *Run) refold(ctx context.Context, target projections.Target, ids []events.KSUID) (wrote bool, err error) {
	views := &watchedViews{Views: r.config.Views, dry: r.config.DryRun, holds: make(map[string]bool)}
	quiet := slog.New(slog.DiscardHandler)
	p := projections.NewProjector(views, nil, quiet)
	p.RepairWith(repair.NewRebuilder(views, nil, quiet))
	err = p.RetryThrottled(ctx, func() error {
		switch {
		case len(ids) == 0:
			return nil
		case target.User != "":
			return p.RefreshMembership(ctx, target.Membership())
		case target.Asset == "":
			return p.RefreshGrouped(ctx, target.Account, 1)
		}
		if err := p.Refold(ctx, events.Pair{Account: target.Account, Asset: target.Asset}, ids); err != nil {
			return err
		}
		for hold := range views.holds {
			if err := p.RefreshHold(ctx, hold); err != nil {
				return err
			}
		}
		return nil
	})
	return views.wrote, err
}

// watchedViews is a Views that records whether a balance was written. If dry, it writes nothing. It is not safe for
// concurrent use.
type watchedViews struct {
	Views
	dry, wrote bool
	holds      map[string]bool // whose postings were read
}

// Postings implements projections.PostingReader.
func (w *watchedViews) Postings(ctx context.Context, k events.Pair, after, through events.KSUID) (
	[]projections.Posting, bool, error,
) {
	page, more, err := w.Views.Postings(ctx, k, after, through)
	for _, p := range page {
		if p.Hold != "" {
			w.holds[p.Hold] = true
		}
	}
	return page, more, err
}

// WriteHold implements projections.ProjectorViews.
func (w *watchedViews) WriteHold(ctx context.Context, h projections.Hold) error {
	if w.dry {
		return nil
	}
	return w.Views.WriteHold(ctx, h)
}

// Write implements projections.Views.
func (w *watchedViews) Write(ctx context.Context, c projections.Change) error {
	if w.dry {
		w.wrote = true
		return nil
	}
	err := w.Views.Write(ctx, c)
	w.wrote = w.wrote || err == nil
	return err
}

// WriteMembership implements projections.Views.
func (w *watchedViews) WriteMembership(ctx context.Context, m projections.Membership) error {
	if w.dry {
		return nil
	}
	return w.Views.WriteMembership(ctx, m)
}

// WriteGrouped implements projections.ProjectorViews.
func (w *watchedViews) WriteGrouped(ctx context.Context, g projections.GroupedAccount) error {
	if w.dry {
		return nil
	}
	return w.Views.WriteGrouped(ctx, g)
}
