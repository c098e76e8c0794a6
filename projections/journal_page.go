package projections

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// JournalEntry names an event. The journal has an entry for each event, except for postings and the markers of
// reversals, which follow from headers and from ends of holds.
type JournalEntry struct {
	Event store.Key // of the event's item
	At    time.Time // when the event was recorded, UTC, whole microseconds
}

// JournalPage has the journal entries of one batch of the stream. A page is never rewritten, except to make it void.
type JournalPage struct {
	ID      events.KSUID // minted right before the write
	Entries []JournalEntry
	Void    bool // the page was wrong: readers skip it
}

// EntryOf returns the journal entry of an event.
func EntryOf(e events.Event) JournalEntry {
	_, at := events.TypeOf(e)
	return JournalEntry{store.EventKey(e), at}
}

// typesOf are the types that the events with keys of a pattern can have.
var typesOf = []struct {
	*store.Pattern
	types []string
}{
	{store.Asset.Pattern, []string{events.TypeAssetRegistered}},
	{store.Account.Pattern, []string{events.TypeAccountOpened}},
	{store.Change.Pattern, []string{events.TypeAccountChanged}},
	{store.Grant.Pattern, []string{events.TypeMemberGranted, events.TypeMemberRevoked}},
	{store.Group.Pattern, []string{events.TypeGroupRegistered}},
	{store.GroupGrant.Pattern, []string{events.TypeGroupMemberGranted, events.TypeGroupMemberRevoked}},
	{store.Grouping.Pattern, []string{events.TypeGrouped, events.TypeUngrouped}},
	{store.Period.Pattern, []string{events.TypePeriodClosed}},
	{store.Transaction.Pattern, []string{events.TypePosted, events.TypeHeld}},
	{store.Outcome.Pattern, []string{events.TypeCaptured, events.TypeReleased, events.TypeExpired}},
}

// canBe reports whether the event with a key can have a type. Every event has the type "".
func canBe(k store.Key, kind string) bool {
	for _, p := range typesOf {
		if _, ok := p.Parts(k); ok {
			return kind == "" || slices.Contains(p.types, kind)
		}
	}
	return false
}

// Checksum returns the checksum that is stored with p: the first 16 bytes of the SHA-256 of its ID and its entries in
// order, in base64 for URLs. It shows that a page was moved to another key, or that its entries were altered.
func (p JournalPage) Checksum() string {
	hash := sha256.New()
	fmt.Fprintln(hash, p.ID)
	for _, e := range p.Entries {
		fmt.Fprintln(hash, e.Event.ID(), events.FormatTime(e.At))
	}
	return base64.RawURLEncoding.EncodeToString(hash.Sum(nil)[:16])
}

// pageSkew is more than the difference between the clocks of a command and of a lister, of which each is at most
// store.ClockTolerance off the store's.
const pageSkew = time.Minute

// uncheckedSkew is the same for events that are neither transactions nor ends of holds: commands take their times from
// their own clocks without a check.
const uncheckedSkew = 24 * time.Hour

// Misplaced reports whether no lister can have written p under its ID: the ID is later than now, or earlier than the
// events that p lists.
func (p JournalPage) Misplaced(now time.Time) bool {
	at := p.ID.Time()
	return at.After(now.Add(pageSkew)) || slices.ContainsFunc(p.Entries, func(e JournalEntry) bool {
		skew := pageSkew
		if !store.Transaction.Is(e.Event.SK) && !store.Outcome.Is(e.Event.SK) {
			skew = uncheckedSkew
		}
		return at.Before(e.At.Add(-skew))
	})
}

// journalItem returns the item of a page of the journal.
func journalItem(p JournalPage) store.Item {
	item := store.Begin(store.Journal.Key(string(p.ID)), store.Journal.Type)
	entries := make([]store.Item, len(p.Entries))
	for i, e := range p.Entries {
		entries[i] = store.Item{
			store.AttrEvent: store.String(e.Event.ID()), store.AttrAt: store.String(events.FormatTime(e.At)),
		}
	}
	item[store.AttrEntries] = store.Maps(entries)
	item[store.AttrChecksum] = store.String(p.Checksum())
	putFlag(item, store.AttrVoid, p.Void)
	return item
}

func decodeJournal(item store.Item) (JournalPage, error) {
	p, r := readJournal(item)
	if r.Text(store.AttrChecksum) != p.Checksum() {
		r.Fail(store.AttrChecksum, "does not match the key and the entries: the page was altered or moved")
	}
	return decoded(p, item, r)
}

// AlteredJournal decodes a page whose checksum may be wrong. ok is false if its entries cannot be decoded.
func AlteredJournal(item store.Item) (p JournalPage, ok bool) {
	p, r := readJournal(item)
	return p, r.Err() == nil
}

func readJournal(item store.Item) (JournalPage, *store.Reader) {
	id, ok := store.Journal.Parse(store.ItemKey(item))
	_, err := events.ParseKSUID(id)
	r := open(item, store.Journal.Type, ok && err == nil)
	p := JournalPage{ID: events.KSUID(id), Void: r.OptionalFlag(store.AttrVoid)}
	list := r.Maps(store.AttrEntries)
	p.Entries = make([]JournalEntry, len(list))
	for i, element := range list {
		entry, err := decodeJournalEntry(element)
		if err != nil {
			r.Fail(fmt.Sprintf("%s[%d]", store.AttrEntries, i), err.Error())
		}
		p.Entries[i] = entry
	}
	return p, r
}

func decodeJournalEntry(element store.Item) (e JournalEntry, err error) {
	r, ok := store.Read(element), false
	if e.Event, ok = store.ParseJournaled(r.Text(store.AttrEvent)); !ok {
		r.Fail(store.AttrEvent, "is not the key of an event of the journal")
	}
	if e.At, err = events.ParseTime(r.Text(store.AttrAt)); err != nil {
		r.Fail(store.AttrAt, err.Error())
	}
	return e, r.Err()
}
