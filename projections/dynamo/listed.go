package dynamo

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/ddb"
	"ledger.example/internal/store"
	"ledger.example/internal/table"
	"ledger.example/projections"
)

// Event implements projections.ListerViews.
func (v *Views) Event(ctx context.Context, k table.Key) (events.Event, error) {
	item, _, err := ddb.Get(ctx, v.client, v.table, k, true)
	switch {
	case err != nil:
		return nil, err
	case item == nil:
		return nil, store.ErrAbsent
	}
	return ddb.DecodeEvent(item)
}

// Clock implements projections.ListerViews. It reads an item that never exists, which costs half a read unit.
func (v *Views) Clock(ctx context.Context) (time.Time, error) {
	_, at, err := ddb.Get(ctx, v.client, v.table, table.Journal.Key(""), false)
	return at, err
}

// WriteListed implements projections.ListerViews and repair.ListViews.
func (v *Views) WriteListed(ctx context.Context, key table.Key, e projections.ListedEntry) (time.Time, error) {
	return v.send(ctx, v.put(listedItem(key.PK, e), condition{}))
}

// WriteJournal implements projections.ListerViews.
func (v *Views) WriteJournal(ctx context.Context, p projections.JournalPage) (time.Time, error) {
	return v.send(ctx, v.put(journalItem(p), condition{expression: ddb.IfAbsent}))
}

// listedItem returns the item of an entry in the list of transactions in partition pk.
func listedItem(pk string, e projections.ListedEntry) ddb.Item {
	item := ddb.Begin(table.Key{PK: pk, SK: table.Listed.SK(string(e.ID), e.Transaction)}, table.Listed.Type)
	putFlag(item, table.AttrHeld, e.Held)
	putFlag(item, table.AttrVoid, e.Void)
	return item
}

// decodeListedEntry decodes an entry in any list of transactions, also a void one.
func decodeListedEntry(item ddb.Item) (projections.ListedEntry, error) {
	r, key := open(item, table.Listed.Type)
	id, transaction := table.FirstID(key.SK), table.LastID(key.SK)
	if _, err := events.ParseKSUID(id); err != nil || key.SK != table.Listed.SK(id, transaction) {
		r.Fail(table.AttrSK, "is not that of an entry in a list of transactions")
	}
	return decoded(projections.ListedEntry{
		ID: events.KSUID(id), Transaction: transaction,
		Held: r.OptionalFlag(table.AttrHeld), Void: r.OptionalFlag(table.AttrVoid),
	}, key, r)
}

// journalItem returns the item of a page of the journal.
func journalItem(p projections.JournalPage) ddb.Item {
	item := ddb.Begin(table.Journal.Key(string(p.ID)), table.Journal.Type)
	entries := make([]types.AttributeValue, len(p.Entries))
	for i, e := range p.Entries {
		entries[i] = ddb.Map(ddb.Item{
			table.AttrEvent: ddb.String(e.Event), table.AttrAt: ddb.String(events.FormatTime(e.At)),
			table.AttrTransaction: ddb.String(e.Transaction),
		})
	}
	item[table.AttrEntries] = &types.AttributeValueMemberL{Value: entries}
	item[table.AttrChecksum] = ddb.String(p.Checksum())
	putFlag(item, table.AttrVoid, p.Void)
	return item
}

func decodeJournal(item ddb.Item) (projections.JournalPage, error) {
	r, key := open(item, table.Journal.Type)
	id, ok := table.Journal.Parse(key)
	if _, err := events.ParseKSUID(id); !ok || err != nil {
		r.Fail(table.AttrSK, "is not that of a page of the journal")
	}
	p := projections.JournalPage{ID: events.KSUID(id), Void: r.OptionalFlag(table.AttrVoid)}
	list, ok := item[table.AttrEntries].(*types.AttributeValueMemberL)
	if !ok {
		r.Fail(table.AttrEntries, "is not a list")
		return decoded(p, key, r)
	}
	p.Entries = make([]projections.JournalEntry, len(list.Value))
	for i, element := range list.Value {
		entry, err := decodeJournalEntry(element)
		if err != nil {
			r.Fail(fmt.Sprintf("%s[%d]", table.AttrEntries, i), err.Error())
		}
		p.Entries[i] = entry
	}
	if r.Text(table.AttrChecksum) != p.Checksum() {
		r.Fail(table.AttrChecksum, "does not match the key and the entries: the page was altered or moved")
	}
	return decoded(p, key, r)
}

func decodeJournalEntry(element types.AttributeValue) (projections.JournalEntry, error) {
	m, _ := element.(*types.AttributeValueMemberM)
	if m == nil {
		m = &types.AttributeValueMemberM{}
	}
	r := ddb.Read(m.Value)
	e := projections.JournalEntry{Event: r.Text(table.AttrEvent), Transaction: r.Text(table.AttrTransaction)}
	at, err := events.ParseTime(r.Text(table.AttrAt))
	if err != nil {
		r.Fail(table.AttrAt, err.Error())
	}
	if e.At = at; !projections.JournalEvent(e.Event) {
		r.Fail(table.AttrEvent, "is not one of the journal's")
	}
	if !events.ValidID(e.Transaction) {
		r.Fail(table.AttrTransaction, events.IDRule)
	}
	return e, r.Err()
}
