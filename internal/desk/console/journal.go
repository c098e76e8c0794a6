package console

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"ledger.example/client"
	"ledger.example/events"
)

const (
	// journalTrail is how far the page of events stays behind: the journal itself is about 20 seconds behind.
	journalTrail = 30 * time.Second
	// journalLate is how long after it was recorded an event is usually listed at most. Repairs list some later.
	journalLate = time.Hour
	// A window of the journal is read at once. Its first length is windowBegin. It has at most windowMost entries,
	// unless it is as short as windowLeast. After a window of less than windowFew entries, one that is windowLonger
	// times as long follows.
	windowBegin, windowLeast            = 10 * time.Minute, time.Millisecond
	windowMost, windowFew, windowLonger = 200, 20, 8
)

// journalBack reads the journal backwards, which the API only lists forwards: one window of time after the other, the
// newest first. What comes into the journal meanwhile is after all windows.
type journalBack struct {
	api         *client.Client
	from, until time.Time // of the listing of events: from is inclusive, until is exclusive
}

// newJournalBack returns the reader of the events that were recorded in some days, as far as they are in the journal.
func newJournalBack(api *client.Client, of period, now time.Time) journalBack {
	b := journalBack{api: api, from: of.from, until: now.Add(-journalTrail).UTC()}
	if b.from.IsZero() {
		b.from = events.Epoch()
	}
	if end := of.to.Add(journalLate); !of.to.IsZero() && end.Before(b.until) {
		b.until = end
	}
	return b
}

// first returns the cursor of the newest window.
func (b journalBack) first() string { return windowCursor(b.until, windowBegin) }

// windowCursor returns the cursor of the window before end.
func windowCursor(end time.Time, length time.Duration) string {
	return fmt.Sprintf("%d.%d", end.UnixMicro(), length.Microseconds())
}

// page returns the events of the window at a cursor, the newest first. If it has too many, it is halved until it has
// not. That costs a request for each half without events, at most 50, and 4 for each other. The limit is ignored: a
// window is one page.
func (b journalBack) page(ctx context.Context, cursor string, _ int) (list client.List[deed], err error) {
	end, length, err := b.windowAt(cursor)
	if err != nil {
		return list, err
	}
	after, err := b.firstAt(ctx, end)
	for isHalved := false; err == nil; isHalved = true {
		begin := end.Add(-min(length, end.Sub(b.from)))
		if isHalved {
			begin = end.Add(-length / 2).Truncate(time.Microsecond)
			newer, err := b.firstAt(ctx, begin)
			if err != nil {
				return list, err
			}
			if length = end.Sub(begin); newer == after { // nothing is in this half
				end = begin
				continue
			}
		}
		entries, isWhole, err := b.window(ctx, begin, end, after)
		switch {
		case err != nil:
			return list, err
		case !isWhole:
			length = end.Sub(begin)
			continue
		case len(entries) < windowFew:
			length *= windowLonger
		}
		if begin.After(b.from) {
			list.NextCursor = new(windowCursor(begin, length))
		}
		for _, e := range slices.Backward(entries) {
			d, err := deedOf(e)
			if err != nil {
				return list, err
			}
			list.Data = append(list.Data, d)
		}
		return list, nil
	}
	return list, err
}

// windowAt returns the window of a cursor. Error: a problem.
func (b journalBack) windowAt(cursor string) (end time.Time, length time.Duration, err error) {
	var at, micros int64
	n, _ := fmt.Sscanf(cursor, "%d.%d", &at, &micros)
	end, length = time.UnixMicro(at).UTC(), time.Duration(micros)*time.Microsecond
	isWithin := !end.Before(b.from) && !end.After(b.until)
	if n != 2 || cursor != windowCursor(end, length) || length <= 0 || !isWithin && cursor != b.first() {
		return end, length, problem{http.StatusBadRequest, sentences["invalid_cursor"]}
	}
	return end, length, nil
}

// firstAt returns the cursor of the first entry that was listed at a time or later, "" if there is none yet.
func (b journalBack) firstAt(ctx context.Context, at time.Time) (string, error) {
	first, err := b.api.JournalPage(ctx, client.JournalQuery{From: at}, 1)
	if err != nil || len(first.Value.Data) == 0 {
		return "", err
	}
	return first.Value.Data[0].Cursor, nil
}

// window reads the entries from begin on up to the one with the cursor after, which is the first one at end or later.
// isWhole is false if there are more than windowMost, unless the window cannot be shorter.
func (b journalBack) window(ctx context.Context, begin, end time.Time, after string) (
	entries []client.JournalEntry, isWhole bool, err error,
) {
	if !begin.Before(end) {
		return nil, true, nil
	}
	upTo := func(after string) bool {
		i := slices.IndexFunc(entries, func(e client.JournalEntry) bool { return after != "" && e.Cursor == after })
		if i >= 0 {
			entries = entries[:i]
		}
		return i >= 0
	}
	for q := (client.JournalQuery{From: begin}); ; {
		next, err := b.api.JournalPage(ctx, q, client.PageLimit)
		if err != nil {
			return nil, false, err
		}
		entries = append(entries, next.Value.Data...)
		switch isAtEnd := len(next.Value.Data) == 0 && next.Value.NextCursor == q.After; {
		case upTo(after):
			return entries, true, nil
		case isAtEnd && after == "": // what came in meanwhile is after the window
			after, err = b.firstAt(ctx, end)
			upTo(after)
			return entries, true, err
		case isAtEnd:
			return entries, true, nil
		case len(entries) > windowMost && end.Sub(begin) > windowLeast:
			return nil, false, nil
		}
		q = client.JournalQuery{After: next.Value.NextCursor}
	}
}
