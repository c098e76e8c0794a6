package projections

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"ledger.example/events"
	"ledger.example/internal/retry"
	"ledger.example/internal/table"
)

// floorReads is how often a balance below its limit is read again before an alarm.
const floorReads = 5

// Reader computes strongly consistent balances. For commands, it ensures that their postings are visible to these
// reads. It needs no clock: versions and counts decide what a strong read includes. It is safe for concurrent use.
type Reader struct {
	views *Views
	log   *slog.Logger
	pause func(ctx context.Context, failed int) error
}

// NewReader returns a reader on a table. A nil log is slog.Default().
func NewReader(t table.Table, log *slog.Logger) *Reader {
	return &Reader{views: NewViews(t), log: cmp.Or(log, slog.Default()), pause: backoff.Sleep}
}

// Balance returns the balance of k. Its Head and First include every posting that was acknowledged before the call, a
// backdated one once it is projected. floor, if not nil, is the lowest quantity that the account's limit allows. A
// query may see a debit before the credit that covers it. So a balance below the floor is read again, up to floorReads
// times. If it stays below, it is returned and an alarm is logged: a real overdraft must not be hidden. Errors: those
// of Views.
func (r *Reader) Balance(ctx context.Context, k events.Pair, floor *events.Amount) (Balance, error) {
	for try := 1; ; try++ {
		b, err := r.read(ctx, k)
		if err != nil || floor == nil || b.Head.Quantity().Cmp(*floor) >= 0 {
			return b, err
		}
		if try > floorReads {
			r.log.ErrorContext(ctx, "balance is below its limit", "account", k.Account, "asset", k.Asset,
				"quantity", b.Head.Quantity().String(), "floor", floor.String(), "as_of", string(b.AsOf()),
				"BelowLimit", 1) // a metric
			return b, nil
		}
		if err := r.pause(ctx, try); err != nil {
			return Balance{}, err
		}
	}
}

// read folds the postings after the seal, without the backdated ones. Late postings below the seal, and backdated ones
// anywhere, are counted by the projector.
//
// A refold that began before a backdated posting was committed may still move the seal past it. If readers counted the
// posting before, it would disappear until it is projected, and so would funds that were spent meanwhile. For other
// postings, EnsureVisible prevents this. So a refold moves the seal past each backdated posting that it counts: see
// CountOn.
func (r *Reader) read(ctx context.Context, k events.Pair) (Balance, error) {
	b, _, err := r.views.Balance(ctx, k)
	counted := func(p Posting) bool { return !p.Backdated }
	if errors.Is(err, table.ErrMalformedItem) {
		// Folding all postings is slower, but needs no balance. Without its seal, all of them count.
		r.log.ErrorContext(ctx, "stored balance is malformed, folding all postings instead",
			"account", k.Account, "asset", k.Asset, "error", err)
		b, err = Balance{Pair: k}, nil
		counted = func(Posting) bool { return true }
	}
	if err != nil {
		return Balance{}, fmt.Errorf("read balance: %w", err)
	}
	head, first, err := b.Seal.addAll(func(yield func(Posting, error) bool) {
		for p, err := range r.views.Postings(ctx, k, b.Seal.Through, "") {
			if (err != nil || counted(p)) && !yield(p, err) {
				return
			}
		}
	})
	if err != nil {
		return Balance{}, err
	}
	b.Head, b.First, b.Unfinished = head, Earlier(b.First, first), false
	return b, nil
}

// Balances is Balance for a page of an account's assets, by asset. It finds the assets through the keys of postings, so
// it includes assets that are not projected yet. Assets without a posting to show are left out, so a page may be short.
// It is also short if the Slice has a Budget that does not pay for more. floor, if not nil, returns each asset's floor.
func (r *Reader) Balances(
	ctx context.Context, account string, floor func(asset string) *events.Amount, s Slice,
) (Page[Balance], error) {
	listed, err := r.balances(ctx, account, floor, s)
	listed.Items = slices.DeleteFunc(listed.Items, func(b Balance) bool { return b.Head.Count == 0 })
	return listed, err
}

// balances is Balances with all assets.
func (r *Reader) balances(
	ctx context.Context, account string, floor func(asset string) *events.Amount, s Slice,
) (Page[Balance], error) {
	page := balancesPage[Balance]{
		views: r.views, slice: s,
		next: func(ctx context.Context, v *Views, after string) (string, error) {
			return v.NextAsset(ctx, account, after)
		},
		read: func(ctx context.Context, v *Views, asset string) (Balance, error) {
			var lowest *events.Amount
			if floor != nil {
				lowest = floor(asset)
			}
			through := &Reader{views: v, log: r.log, pause: r.pause}
			return through.Balance(ctx, events.Pair{Account: account, Asset: asset}, lowest)
		},
	}
	return page.all(ctx)
}

// Funds returns the totals that account ever received of asset, by credits and from ended holds, and ever spent or
// held. They include the same transactions as Balance. Errors: those of Views; events.ErrOverflow.
func (r *Reader) Funds(ctx context.Context, account, asset string) (received, spent events.Amount, err error) {
	b, err := r.read(ctx, events.Pair{Account: account, Asset: asset})
	if err == nil {
		received, err = b.Head.Funds()
	}
	if err == nil {
		spent, err = b.Head.Spent()
	}
	return received, spent, err
}

// holdingsPage is how many balances a page of holdings reads.
const holdingsPage = 100

// Holdings returns a page of account's holdings by asset, beginning after the asset `after` ("": from the first). It
// includes the same transactions as Balance, and every asset with a posting. next is the asset to continue after, "" at
// the end. Errors: those of Views; events.ErrOverflow.
func (r *Reader) Holdings(ctx context.Context, account, after string) (page []events.Holding, next string, err error) {
	listed, err := r.balances(ctx, account, nil, Slice{After: after, Limit: holdingsPage})
	if err != nil {
		return nil, "", err
	}
	page = make([]events.Holding, len(listed.Items))
	for i, b := range listed.Items {
		spent, err := b.Head.Spent()
		if err != nil {
			return nil, "", err
		}
		page[i] = events.Holding{
			Asset: b.Asset, Quantity: b.Head.Quantity(), Spent: spent,
			PendingDebits: b.Head.PendingDebits, PendingCredits: b.Head.PendingCredits, Count: b.Head.Count,
		}
	}
	return page, listed.Next, nil
}

const (
	// countedAtOnce is how many postings one query of CountPostings counts, about a megabyte of them.
	countedAtOnce = 10 * StretchPostings
	// countsAtOnce is how many of these queries run in parallel.
	countsAtOnce = 8
)

// CountPostings counts all postings of account in asset, in stretches between stored segments, side by side. The count
// includes every posting that was visible before the call. Errors: those of Views.
func (r *Reader) CountPostings(ctx context.Context, account, asset string) (int64, error) {
	k, total := events.Pair{Account: account, Asset: asset}, atomic.Int64{}
	counts, ctx := errgroup.WithContext(ctx)
	counts.SetLimit(countsAtOnce)
	from, left := events.KSUID(""), int64(countedAtOnce)
	countThrough := func(through events.KSUID) {
		after := from
		counts.Go(func() error {
			return retry.Do(ctx, r.pause, table.Attempts(0, throttledAttempts), func() error {
				n, err := r.views.CountPostings(ctx, k, after, through)
				total.Add(n)
				return err
			})
		})
		from, left = through, countedAtOnce
	}
	var err error
	for s, failed := range r.views.Segments(ctx, k, "") {
		if err = failed; err != nil {
			break
		}
		if left -= s.Count; left <= 0 {
			countThrough(s.Through)
		}
	}
	countThrough("")
	err = cmp.Or(counts.Wait(), err)
	return total.Load(), err
}

// EnsureVisible returns nil if every later strong read is certain to include the committed posting id.
//
// A strong read includes all postings above the seal. Only a refold that read before the posting's commit can hide the
// posting, by moving the seal past it. EnsureVisible makes such a refold fail: it raises the balance's version. If
// another writer raised the version first, that made other refolds fail as well, but not the writer's own. Its refold
// may have moved the seal, or may still be in progress; in the latter case the balance is unfinished.
//
// If the posting is at or below the seal, EnsureVisible counts its stretch again. It never writes a fold. Errors:
// table.ErrConflict when the posting is not counted yet, or after a conflicting write; those of Views;
// ErrPostingsMissing.
func (r *Reader) EnsureVisible(ctx context.Context, account, asset string, id events.KSUID) error {
	k := events.Pair{Account: account, Asset: asset}
	b, at, err := r.views.Balance(ctx, k)
	if err != nil {
		return fmt.Errorf("read balance: %w", err)
	}
	if id > b.Seal.Through {
		raised := Change{Balance: b}
		if b.Version == 0 {
			raised.Balance.Version, raised.Revision = FirstVersion(at), new(Revision)
		}
		raising := r.views.Write(ctx, raised)
		if !table.NeedsReread(raising) {
			return raising
		}
		version := b.Version
		if b, _, err = r.views.Balance(ctx, k); err != nil {
			return fmt.Errorf("read balance again: %w", err)
		}
		switch {
		case b.Version == version, id > b.Seal.Through && b.Unfinished:
			return fmt.Errorf("raise version: %w: %w", table.ErrConflict, raising)
		case id > b.Seal.Through:
			return nil
		}
	}
	counted, err := r.views.stretchOf(ctx, b, id)
	if err != nil {
		return err
	}
	again, _, err := r.views.recount(ctx, counted)
	if err != nil {
		return err
	}
	if again.Count != counted.Count {
		return fmt.Errorf("posting %s is not counted yet: %w", id, table.ErrConflict)
	}
	return nil
}
