package redrive

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/aws/smithy-go"
	"golang.org/x/sync/errgroup"

	"ledger.example/ledger/table"
	"ledger.example/projections"
)

const (
	// accountsAtOnce is how many accounts are done at the same time. Pairs of one account meet in its summary.
	accountsAtOnce = 8
	// presenceKeys is how many keys are looked for at a time.
	presenceKeys = table.BatchGetKeys
)

// ErrNotInTable says that records name items that are not there.
var ErrNotInTable = errors.New("not in the table: is it the right one? If so, they were deleted, and `ledger verify` tells of what")

// work is what a batch asks for of one pair.
type work struct {
	Pair
	records []record // of distinct keys
}

// flush does all that was taken in. It returns an error only when the table cannot be read, or ctx has ended.
func (r *Run) flush(ctx context.Context) error {
	missing, err := r.missing(ctx)
	if err != nil {
		return err
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	byAccount := make(map[string][]*work)
	for _, w := range r.work {
		byAccount[w.Account] = append(byAccount[w.Account], w)
	}
	from, step := r.counts.bytes.Load(), float64(r.read-r.counts.bytes.Load())/float64(max(1, len(r.work)))
	var finished atomic.Int64
	var running errgroup.Group
	running.SetLimit(accountsAtOnce)
	for _, ofAccount := range byAccount {
		running.Go(func() error {
			for _, w := range ofAccount {
				if ctx.Err() != nil {
					return nil
				}
				r.do(ctx, w, missing, end)
				r.counts.bytes.Store(from + int64(step*float64(finished.Add(1))))
			}
			return nil
		})
	}
	_ = running.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r.counts.bytes.Store(r.read)
	r.forget()
	return nil
}

// missing returns those of the keys taken in whose items are not in the table.
func (r *Run) missing(ctx context.Context) (map[table.Key]struct{}, error) {
	missing := make(map[table.Key]struct{})
	for _, w := range r.work {
		for _, found := range w.records {
			missing[found.key] = struct{}{}
		}
	}
	var mu sync.Mutex
	looking, ctx := errgroup.WithContext(ctx)
	looking.SetLimit(accountsAtOnce)
	keys := make([]table.Key, 0, len(missing))
	for k := range missing {
		keys = append(keys, k)
	}
	for some := range slices.Chunk(keys, presenceKeys) {
		looking.Go(func() error {
			present, err := r.Present(ctx, some)
			if err != nil {
				return fmt.Errorf("look for what the records name: %w", err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, k := range present {
				delete(missing, k)
			}
			return nil
		})
	}
	return missing, looking.Wait()
}

// do brings one pair up to date. What would befall every other pair, too, ends the run.
func (r *Run) do(ctx context.Context, w *work, missing map[table.Key]struct{}, end context.CancelCauseFunc) {
	if w.Asset != "" {
		r.counts.pairs.Add(1)
	}
	var at Place // of the first that is absent
	absent := 0
	var batch []projections.Record
	for _, found := range w.records {
		k := found.key
		if _, is := missing[k]; !is {
			batch = append(batch, projections.Record{SequenceNumber: k.SK, PK: k.PK, SK: k.SK})
			continue
		}
		if absent++; absent == 1 {
			at = found.Place
		}
	}
	views := &watched{Views: r.Views, dry: r.DryRun}
	// A batch of one pair fails as a whole, with an error that says so of its first record. It is tried again while the
	// table throttles.
	_, err := projections.NewProjector(views, nil, slog.New(slog.DiscardHandler)).Project(ctx, batch)
	switch {
	case err != nil && ctx.Err() != nil:
		return
	case notServed(err):
		end(fmt.Errorf("%s: %w", w.Pair, errors.Unwrap(err)))
		return
	case err != nil:
		r.problem(w.records[0].Place, fmt.Errorf("%s: %w", w.Pair, errors.Unwrap(err)))
		return
	case absent > 0: // those that are there were done
		r.problem(at, fmt.Errorf("%s: %d of its %d records are %w", w.Pair, absent, len(w.records), ErrNotInTable))
	}
	if len(batch) == 0 {
		return
	}
	switch {
	case w.Asset == "":
		r.counts.memberships.Add(1)
	case views.wrote:
		r.counts.refolded.Add(1)
		r.telling.Lock()
		defer r.telling.Unlock()
		r.OnRefold(w.Pair)
	default:
		r.counts.counted.Add(1)
	}
}

// watched is views that note whether the refold of a balance wrote; dry ones only seem to write. It is used by one goroutine.
type watched struct {
	projections.Views
	dry, wrote bool
}

// Write implements projections.Views.
func (w *watched) Write(ctx context.Context, c projections.Change) error {
	if !w.dry {
		if err := w.Views.Write(ctx, c); err != nil {
			return err
		}
	}
	w.wrote = true
	return nil
}

// WriteMembership implements projections.Views.
func (w *watched) WriteMembership(ctx context.Context, m projections.Membership) error {
	if w.dry {
		return nil
	}
	return w.Views.WriteMembership(ctx, m)
}

// notServed tells whether an error is about the table or who asks, and not about one pair: it cannot be reached, or refuses.
func notServed(err error) bool {
	var refused smithy.APIError
	if !errors.As(err, &refused) {
		return errors.Is(err, table.ErrUnavailable)
	}
	switch refused.ErrorCode() {
	case "AccessDeniedException", "ResourceNotFoundException", "ExpiredTokenException", "UnrecognizedClientException",
		"InvalidSignatureException", "IncompleteSignatureException":
		return true
	}
	return errors.Is(err, table.ErrUnavailable)
}
