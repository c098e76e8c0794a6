package projections

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"ledger.example/events"
)

const (
	// JournalTrail is how far behind the clocks the journal is read. A page counts as late when it becomes visible
	// after a reader may have passed its KSUID. The clock that minted that is at most 5 s off the store's, and a put
	// that isn't answered within seconds is repeated under a new KSUID: the trail is longer than both together.
	JournalTrail = 15 * time.Second
	// journalFirst is how many pages of the journal a reader asks for at first: any two that are full have as many
	// entries as an answer. journalPages is the most that it asks for when those are not enough.
	journalFirst, journalPages = 2, 25
)

// JournalViews is the store as the reader of the journal needs it. All reads are strongly consistent. Errors:
// ErrThrottled, ErrUnavailable, ErrMalformedItem of package store.
type JournalViews interface {
	// JournalPages reads at most limit pages of the journal, by KSUID: those after one, which may be any text, "" for
	// the first. It also returns the store's clock.
	JournalPages(ctx context.Context, after string, limit int) ([]JournalPage, time.Time, error)
	// TransactionsByID reads the headers of transactions by their ids, and the ends of those of which that is asked. It
	// makes one request for each hundred of both. What is absent is left out, and so is an end without its header.
	TransactionsByID(ctx context.Context, ended map[string]bool) (map[string]Transaction, error)
}

// Happened is an entry of the journal with its transaction as it was then.
type Happened struct {
	Event       string      // JournalPosted, JournalHeld or a hold's outcome
	At          time.Time   // when it was recorded, UTC
	Transaction Transaction // of an entry that is not an outcome's, Ended is nil
	Position    string      // what follows this entry is read from here
}

// JournalReader reads the journal in the order in which it was written. It is safe for concurrent use.
//
// A position is the KSUID of a page, or that, a # and how many of the page's entries have been read. It only ever moves
// to an entry that was read: so whoever goes on where they stopped misses nothing, and may see an entry twice under
// another KSUID.
type JournalReader struct {
	views JournalViews
	now   func() time.Time
}

// NewJournalReader returns a reader on views. A nil now is time.Now.
func NewJournalReader(views JournalViews, now func() time.Time) *JournalReader {
	if now == nil {
		now = time.Now
	}
	return &JournalReader{views: views, now: now}
}

// JournalFrom is a position before all that the journal lists at t, in whole microseconds, or later.
func JournalFrom(t time.Time) string { return string(events.FirstKSUID(t.Add(-time.Microsecond))) }

// JournalPosition reads a position: a page and how many of its entries are read, -1 for all. "" is the beginning.
func JournalPosition(text string) (page events.KSUID, read int, ok bool) {
	id, number, cut := strings.Cut(text, "#")
	read = -1
	if cut {
		var err error
		if read, err = strconv.Atoi(number); err != nil || read < 1 || strconv.Itoa(read) != number {
			return "", 0, false
		}
	}
	page, err := events.ParseKSUID(id)
	return page, read, err == nil || text == ""
}

// After returns at most s.Limit entries after a position. It trails the clocks by JournalTrail. Next is always where to
// go on. It makes one request when nothing is new, else two, and a third when the first pages have too few entries:
// their mean tells how many more to read. A page may be short, also in the middle. Errors: those of the views; one for
// a position that is none.
func (r *JournalReader) After(ctx context.Context, s Slice) (Listed[Happened], error) {
	listed := Listed[Happened]{Next: s.After}
	page, read, ok := JournalPosition(s.After)
	if !ok {
		return listed, fmt.Errorf("%q is not a position in the journal", s.After)
	}
	begun, after := r.now(), string(page)
	if read > 0 {
		after = after[:len(after)-1] // a text that sorts before it, and after nearly every other page
	}
	asked := min(s.Limit, journalFirst)
	pages, storeTime, err := r.views.JournalPages(ctx, after, asked)
	if err != nil {
		return listed, fmt.Errorf("read journal: %w", err)
	}
	bound := before(begun, storeTime, JournalTrail)
	entries := s.read(pages, page, read, bound, &listed.Next)
	if missing := s.Limit - len(entries); missing > 0 && len(pages) == asked && pages[asked-1].ID < bound {
		mean := max(1, len(entries)/asked)
		after = string(pages[asked-1].ID)
		pages, _, err = r.views.JournalPages(ctx, after, min((missing+mean-1)/mean, journalPages))
		if err != nil {
			return listed, fmt.Errorf("read more of the journal: %w", err)
		}
		entries = append(entries, Slice{Limit: missing}.read(pages, "", -1, bound, &listed.Next)...)
	}
	if len(entries) == 0 {
		return listed, nil
	}
	wanted := make(map[string]bool, len(entries))
	for _, e := range entries {
		wanted[e.entry.Transaction] = wanted[e.entry.Transaction] || e.entry.ends()
	}
	found, err := r.views.TransactionsByID(ctx, wanted)
	if err != nil {
		return listed, fmt.Errorf("read transactions of the journal: %w", err)
	}
	for _, e := range entries {
		if happened, ok := e.entry.of(found[e.entry.Transaction]); ok {
			happened.Position = e.position
			listed.Items = append(listed.Items, happened)
		}
	}
	return listed, nil
}

// placedEntry is an entry with the position behind it.
type placedEntry struct {
	entry    JournalEntry
	position string
}

// read returns the first s.Limit entries of the pages below a bound, from the given entry of the page `at` on. It moves
// next behind what it has gone through.
func (s Slice) read(pages []JournalPage, at events.KSUID, read int, bound events.KSUID, next *string,
) (entries []placedEntry) {
	for _, page := range pages {
		if page.ID >= bound {
			break
		}
		first := 0
		if page.ID <= at {
			if first = read; page.ID < at || read < 0 {
				continue
			}
		}
		for i, entry := range page.Entries {
			switch {
			case i < first || page.Void:
				continue
			case len(entries) == s.Limit:
				return entries
			}
			*next = string(page.ID) + "#" + strconv.Itoa(i+1)
			if i == len(page.Entries)-1 {
				*next = string(page.ID)
			}
			entries = append(entries, placedEntry{entry, *next})
		}
		*next = string(page.ID)
	}
	return entries
}

// ends reports whether e is of the end of a hold.
func (e JournalEntry) ends() bool { return e.Event != JournalPosted && e.Event != JournalHeld }

// of returns e with its transaction. ok is false when the transaction is not what e says: then e is wrong.
func (e JournalEntry) of(t Transaction) (h Happened, ok bool) {
	switch {
	case t.Header.ID == "":
	case e.ends():
		if t.Ended == nil || string(t.Ended.Outcome) != e.Event {
			return h, false
		}
		return Happened{Event: e.Event, At: t.Ended.EndedAt(), Transaction: t}, true
	default:
		ok = t.Header.IsHold() == (e.Event == JournalHeld)
		h = Happened{Event: e.Event, At: t.Header.Recorded(), Transaction: Transaction{Header: t.Header}}
	}
	return h, ok
}
