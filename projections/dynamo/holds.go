package dynamo

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"ledger.example/events"
	"ledger.example/internal/ddb"
	"ledger.example/internal/store"
	"ledger.example/internal/table"
	"ledger.example/projections"
)

// entriesAtOnce is how many entries of one hold are written in parallel.
const entriesAtOnce = 8

// Hold implements projections.ProjectorViews.
func (v *Views) Hold(ctx context.Context, id string) (projections.Hold, error) {
	found, err := v.TransactionsByID(ctx, map[string]bool{id: true})
	h, there := found[id]
	switch {
	case err != nil:
		return projections.Hold{}, err
	case !there:
		return projections.Hold{}, store.ErrAbsent
	case !h.Header.IsHold():
		return h, fmt.Errorf("%w: transaction %s is not a hold", store.ErrMalformedItem, id)
	}
	return h, nil
}

// WriteHold implements projections.ProjectorViews.
func (v *Views) WriteHold(ctx context.Context, h projections.Hold) error {
	running, ctx := errgroup.WithContext(ctx)
	running.SetLimit(entriesAtOnce)
	for _, item := range holdItems(h) {
		running.Go(func() error { return v.putNewer(ctx, item, table.AttrVersion, h.Version()) })
	}
	return running.Wait()
}

// holdItems returns the entries of a hold: one for each account, and one by expiry.
func holdItems(h projections.Hold) []ddb.Item {
	var items []ddb.Item
	for _, account := range h.Accounts() {
		items = append(items, holdItem(account, h))
	}
	return append(items, openHoldItem(h))
}

// holdItem returns an account's entry of a hold. It includes the header and the end, so that a page of holds takes one
// request.
func holdItem(account string, h projections.Hold) ddb.Item {
	placed := string(h.Header.Legs[0].ID)
	item := ddb.Begin(table.Hold.Key(account, placed), table.Hold.Type)
	item[table.AttrSK2] = ddb.String(table.Hold.SK2(h.Status(), placed))
	item[table.AttrVersion] = ddb.Integer(h.Version())
	item[table.AttrHeader] = ddb.Map(ddb.EventItem(h.Header))
	if h.Ended != nil {
		item[table.AttrEnded] = ddb.Map(ddb.EventItem(*h.Ended))
	}
	return item
}

// openHoldItem returns a hold's entry by expiry. When the hold has ended, the entry leaves the index.
func openHoldItem(h projections.Hold) ddb.Item {
	item := ddb.Begin(h.ExpiryKey(), table.OpenHold.Type)
	item[table.AttrVersion] = ddb.Integer(h.Version())
	if h.Ended == nil {
		item[table.AttrPK2] = ddb.String(table.OpenHoldsPK2(table.Shard(h.Header.ID)))
	}
	return item
}

// holdEntry returns the entry of h with that key. If h has none, the entry is void: it is in no index, and any other
// entry replaces it.
func holdEntry(key table.Key, h projections.Hold) ddb.Item {
	account, _, ofAccount := table.Hold.Parse(key)
	switch {
	case !h.HasEntry(key):
		kind := table.OpenHold.Type
		if ofAccount {
			kind = table.Hold.Type
		}
		item := ddb.Begin(key, kind)
		item[table.AttrVersion] = ddb.Integer(0)
		item[table.AttrVoid] = ddb.Flag(true)
		return item
	case ofAccount:
		return holdItem(account, h)
	}
	return openHoldItem(h)
}

// decodeHold decodes an account's entry of a hold. A void entry is the zero hold.
func decodeHold(item ddb.Item) (h projections.Hold, err error) {
	r, key := open(item, table.Hold.Type)
	if r.OptionalFlag(table.AttrVoid) || r.Err() != nil {
		return decoded(h, key, r)
	}
	_, placed, ok := table.Hold.Parse(key)
	header, err := decodeAs[events.TransactionPosted](r.Map(table.AttrHeader))
	if err != nil {
		return h, at(key, err)
	}
	h.Header = header
	if r.Has(table.AttrEnded) {
		ended, err := decodeAs[events.HoldEnded](r.Map(table.AttrEnded))
		if err != nil {
			return projections.Hold{}, at(key, err)
		}
		h.Ended = &ended
	}
	if !ok || string(h.Header.Legs[0].ID) != placed {
		r.Fail(table.AttrSK, "is not that of the hold")
	}
	return decoded(h, key, r)
}

// HoldsOf implements projections.Lists.
func (l *Lists) HoldsOf(ctx context.Context, account, status string, s projections.Slice) (
	projections.Page[projections.Hold], error,
) {
	r, within := table.Hold.All().Before(s.After), ddb.Within
	if status != "" {
		r, within = table.Hold.History(status).Before(s.After), ddb.WithinHistory
	}
	q := within(table.Account.PK(account), r, newestFirst())
	holds, err := list(ctx, l, "list holds", r, q, s.Limit, secondOf(table.Hold.Parse), decodeHold)
	holds.Items = slices.DeleteFunc(holds.Items, func(h projections.Hold) bool { return h.Header.ID == "" })
	return holds, err
}

// OpenHolds implements projections.Lists. It merges the partitions of the list, and then reads the holds.
func (l *Lists) OpenHolds(ctx context.Context, s projections.Slice) (
	page projections.Page[projections.Hold], err error,
) {
	defer annotate(&err, "list open holds")
	queries := make([]*dynamodb.QueryInput, table.Shards)
	for shard := range queries {
		queries[shard] = ddb.WithinInverse(table.OpenHoldsPK2(shard), table.OpenHold.Partitions().After(s.After),
			&dynamodb.QueryInput{ProjectionExpression: aws.String(keysOnly)})
	}
	items, more, err := l.merge(ctx, queries, s.Limit, table.AttrPK, 1)
	if err != nil {
		return page, err
	}
	ids, ended := make([]string, len(items)), make(map[string]bool, len(items))
	for i, item := range items {
		expires, id, _ := table.OpenHold.Parse(table.Key{PK: text(item[table.AttrPK]), SK: text(item[table.AttrSK])})
		ids[i], ended[id] = id, true
		if more {
			page.Next = expires + "#" + id // the last item's remains
		}
	}
	found, err := l.transactions(ctx, ended, false)
	if err != nil {
		return page, err
	}
	for _, id := range ids {
		if h, ok := found[id]; ok && h.Ended == nil { // the list may be stale
			page.Items = append(page.Items, h)
		}
	}
	return page, nil
}
