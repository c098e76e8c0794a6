package projections

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
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

// Lister writes the lists of transactions, of open holds and of accounts by metadata, and the journal of all events. It
// is safe for concurrent use.
type Lister struct {
	table   table.Table
	lanes   *table.LaneLog
	indexed []string // metadata keys
	minter  *events.Minter
	clock   table.Clock
	now     func() time.Time
	log     *slog.Logger
	pause   func(ctx context.Context, failed int) error

	mu        sync.Mutex
	journaled map[table.Key]bool // events in the journal whose records the stream will deliver again
}

// NewLister returns a lister on a table. It lists transactions by time, and transactions and accounts by the indexed
// metadata keys. now is its own clock (nil: time.Now). A nil log is slog.Default().
func NewLister(t table.Table, indexed []string, now func() time.Time, log *slog.Logger) *Lister {
	if now == nil {
		now = time.Now
	}
	return &Lister{
		table: t, lanes: table.NewLaneLog(t, now), indexed: indexed, minter: events.NewMinter(now, nil), now: now,
		log: cmp.Or(log, slog.Default()), pause: backoff.Sleep, journaled: make(map[table.Key]bool),
	}
}

// List applies a batch. It puts the entries that the events make into the lists, and writes the journal entries of the
// whole batch. It skips records of items that the journal does not have. Applying a
// batch again is safe: it puts the same list entries, and may add another page to the journal.
//
// No list delays another, since the key of one may be throttled for minutes. List tries each entry a few times. Then it
// writes the journal, also for the events whose entries failed. Only then does it go on with these entries alone.
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
	findHolds(batch, all)
	l.recall(batch, all)
	defer func() { l.remember(batch, all, failed, err) }()
	l.list(ctx, batch, all, few)
	entries, written := l.journal(ctx, all)
	late := slices.DeleteFunc(slices.Clone(all), func(j *job) bool { return few(j.err) == 0 })
	if len(late) > 0 {
		l.list(ctx, batch, late, many)
		var more []JournalEntry
		more, written = l.journal(ctx, all)
		entries = append(entries, more...)
	}
	failed, err = report(ctx, l.log, batch, all, "event cannot be listed", "listing failed", func(j *job) []any {
		return []any{"pk", batch[j.first].PK, "sk", batch[j.first].SK}
	})
	if written != nil {
		l.log.ErrorContext(ctx, "the journal could not be written", "error", written)
		return "", fmt.Errorf("write the journal: %w", written)
	}
	l.logBatch(ctx, batch, entries)
	return failed, err
}

// few and many allow attempts on throttling, conflicts and unknown outcomes, for retry.Do: at first, and alone. Puts
// are idempotent.
var few, many = table.Attempts(3, 3), table.Attempts(conflictAttempts, throttledAttempts)

// listings returns the work for a batch.
func listings(batch []Record) (all []*job) {
	for i, r := range batch {
		if table.IsJournaled(r.SK) && !r.Removed && !r.Altered { // the projector handles these
			all = append(all, &job{Target: Target{Lists: true}, first: i, records: 1, listing: listing{event: r.Event}})
		}
	}
	return all
}

// findHolds tells the jobs of holds that begin and end in the batch of each other. Such a hold is not listed as open,
// and its end needs no read. The record of the end alone answers for the entry of the end, because that of the header
// may be delivered again without it.
func findHolds(batch []Record, all []*job) {
	headers, ends := make(map[string]*job), make(map[string]*job)
	for _, j := range all {
		switch e := j.event.(type) {
		case events.TransactionPosted:
			if e.IsHold() && table.EventKey(e) == batch[j.first].Key() {
				headers[e.ID] = j
			}
		case events.HoldEnded:
			if table.EventKey(e) == batch[j.first].Key() {
				ends[e.Transaction] = j
			}
		}
	}
	for id, end := range ends {
		if header := headers[id]; header != nil {
			header.ends, end.header = true, header.event
		}
	}
}

// listEntry is an entry of an event in a list.
type listEntry struct {
	write table.Write
	done  bool
	err   error // of the last attempt
}

// list puts the entries of all that are not done. Those of one event are put in parallel, too.
func (l *Lister) list(ctx context.Context, batch []Record, all []*job, limit func(error) int) {
	atOnce(listedAtOnce, all, func(j *job) {
		if j.err = l.plan(ctx, batch[j.first].Key(), j, limit); j.err != nil {
			return
		}
		atOnce(len(j.entries), j.entries, func(e *listEntry) {
			if !e.done {
				e.err = l.retry(ctx, limit, func() error { return l.put(ctx, e.write) })
				e.done = e.err == nil
			}
		})
		for _, e := range j.entries {
			if e.err != nil && (j.err == nil || few(j.err) == 0) { // what may be retried comes first
				j.err = fmt.Errorf("list %s: %w", table.EventKey(j.event).PK, e.err)
			}
		}
	})
}

// put puts an entry into its list, unless the list has a newer one.
func (l *Lister) put(ctx context.Context, w table.Write) error {
	sent := time.Now()
	at, err := l.table.Write(ctx, w)
	l.clock.Observe(at, sent, time.Now())
	if _, refused := errors.AsType[*table.Refused](err); refused {
		return nil
	}
	return err
}

// plan reads the event of a record if it is not known, and finds its entries. j.event is nil if it is not that of key.
func (l *Lister) plan(ctx context.Context, key table.Key, j *job, limit func(error) int) (err error) {
	if j.planned {
		return nil
	}
	if j.event == nil {
		if j.event, err = l.read(ctx, key, limit); err != nil {
			return fmt.Errorf("read the event: %w", err)
		}
	}
	if name := j.event.EventName(); table.EventKey(j.event) != key {
		j.event = nil
		return fmt.Errorf("%w: the %s has another key", table.ErrMalformedItem, name)
	}
	writes, err := l.writes(ctx, j, limit)
	for _, w := range writes {
		j.entries = append(j.entries, &listEntry{write: w})
	}
	j.planned = err == nil
	return err
}

// read reads an event. Error: also table.ErrAbsent.
func (l *Lister) read(ctx context.Context, key table.Key, limit func(error) int) (e events.Event, err error) {
	err = l.retry(ctx, limit, func() error {
		item, _, err := l.table.Get(ctx, key, table.Strong)
		if err == nil && item == nil {
			err = table.ErrAbsent
		}
		if err == nil {
			e, err = table.DecodeEvent(item)
		}
		return err
	})
	return e, err
}

// writes returns the writes of the entries that an event makes in lists. A hold's end takes the hold out of the list of
// open holds. The header has the key of the entry.
func (l *Lister) writes(ctx context.Context, j *job, limit func(error) int) (writes []table.Write, err error) {
	switch e := j.event.(type) {
	case events.AccountOpened, events.AccountChanged:
		version, _ := AccountVersionOf(e)
		for _, item := range TaggedItems(version, l.indexed) {
			writes = append(writes, Tags.put(item))
		}
	case events.TransactionPosted:
		var lanes table.Lanes
		err := l.retry(ctx, limit, func() (err error) {
			lanes, err = l.lanes.Through(ctx, e.Recorded())
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("list transaction %s: %w", e.ID, err)
		}
		for _, row := range ListedRows(e, l.indexed, lanes) {
			writes = append(writes, Listings.put(row.Value))
		}
		if e.IsHold() && !j.ends {
			writes = append(writes, Holds.put(openHoldItem(events.Transaction{Header: e}, lanes)))
		}
	case events.HoldEnded:
		if j.header == nil {
			j.header, err = l.read(ctx, table.Transaction.Key(e.Transaction), limit)
		}
		header, isHeader := j.header.(events.TransactionPosted)
		if err == nil && !(isHeader && header.IsHold()) {
			err = table.ErrAbsent
		}
		if err != nil {
			return nil, fmt.Errorf("read the hold %s: %w", e.Transaction, err)
		}
		writes = append(writes, Holds.put(openHoldItem(events.Transaction{Header: header, Ended: &e}, table.Lanes{})))
	}
	return writes, nil
}

// journal writes the entries of the events that are known and not in the journal yet.
func (l *Lister) journal(ctx context.Context, all []*job) (entries []JournalEntry, err error) {
	for _, j := range all {
		if j.event != nil && !j.journaled {
			entries = append(entries, EntryOf(j.event))
		}
	}
	if err := l.Append(ctx, entries); err != nil {
		return nil, err
	}
	for _, j := range all {
		j.journaled = j.journaled || j.event != nil
	}
	return entries, nil
}

// redeliveredMax is how many events a Lister remembers of the records that it will get again.
const redeliveredMax = 10_000

// recall finds the events of a batch that this Lister has written into the journal before. A record may fail for hours,
// and is delivered again all the time, with those that follow it. Only another process adds them again.
func (l *Lister) recall(batch []Record, all []*job) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, j := range all {
		j.journaled = l.journaled[batch[j.first].Key()]
	}
}

// remember notes what recall needs when the stream delivers records again, as the results of List make it do.
func (l *Lister) remember(batch []Record, all []*job, failed string, err error) {
	from := len(batch) // the first of them
	if err != nil {
		from = 0
	} else if failed != "" {
		from = slices.IndexFunc(batch, func(r Record) bool { return r.SequenceNumber == failed })
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, j := range all {
		delete(l.journaled, batch[j.first].Key())
		if j.journaled && j.first >= from && len(l.journaled) < redeliveredMax {
			l.journaled[batch[j.first].Key()] = true
		}
	}
}

// Append writes entries into the journal, at most 100 to a page.
func (l *Lister) Append(ctx context.Context, entries []JournalEntry) error {
	for page := range slices.Chunk(entries, pageEntries) {
		if err := l.retry(ctx, many, func() error { return l.writePage(ctx, page) }); err != nil {
			return err
		}
	}
	return nil
}

// writePage writes a page under a KSUID that it mints right before the write. A page must become visible before readers
// pass its KSUID; they trail the store's clock by JournalTrail. If the answer takes too long for that, the error is
// table.ErrUnknownOutcome, and the caller writes the entries again.
func (l *Lister) writePage(ctx context.Context, entries []JournalEntry) error {
	id, lane, sent, err := l.mintPage(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithDeadline(ctx, sent.Add(answerTime))
	defer cancel()
	at, err := l.table.Write(ctx, table.Write{
		Item: journalItem(JournalPage{ID: id, Lane: lane, Entries: entries}), If: table.IfAbsent,
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

// mintPage returns the KSUID and the lane of a page, and the time just before the KSUID was minted. If the log of lanes
// must be read for the lane, it mints anew, because that may take long. Errors: those of mint and of table.LaneLog.
func (l *Lister) mintPage(ctx context.Context) (id events.KSUID, lane string, start time.Time, err error) {
	for {
		if id, start, err = l.mint(ctx); err != nil {
			return id, lane, start, err
		}
		if known := l.lanes.Known(); known.Knows(id.Time()) {
			return id, known.OfPage(id), start, nil
		}
		if _, err = l.lanes.Through(ctx, id.Time()); err != nil {
			return id, lane, start, err
		}
	}
}

// mint returns a KSUID, and the time just before it was minted. It reads the store's clock if the last known offset is
// stale or too large. Error: errClock.
func (l *Lister) mint(ctx context.Context) (id events.KSUID, start time.Time, err error) {
	if off, _ := l.clock.Off(l.now(), time.Now()); off {
		sent := time.Now()
		_, at, err := l.table.Get(ctx, table.Journal.Key("0", ""), table.Eventual) // no item: half a read unit
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

// retry retries attempt as often as limit allows: see retry.Do.
func (l *Lister) retry(ctx context.Context, limit func(error) int, attempt func() error) error {
	return retry.Do(ctx, l.pause, limit, attempt)
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
