package projections

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/internal/table"
)

const (
	// accountsAtOnce is how many accounts of a batch are refolded in parallel. A refold waits for the store nearly
	// all the time.
	accountsAtOnce = 32
	// reportTime is what is left of a deadline to report what is done: well above a request that is under way.
	reportTime = time.Second
)

// Record is one record of the table's stream: which item changed, and the record's name for partial failures.
type Record struct {
	SequenceNumber string
	PK, SK         string
	Removed        bool            // a REMOVE record; the ledger deletes nothing
	Altered        bool            // a MODIFY record; the ledger alters no event
	Figures        *events.Figures // of a posting, as the record shows them; nil: the table is read for them
	Written        time.Time       // about when the item changed; zero: unknown
	Event          events.Event    // of a header or the end of a hold, as the record shows it; nil: likewise
}

// group is the work that records of one batch ask for.
type group struct {
	Target
	first   int            // position in the batch of its first record
	records int            // how many there are
	dirty   []dirtyPosting // of a balance
	ended   bool           // of a hold: one of its records is of its end
	from    int64          // of places in groups: the least number of a change
	effort  effort         // of a balance
	err     error
}

// lane returns what targets of one lane have in common: they are done one after another.
func (t Target) lane() string {
	switch {
	case t.Hold != "":
		return "#" + t.Hold // no account has such an id
	case t.Group != "":
		return "%" + t.Group // likewise
	}
	return t.Account
}

// Project applies a batch: it refolds each balance once whose postings the batch names, brings memberships, places in
// groups and entries of holds up to date, and skips everything else, as the ledger's own writes come back through the
// stream. A batch may be applied again. Groups of one account run one after another, because they share its summary.
//
// Project does all that it can. It returns the sequence number of the first record whose group failed, "" if none
// did; all records before it are done. If that is the batch's first record it returns an error instead, so that the
// invocation fails and Lambda halves the batch. It stops a second before ctx's deadline; what isn't done then has
// failed.
//
// What no repetition can cure does not fail, as it would block its shard for hours: it is logged as an error and
// counted in RecordsMalformed. That is a malformed key, and a balance or a membership with an event that cannot be
// decoded. The latter stays as it is until the item is repaired; then a rebuild, or usually the next posting, brings
// it up to date. An event of a newer version does fail: a deployment cures it.
//
// A record of an event that was altered or deleted is logged and counted, and changes nothing.
func (p *Projector) Project(ctx context.Context, batch []Record) (failed string, err error) {
	ctx, cancel := untilReport(ctx)
	defer cancel()
	groups := p.groups(ctx, batch)
	lanes := make(map[string][]*group)
	for _, g := range groups {
		lanes[g.lane()] = append(lanes[g.lane()], g)
	}
	var running errgroup.Group
	running.SetLimit(accountsAtOnce)
	for _, g := range groups {
		lane := lanes[g.lane()]
		if lane[0] != g {
			continue // runs after the lane's first
		}
		running.Go(func() error {
			for _, g := range lane {
				g.err = p.RetryThrottled(ctx, func() error { return p.apply(ctx, g) })
			}
			return nil // one lane's failure stops no other
		})
	}
	_ = running.Wait()
	p.logBatch(ctx, batch, groups)
	return p.report(ctx, batch, groups)
}

// untilReport returns a context that ends when what is left of ctx is only enough to report what is done.
func untilReport(ctx context.Context) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok {
		return context.WithDeadline(ctx, deadline.Add(-reportTime))
	}
	return context.WithCancel(ctx)
}

// groups sorts the records of a batch into groups, in the order of their first records, and reports records that
// nobody should have caused.
func (p *Projector) groups(ctx context.Context, batch []Record) []*group {
	var groups []*group
	known := make(map[Target]*group)
	groupOf := func(i int, t Target) *group {
		g := known[t]
		if g == nil {
			g = &group{Target: t, first: i}
			known[t] = g
			groups = append(groups, g)
		}
		g.records++
		return g
	}
	for i, r := range batch {
		key := table.Key{PK: r.PK, SK: r.SK}
		target, ok := TargetOf(key)
		switch {
		case r.Removed && table.IsEvent(r.SK):
			p.alarm(ctx, "event was deleted", r, "EventsDeleted")
		case r.Removed:
			p.alarm(ctx, "item was deleted", r, "ItemsDeleted")
		case r.Altered && table.IsEvent(r.SK):
			p.alarm(ctx, "event was altered", r, "EventsAltered")
		case target.Lists:
		case !ok:
			p.alarm(ctx, "key is malformed", r, "RecordsMalformed")
		case target.Asset != "":
			g := groupOf(i, target)
			g.dirty = append(g.dirty, dirtyPosting{events.KSUID(table.LastID(r.SK)), r.Figures, r.Written})
			if r.Figures != nil && r.Figures.Hold != "" {
				hold := groupOf(i, Target{Hold: r.Figures.Hold})
				hold.ended = hold.ended || r.Figures.Phase.Ends()
			}
		case target.User != "":
			groupOf(i, target)
		case target.Account != "":
			g := groupOf(i, target)
			if _, number, _ := table.ParseGrouping(key); g.from == 0 || number < g.from {
				g.from = number
			}
		}
	}
	return groups
}

// alarm logs a record that somebody else caused, and counts it in a metric.
func (p *Projector) alarm(ctx context.Context, what string, r Record, metric string) {
	alarm(ctx, p.log, what, r, metric)
}

func alarm(ctx context.Context, log *slog.Logger, what string, r Record, metric string) {
	log.ErrorContext(ctx, what, "pk", r.PK, "sk", r.SK, "sequence_number", r.SequenceNumber, metric, 1)
}

func (p *Projector) apply(ctx context.Context, g *group) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	switch {
	case g.Hold != "":
		return p.refreshHold(ctx, g.Hold, g.ended)
	case g.Asset != "":
		k := events.Pair{Account: g.Account, Asset: g.Asset}
		if err := p.refold(ctx, k, g.dirty, &g.effort); err != nil {
			return err
		}
		return p.refreshUnnamed(ctx, k, g.dirty)
	case g.User != "":
		return p.RefreshMembership(ctx, g.Membership())
	}
	return p.RefreshGrouped(ctx, g.Account, g.from)
}

// isFinal reports whether a repetition would fail in the same way. What failed because of the cache is read the next
// time.
func (g *group) isFinal() bool {
	return isFinal(g.err) || errors.Is(g.err, ErrPostingsMissing) && !g.effort.cached
}

// isFinal reports whether work would fail in the same way again: because of an item that cannot be decoded, a fold out
// of range, or missing events. Newer code's items can be decoded after a deployment: they are not final.
func isFinal(err error) bool {
	return !errors.Is(err, events.ErrNewerEvent) && slices.ContainsFunc([]error{
		store.ErrMalformedItem, events.ErrMalformedEvent, events.ErrUnknownEvent, events.ErrOverflow, store.ErrAbsent,
	}, func(final error) bool { return errors.Is(err, final) })
}

// report logs each group that failed, and returns what Project returns. Records of groups that failed for good are
// counted as malformed.
func (p *Projector) report(ctx context.Context, batch []Record, groups []*group) (failed string, err error) {
	for _, g := range groups {
		if g.err == nil {
			continue
		}
		number := batch[g.first].SequenceNumber
		about := []any{
			"account", g.Account, "group", g.Group, "asset", g.Asset, "user", g.User, "hold", g.Hold,
			"sequence_number", number, "error", g.err,
		}
		if g.isFinal() {
			p.log.ErrorContext(ctx, "projection stopped", append(about, "RecordsMalformed", g.records)...)
			continue
		}
		p.log.ErrorContext(ctx, "projection failed", about...)
		if failed != "" || err != nil {
			continue
		}
		failed, err = firstFailed(g.first, number, g.err)
	}
	return failed, err
}

// firstFailed returns how a batch reports the first record that failed, by its position and sequence number: by the
// number, or by an error if it is the batch's first. An empty number would read as success.
func firstFailed(record int, number string, cause error) (failed string, err error) {
	if record == 0 || number == "" {
		return "", fmt.Errorf("record %d of the batch: %w", record+1, cause)
	}
	return number, nil
}
