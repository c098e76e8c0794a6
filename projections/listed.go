package projections

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// ListedEntry is an entry in a list of transactions: by time, or by the value of an indexed metadata key. It points to
// the header.
type ListedEntry struct {
	ID          events.KSUID // of the header's first leg
	Transaction string       // id
	Held        bool         // the transaction is a hold: its end must be read, too
	Void        bool         // the entry was wrong: readers skip it
}

// Listings is the view of the entries in lists of transactions. They follow from a header, and have no number: a header
// never changes. A lister writes them, and a rebuild finds them in a scan of the table. Also metadata keys that are not
// indexed any more may have entries.
var Listings = &View{
	Name: "lists", Form: itemForm(""),
	Fold: func(ctx context.Context, v *Views, t Target, _ Seen) ([]Row, error) {
		found, err := TransactionsByID(ctx, v.table, map[string]bool{t.Hold: false}, store.Strong)
		h, there := found[t.Hold]
		if err == nil && !there {
			err = store.ErrAbsent
		}
		if err != nil {
			return nil, err
		}
		return ListedRows(h.Header, slices.Collect(maps.Keys(h.Header.Metadata))), nil
	},
	Owner: func(item store.Item) (Target, bool) {
		sk := store.ItemKey(item).SK
		id := store.LastID(sk)
		return Target{Lists: true, Hold: id}, sk == store.Listed.SK(store.FirstID(sk), id)
	},
	None: func(k store.Key) any { return ListedItem(k, Transaction{}) },
}

// ListedRows returns the entries of a header: one in the list by time, and one for each indexed metadata key that the
// header has.
func ListedRows(h events.TransactionPosted, indexed []string) (rows []Row) {
	e := ListedEntry{ID: h.Legs[0].ID, Transaction: h.ID, Held: h.IsHold()}
	lists := []string{store.Listed.Key(string(e.ID), h.ID).PK}
	for _, name := range indexed {
		if value, ok := h.Metadata[name]; ok {
			lists = append(lists, store.ListedMetadata.PK(name, value))
		}
	}
	for _, pk := range lists {
		rows = append(rows, Row{Target{Lists: true, Hold: h.ID}, listedItem(pk, e), h.Recorded()})
	}
	return rows
}

// ListedItem returns the entry of t with that key. If t has none, the entry is void.
func ListedItem(key store.Key, t Transaction) store.Item {
	if t.Header.ID != "" {
		name, _, _, _, _ := store.ListedMetadata.Parse(key) // in the list by time "", which is no metadata key
		for _, row := range ListedRows(t.Header, []string{name}) {
			if item := row.Value.(store.Item); store.ItemKey(item) == key {
				return item
			}
		}
	}
	id := events.KSUID(store.FirstID(key.SK))
	return listedItem(key.PK, ListedEntry{ID: id, Transaction: store.LastID(key.SK), Void: true})
}

// IndexedMax is the maximum number of indexed metadata keys. Each costs a write unit for each transaction that has it.
const IndexedMax = 5

// ParseIndexed parses the comma-separated list of indexed metadata keys. "" is the empty list.
func ParseIndexed(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	keys := strings.Split(text, ",")
	if len(keys) > IndexedMax {
		return nil, fmt.Errorf("must have at most %d keys", IndexedMax)
	}
	for i, key := range keys {
		switch {
		case !indexedKey.MatchString(key):
			return nil, errors.New("must be metadata keys of 1 to 40 of A-Z a-z 0-9 . _ -, with commas between them")
		case slices.Contains(keys[:i], key):
			return nil, fmt.Errorf("must not name %s twice", key)
		}
	}
	return keys, nil
}

var indexedKey = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,40}$`)

// Events of the journal. A hold's outcomes are named as events.Outcome has them.
const (
	JournalPosted = "posted"
	JournalHeld   = StatusHeld
)

// JournalEntry records one event of a transaction: it was posted or held, or its hold ended.
type JournalEntry struct {
	Event       string    // JournalPosted, JournalHeld or a hold's outcome
	At          time.Time // when it was recorded, UTC, whole microseconds
	Transaction string    // id
}

// JournalPage has the journal entries of one batch of the stream. A page is never rewritten, except to make it void.
type JournalPage struct {
	ID      events.KSUID // minted right before the write
	Entries []JournalEntry
	Void    bool // the page was wrong: readers skip it
}

// Checksum returns the checksum that is stored with p: the first 16 bytes of the SHA-256 of its ID and its entries in
// order, in base64 for URLs. It shows that a page was moved to another key, or that its entries were altered.
func (p JournalPage) Checksum() string {
	hash := sha256.New()
	fmt.Fprintln(hash, p.ID)
	for _, e := range p.Entries {
		fmt.Fprintln(hash, e.Event, events.FormatTime(e.At), e.Transaction)
	}
	return base64.RawURLEncoding.EncodeToString(hash.Sum(nil)[:16])
}

// pageSkew is more than the difference between the clocks of a command and of a lister, of which each is at most
// store.ClockTolerance off the store's.
const pageSkew = time.Minute

// Misplaced reports whether no lister can have written p under its ID: the ID is later than now, or earlier than the
// events that p lists.
func (p JournalPage) Misplaced(now time.Time) bool {
	at := p.ID.Time()
	return at.After(now.Add(pageSkew)) ||
		slices.ContainsFunc(p.Entries, func(e JournalEntry) bool { return at.Before(e.At.Add(-pageSkew)) })
}

// JournalEvent reports whether event is an event of the journal.
func JournalEvent(event string) bool {
	switch event {
	case JournalPosted, JournalHeld,
		string(events.OutcomeCaptured), string(events.OutcomeReleased), string(events.OutcomeExpired):
		return true
	}
	return false
}

// listedItem returns the item of an entry in the list of transactions in partition pk.
func listedItem(pk string, e ListedEntry) store.Item {
	item := store.Begin(store.Key{PK: pk, SK: store.Listed.SK(string(e.ID), e.Transaction)}, store.Listed.Type)
	putFlag(item, store.AttrHeld, e.Held)
	putFlag(item, store.AttrVoid, e.Void)
	return item
}

// decodeListedEntry decodes an entry in any list of transactions, also a void one.
func decodeListedEntry(item store.Item) (ListedEntry, error) {
	sk := store.ItemKey(item).SK
	id, transaction := store.FirstID(sk), store.LastID(sk)
	_, err := events.ParseKSUID(id)
	r := open(item, store.Listed.Type, err == nil && sk == store.Listed.SK(id, transaction))
	return decoded(ListedEntry{
		ID: events.KSUID(id), Transaction: transaction,
		Held: r.OptionalFlag(store.AttrHeld), Void: r.OptionalFlag(store.AttrVoid),
	}, item, r)
}

// journalItem returns the item of a page of the journal.
func journalItem(p JournalPage) store.Item {
	item := store.Begin(store.Journal.Key(string(p.ID)), store.Journal.Type)
	entries := make([]store.Item, len(p.Entries))
	for i, e := range p.Entries {
		entries[i] = store.Item{
			store.AttrEvent: store.String(e.Event), store.AttrAt: store.String(events.FormatTime(e.At)),
			store.AttrTransaction: store.String(e.Transaction),
		}
	}
	item[store.AttrEntries] = store.Maps(entries)
	item[store.AttrChecksum] = store.String(p.Checksum())
	putFlag(item, store.AttrVoid, p.Void)
	return item
}

func decodeJournal(item store.Item) (JournalPage, error) {
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
	if r.Text(store.AttrChecksum) != p.Checksum() {
		r.Fail(store.AttrChecksum, "does not match the key and the entries: the page was altered or moved")
	}
	return decoded(p, item, r)
}

func decodeJournalEntry(element store.Item) (JournalEntry, error) {
	r := store.Read(element)
	e := JournalEntry{Event: r.Text(store.AttrEvent), Transaction: r.Text(store.AttrTransaction)}
	at, err := events.ParseTime(r.Text(store.AttrAt))
	if err != nil {
		r.Fail(store.AttrAt, err.Error())
	}
	if e.At = at; !JournalEvent(e.Event) {
		r.Fail(store.AttrEvent, "is not one of the journal's")
	}
	if !events.ValidID(e.Transaction) {
		r.Fail(store.AttrTransaction, events.IDRule)
	}
	return e, r.Err()
}
