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
	Status  string // "" in the entry by expiry
	Version int64  // see projections.Hold
}

// holdRecorder is a Views that records the holds whose postings are read. It is not safe for concurrent use.
type holdRecorder struct {
	Views
	holds map[string]bool
}

// Postings implements Views.
func (w *holdRecorder) Postings(ctx context.Context, k events.Pair, after, through events.KSUID) (
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

// accountHolds rebuilds the entries of an account's holds with these ids, and reports all other entries as strays.
// Error: that of listing the entries.
func (b *Rebuilder) accountHolds(
	ctx, uncanceled context.Context, account string, ids map[string]bool, report func(Report),
) error {
	placed := make(map[string]bool, len(ids))
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		r, first := b.hold(uncanceled, account, id)
		placed[first] = true
		report(r)
	}
	var strays []Stray
	for last := ""; ; {
		var key table.Key
		err := b.retry(uncanceled, func() (err error) {
			key, err = b.views.FirstKey(uncanceled, table.AccountKey(account).PK, table.HoldsAfter(last))
			return err
		})
		if errors.Is(err, store.ErrAbsent) {
			break
		}
		if err != nil {
			return fmt.Errorf("list the holds of account %s: %w", account, err)
		}
		if last = table.FirstID(key.SK); !placed[last] {
			strays = append(strays, Stray{Key: key, Why: "the account has no hold with this KSUID"})
		}
	}
	if len(strays) > 0 {
		report(Report{Account: account, Strays: strays})
	}
	return nil
}

// hold rebuilds an account's entry of a hold, and its entry by expiry, from the hold's header and end, as Membership
// does from grants. It also returns the KSUID of the hold's first leg. Errors in the report: those of Views;
// store.ErrConflict after too many conflicts.
func (b *Rebuilder) hold(ctx context.Context, account, id string) (report Report, first string) {
	report = Report{Account: account, Hold: id}
	var h projections.Hold
	read := func() error {
		newest, err := b.views.Hold(ctx, id)
		if err == nil { // after an error the hold that was read before still names the entries
			h = newest
		}
		return err
	}
	if err := b.retry(ctx, read); err != nil {
		report.Err = fmt.Errorf("read hold: %w", err)
		return report, ""
	}
	first = string(h.Header.Legs[0].ID)
	entries := map[string]table.Key{ // by account
		account: table.HoldKey(account, first),
		"":      table.OpenHoldKey(events.FormatTime(h.Header.ExpiresAt), h.Header.ID),
	}
	for _, of := range []string{account, ""} {
		entry := rebuildNewest(ctx, b, Report{}, newestOf[HoldEntry]{
			key:    entries[of],
			stored: func() (Stored[HoldEntry], error) { return b.views.StoredHold(ctx, h, of) },
			newest: func() (HoldEntry, error) {
				known := h.Version()
				if err := read(); err != nil {
					return HoldEntry{}, err
				}
				if h.Version() != known { // stored has compared the entry with the open hold
					return HoldEntry{}, fmt.Errorf("hold %s has ended since it was read: %w", id, store.ErrConflict)
				}
				if of == "" {
					return HoldEntry{Version: known}, nil
				}
				return HoldEntry{h.Status(), known}, nil
			},
			put: func(ctx context.Context, _ HoldEntry, read projections.Revision) error {
				return b.views.PutHold(ctx, h, of, read)
			},
			behind: func(found Stored[HoldEntry]) bool { return b.isHoldBehind(h, found) },
		})
		report.Differences = append(report.Differences, entry.Differences...)
		if report.Err = entry.Err; report.Err != nil {
			break
		}
	}
	return report, first
}

// isHoldBehind reports whether an entry lacks only a change of its hold within the settle window.
func (b *Rebuilder) isHoldBehind(h projections.Hold, found Stored[HoldEntry]) bool {
	newest := h.Header.PostedAt()
	if h.Ended != nil {
		newest = h.Ended.EndedAt()
	}
	sound := !found.Exists || found.Value.Version > 0 && found.Value.Version < h.Version()
	return sound && b.now().Sub(newest) < table.SettleWindow
}
