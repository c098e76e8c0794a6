package projections

import (
	"context"
	"log/slog"
	"time"

	"ledger.example/events"
)

// work is what refolding one balance took, over all its attempts.
type work struct {
	postings  int64 // read
	conflicts int64 // attempts that ended because others came first
	written   bool
	// remembered tells whether something was remembered of the very balance that the last attempt read.
	remembered bool
	lag        time.Duration // from the newest of the marks to the end of the refold, when it wrote
}

// measured is views that keep account of work. Like it, it is used by one goroutine at a time.
type measured struct {
	Views
	work *work
	read []events.KSUID // the first belowMost postings that were read
}

// Postings implements Views.
func (m *measured) Postings(ctx context.Context, k Key, after, through events.KSUID) ([]Posting, bool, error) {
	found, more, err := m.Views.Postings(ctx, k, after, through)
	m.work.postings += int64(len(found))
	for _, p := range found[:min(len(found), belowMost-len(m.read))] {
		m.read = append(m.read, p.ID)
	}
	return found, more, err
}

// Write implements Views.
func (m *measured) Write(ctx context.Context, c Change) error {
	err := m.Views.Write(ctx, c)
	m.work.written = m.work.written || err == nil
	return err
}

// measure writes the line of a batch that had something to project. The attributes with capitals are counted as metrics,
// a value for each refold that has one.
func (p *Projector) measure(ctx context.Context, batch []Record, groups []*group) {
	if len(groups) == 0 {
		return
	}
	var depths, lags, conflicts []int64
	failed, remembered := 0, 0
	for _, g := range groups {
		if g.err != nil {
			failed++
		}
		if g.work.remembered {
			remembered++
		}
		if g.work.postings > 0 {
			depths = append(depths, g.work.postings)
		}
		if g.err == nil && g.work.written {
			lags = append(lags, g.work.lag.Milliseconds())
		}
		if g.work.conflicts > 0 {
			conflicts = append(conflicts, g.work.conflicts)
		}
	}
	attrs := []slog.Attr{slog.Int("records", len(batch)), slog.Int("groups", len(groups)), slog.Int("failed", failed), slog.Int("remembered", remembered)}
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
