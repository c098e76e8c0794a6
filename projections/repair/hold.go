package repair

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/internal/table"
	"ledger.example/projections"
)

// HoldEntry is an entry of a hold in one of its lists.
type HoldEntry struct {
	Status  string // of an account's entry; of the one by expiry ""
	Version int64  // see projections.Hold
}

// withHolds are views that note the holds whose postings are read. One goroutine uses them.
type withHolds struct {
	Views
	holds map[string]bool
}

// Postings implements Views.
func (w *withHolds) Postings(ctx context.Context, k events.Pair, after, through events.KSUID) (
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

// accountHolds rebuilds the entries of an account's holds, whose ids are given, and reports entries of no such hold as
// strays. Error: why they cannot be listed.
func (b *Rebuilder) accountHolds(
	ctx, complete context.Context, account string, ids map[string]bool, report func(Report),
) error {
	placed := make(map[string]bool, len(ids))
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		r, first := b.hold(complete, account, id)
		placed[first] = true
		report(r)
	}
	var strays []Stray
	for last := ""; ; {
		var key table.Key
		err := b.retry(complete, func() (err error) {
			key, err = b.views.FirstKey(complete, table.AccountKey(account).PK, table.HoldsAfter(last))
			return err
		})
		if errors.Is(err, store.ErrAbsent) {
			break
		}
		if err != nil {
			return fmt.Errorf("list the holds of account %s: %w", account, err)
		}
		if last = table.FirstID(key.SK); !placed[last] {
			strays = append(strays, Stray{Key: key, Why: "the account has no hold that was placed then"})
		}
	}
	if len(strays) > 0 {
		report(Report{Account: account, Strays: strays})
	}
	return nil
}

// hold makes an account's entry of a hold, and the one by expiry, what the hold's header and its end say. An entry is
// written only if nobody wrote it since it was read. It also returns the KSUID of the hold's first leg. Errors in the
// report: those of Views; store.ErrConflict when others kept coming first.
func (b *Rebuilder) hold(ctx context.Context, account, id string) (report Report, first string) {
	report = Report{Account: account, Hold: id}
	report.Err = b.retry(ctx, func() error {
		report.Differences = nil
		h, err := b.views.Hold(ctx, id)
		if err != nil {
			return fmt.Errorf("read hold: %w", err)
		}
		first = string(h.Header.Legs[0].ID)
		byAccount := table.HoldKey(account, first)
		byExpiry := table.OpenHoldKey(events.FormatTime(h.Header.ExpiresAt), h.Header.ID)
		for _, entry := range []struct {
			key     table.Key
			account string
			becomes HoldEntry
		}{{byAccount, account, HoldEntry{h.Status(), h.Version()}}, {byExpiry, "", HoldEntry{"", h.Version()}}} {
			found, err := b.views.StoredHold(ctx, h, entry.account)
			if err != nil {
				return fmt.Errorf("read entry of hold: %w", err)
			}
			if found.There && found.Fault == nil && found.Value == entry.becomes {
				continue
			}
			difference := differenceOf(entry.key, found, entry.becomes)
			difference.Behind = b.isBehind(h, found)
			if err := b.views.PutHold(ctx, h, entry.account, found.Revision); err != nil {
				return fmt.Errorf("write entry of hold: %w", err)
			}
			report.Differences = append(report.Differences, difference)
		}
		return nil
	})
	return report, first
}

// isBehind reports whether an entry lacks no more than what happened to its hold within the settle window.
func (b *Rebuilder) isBehind(h projections.Hold, found Found[HoldEntry]) bool {
	newest := h.Header.PostedAt()
	if h.Ended != nil {
		newest = h.Ended.EndedAt()
	}
	sound := !found.There || found.Value.Version > 0 && found.Value.Version < h.Version()
	return sound && b.now().Sub(newest) < table.SettleWindow
}
