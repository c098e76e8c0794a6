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
		TableName:                &v.table,
		ConsistentRead:           aws.Bool(true),
		Segment:                  aws.Int32(int32(part)),
		TotalSegments:            aws.Int32(int32(parts)),
		ExpressionAttributeNames: map[string]string{"#type": table.AttrType},
	}
	in.FilterExpression, in.ExpressionAttributeValues = ofTypes(append(lifeNames(), table.KindListed))
	if in.ExclusiveStartKey, err = startOf(from); err != nil {
		return l, err
	}
	out, err := v.client.Scan(ctx, in)
	if err != nil {
		return l, ddb.ReadError(err)
	}
	l.Entries, l.Read = make(map[table.Key]repair.Found[projections.ListedEntry]), int(out.ScannedCount)
	for _, item := range out.Items {
		if err := fileListable(&l, item); err != nil {
			return l, err
		}
	}
	l.Next, err = nextOf(out.LastEvaluatedKey)
	return l, err
}

// lifeNames are the names of headers and ends.
func lifeNames() (names []string) {
	for _, e := range []events.Event{
		events.TransactionPosted{}, events.TransactionPosted{ExpiresAt: time.Unix(0, 0)},
		events.HoldEnded{Outcome: events.OutcomeCaptured}, events.HoldEnded{Outcome: events.OutcomeReleased},
		events.HoldEnded{Outcome: events.OutcomeExpired},
	} {
		name, _ := e.EventName()
		names = append(names, name)
	}
	return names
}

// ofTypes returns a filter of items of any of those types, as #type, and its values.
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

// fileListable adds an item to what is listable.
func fileListable(l *repair.Listable, item ddb.Item) error {
	key, err := ddb.KeyOf(item)
	if err != nil {
		return err
	}
	if text(item[table.AttrType]) == table.KindListed {
		if key.SK == table.ListedSK(table.FirstID(key.SK), table.LastID(key.SK)) {
			l.Entries[key] = foundEntry(key, item)
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

// foundEntry returns what the item under a key shows of an entry in a list of transactions.
func foundEntry(key table.Key, item ddb.Item) repair.Found[projections.ListedEntry] {
	f := inspect(item, decodeListedEntry, func(e projections.ListedEntry) ddb.Item { return listedUnder(key.PK, e) })
	f.Value.ID, f.Value.Transaction = events.KSUID(table.FirstID(key.SK)), table.LastID(key.SK)
	return f
}

// Lives implements repair.ListViews.
func (v *Views) Lives(ctx context.Context, ids []string) (map[string]projections.Hold, error) {
	found, err := lives(ctx, v.client, v.table, lifeKeys(ids), true)
	if err != nil {
		return nil, err
	}
	for id, l := range found {
		if l.Header.ID == "" { // an end without its hold
			delete(found, id)
		}
	}
	return found, nil
}

// StoredEntries implements repair.ListViews.
func (v *Views) StoredEntries(ctx context.Context, keys []table.Key) (
	map[table.Key]repair.Found[projections.ListedEntry], error,
) {
	items, _, err := ddb.BatchGet(ctx, v.client, v.table, keys, true)
	if err != nil {
		return nil, err
	}
	found := make(map[table.Key]repair.Found[projections.ListedEntry], len(items))
	for _, item := range items {
		key, err := ddb.KeyOf(item)
		if err != nil {
			return nil, err
		}
		found[key] = foundEntry(key, item)
	}
	return found, nil
}

// PutEntry implements repair.ListViews.
func (v *Views) PutEntry(ctx context.Context, key table.Key, e projections.ListedEntry) error {
	return v.putAlone(ctx, v.put(listedUnder(key.PK, e), condition{}))
}

// JournalPages implements repair.ListViews.
func (v *Views) JournalPages(ctx context.Context, after events.KSUID) (
	pages []repair.Found[projections.JournalPage], more bool, err error,
) {
	q := ddb.Within(table.JournalPK, table.JournalAfter(string(after), ""), &dynamodb.QueryInput{
		TableName: &v.table, ConsistentRead: aws.Bool(true),
	})
	out, err := ddb.Page(ctx, v.client, q)
	if err != nil {
		return nil, false, err
	}
	for _, item := range out.Items {
		found := inspect(item, decodeJournal, journalItem)
		found.Value.ID = events.KSUID(table.FirstID(text(item[table.AttrSK])))
		pages = append(pages, found)
	}
	return pages, out.LastEvaluatedKey != nil, nil
}

// PutPage implements repair.ListViews.
func (v *Views) PutPage(ctx context.Context, p projections.JournalPage) error {
	return v.putAlone(ctx, v.put(journalItem(p), condition{}))
}

// startOf reads a scan's cursor. nextOf writes it.
func startOf(from string) (ddb.Item, error) {
	if from == "" {
		return nil, nil
	}
	pk, sk, ok := strings.Cut(from, cursorSeparator)
	if !ok {
		return nil, fmt.Errorf("%q is no cursor of a scan", from)
	}
	return ddb.Key(table.Key{PK: pk, SK: sk}), nil
}

func nextOf(last ddb.Item) (string, error) {
	if last == nil {
		return "", nil
	}
	key, err := ddb.KeyOf(last)
	return key.PK + cursorSeparator + key.SK, err
}
