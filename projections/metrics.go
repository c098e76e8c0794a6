package projections

import (
	"context"
	"log/slog"
	"time"
)

// effort is the cost of refolding one balance, over all attempts.
type effort struct {
	postings  int64 // read
	conflicts int64 // attempts that ended in a conflict
	written   bool
	rebuilt   bool          // as it was lost
	cached    bool          // the last attempt found the balance in the cache
	lag       time.Duration // from the newest dirty posting to the end of the refold, if it wrote
}

// logBatch logs one line for a batch that had something to project. Capitalized attributes become metrics: RefoldDepth
// in postings, ProjectionLag in milliseconds, ProjectionConflicts in attempts. Each has one value per refold.
func (p *Projector) logBatch(ctx context.Context, batch []Record, jobs []*job) {
	if len(jobs) == 0 {
		return
	}
	var depths, lags, conflicts []int64
	failed, stopped, cached := 0, 0, 0
	for _, j := range jobs {
		if j.err != nil && j.isFinal() {
			stopped++
		} else if j.err != nil {
			failed++
		}
		if j.effort.cached {
			cached++
		}
		if j.effort.postings > 0 {
			depths = append(depths, j.effort.postings)
		}
		if j.err == nil && j.effort.written {
			lags = append(lags, j.effort.lag.Milliseconds())
		}
		if j.effort.conflicts > 0 {
			conflicts = append(conflicts, j.effort.conflicts)
		}
	}
	attrs := []slog.Attr{
		slog.Int("records", len(batch)), slog.Int("groups", len(jobs)),
		slog.Int("failed", failed), slog.Int("cached", cached),
	}
	if stopped > 0 {
		attrs = append(attrs, slog.Int("stopped", stopped))
	}
	for _, m := range []struct {
		name   string
		values []int64
	}{{"RefoldDepth", depths}, {"ProjectionLag", lags}, {"ProjectionConflicts", conflicts}} {
		if len(m.values) > 0 {
			attrs = append(attrs, slog.Any(m.name, m.values))
		}
	}
	p.log.LogAttrs(ctx, slog.LevelInfo, "batch", attrs...)
}
