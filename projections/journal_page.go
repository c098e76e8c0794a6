package projections

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
)

// JournalEntry names an event. The journal has an entry for each event, except for postings and the markers of
// reversals, which follow from headers and from ends of holds.
type JournalEntry struct {
	Event table.Key // of the event's item
	At    time.Time // when the event was recorded, UTC, whole microseconds
}

// JournalPage has the journal entries of one batch of the stream. A page is never rewritten, except to make it void.
type JournalPage struct {
	ID      events.KSUID // minted right before the write
	Lane    string       // in which it is stored; "": the first
	Entries []JournalEntry
	Void    bool // the page was wrong: readers skip it
}

// EntryOf returns the journal entry of an event.
func EntryOf(e events.Event) JournalEntry {
	_, at := events.TypeOf(e)
	return JournalEntry{table.EventKey(e), at}
}

// typesOf are the types that the events with keys of a pattern can have.
var typesOf = []struct {
	*table.Pattern
	types []string
}{
	{table.Asset.Pattern, []string{events.TypeAssetRegistered}},
	{table.Account.Pattern, []string{events.TypeAccountOpened}},
	{table.Change.Pattern, []string{events.TypeAccountChanged}},
	{table.Grant.Pattern, []string{events.TypeMemberGranted, events.TypeMemberRevoked}},
	{table.Group.Pattern, []string{events.TypeGroupRegistered}},
	{table.GroupGrant.Pattern, []string{events.TypeGroupMemberGranted, events.TypeGroupMemberRevoked}},
	{table.Grouping.Pattern, []string{events.TypeGrouped, events.TypeUngrouped}},
	{table.Period.Pattern, []string{events.TypePeriodClosed}},
	{table.Transaction.Pattern, []string{events.TypePosted, events.TypeHeld}},
	{table.Outcome.Pattern, []string{events.TypeCaptured, events.TypeReleased, events.TypeExpired}},
}

// canBe reports whether the event with a key can have a type. Every event has the type "".
func canBe(k table.Key, kind string) bool {
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
// table.ClockTolerance off the store's.
const pageSkew = time.Minute

// uncheckedSkew is the same for events that are neither transactions nor ends of holds: commands take their times from
// their own clocks without a check.
const uncheckedSkew = 24 * time.Hour

// Misplaced reports whether no lister can have written p under its ID: the ID is later than now, or earlier than the
// events that p lists, or in another lane. lanes must be known for its time, unless that is later than now.
func (p JournalPage) Misplaced(now time.Time, lanes table.Lanes) bool {
	at := p.ID.Time()
	if p.Lane != lanes.OfPage(p.ID) || at.After(now.Add(pageSkew)) {
		return true
	}
	return slices.ContainsFunc(p.Entries, func(e JournalEntry) bool {
		skew := pageSkew
		if !table.Transaction.Is(e.Event.SK) && !table.Outcome.Is(e.Event.SK) {
			skew = uncheckedSkew
		}
		return at.Before(e.At.Add(-skew))
	})
}

// journalItem returns the item of a page of the journal.
func journalItem(p JournalPage) table.Item {
	item := table.Begin(table.Journal.Key(cmp.Or(p.Lane, "0"), string(p.ID)), table.Journal.Type)
	entries := make([]table.Item, len(p.Entries))
	for i, e := range p.Entries {
		entries[i] = table.Item{
			table.AttrEvent: table.String(e.Event.ID()), table.AttrAt: table.String(events.FormatTime(e.At)),
		}
	}
	item[table.AttrEntries] = table.Maps(entries)
	item[table.AttrChecksum] = table.String(p.Checksum())
	putFlag(item, table.AttrVoid, p.Void)
	return item
}

func decodeJournal(item table.Item) (JournalPage, error) {
	p, r := readJournal(item)
	if r.Text(table.AttrChecksum) != p.Checksum() {
		r.Fail(table.AttrChecksum, "does not match the key and the entries: the page was altered or moved")
	}
	return decoded(p, item, r)
}

// AlteredJournal decodes a page whose checksum may be wrong. ok is false if its entries cannot be decoded.
func AlteredJournal(item table.Item) (p JournalPage, ok bool) {
	p, r := readJournal(item)
	return p, r.Err() == nil
}

func readJournal(item table.Item) (JournalPage, *table.Reader) {
	lane, id, ok := table.Journal.Parse(table.ItemKey(item))
	_, err := events.ParseKSUID(id)
	r := open(item, table.Journal.Type, ok && err == nil)
	p := JournalPage{ID: events.KSUID(id), Lane: lane, Void: r.OptionalFlag(table.AttrVoid)}
	list := r.Maps(table.AttrEntries)
	p.Entries = make([]JournalEntry, len(list))
	for i, element := range list {
		entry, err := decodeJournalEntry(element)
		if err != nil {
			r.Fail(fmt.Sprintf("%s[%d]", table.AttrEntries, i), err.Error())
		}
		p.Entries[i] = entry
	}
	return p, r
}

func decodeJournalEntry(element table.Item) (e JournalEntry, err error) {
	r, ok := table.Read(element), false
	if e.Event, ok = table.ParseJournaled(r.Text(table.AttrEvent)); !ok {
		r.Fail(table.AttrEvent, "is not the key of an event of the journal")
	}
	if e.At, err = events.ParseTime(r.Text(table.AttrAt)); err != nil {
		r.Fail(table.AttrAt, err.Error())
	}
	return e, r.Err()
}
