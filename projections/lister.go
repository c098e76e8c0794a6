package projections

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"ledger.example/events"
	"ledger.example/internal/retry"
	"ledger.example/internal/table"
)

const (
	// listedAtOnce is how many transactions of a batch are listed in parallel.
	listedAtOnce = 32
	// pageEntries is the maximum number of entries in one page of the journal.
	pageEntries = 100
	// answerTime is the time limit for writing a page, measured by the process's monotonic clock. If the answer is late
	// or missing, the page is written again under a new KSUID: readers of the journal may have passed the old one.
	answerTime = 3 * time.Second
)

// Lister writes the lists of transactions and the journal of all events. It is safe for concurrent use.
type Lister struct {
	table   table.Table
	lanes   *table.LaneLog
	indexed []string // metadata keys
	minter  *events.Minter
	clock   table.Clock
	now     func() time.Time
	log     *slog.Logger
	pause   func(ctx context.Context, failed int) error
}

// NewLister returns a lister on a table. It lists transactions by time and by the indexed metadata keys. now is its
// own clock (nil: time.Now). A nil log is slog.Default().
func NewLister(t table.Table, indexed []string, now func() time.Time, log *slog.Logger) *Lister {
	if now == nil {
		now = time.Now
	}
	return &Lister{
		table: t, lanes: table.NewLaneLog(t, now), indexed: indexed, minter: events.NewMinter(now, nil), now: now,
		log: cmp.Or(log, slog.Default()), pause: backoff.Sleep,
	}
}

// List applies a batch. For each header it puts the entries of its transaction into the lists. Then it writes the
// journal entries of the whole batch. It skips records of items that the journal does not have. Applying a batch again
// is safe: it puts the same list entries, and adds another page to the journal.
//
// One failed record does not stop the others. List returns the sequence number of the first record that failed, "" if
// none did; all records before it are done. If that is the batch's first record, or the journal could not be written,
// it returns an error instead. It stops a second before ctx's deadline. A record that would fail on every retry does
// not count as failed: it is logged as an error and counted in RecordsMalformed.
func (l *Lister) List(ctx context.Context, batch []Record) (failed string, err error) {
	ctx, cancel := untilReport(ctx)
	defer cancel()
	all := listings(batch)
	if len(all) == 0 {
		return "", nil
	}
	atOnce(listedAtOnce, all, func(j *job) { j.err = l.list(ctx, batch[j.first], j) })
	entries, failed, err := l.report(ctx, batch, all)
	written := l.Append(ctx, entries)
	if written != nil {
		l.log.ErrorContext(ctx, "the journal could not be written", "entries", len(entries), "error", written)
		return "", fmt.Errorf("write the journal: %w", written)
	}
	l.logBatch(ctx, batch, entries)
	return failed, err
}

// listings returns the work for a batch.
func listings(batch []Record) (all []*job) {
	for i, r := range batch {
		if table.IsJournaled(r.SK) && !r.Removed && !r.Altered { // the projector handles these
			all = append(all, &job{Target: Target{Lists: true}, first: i, records: 1, event: r.Event})
		}
	}
	return all
}

// list reads the event of a record if it is not known, and puts the list entries of a header.
func (l *Lister) list(ctx context.Context, r Record, j *job) error {
	key := r.Key()
	if j.event == nil {
		err := l.retry(ctx, func() error {
			item, _, err := l.table.Get(ctx, key, table.Strong)
			if err == nil && item == nil {
				err = table.ErrAbsent
			}
			if err == nil {
				j.event, err = table.DecodeEvent(item)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("read the event: %w", err)
		}
	}
	if table.EventKey(j.event) != key {
		return fmt.Errorf("%w: the %s has another key", table.ErrMalformedItem, j.event.EventName())
	}
	if header, ok := j.event.(events.TransactionPosted); ok {
		return l.listHeader(ctx, header)
	}
	return nil
}

func (l *Lister) listHeader(ctx context.Context, header events.TransactionPosted) error {
	var lanes table.Lanes
	err := l.retry(ctx, func() (err error) {
		lanes, err = l.lanes.Through(ctx, header.Recorded())
		return err
	})
	if err != nil {
		return fmt.Errorf("list transaction %s: %w", header.ID, err)
	}
	for _, row := range ListedRows(header, l.indexed, lanes) {
		err := l.retry(ctx, func() error {
			sent := time.Now()
			at, err := l.table.Write(ctx, table.Write{Item: Listings.Item(row.Value)})
			l.clock.Observe(at, sent, time.Now())
			return err
		})
		if err != nil {
			return fmt.Errorf("list transaction %s: %w", header.ID, err)
		}
	}
	return nil
}

// report logs each failure. It returns the journal entries of the records before the first failed one, and the results
// of List.
func (l *Lister) report(ctx context.Context, batch []Record, all []*job) (
	entries []JournalEntry, failed string, err error,
) {
	failed, err = report(ctx, l.log, batch, all, "event cannot be listed", "listing failed", func(j *job) []any {
		return []any{"pk", batch[j.first].PK, "sk", batch[j.first].SK}
	})
	for _, j := range all {
		if j.err == nil {
			entries = append(entries, EntryOf(j.event))
		} else if !j.isFinal() {
			break
		}
	}
	return entries, failed, err
}

// Append writes entries into the journal, at most 100 to a page.
func (l *Lister) Append(ctx context.Context, entries []JournalEntry) error {
	for page := range slices.Chunk(entries, pageEntries) {
		if err := l.retry(ctx, func() error { return l.writePage(ctx, page) }); err != nil {
			return err
		}
	}
	return nil
}

// writePage writes a page under a KSUID that it mints right before the write. A page must become visible before readers
// pass its KSUID; they trail the store's clock by JournalTrail. If the answer takes too long for that, the error is
// table.ErrUnknownOutcome, and the caller writes the entries again.
func (l *Lister) writePage(ctx context.Context, entries []JournalEntry) error {
	id, sent, err := l.mint(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithDeadline(ctx, sent.Add(answerTime))
	defer cancel()
	at, err := l.table.Write(ctx, table.Write{
		Item: journalItem(JournalPage{ID: id, Entries: entries}), If: table.IfAbsent,
	})
	answered := time.Now()
	l.clock.Observe(at, sent, answered)
	if err == nil && (answered.Sub(sent) > answerTime || at.Sub(id.Time()) > answerTime+table.ClockTolerance) {
		return fmt.Errorf("page %s was answered too late: %w", id, table.ErrUnknownOutcome)
	}
	return err
}

// errClock is returned while this process's clock and the store's differ too much to mint a KSUID.
var errClock = errors.New("the clock is off the store's")

// mint returns a KSUID, and the time just before it was minted. It reads the store's clock if the last known offset is
// stale or too large. Error: errClock.
func (l *Lister) mint(ctx context.Context) (id events.KSUID, start time.Time, err error) {
	if off, _ := l.clock.Off(l.now(), time.Now()); off {
		sent := time.Now()
		_, at, err := l.table.Get(ctx, table.Journal.Key(""), table.Eventual) // no item: half a read unit
		if err != nil {
			return "", start, err
		}
		l.clock.Observe(at, sent, time.Now())
	}
	instant, start := l.now(), time.Now()
	off, at := l.clock.Off(instant, start)
	if !off {
		var ids []events.KSUID
		if ids, instant, err = l.minter.Mint(1); err != nil {
			return "", start, err
		}
		// A minter never goes back: it may still be ahead after the process's clock was corrected.
		if off, at = l.clock.Off(instant, start); !off {
			return ids[0], start, nil
		}
	}
	l.log.ErrorContext(ctx, "clock is off the store's", "clock", instant.UTC(), "store", at.UTC(), "ClockOff", 1)
	return "", start, errClock
}

// retry retries attempt on throttling, conflicts and unknown outcomes. Puts are idempotent.
func (l *Lister) retry(ctx context.Context, attempt func() error) error {
	return retry.Do(ctx, l.pause, table.Attempts(conflictAttempts, throttledAttempts), attempt)
}

// logBatch logs one line for a batch that had something to list. ListingLag, in milliseconds, becomes a metric.
func (l *Lister) logBatch(ctx context.Context, batch []Record, entries []JournalEntry) {
	if len(entries) == 0 {
		return
	}
	oldest := slices.MinFunc(entries, func(a, b JournalEntry) int { return a.At.Compare(b.At) })
	l.log.LogAttrs(ctx, slog.LevelInfo, "listed", slog.Int("records", len(batch)), slog.Int("entries", len(entries)),
		slog.Int64("ListingLag", max(0, l.now().Sub(oldest.At).Milliseconds())))
}
