package projections

import (
	"context"
	"log/slog"
	"time"
)

// effort is what refolding one balance took, over all its attempts.
type effort struct {
	postings  int64 // read
	conflicts int64 // attempts that ended because others wrote first
	written   bool
	cached    bool          // whether the cache had the balance that the last attempt read
	lag       time.Duration // from the newest dirty posting to the end of the refold, if it wrote
}

// logBatch writes one line about a batch that had something to project. Attributes in capitals become metrics:
// RefoldDepth in postings, ProjectionLag in milliseconds, ProjectionConflicts in attempts, with a value for each
// refold that has one.
func (p *Projector) logBatch(ctx context.Context, batch []Record, groups []*group) {
	if len(groups) == 0 {
		return
	}
	var depths, lags, conflicts []int64
	failed, stopped, cached := 0, 0, 0
	for _, g := range groups {
		if g.err != nil && g.isFinal() {
			stopped++
		} else if g.err != nil {
			failed++
		}
		if g.effort.cached {
			cached++
		}
		if g.effort.postings > 0 {
			depths = append(depths, g.effort.postings)
		}
		if g.err == nil && g.effort.written {
			lags = append(lags, g.effort.lag.Milliseconds())
		}
		if g.effort.conflicts > 0 {
			conflicts = append(conflicts, g.effort.conflicts)
		}
	}
	attrs := []slog.Attr{
		slog.Int("records", len(batch)), slog.Int("groups", len(groups)),
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
