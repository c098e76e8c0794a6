package audit

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/store"
)

// listEntry is an entry in a list of transactions.
type listEntry struct {
	ksuid, transaction string // ksuid is that of the first leg
	name               string // the metadata key of the list; "" in the list by time
	held               bool   // the transaction is a hold
	void               bool   // a rebuild found the entry wrong; it lists nothing
}

// readListEntry is the kind of these entries. It accepts all shards of the list by time: an entry in the wrong shard is
// not an unknown item.
func readListEntry(r *reader) (any, bool) {
	v := listEntry{ksuid: store.FirstID(r.key.SK), transaction: store.LastID(r.key.SK)}
	var ok bool
	if v.name, _, _, _, ok = store.ListedMetadata.Parse(r.key); !ok {
		for shard := range store.Shards {
			ok = ok || r.key.PK == store.TransactionsPK(shard)
		}
	}
	if !ok || r.key.SK != store.Listed.SK(v.ksuid, v.transaction) {
		return nil, false
	}
	r.keys("", "")
	r.read(
		may(store.AttrHeld, aTrueFlag, &v.held),
		may(store.AttrVoid, aTrueFlag, &v.void),
	)
	if _, isKSUID := instantOf(v.ksuid); !isKSUID && !v.void {
		r.fault(WrongKey, store.AttrSK, "a KSUID instead of "+strconv.Quote(v.ksuid))
	}
	if !v.void {
		r.checkIDs(v.transaction)
	}
	return v, true
}

// entriesMax is the maximum number of entries in a page of the journal.
const entriesMax = 100

// journalEntry is an entry of the journal.
type journalEntry struct {
	event store.Key // of the event's item
	at    time.Time // when the event was recorded
}

func (e journalEntry) String() string {
	return strconv.Quote(e.event.ID()) + " at " + e.at.Format(instantForm)
}

// subject returns the id of the transaction that the event belongs to. Other events stand for themselves.
func (e journalEntry) subject() string {
	if id, ok := store.Transaction.Parse(e.event); ok {
		return id
	}
	if hold, ok := store.Outcome.Parse(e.event); ok {
		return hold
	}
	return e.event.ID()
}

// entryOf returns the entry that the journal must have for an item. ok is false for items that are no events, and for
// events that follow from others.
func entryOf(value any, key store.Key) (e journalEntry, ok bool) {
	switch v := value.(type) {
	case posting, reversed:
		return e, false
	case storedEvent:
		return journalEntry{key, v.base().at}, true
	}
	return e, false
}

// journalPage is a page of the journal. A void page has no entries.
type journalPage struct {
	entries  []journalEntry
	ksuid    string
	at       time.Time // when it was written, by its KSUID
	checksum string    // "": none is stored
	void     bool
}

func readJournalPage(r *reader, key []string) journalPage {
	p := journalPage{ksuid: key[0], at: r.instantInKey(key[0])}
	r.read(
		may(store.AttrChecksum, anyText, &p.checksum),
		may(store.AttrVoid, aTrueFlag, &p.void),
	)
	entries := list(store.AttrEntries, "entries", 1, entriesMax, func(one *reader) {
		var e journalEntry
		one.read(
			must(store.AttrEvent, anEventKey, &e.event),
			must(store.AttrAt, anInstant, &e.at),
		)
		p.entries = append(p.entries, e)
	})
	if p.void { // its entries may be those that were altered
		entries = holding(store.AttrEntries, "a list", func(*reader, *types.AttributeValueMemberL) {})
	}
	r.read(entries)
	return p
}

// cursor is how far a target got in the journal. Nothing depends on it: an event is delivered again, or not yet.
type cursor struct{}

func readCursor(r *reader, _ []string) cursor {
	r.read(
		must(store.AttrAfter, aPosition, nil),
		may(store.AttrAt, anInstant, nil),
		must(store.AttrVersion, integer(1, math.MaxInt64), nil),
	)
	return cursor{}
}

// aPosition is a page of the journal, and how many of its entries were read if not all.
var aPosition = valid("a position in the journal", func(s string) bool {
	page, read, isCut := strings.Cut(s, "#")
	_, isKSUID := instantOf(page)
	n, err := strconv.Atoi(read)
	return isKSUID && (!isCut || err == nil && 1 <= n && n < entriesMax)
})
