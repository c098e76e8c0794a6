package projections

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ledger.example/events"
	"ledger.example/internal/table"
)

// Transactions lists transactions by time. Positions are the KSUID of the first leg, a # and the id. It makes one
// request for each lane of the list, and one strongly consistent request for each hundred items found. A page may be
// short. It skips entries that are void or contradict their header.
func (l *Lists) Transactions(ctx context.Context, by Search, s Slice) (page Page[events.Transaction], err error) {
	defer annotate(&err, "list transactions")
	entries, next, err := l.listedEntries(ctx, by, s)
	if err != nil {
		return page, err
	}
	wanted := make(map[string]bool, len(entries))
	for _, e := range entries {
		wanted[e.Transaction] = wanted[e.Transaction] || e.Held
	}
	found, err := TransactionsByID(ctx, l.table, wanted, table.Strong)
	if err != nil {
		return page, err
	}
	page.Next = next
	for _, e := range entries {
		t, ok := found[e.Transaction]
		if ok && t.Header.Legs[0].ID == e.ID && t.Header.IsHold() == e.Held &&
			(by.Key == "" || t.Header.Metadata[by.Key] == by.Value) {
			page.Items = append(page.Items, t)
		}
	}
	return page, nil
}

// listedEntries returns the entries of one page over all lanes, in order. next is the position of the last, "" if
// there are no more.
func (l *Lists) listedEntries(ctx context.Context, by Search, s Slice) (
	entries []ListedEntry, next string, err error,
) {
	q := table.Query{Within: listedRange(by, s.After), Descending: !by.OldestFirst}
	if q.Within.Empty() {
		return nil, "", nil
	}
	lanes, err := l.lanes.Recent(ctx)
	if err != nil {
		return nil, "", err
	}
	partitions := lanes.All()
	for i, lane := range partitions {
		if partitions[i] = table.Listed.PK(lane); by.Key != "" {
			partitions[i] = table.ListedMetadata.PK(lane, by.Key, by.Value)
		}
	}
	items, more, err := l.merge(ctx, q, partitions, s.Limit, table.AttrSK)
	if err != nil {
		return nil, "", err
	}
	if more {
		_, next, _ = strings.Cut(table.TextOf(items[len(items)-1][table.AttrSK]), "#")
	}
	for _, item := range items {
		if table.Read(item).OptionalFlag(table.AttrVoid) { // also if it is malformed
			continue
		}
		e, err := decodeListedEntry(item)
		if err != nil {
			return nil, "", err
		}
		entries = append(entries, e)
	}
	return entries, next, nil
}

// listedRange returns the range of a search after a position.
func listedRange(by Search, after string) table.Range {
	if !by.OldestFirst {
		from, to := bounds(by.Span, after)
		return table.Listed.All().Since(from).Before(to)
	}
	from, to := bounds(by.Span, "")
	if after > from {
		return table.Listed.All().After(after).Before(to)
	}
	return table.Listed.All().Since(from).Before(to)
}

// TransactionsByID reads the headers of the transactions whose ids are keys of ended. Where the value is true, it also
// reads the end of the hold. It makes one request for each hundred items. Absent transactions are left out, and so is
// an end without its header. Errors: those of table.Table; table.ErrMalformedItem; those of events.Decode.
func TransactionsByID(ctx context.Context, t table.Table, ended map[string]bool, c table.Consistency) (
	map[string]events.Transaction, error,
) {
	keys := make([]table.Key, 0, 2*len(ended))
	for id, isEnded := range ended {
		if keys = append(keys, table.Transaction.Key(id)); isEnded {
			keys = append(keys, table.Outcome.Key(id))
		}
	}
	found, ends := make(map[string]events.Transaction, len(ended)), make(map[string]*events.HoldEnded)
	err := forEach(ctx, t, keys, c, func(_ table.Key, item table.Item) error {
		e, err := table.DecodeEvent(item)
		switch e := e.(type) {
		case events.TransactionPosted:
			found[e.ID] = events.Transaction{Header: e}
		case events.HoldEnded:
			ends[e.Transaction] = &e
		}
		return err
	})
	for id, t := range found {
		t.Ended = ends[id]
		found[id] = t
	}
	return found, err
}

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
		found, err := TransactionsByID(ctx, v.table, map[string]bool{t.Hold: false}, table.Strong)
		h, there := found[t.Hold]
		if err == nil && !there {
			err = table.ErrAbsent
		}
		if err != nil {
			return nil, err
		}
		lanes, err := v.lanes.Through(ctx, h.Header.Recorded())
		return ListedRows(h.Header, slices.Collect(maps.Keys(h.Header.Metadata)), lanes), err
	},
	Owner: func(item table.Item) (Target, bool) {
		sk := table.ItemKey(item).SK
		id := table.LastID(sk)
		return Target{Lists: true, Hold: id}, sk == table.Listed.SK(table.FirstID(sk), id)
	},
	None: func(k table.Key) any { return ListedItem(k, events.Transaction{}, table.Lanes{}) },
}

// ListedRows returns the entries of a header: one in the list by time, and one for each indexed metadata key that the
// header has. They lie in the lane of when the header was recorded, up to which lanes must be known: a backdated one
// would else be in the few lanes of the past.
func ListedRows(h events.TransactionPosted, indexed []string, lanes table.Lanes) (rows []Row) {
	e := ListedEntry{ID: h.Legs[0].ID, Transaction: h.ID, Held: h.IsHold()}
	lane := lanes.Of(h.ID, h.Recorded())
	lists := []string{table.Listed.PK(lane)}
	for _, name := range indexed {
		if value, ok := h.Metadata[name]; ok {
			lists = append(lists, table.ListedMetadata.PK(lane, name, value))
		}
	}
	for _, pk := range lists {
		rows = append(rows, Row{Target{Lists: true, Hold: h.ID}, listedItem(pk, e), h.Recorded()})
	}
	return rows
}

// ListedItem returns the entry of t with that key. If t has none, the entry is void. lanes are as in ListedRows.
func ListedItem(key table.Key, t events.Transaction, lanes table.Lanes) table.Item {
	if t.Header.ID != "" {
		parts, _ := table.ListedMetadata.Parse(key)
		name := parts[1] // in the list by time "", which is no metadata key
		for _, row := range ListedRows(t.Header, []string{name}, lanes) {
			if item := row.Value.(table.Item); table.ItemKey(item) == key {
				return item
			}
		}
	}
	id := events.KSUID(table.FirstID(key.SK))
	return listedItem(key.PK, ListedEntry{ID: id, Transaction: table.LastID(key.SK), Void: true})
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
func listedItem(pk string, e ListedEntry) table.Item {
	item := table.Begin(table.Key{PK: pk, SK: table.Listed.SK(string(e.ID), e.Transaction)}, table.Listed.Type)
	putFlag(item, table.AttrHeld, e.Held)
	putFlag(item, table.AttrVoid, e.Void)
	return item
}

// decodeListedEntry decodes an entry in any list of transactions, also a void one.
func decodeListedEntry(item table.Item) (ListedEntry, error) {
	sk := table.ItemKey(item).SK
	id, transaction := table.FirstID(sk), table.LastID(sk)
	_, err := events.ParseKSUID(id)
	r := open(item, table.Listed.Type, err == nil && sk == table.Listed.SK(id, transaction))
	return decoded(ListedEntry{
		ID: events.KSUID(id), Transaction: transaction,
		Held: r.OptionalFlag(table.AttrHeld), Void: r.OptionalFlag(table.AttrVoid),
	}, item, r)
}

// ReversalsOf lists the reversals of a transaction, oldest first; positions are their numbers. It is strongly
// consistent, and makes two requests.
func (l *Lists) ReversalsOf(ctx context.Context, transaction string, s Slice) (page Page[Reversal], err error) {
	defer annotate(&err, "list reversals")
	after, err := s.number()
	if err != nil {
		return page, err
	}
	r := table.Reversal.All().After(table.Number(after))
	q := table.Query{Partition: table.Transaction.PK(transaction), Within: r, Consistency: table.Strong}
	number := func(k table.Key) (string, bool) {
		_, n, ok := table.Reversal.Parse(k)
		return strconv.FormatInt(n, 10), ok
	}
	reversals, err := list(ctx, l, "list", q, s.Limit, number, decodeAs[events.TransactionReversed])
	if err != nil {
		return page, err
	}
	page.Next = reversals.Next
	page.Items, err = l.Reversals(ctx, reversals.Items)
	return page, err
}

// Reversals reads the transactions of reversals, in one request, strongly consistent.
func (l *Lists) Reversals(ctx context.Context, of []events.TransactionReversed) (all []Reversal, err error) {
	wanted := make(map[string]bool, len(of))
	for _, e := range of {
		wanted[e.By] = false
	}
	found, err := TransactionsByID(ctx, l.table, wanted, table.Strong)
	if err != nil {
		return nil, err
	}
	for _, e := range of {
		by, ok := found[e.By]
		if !ok { // the transaction becomes visible item by item
			return nil, fmt.Errorf("header of %s is not visible: %w", e.By, table.ErrConflict)
		}
		all = append(all, Reversal{Number: e.Number, Header: by.Header})
	}
	return all, nil
}
