package projections

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"golang.org/x/sync/errgroup"

	"ledger.example/events"
	"ledger.example/ledger/table"
)

const (
	// floorReads is how often a balance that shows below its limit is read again.
	floorReads = 5
	// balancesAtOnce is how many balances of an account are read at the same time.
	balancesAtOnce = 8
)

// Reader answers strong reads by the same fold as refolds, and makes sure of postings for commands. It is safe for
// concurrent use.
type Reader struct {
	views Views
	log   *slog.Logger
	pause func(ctx context.Context, try int) error

	balances int // balancesAtOnce
}

// NewReader returns a reader on views. A nil log is slog.Default(). It has no clock: what a strong read includes is
// decided by versions and counts.
func NewReader(views Views, log *slog.Logger) *Reader {
	if log == nil {
		log = slog.Default()
	}
	return &Reader{views: views, log: log, pause: pause, balances: balancesAtOnce}
}

// Balance returns the balance of k with every posting acknowledged before the call in Head; Head.Through and First tell
// of these too. floor, when not nil, is the lowest quantity that the account's limit allows: a query may catch a debit
// before the credit that covered it, so below the floor the read is repeated up to five times; then it is shown and
// alarmed, as a real overdraft must not be hidden. Errors: those of Views for reads.
func (r *Reader) Balance(ctx context.Context, k Key, floor *events.Amount) (Balance, error) {
	for try := 1; ; try++ {
		b, err := r.read(ctx, k)
		if err != nil || floor == nil || b.Head.Quantity().Cmp(*floor) >= 0 {
			return b, err
		}
		if try > floorReads {
			r.log.ErrorContext(ctx, "balance is below its limit", "account", k.Account, "asset", k.Asset,
				"quantity", b.Head.Quantity().String(), "floor", floor.String(), "as_of", string(b.AsOf()),
				"BelowLimit", 1) // counted as a metric
			return b, nil
		}
		if err := r.pause(ctx, try); err != nil {
			return Balance{}, err
		}
	}
}

// read folds the postings after the seal: those below it were counted when it was written, or are corrected.
func (r *Reader) read(ctx context.Context, k Key) (Balance, error) {
	b, _, err := r.views.Balance(ctx, k)
	if err != nil {
		return Balance{}, fmt.Errorf("read balance: %w", err)
	}
	head, first, err := foldOn(ctx, r.views, k, b.Seal, "")
	if err != nil {
		return Balance{}, err
	}
	b.Head, b.First, b.Unfinished = head, earlier(b.First, first), false
	return b, nil
}

// Balances is Balance for the assets of an account after s.After, found through the posting keys, so that assets not yet
// projected are there too; floor, when not nil, gives each asset's. Next is empty at the end only.
func (r *Reader) Balances(ctx context.Context, account string, floor func(asset string) *events.Amount, s Slice) (Listed[Balance], error) {
	assets, next, err := r.assets(ctx, account, s)
	if err != nil {
		return Listed[Balance]{}, err
	}
	listed := Listed[Balance]{Items: make([]Balance, len(assets)), Next: next}
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(r.balances)
	for i, asset := range assets {
		reads.Go(func() (err error) {
			var lowest *events.Amount
			if floor != nil {
				lowest = floor(asset)
			}
			listed.Items[i], err = r.Balance(ctx, Key{Account: account, Asset: asset}, lowest)
			return err
		})
	}
	if err := reads.Wait(); err != nil {
		return Listed[Balance]{}, err
	}
	return listed, nil
}

// assets finds the assets of one page, and the last of them when there are more.
func (r *Reader) assets(ctx context.Context, account string, s Slice) (assets []string, next string, err error) {
	for after := s.After; ; {
		asset, err := r.views.NextAsset(ctx, account, after)
		switch {
		case errors.Is(err, table.ErrAbsent):
			return assets, "", nil
		case err != nil:
			return nil, "", fmt.Errorf("find assets: %w", err)
		case len(assets) == s.Limit:
			return assets, after, nil
		}
		assets = append(assets, asset)
		after = asset
	}
}

// Credits returns all that account was ever credited of asset, exactly: every transaction acknowledged before the call
// is in it. Errors: those of Views for reads.
func (r *Reader) Credits(ctx context.Context, account, asset string) (events.Amount, error) {
	b, err := r.read(ctx, Key{Account: account, Asset: asset})
	return b.Head.Credits, err
}

// MakeSure returns nil when every later strong read is certain to include the committed posting id. Above the seal each
// strong read includes it by itself, unless a refold that read before its commit moves the seal past it: so the
// balance's version is raised, which makes that refold start again. At or below the seal the stretch that it lies in is
// counted. It never writes a fold. Errors: table.ErrConflict when it is not counted yet (it will be), or somebody came
// first; those of Views; ErrPostingsMissing.
//
// Somebody who raised the version first did the same service, so that postings on a busy balance are made sure of without
// waiting for a quiet moment: every refold that had read the old version must start again, but for the one that wrote. Of
// that it is seen where it left the seal, and whether it goes on from what it had read: then the balance is unfinished,
// and nothing is certain yet.
func (r *Reader) MakeSure(ctx context.Context, account, asset string, id events.KSUID) error {
	k := Key{Account: account, Asset: asset}
	b, _, err := r.views.Balance(ctx, k)
	if err != nil {
		return fmt.Errorf("read balance: %w", err)
	}
	if id > b.Seal.Through {
		raising := r.views.Write(ctx, Change{Balance: b})
		if !errors.Is(raising, table.ErrConflict) && !errors.Is(raising, table.ErrUnknownOutcome) {
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
	counted, err := stretchOf(ctx, r.views, b, id)
	if err != nil {
		return err
	}
	again, _, err := recount(ctx, r.views, counted)
	if err != nil {
		return err
	}
	if again.Count != counted.Count {
		return fmt.Errorf("posting %s is not counted yet: %w", id, table.ErrConflict)
	}
	return nil
}
