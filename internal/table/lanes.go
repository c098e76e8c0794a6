package table

import (
	"context"
	"fmt"
	"hash/fnv"
	"strconv"
	"sync"
	"time"

	"ledger.example/events"
)

// What every trade writes lies in lanes: partition keys that differ only by a number, so that no single partition of
// DynamoDB ends how far the ledger scales. A log of growths, events.LanesGrown, says how many there are from a time on.
// A key is a function of what is stored and of the log, so whoever computes it finds the same one, whenever that is.
//
// Whoever writes an entry knows the log at least up to the time that decides the lane (LaneLog.Through). Whoever reads
// a list reads the lanes of the largest number in the log, also of one that is not yet in force (LaneLog.Recent): a
// lane too many is an empty query, and one too few a missed entry.

const (
	// LanesLead is how long before it is in force a growth is decided. It is more than LanesGood, five minutes in which
	// its put may still be applied, and the differences of clocks together.
	LanesLead = 10 * time.Minute
	// LanesGood is how far beyond the store's time the log is known after a read: no growth that this read missed is in
	// force before then.
	LanesGood = 2 * time.Minute
	// LanesOfJournal is how many lanes of the lists make one of the journal: a page has 100 entries in nine units.
	LanesOfJournal = 16
	// lanesRecent is the greatest age of the log for readers.
	lanesRecent = time.Minute
)

// Lanes is what one strong read of the log of growths has found.
type Lanes struct {
	grown []events.LanesGrown // by number
	at    time.Time           // of the read, by the store's clock, or a little before
	read  time.Time           // likewise by the process's clock
}

// LanesOf returns the lanes of all growths of a ledger, in the order of their numbers. They are known for all times.
func LanesOf(grown ...events.LanesGrown) Lanes { return Lanes{grown: grown} }

// ReadAt returns the store's time of the read.
func (l Lanes) ReadAt() time.Time { return l.at }

// Knows reports whether the log is known for a time.
func (l Lanes) Knows(t time.Time) bool { return t.Before(l.at.Add(LanesGood)) }

// Grown returns the growths.
func (l Lanes) Grown() []events.LanesGrown { return l.grown }

// At returns how many lanes entries of a time have. The log must be known for it.
func (l Lanes) At(t time.Time) int {
	lanes := 1
	for _, g := range l.grown {
		if !g.From.After(t) {
			lanes = max(lanes, g.Lanes)
		}
	}
	return lanes
}

// Largest returns the largest number of lanes in the log.
func (l Lanes) Largest() int {
	lanes := 1
	for _, g := range l.grown {
		lanes = max(lanes, g.Lanes)
	}
	return lanes
}

// Of returns the lane of a transaction, as keys have it, by when it was recorded.
func (l Lanes) Of(transaction string, recorded time.Time) string {
	return Lane(transaction, l.At(recorded))
}

// All returns the lanes that readers read.
func (l Lanes) All() []string { return lanesTo(l.Largest()) }

// OfPage returns the lane of a page of the journal.
func (l Lanes) OfPage(id events.KSUID) string { return Lane(string(id), pageLanes(l.At(id.Time()))) }

// Pages returns the lanes of the journal that readers read.
func (l Lanes) Pages() []string { return lanesTo(pageLanes(l.Largest())) }

func pageLanes(lanes int) int { return max(1, lanes/LanesOfJournal) }

func lanesTo(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = strconv.Itoa(i)
	}
	return all
}

// Lane returns in which of n lanes something with an id lies. In twice as many lanes it lies in this one, or in the one
// that is n further.
func Lane(id string, n int) string {
	h := fnv.New64a()
	h.Write([]byte(id))
	sum := h.Sum64()
	sum ^= sum >> 32 // the lowest bits alone depend on the lowest bits of the characters only
	sum ^= sum >> 16
	return strconv.Itoa(int(sum % uint64(n)))
}

// isLane reports whether a text is a lane as keys have it.
func isLane(s string) bool {
	n, err := strconv.Atoi(s)
	return err == nil && n >= 0 && n < events.LanesMax && strconv.Itoa(n) == s
}

// LaneLog reads the log of growths when it must. It is safe for concurrent use.
type LaneLog struct {
	table   Table
	now     func() time.Time
	reading chan struct{} // has an element while the log is read

	mu    sync.Mutex
	known Lanes
}

// NewLaneLog returns a reader of a table's log. It reads nothing yet. now is the process's clock; nil: time.Now.
func NewLaneLog(t Table, now func() time.Time) *LaneLog {
	if now == nil {
		now = time.Now
	}
	return &LaneLog{table: t, now: now, reading: make(chan struct{}, 1)}
}

// Through returns the log, known for times up to t. It makes no request while what it has is enough. Errors: those of
// Table; ErrUnavailable if the store does not tell its time; one if the log cannot be decoded; ErrMalformedItem if t is
// in the future by minutes, which no time that the ledger writes is.
func (l *LaneLog) Through(ctx context.Context, t time.Time) (Lanes, error) {
	known, err := l.that(ctx, func(k Lanes) bool { return k.Knows(t) })
	if err == nil && !known.Knows(t) {
		err = fmt.Errorf("%w: %s is in the future, where the number of lanes is not known", ErrMalformedItem,
			events.FormatTime(t))
	}
	return known, err
}

// Recent returns the log for a reader whose request begins now. It makes a request if what it has is a minute old.
// Errors: as those of Through.
func (l *LaneLog) Recent(ctx context.Context) (Lanes, error) {
	return l.that(ctx, func(k Lanes) bool {
		age := l.now().Sub(k.read)
		return !k.read.IsZero() && age >= 0 && age < lanesRecent
	})
}

// Known returns the log as it was read last. It makes no request.
func (l *LaneLog) Known() Lanes {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known
}

// that returns what is known of the log if it suffices, and else what a read finds. One read at a time serves all.
func (l *LaneLog) that(ctx context.Context, suffices func(Lanes) bool) (Lanes, error) {
	if k := l.Known(); suffices(k) {
		return k, nil
	}
	select {
	case l.reading <- struct{}{}:
	case <-ctx.Done():
		return Lanes{}, ctx.Err()
	}
	defer func() { <-l.reading }()
	if k := l.Known(); suffices(k) {
		return k, nil
	}
	read, err := ReadLanes(ctx, l.table, l.now())
	if err != nil {
		return Lanes{}, fmt.Errorf("read the log of lanes: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known = read
	return read, nil
}

// ReadLanes reads the log of growths, strongly consistent. read is the process's time, before the request.
func ReadLanes(ctx context.Context, t Table, read time.Time) (Lanes, error) {
	l := Lanes{read: read}
	q := Query{Partition: LanesGrown.PK(), Within: LanesGrown.All(), Consistency: Strong}
	for page, err := range Pages(ctx, t, q) {
		switch {
		case err != nil:
			return Lanes{}, err
		case page.At.IsZero():
			return Lanes{}, fmt.Errorf("%w: the store did not tell its time", ErrUnavailable)
		case l.at.IsZero():
			l.at = page.At
		}
		for _, item := range page.Items {
			g, err := Only[events.LanesGrown](DecodeEvent(item))
			if err != nil { // not wrapped: it says nothing about the item whose lane is to be known
				return Lanes{}, fmt.Errorf("it cannot be decoded: %v", err)
			}
			l.grown = append(l.grown, g)
		}
	}
	return l, nil
}
