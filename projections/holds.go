package projections

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// entriesAtOnce is how many entries of one hold are written in parallel.
const entriesAtOnce = 8

// Hold reads a hold's header and its end. Error: also ErrAbsent, without a header.
func (v *Views) Hold(ctx context.Context, id string) (Hold, error) {
	found, err := TransactionsByID(ctx, v.table, map[string]bool{id: true}, store.Strong)
	h, there := found[id]
	switch {
	case err != nil:
		return Hold{}, err
	case !there:
		return Hold{}, store.ErrAbsent
	case !h.Header.IsHold():
		return h, fmt.Errorf("%w: transaction %s is not a hold", store.ErrMalformedItem, id)
	}
	return h, nil
}

// WriteHold writes each entry of h, unless one with the same or a higher h.Version() is stored. It makes one request
// for each account in the legs, and one more. An ended hold leaves the list by expiry.
func (v *Views) WriteHold(ctx context.Context, h Hold) error {
	running, ctx := errgroup.WithContext(ctx)
	running.SetLimit(entriesAtOnce)
	for _, item := range holdItems(h) {
		running.Go(func() error { return v.putNewer(ctx, item, store.AttrVersion, h.Version()) })
	}
	return running.Wait()
}

// holdItems returns the entries of a hold: one for each account, and one by expiry.
func holdItems(h Hold) []store.Item {
	var items []store.Item
	for _, account := range h.Accounts() {
		items = append(items, holdItem(account, h))
	}
	return append(items, openHoldItem(h))
}

// holdItem returns an account's entry of a hold. It includes the header and the end, so that a page of holds takes one
// request.
func holdItem(account string, h Hold) store.Item {
	placed := string(h.Header.Legs[0].ID)
	item := store.Begin(store.Hold.Key(account, placed), store.Hold.Type)
	item[store.AttrSK2] = store.String(store.Hold.SK2(h.Status(), placed))
	item[store.AttrVersion] = store.Integer(h.Version())
	item[store.AttrHeader] = store.Map(store.EventItem(h.Header))
	if h.Ended != nil {
		item[store.AttrEnded] = store.Map(store.EventItem(*h.Ended))
	}
	return item
}

// openHoldItem returns a hold's entry by expiry. When the hold has ended, the entry leaves the index.
func openHoldItem(h Hold) store.Item {
	item := store.Begin(h.ExpiryKey(), store.OpenHold.Type)
	item[store.AttrVersion] = store.Integer(h.Version())
	if h.Ended == nil {
		item[store.AttrPK2] = store.String(store.OpenHoldsPK2(store.Shard(h.Header.ID)))
	}
	return item
}

// HoldEntry returns the entry of h with that key. If h has none, the entry is void: it is in no index, and any other
// entry replaces it.
func HoldEntry(key store.Key, h Hold) store.Item {
	account, _, ofAccount := store.Hold.Parse(key)
	switch {
	case !h.HasEntry(key):
		kind := store.OpenHold.Type
		if ofAccount {
			kind = store.Hold.Type
		}
		item := store.Begin(key, kind)
		item[store.AttrVersion] = store.Integer(0)
		item[store.AttrVoid] = store.Flag(true)
		return item
	case ofAccount:
		return holdItem(account, h)
	}
	return openHoldItem(h)
}

// DecodeHold decodes an account's entry of a hold. A void entry is the zero hold.
func DecodeHold(item store.Item) (h Hold, err error) {
	r, key := open(item, store.Hold.Type)
	if r.OptionalFlag(store.AttrVoid) || r.Err() != nil {
		return decoded(h, key, r)
	}
	_, placed, ok := store.Hold.Parse(key)
	header, err := decodeAs[events.TransactionPosted](r.Map(store.AttrHeader))
	if err != nil {
		return h, at(key, err)
	}
	h.Header = header
	if r.Has(store.AttrEnded) {
		ended, err := decodeAs[events.HoldEnded](r.Map(store.AttrEnded))
		if err != nil {
			return Hold{}, at(key, err)
		}
		h.Ended = &ended
	}
	if !ok || string(h.Header.Legs[0].ID) != placed {
		r.Fail(store.AttrSK, "is not that of the hold")
	}
	return decoded(h, key, r)
}

// HoldsOf lists the holds that have legs on an account, newest first. status "" selects all of them.
func (l *Lists) HoldsOf(ctx context.Context, account, status string, s Slice) (Page[Hold], error) {
	q := store.Query{Partition: store.Account.PK(account), Within: store.Hold.All().Before(s.After), Descending: true}
	if status != "" {
		q.Index, q.Within = store.IndexHistory, store.Hold.History(status).Before(s.After)
	}
	holds, err := list(ctx, l, "list holds", q, s.Limit, secondOf(store.Hold.Parse), DecodeHold)
	holds.Items = slices.DeleteFunc(holds.Items, func(h Hold) bool { return h.Header.ID == "" })
	return holds, err
}

// OpenHolds lists all open holds in the order of their expiry. Positions are the time of expiry, as events.FormatTime
// writes it, a # and the id. A page may be short. It makes one request for each partition of the list, and one for each
// hundred holds. It merges the partitions of the list, and then reads the holds.
func (l *Lists) OpenHolds(ctx context.Context, s Slice) (page Page[Hold], err error) {
	defer annotate(&err, "list open holds")
	queries := make([]store.Query, store.Shards)
	for shard := range queries {
		queries[shard] = store.Query{
			Index: store.IndexInverse, Partition: store.OpenHoldsPK2(shard),
			Within: store.OpenHold.Partitions().After(s.After), Attributes: keysOnly,
		}
	}
	items, more, err := l.merge(ctx, queries, s.Limit, store.AttrPK, 1)
	if err != nil {
		return page, err
	}
	ids, ended := make([]string, len(items)), make(map[string]bool, len(items))
	for i, item := range items {
		expires, id, _ := store.OpenHold.Parse(
			store.Key{PK: store.TextOf(item[store.AttrPK]), SK: store.TextOf(item[store.AttrSK])})
		ids[i], ended[id] = id, true
		if more {
			page.Next = expires + "#" + id // the last item's remains
		}
	}
	found, err := TransactionsByID(ctx, l.table, ended, store.Eventual)
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
