package projections

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

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
