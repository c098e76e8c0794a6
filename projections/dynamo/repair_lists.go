package dynamo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/events"
	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
	"ledger.example/projections"
	"ledger.example/projections/repair"
)

// Listable implements repair.ListViews.
func (v *Views) Listable(ctx context.Context, part, parts int, from string) (l repair.Listable, err error) {
	in := &dynamodb.ScanInput{
		Segment:                  aws.Int32(int32(part)),
		TotalSegments:            aws.Int32(int32(parts)),
		ExpressionAttributeNames: map[string]string{"#type": table.AttrType},
	}
	in.FilterExpression, in.ExpressionAttributeValues = ofTypes(
		append(transactionEventNames(), table.Listed.Type, table.OpenHold.Type))
	out, next, err := v.scan(ctx, in, from)
	if err != nil {
		return l, err
	}
	l.Entries, l.Read = make(map[table.Key]repair.Stored[projections.ListedEntry]), int(out.ScannedCount)
	l.Expiry = make(map[table.Key]string)
	for _, item := range out.Items {
		if err := addListable(&l, item); err != nil {
			return l, err
		}
	}
	l.Next = next
	return l, nil
}

// transactionEventNames returns the event names of headers and of ends of holds.
func transactionEventNames() (names []string) {
	for _, e := range []events.Event{
		events.TransactionPosted{}, events.TransactionPosted{ExpiresAt: time.Unix(0, 0)},
		events.HoldEnded{Outcome: events.OutcomeCaptured}, events.HoldEnded{Outcome: events.OutcomeReleased},
		events.HoldEnded{Outcome: events.OutcomeExpired},
	} {
		names = append(names, e.EventName())
	}
	return names
}

// ofTypes returns a filter expression for items with one of these types, and its values. #type is the type attribute.
func ofTypes(names []string) (filter *string, values ddb.Item) {
	values = make(ddb.Item, len(names))
	var terms []string
	for i, name := range names {
		value := fmt.Sprintf(":%d", i)
		terms = append(terms, "#type = "+value)
		values[value] = ddb.String(name)
	}
	return aws.String(strings.Join(terms, " OR ")), values
}

// addListable adds an item to l.
func addListable(l *repair.Listable, item ddb.Item) error {
	key, err := ddb.KeyOf(item)
	if err != nil {
		return err
	}
	switch text(item[table.AttrType]) {
	case table.Listed.Type:
		if key.SK == table.Listed.SK(table.FirstID(key.SK), table.LastID(key.SK)) {
			l.Entries[key], err = storedEntry(key, item)
		}
		return err
	case table.OpenHold.Type:
		if _, id, ok := table.OpenHold.Parse(key); ok {
			l.Expiry[key] = id
		}
		return nil
	}
	switch e, err := ddb.DecodeEvent(item); e := e.(type) {
	case events.TransactionPosted:
		l.Headers = append(l.Headers, e)
	case events.HoldEnded:
		l.Ends = append(l.Ends, e)
	default:
		l.Faults = append(l.Faults, at(key, err))
	}
	return nil
}

// storedEntry inspects the item of an entry in a list of transactions.
func storedEntry(key table.Key, item ddb.Item) (repair.Stored[projections.ListedEntry], error) {
	encode := func(e projections.ListedEntry) ddb.Item { return listedItem(key.PK, e) }
	f, err := inspect(item, decodeListedEntry, encode)
	f.Value.ID, f.Value.Transaction = events.KSUID(table.FirstID(key.SK)), table.LastID(key.SK)
	return f, err
}

// StoredEntries implements repair.ListViews.
func (v *Views) StoredEntries(ctx context.Context, keys []table.Key) (
	map[table.Key]repair.Stored[projections.ListedEntry], error,
) {
	found := make(map[table.Key]repair.Stored[projections.ListedEntry], len(keys))
	err := v.forEach(ctx, keys, true, func(key table.Key, item ddb.Item) (err error) {
		found[key], err = storedEntry(key, item)
		return err
	})
	return found, err
}

// JournalPages implements repair.ListViews.
func (v *Views) JournalPages(ctx context.Context, after events.KSUID) (
	pages []repair.Stored[projections.JournalPage], more bool, err error,
) {
	q := ddb.Within(table.Journal.PK(), table.Journal.All().After(string(after)), &dynamodb.QueryInput{
		TableName: &v.table, ConsistentRead: aws.Bool(true),
	})
	out, err := ddb.Page(ctx, v.client, q)
	if err != nil {
		return nil, false, err
	}
	for _, item := range out.Items {
		found, err := inspect(item, decodeJournal, journalItem)
		if err != nil {
			return nil, false, err
		}
		found.Value.ID = events.KSUID(table.FirstID(text(item[table.AttrSK])))
		pages = append(pages, found)
	}
	return pages, out.LastEvaluatedKey != nil, nil
}

// PutPage implements repair.ListViews.
func (v *Views) PutPage(ctx context.Context, p projections.JournalPage) error {
	return v.putAlone(ctx, v.put(journalItem(p), condition{}))
}
