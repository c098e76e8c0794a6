package repair

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"ledger.example/internal/store"
	"ledger.example/projections"
)

// HoldEntry is an entry of a hold in one of its lists.
type HoldEntry struct {
	Version int64 // see projections.Hold; 0: the entry is void
}

// accountHolds rebuilds the entries of the account's holds whose postings were read, and judges all its other entries.
// Error: that of listing the entries.
func (b *Rebuilder) accountHolds(ctx, uncanceled context.Context, scope Scope, report func(Report)) error {
	account, judged := scope.Account, make(map[store.Key]bool, len(b.holds))
	for _, id := range slices.Sorted(maps.Keys(b.holds)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		r, key := b.hold(uncanceled, account, id)
		judged[key] = true
		report(r)
	}
	for last := ""; ; {
		var key store.Key
		err := b.retry(uncanceled, func() (err error) {
			key, err = b.firstKey(uncanceled, store.Account.PK(account), store.Hold.All().After(last))
			return err
		})
		if errors.Is(err, store.ErrAbsent) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("list the holds of account %s: %w", account, err)
		}
		if last = store.FirstID(key.SK); !judged[key] {
			report(b.entry(uncanceled, Report{Account: account}, key, "", scope.DropMissing))
		}
	}
}

// hold rebuilds an account's entry of a hold that has a posting in the account. With the first account in the legs, it
// also rebuilds the entry by expiry. It returns the key of the account's entry.
func (b *Rebuilder) hold(ctx context.Context, account, id string) (Report, store.Key) {
	report := Report{Account: account, Hold: id}
	var h projections.Hold
	err := b.retry(ctx, func() (err error) {
		h, err = b.views.Hold(ctx, id)
		return err
	})
	if err != nil {
		report.Err = fmt.Errorf("read hold: %w", err)
		return report, store.Key{}
	}
	first := h.Header.Legs[0]
	key := store.Hold.Key(account, string(first.ID))
	report = b.entry(ctx, report, key, id, false)
	if report.Err == nil && first.Account == account {
		byExpiry := b.entry(ctx, Report{}, h.ExpiryKey(), id, false)
		report.Differences = append(report.Differences, byExpiry.Differences...)
		report.Err = byExpiry.Err
	}
	return report, key
}

// entry rebuilds one entry of the hold with that id (see storedHold) from the hold's header and end, as
// Membership does from grants. An entry that the hold does not have becomes void if drop is true, else it is a stray.
func (b *Rebuilder) entry(ctx context.Context, report Report, key store.Key, id string, drop bool) Report {
	var h projections.Hold
	of := newestOf[HoldEntry]{
		key: key,
		stored: func() (found Stored[HoldEntry], err error) {
			found, h, err = b.storedHold(ctx, key, id)
			return found, err
		},
		newest: func() (HoldEntry, time.Time, error) {
			switch {
			case !h.HasEntry(key):
				return HoldEntry{}, time.Time{}, store.ErrAbsent
			case h.Ended != nil:
				return HoldEntry{h.Version()}, h.Ended.EndedAt(), nil
			}
			return HoldEntry{h.Version()}, h.Header.PostedAt(), nil
		},
		number: func(e HoldEntry) int64 { return e.Version },
		put: func(_ HoldEntry, read projections.Revision) store.Write {
			return read.Replace(projections.HoldEntry(key, h), store.AttrVersion)
		},
	}
	if !drop {
		of.stray = "no hold has this entry"
	}
	return rebuildNewest(ctx, b, report, of)
}
