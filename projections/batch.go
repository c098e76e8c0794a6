package projections

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
)

const (
	// accountsAtOnce is how many accounts of a batch are refolded in parallel. A refold mostly waits for the store.
	accountsAtOnce = 32
	// reportTime is reserved before a deadline for reporting the results. It is longer than a request in flight.
	reportTime = time.Second
)

// Record is one record of the table's stream. It names the item that changed.
type Record struct {
	SequenceNumber string // identifies the record in partial batch failures
	PK, SK         string
	Removed        bool // a REMOVE record; the ledger never deletes an item
	Altered        bool // a MODIFY record; the ledger never alters an event

	// Current is an account's newest change as its copy shows it, from the record: see Copied. nil: it must be read.
	Current *events.AccountChanged
	Figures *events.Figures // of a posting, from the record; nil: they must be read
	Written time.Time       // about when the item changed; zero: unknown
	Event   events.Event    // of the journal, from the record; nil: it must be read
}

// Key is the key of the item.
func (r Record) Key() table.Key { return table.Key{PK: r.PK, SK: r.SK} }

// RecordOf returns the record of a new item, as the stream has it, but without a sequence number and a time.
func RecordOf(item table.Item) Record {
	key := table.ItemKey(item)
	r := Record{PK: key.PK, SK: key.SK}
	if account, asset, _, ok := table.Posting.Parse(key); ok {
		if p, err := decodePosting(events.Pair{Account: account, Asset: asset}, item); err == nil {
			r.Figures = &p.Figures
		}
		return r
	}
	if e, err := table.DecodeEvent(item); err == nil {
		r.Event = e
	}
	return r
}

// job is the work for the records of a batch that have the same target; or for one record of the lists.
type job struct {
	Target
	first   int            // position in the batch of its first record
	records int            // number of records
	dirty   []dirtyPosting // of a balance
	effort  effort         // of a balance
	seen    Seen           // of a view
	listing
	copied *Record // of the copy of an account's newest change; nil: the job is another one
	err    error
}

// listing is the part of a job that a Lister does.
type listing struct {
	event     events.Event // nil: it must be read from the table
	entries   []*listEntry
	planned   bool // the entries are known
	journaled bool // the event is in the journal

	ends   bool         // it places a hold whose end is in the batch, too
	header events.Event // of the hold that it ends; nil: it must be read from the table
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
	add := func(name string, values []int64) {
		if len(values) > 0 {
			attrs = append(attrs, slog.Any(name, values))
		}
	}
	add("RefoldDepth", depths)
	add("ProjectionLag", lags)
	add("ProjectionConflicts", conflicts)
	p.log.LogAttrs(ctx, slog.LevelInfo, "batch", attrs...)
}

// run does jobs, those of each lane one after another.
func (p *Projector) run(ctx context.Context, jobs []*job, done Applied) {
	var lanes [][]*job
	known := make(map[string]int)
	for _, j := range jobs {
		n, ok := known[j.lane()]
		if !ok {
			n, lanes = len(lanes), append(lanes, nil)
			known[j.lane()] = n
		}
		lanes[n] = append(lanes[n], j)
	}
	atOnce(accountsAtOnce, lanes, func(lane []*job) {
		for _, j := range lane {
			j.err = p.retryThrottled(ctx, func() error { return p.apply(ctx, j) })
			done(j.Target, j.first, j.effort.written || j.effort.rebuilt, j.err)
		}
	})
}

// atOnce calls do for all items, at most n at a time, one of them in the caller's goroutine. It starts no goroutine for
// each item, because the stack of a new goroutine grows anew for each request to the store.
func atOnce[T any](n int, items []T, do func(T)) {
	var next atomic.Int64
	var running sync.WaitGroup
	work := func() {
		for i := next.Add(1) - 1; i < int64(len(items)); i = next.Add(1) - 1 {
			do(items[i])
		}
	}
	for range min(n, len(items)) - 1 {
		running.Go(work)
	}
	work()
	running.Wait()
}

// untilReport returns a context that ends reportTime before the deadline of ctx.
func untilReport(ctx context.Context) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok {
		return context.WithDeadline(ctx, deadline.Add(-reportTime))
	}
	return context.WithCancel(ctx)
}

// jobs returns the work for a batch, in the order of the first records. It raises alarms for records that the ledger
// itself cannot have caused.
func (p *Projector) jobs(ctx context.Context, batch []Record) []*job {
	var jobs []*job
	known := make(map[Target]*job)
	for i, r := range batch {
		touch := func(t Target, number int64) {
			j := known[t]
			if j == nil {
				j = &job{Target: t, first: i}
				known[t] = j
				jobs = append(jobs, j)
			}
			j.records++
			j.seen.add(number)
			if t.View == nil {
				j.dirty = append(j.dirty, dirtyPosting{events.KSUID(table.LastID(r.SK)), r.Figures, r.Written})
			}
		}
		switch {
		case r.PK == "" || r.SK == "":
			alarm(ctx, p.log, "key is missing", r, "RecordsMalformed")
		case r.Removed && table.IsEvent(r.SK):
			alarm(ctx, p.log, "event was deleted", r, "EventsDeleted")
		case r.Removed:
			alarm(ctx, p.log, "item was deleted", r, "ItemsDeleted")
		case r.Altered && table.IsEvent(r.SK):
			alarm(ctx, p.log, "event was altered", r, "EventsAltered")
		case IsWatched(r.SK):
			if account, ok := table.Current.Parse(r.Key()); ok {
				jobs = append(jobs, &job{Target: Target{Account: account}, first: i, records: 1, copied: &r})
			} else {
				alarm(ctx, p.log, "key is malformed", r, "RecordsMalformed")
			}
		case !eachTarget(r, touch):
			alarm(ctx, p.log, "key is malformed", r, "RecordsMalformed")
		}
	}
	return jobs
}

// alarm logs a record that the ledger itself cannot have caused, and counts it in a metric.
func alarm(ctx context.Context, log *slog.Logger, what string, r Record, metric string) {
	log.ErrorContext(ctx, what, "pk", r.PK, "sk", r.SK, "sequence_number", r.SequenceNumber, metric, 1)
}

func (p *Projector) apply(ctx context.Context, j *job) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if j.copied != nil {
		return p.compareCurrent(ctx, *j.copied, j.Account)
	}
	if j.View != nil {
		return p.Refresh(ctx, j.Target, j.seen)
	}
	k := events.Pair{Account: j.Account, Asset: j.Asset}
	if err := p.refold(ctx, k, j.dirty, &j.effort); err != nil {
		return err
	}
	return p.refreshUnnamed(ctx, k, j.dirty)
}

// isFinal reports whether every retry would fail, too. Missing postings are final only without the cache: the failure
// dropped the cache entry, so a retry reads the table.
func (j *job) isFinal() bool {
	return isFinal(j.err) || errors.Is(j.err, ErrPostingsMissing) && !j.effort.cached
}

// isFinal reports whether every retry would fail, too: because an item cannot be decoded, a fold overflows, or an event
// is missing. An event of a newer version is not final: a deployment makes it readable.
func isFinal(err error) bool {
	return !errors.Is(err, events.ErrNewerEvent) && slices.ContainsFunc([]error{
		table.ErrMalformedItem, events.ErrMalformedEvent, events.ErrUnknownEvent, events.ErrOverflow, table.ErrAbsent,
	}, func(final error) bool { return errors.Is(err, final) })
}

// report logs each job that failed, and returns the first of them as Project does. Jobs that would fail on every retry
// are counted as malformed. stopped and failing are the messages, about says what a job is for.
func report(ctx context.Context, log *slog.Logger, batch []Record, jobs []*job, stopped, failing string,
	about func(*job) []any,
) (failed string, err error) {
	for _, j := range jobs {
		if j.err == nil {
			continue
		}
		number := batch[j.first].SequenceNumber
		attributes := append(about(j), "sequence_number", number, "error", j.err)
		if j.isFinal() {
			log.ErrorContext(ctx, stopped, append(attributes, "RecordsMalformed", j.records)...)
			continue
		}
		log.ErrorContext(ctx, failing, attributes...)
		if failed == "" && err == nil {
			failed, err = firstFailed(j.first, number, j.err)
		}
	}
	return failed, err
}

// firstFailed returns how to report the first failed record of a batch: its sequence number, or an error if it is the
// batch's first record. record is its position. Without a sequence number it is an error as well, since "" would mean
// success.
func firstFailed(record int, number string, cause error) (failed string, err error) {
	if record == 0 || number == "" {
		return "", fmt.Errorf("record %d of the batch: %w", record+1, cause)
	}
	return number, nil
}
