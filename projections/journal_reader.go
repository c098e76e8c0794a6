package projections

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
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

// ErrNotInJournal means that the journal does not have the page that a position names: the position is of another
// ledger, or the table was restored to a time before it.
var ErrNotInJournal = errors.New("the journal does not have the page of the position")

// JournalReader reads the journal in the order in which it was written. It is safe for concurrent use.
//
// A position only moves to entries that were read, so a consumer that resumes at its last position misses nothing. It
// may see an entry twice, because a retry writes an entry again under another KSUID.
type JournalReader struct {
	table table.Table
	lanes *table.LaneLog
	now   func() time.Time
}

// NewJournalReader returns a reader on a table. A nil now is time.Now.
func NewJournalReader(t table.Table, now func() time.Time) *JournalReader {
	if now == nil {
		now = time.Now
	}
	return &JournalReader{table: t, lanes: table.NewLaneLog(t, now), now: now}
}

// JournalPosition is where reading continues. The zero value is the beginning of the journal.
type JournalPosition struct {
	KSUID events.KSUID // reading continues after it
	// IsPage means that KSUID is that of a page, which the journal must have: this shows that the position is of the
	// journal. Void pages count. Otherwise nothing was read yet since a time.
	IsPage bool
	Read   int // how many entries of the page were read; 0: all
}

// timeMark begins the text of a position that is no page.
const timeMark = ">"

// JournalFrom returns the position before all entries at t or later. t is truncated to microseconds.
func JournalFrom(t time.Time) JournalPosition {
	return JournalPosition{KSUID: events.FirstKSUID(t.Add(-time.Microsecond))}
}

// String returns the text of p: "" for the beginning, else a KSUID. A # and a number after it count what was read of
// the page, and timeMark before it says that it is no page.
func (p JournalPosition) String() string {
	switch {
	case p.KSUID == "":
		return ""
	case !p.IsPage:
		return timeMark + string(p.KSUID)
	case p.Read > 0:
		return string(p.KSUID) + "#" + strconv.Itoa(p.Read)
	}
	return string(p.KSUID)
}

// ParseJournalPosition parses the text of a position.
func ParseJournalPosition(text string) (p JournalPosition, ok bool) {
	if text == "" {
		return p, true
	}
	id, isTime := strings.CutPrefix(text, timeMark)
	id, read, _ := strings.Cut(id, "#")
	var err error
	if p.KSUID, err = events.ParseKSUID(id); err != nil {
		return JournalPosition{}, false
	}
	p.IsPage = !isTime
	p.Read, _ = strconv.Atoi(read) // what is no number has another text
	return p, p.String() == text
}

// After returns at most s.Limit entries after the position s.After. It trails the clocks by JournalTrail. Next is set
// even at the end. A result may be short before the end. After makes one request when nothing is new, and else
// two. It makes a third when the first pages have too few entries: it estimates from their mean size how many more
// pages to read. If kind is not "", it leaves out the events of other types. Errors: those of table.Table and of
// table.DecodeEvent; ErrNotInJournal; one for a malformed position.
func (r *JournalReader) After(ctx context.Context, s Slice, kind string) (Page[ResolvedEntry], error) {
	listed := Page[ResolvedEntry]{Next: s.After}
	from, ok := ParseJournalPosition(s.After)
	if !ok {
		return listed, fmt.Errorf("%q is not a position in the journal", s.After)
	}
	begun, asked := r.now(), min(s.Limit, journalFirst)
	pages, more, storeTime, err := r.pages(ctx, from, asked)
	if err != nil {
		return listed, fmt.Errorf("read journal: %w", err)
	}
	bound := trailingKSUID(begun, storeTime, JournalTrail)
	entries := takeEntries(pages, from, bound, s.Limit, &listed.Next)
	if missing := s.Limit - len(entries); missing > 0 && more && pages[len(pages)-1].ID < bound {
		mean := max(1, len(entries)/len(pages))
		last := JournalPosition{KSUID: pages[len(pages)-1].ID} // it was just read
		pages, _, _, err = r.pages(ctx, last, min((missing+mean-1)/mean, journalPages))
		if err != nil {
			return listed, fmt.Errorf("read more of the journal: %w", err)
		}
		entries = append(entries, takeEntries(pages, last, bound, missing, &listed.Next)...)
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
	found := make(map[table.Key]events.Event, len(entries))
	for _, e := range entries {
		found[e.Event] = nil
		if of, ok := before(e.Event); ok {
			found[of] = nil
		}
	}
	keys := slices.Collect(maps.Keys(found))
	err = forEach(ctx, r.table, keys, table.Strong, func(k table.Key, item table.Item) error {
		e, err := table.DecodeEvent(item)
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
func before(event table.Key) (k table.Key, ok bool) {
	if hold, ok := table.Outcome.Parse(event); ok {
		return table.Transaction.Key(hold), true
	}
	if account, _, ok := table.Change.Parse(event); ok {
		return table.Account.Key(account), true
	}
	return k, false
}

// pages reads about limit pages of the journal in the order of their KSUIDs, after a position, and reports whether
// there may be more. It also returns the store's clock, from before the first lane was read. The page of the position
// is among them if some of its entries are to be read; else it is read with them to see that it exists. It makes a
// request for each lane. Error: also ErrNotInJournal.
func (r *JournalReader) pages(ctx context.Context, after JournalPosition, limit int) (
	pages []JournalPage, more bool, at time.Time, err error,
) {
	within, isPassed := table.Journal.All(), false
	if after.IsPage {
		within, isPassed = within.Since(string(after.KSUID)), after.Read == 0
	} else {
		within = within.After(string(after.KSUID))
	}
	if within.Empty() {
		return nil, false, at, nil
	}
	if isPassed {
		limit++
	}
	lanes, err := r.lanes.Recent(ctx)
	if err != nil {
		return nil, false, at, err
	}
	partitions := lanes.Pages()
	for i, lane := range partitions {
		partitions[i] = table.Journal.PK(lane)
	}
	q := table.Query{Within: within, Consistency: table.Strong}
	items, more, at, err := mergeUpTo(ctx, r.table, q, partitions, limit, table.AttrSK)
	if err != nil {
		return nil, false, at, err
	}
	if after.IsPage && (len(items) == 0 || pageID(items[0]) != after.KSUID) {
		return nil, false, at, ErrNotInJournal
	}
	for _, item := range items {
		if isPassed && pageID(item) == after.KSUID {
			continue // whatever it has now
		}
		page, err := decodeJournal(item)
		if err != nil {
			return nil, false, at, err
		}
		pages = append(pages, page)
	}
	return pages, more && len(pages) > 0, at, nil
}

func pageID(item table.Item) events.KSUID {
	_, id, _ := table.Journal.Parse(table.ItemKey(item))
	return events.KSUID(id)
}

// placedEntry is an entry with its position.
type placedEntry struct {
	JournalEntry
	position string
}

// takeEntries returns the first limit entries of the pages below bound. Of the page of the position `from` it skips the
// entries that were read. It sets next to the position of the last entry or page that it has passed.
func takeEntries(
	pages []JournalPage, from JournalPosition, bound events.KSUID, limit int, next *string,
) (entries []placedEntry) {
	for _, page := range pages {
		if page.ID >= bound {
			break
		}
		for i, entry := range page.Entries {
			switch {
			case page.Void || page.ID == from.KSUID && i < from.Read:
				continue
			case len(entries) == limit:
				return entries
			}
			at := JournalPosition{KSUID: page.ID, IsPage: true}
			if i < len(page.Entries)-1 {
				at.Read = i + 1
			}
			*next = at.String()
			entries = append(entries, placedEntry{entry, *next})
		}
		*next = JournalPosition{KSUID: page.ID, IsPage: true}.String()
	}
	return entries
}

// Final yields the pages after a page that no page can come before any more: those that the trail leaves behind. It
// yields void ones, too. After an error it ends. Error: also a clock that differs from the store's by more than
// table.ClockTolerance, in any reply. With a slow one, pages would seem to be missing.
func (r *JournalReader) Final(ctx context.Context, after events.KSUID) iter.Seq2[JournalPage, error] {
	return func(yield func(JournalPage, error) bool) {
		for {
			begun, sent := r.now(), time.Now()
			pages, _, at, err := r.pages(ctx, JournalPosition{KSUID: after}, journalPages)
			if err == nil {
				err = table.CompareClock(r.now, at, sent)
			}
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
