package projections

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
)

const (
	// JournalTrail is how far behind the clocks the journal is read. Readers would miss a page that becomes visible
	// after they have passed its KSUID. The minting clock is at most 5 s off the store's, and a put that is not
	// answered within seconds is repeated under a new KSUID. The trail is longer than both together.
	JournalTrail = 15 * time.Second
	// journalFirst is the number of pages in a reader's first request: two full pages fill an answer. journalPages is
	// the maximum in its second request.
	journalFirst, journalPages = 2, 25
)

// ResolvedEntry is an entry of the journal with its event.
type ResolvedEntry struct {
	JournalEntry
	Type     string       // one of events.Types
	Recorded events.Event // the event
	Of       events.Event // the header of an ended hold, the opening of a changed account; else nil
	Position string       // of this entry; reading continues after it
}

// JournalReader reads the journal in the order in which it was written. It is safe for concurrent use.
//
// A position is the KSUID of a page. It may be followed by a # and the number of entries of the page that have been
// read. It only moves to entries that were read, so a consumer that resumes at its last position misses nothing. It may
// see an entry twice, because a retry writes an entry again under another KSUID.
type JournalReader struct {
	table store.Table
	now   func() time.Time
}

// NewJournalReader returns a reader on a table. A nil now is time.Now.
func NewJournalReader(t store.Table, now func() time.Time) *JournalReader {
	if now == nil {
		now = time.Now
	}
	return &JournalReader{table: t, now: now}
}

// JournalFrom returns a position before all entries at t or later. t is truncated to microseconds.
func JournalFrom(t time.Time) string { return string(events.FirstKSUID(t.Add(-time.Microsecond))) }

// JournalPosition parses a position: a page, and how many of its entries have been read, -1 for all. "" is the
// beginning.
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

// After returns at most s.Limit entries after the position s.After. It trails the clocks by JournalTrail. Next is set
// even at the end. A result may be short before the end. After makes one request when nothing is new, and else
// two. It makes a third when the first pages have too few entries: it estimates from their mean size how many more
// pages to read. If kind is not "", it leaves out the events of other types. Errors: those of store.Table and of
// store.DecodeEvent; one for a malformed position.
func (r *JournalReader) After(ctx context.Context, s Slice, kind string) (Page[ResolvedEntry], error) {
	listed := Page[ResolvedEntry]{Next: s.After}
	page, read, ok := JournalPosition(s.After)
	if !ok {
		return listed, fmt.Errorf("%q is not a position in the journal", s.After)
	}
	begun, after := r.now(), string(page)
	if read > 0 {
		after = after[:len(after)-1] // sorts before this page, and after nearly every other
	}
	asked := min(s.Limit, journalFirst)
	pages, storeTime, err := r.pages(ctx, after, asked)
	if err != nil {
		return listed, fmt.Errorf("read journal: %w", err)
	}
	bound := trailingKSUID(begun, storeTime, JournalTrail)
	entries := takeEntries(pages, page, read, bound, s.Limit, &listed.Next)
	if missing := s.Limit - len(entries); missing > 0 && len(pages) == asked && pages[asked-1].ID < bound {
		mean := max(1, len(entries)/asked)
		after = string(pages[asked-1].ID)
		pages, _, err = r.pages(ctx, after, min((missing+mean-1)/mean, journalPages))
		if err != nil {
			return listed, fmt.Errorf("read more of the journal: %w", err)
		}
		entries = append(entries, takeEntries(pages, "", -1, bound, missing, &listed.Next)...)
	}
	if len(entries) == 0 {
		return listed, nil
	}
	entries = slices.DeleteFunc(entries, func(e placedEntry) bool { return !canBe(e.Event, kind) })
	listed.Items, err = r.resolve(ctx, entries, kind)
	return listed, err
}

// resolve reads the events of entries. It leaves out entries without an event, and those of other types than kind if
// that is not "".
func (r *JournalReader) resolve(ctx context.Context, entries []placedEntry, kind string) (
	resolved []ResolvedEntry, err error,
) {
	found := make(map[store.Key]events.Event, len(entries))
	for _, e := range entries {
		found[e.Event] = nil
		if of, ok := before(e.Event); ok {
			found[of] = nil
		}
	}
	keys := slices.Collect(maps.Keys(found))
	err = forEach(ctx, r.table, keys, store.Strong, func(k store.Key, item store.Item) error {
		e, err := store.DecodeEvent(item)
		found[k] = e
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read events of the journal: %w", err)
	}
	for _, e := range entries {
		one := ResolvedEntry{JournalEntry: e.JournalEntry, Recorded: found[e.Event], Position: e.position}
		of, needed := before(e.Event)
		if one.Of = found[of]; one.Recorded == nil || needed && one.Of == nil {
			continue
		}
		one.Type, one.At = events.TypeOf(one.Recorded)
		if kind == "" || kind == one.Type {
			resolved = append(resolved, one)
		}
	}
	return resolved, nil
}

// before returns the key of the event that an event is shown with: the header of a hold's end, the opening of an
// account's change.
func before(event store.Key) (k store.Key, ok bool) {
	if hold, ok := store.Outcome.Parse(event); ok {
		return store.Transaction.Key(hold), true
	}
	if account, _, ok := store.Change.Parse(event); ok {
		return store.Account.Key(account), true
	}
	return k, false
}

// pages reads at most limit pages of the journal in the order of their KSUIDs. It begins after `after`, which may be
// any text; "" begins with the first page. It also returns the store's clock.
func (r *JournalReader) pages(ctx context.Context, after string, limit int) ([]JournalPage, time.Time, error) {
	p, err := readPage(ctx, r.table, store.Query{
		Partition: store.Journal.PK(), Within: store.Journal.All().After(after), Limit: limit,
		Consistency: store.Strong,
	}, decodeJournal)
	return p.found, p.at, err
}

// placedEntry is an entry with its position.
type placedEntry struct {
	JournalEntry
	position string
}

// takeEntries returns the first limit entries of the pages below bound. It skips pages before `at`, and the first
// `read` entries of `at`, all if -1. It sets next to the position of the last entry or page that it has passed.
func takeEntries(
	pages []JournalPage, at events.KSUID, read int, bound events.KSUID, limit int, next *string,
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
			case len(entries) == limit:
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

// Final yields the pages after a page that no page can come before any more: those that the trail leaves behind. It
// yields void ones, too. After an error it ends.
func (r *JournalReader) Final(ctx context.Context, after events.KSUID) iter.Seq2[JournalPage, error] {
	return func(yield func(JournalPage, error) bool) {
		for {
			begun := r.now()
			pages, at, err := r.pages(ctx, string(after), journalPages)
			if err != nil {
				yield(JournalPage{}, fmt.Errorf("read the journal after page %q: %w", after, err))
				return
			}
			final := trailingKSUID(begun, at, JournalTrail)
			for _, page := range pages {
				if page.ID >= final || !yield(page, nil) {
					return
				}
				after = page.ID
			}
			if len(pages) == 0 {
				return
			}
		}
	}
}
