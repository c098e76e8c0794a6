package projections

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
)

// Holds is the view of the entries of holds. They follow from a hold's header and its end; their number is its version.
// A target with an account has only the account's entry and, with the first account in the legs, the entry by expiry.
var Holds = declare(&View{
	Name: "holds", Form: itemForm(table.AttrVersion), Event: table.Posting.Pattern,
	Of: func(r Record) (t Target, number int64, ok bool) {
		if r.Figures != nil {
			t, number = ofFigures(*r.Figures)
		}
		return t, number, true
	},
	Fold: func(ctx context.Context, v *Views, t Target, seen Seen) (rows []Row, err error) {
		h, err := v.hold(ctx, t.Hold)
		switch {
		case errors.Is(err, table.ErrAbsent) && seen.Highest > 0: // its posting was seen: it is being committed
			return nil, fmt.Errorf("its header is not visible: %w", table.ErrConflict)
		case err != nil:
			return nil, err
		case versionOf(h) < seen.Highest: // no later record would trigger another refresh
			return nil, fmt.Errorf("its end is not visible: %w", table.ErrConflict)
		}
		recorded := changedAt(h)
		for _, entry := range accountEntries(h, t.Account) {
			rows = append(rows, Row{t, entry, recorded})
		}
		if v.lanes == nil || t.Account != "" && t.Account != h.Header.Legs[0].Account {
			return rows, nil
		}
		lanes, err := v.lanes.Through(ctx, h.Header.Recorded())
		return append(rows, Row{t, openHoldItem(h, lanes), recorded}), err
	},
	Items: table.Hold.All(),
	Owner: func(item table.Item) (t Target, ok bool) {
		key := table.ItemKey(item)
		if table.OpenHold.Is(key.SK) {
			_, t.Hold, ok = table.OpenHold.Parse(key)
			return t, ok
		}
		t.Account, _, _ = table.Hold.Parse(key)
		h, _ := DecodeHold(item) // a faulty entry names no hold
		t.Hold = h.Header.ID
		return t, true
	},
	None:   func(k table.Key) any { return HoldEntry(k, events.Transaction{}, table.Lanes{}) },
	Orphan: "no hold has this entry",
})

// changedAt is when a hold was placed or ended.
func changedAt(h events.Transaction) time.Time {
	if h.Ended != nil {
		return h.Ended.EndedAt()
	}
	return h.Header.PostedAt()
}

// OpenHoldRow returns the entry of a hold by expiry. lanes are as in HoldEntries.
func OpenHoldRow(h events.Transaction, lanes table.Lanes) Row {
	return Row{Target{View: Holds, Hold: h.Header.ID}, openHoldItem(h, lanes), changedAt(h)}
}

// ofFigures returns the hold that a posting places or ends, the zero Target if none, and the version of the hold's
// entries after it.
func ofFigures(f events.Figures) (t Target, version int64) {
	switch {
	case f.Hold == "":
		return t, 0
	case f.Phase.Ends():
		return Target{Hold: f.Hold}, versionEnded
	}
	return Target{Hold: f.Hold}, versionHeld
}

// hold reads a hold's header and its end. Error: also ErrAbsent, without a header of a hold.
func (v *Views) hold(ctx context.Context, id string) (events.Transaction, error) {
	if id == "" {
		return events.Transaction{}, table.ErrAbsent
	}
	found, err := TransactionsByID(ctx, v.table, map[string]bool{id: true}, table.Strong)
	h, there := found[id]
	switch {
	case err != nil:
		return events.Transaction{}, err
	case !there:
		return events.Transaction{}, table.ErrAbsent
	case !h.Header.IsHold():
		return events.Transaction{}, fmt.Errorf("transaction %s is not a hold: %w", id, table.ErrAbsent)
	}
	return h, nil
}

// holdItem returns an account's entry of a hold. It includes the header and the end, so that a page of holds takes one
// request.
func holdItem(account string, h events.Transaction) table.Item {
	placed := string(h.Header.Legs[0].ID)
	item := table.Begin(table.Hold.Key(account, placed), table.Hold.Type)
	item[table.AttrSK2] = table.String(table.Hold.SK2(string(h.Status()), placed))
	item[table.AttrVersion] = table.Integer(versionOf(h))
	item[table.AttrHeader] = table.Map(table.EventItem(h.Header))
	if h.Ended != nil {
		item[table.AttrEnded] = table.Map(table.EventItem(*h.Ended))
	}
	return item
}

// openHoldItem returns a hold's entry by expiry. When the hold has ended, the entry leaves the index. lanes are as in
// HoldEntries, and not needed then.
func openHoldItem(h events.Transaction, lanes table.Lanes) table.Item {
	item := table.Begin(table.OpenHold.Key(events.FormatTime(h.Header.ExpiresAt), h.Header.ID), table.OpenHold.Type)
	item[table.AttrVersion] = table.Integer(versionOf(h))
	if h.Ended == nil {
		lane := lanes.Of(h.Header.ID, h.Header.Recorded())
		item[table.AttrPK2] = table.String(table.OpenHold.PK2(lane))
	}
	return item
}

// HoldEntries returns the entries of a hold, as items: those of its accounts, and the one by expiry. That one lies in
// the lane of when the hold was recorded, up to which lanes must be known.
func HoldEntries(h events.Transaction, lanes table.Lanes) (entries []any) {
	return append(accountEntries(h, ""), openHoldItem(h, lanes))
}

// accountEntries returns the entry of an account in a hold. Those of all accounts if account is "".
func accountEntries(h events.Transaction, account string) (entries []any) {
	for _, of := range accountsOf(h) {
		if account == "" || account == of {
			entries = append(entries, holdItem(of, h))
		}
	}
	return entries
}

// HoldEntry returns the entry of h with that key. If h has none, the entry is void: it is in no index, and any other
// entry replaces it. lanes are as in HoldEntries.
func HoldEntry(key table.Key, h events.Transaction, lanes table.Lanes) table.Item {
	if h.Header.IsHold() {
		for _, entry := range HoldEntries(h, lanes) {
			if item := entry.(table.Item); table.ItemKey(item) == key {
				return item
			}
		}
	}
	kind := table.OpenHold.Type
	if table.Hold.Is(key.SK) {
		kind = table.Hold.Type
	}
	item := table.Begin(key, kind)
	item[table.AttrVersion] = table.Integer(0)
	item[table.AttrVoid] = table.Flag(true)
	return item
}

// DecodeHold decodes an account's entry of a hold. A void entry is the zero hold.
func DecodeHold(item table.Item) (h events.Transaction, err error) {
	key := table.ItemKey(item)
	_, placed, ok := table.Hold.Parse(key)
	r := open(item, table.Hold.Type, ok)
	if r.OptionalFlag(table.AttrVoid) || r.Err() != nil {
		return decoded(h, item, r)
	}
	header, err := decodeAs[events.TransactionPosted](r.Map(table.AttrHeader))
	if err != nil {
		return h, at(key, err)
	}
	h.Header = header
	if r.Has(table.AttrEnded) {
		ended, err := decodeAs[events.HoldEnded](r.Map(table.AttrEnded))
		if err != nil {
			return events.Transaction{}, at(key, err)
		}
		h.Ended = &ended
	}
	if string(h.Header.Legs[0].ID) != placed {
		r.Fail(table.AttrSK, "is not that of the hold")
	}
	return decoded(h, item, r)
}

// HoldsOf lists the holds that have legs on an account, newest first. status "" selects all of them.
func (l *Lists) HoldsOf(ctx context.Context, account, status string, s Slice) (Page[events.Transaction], error) {
	q := table.Query{Partition: table.Account.PK(account), Within: table.Hold.All().Before(s.After), Descending: true}
	if status != "" {
		q.Index, q.Within = table.IndexHistory, table.Hold.History(status).Before(s.After)
	}
	holds, err := list(ctx, l, "list holds", q, s.Limit, part(table.Hold.Pattern, 1), DecodeHold)
	holds.Items = slices.DeleteFunc(holds.Items, func(h events.Transaction) bool { return h.Header.ID == "" })
	return holds, err
}

// OpenHolds lists all open holds in the order of their expiry. Positions are the time of expiry, as events.FormatTime
// writes it, a # and the id. A page may be short. It makes one request for each lane, one for each hundred holds, and
// one a minute for the log of lanes. It merges the lanes, and then reads the holds.
func (l *Lists) OpenHolds(ctx context.Context, s Slice) (page Page[events.Transaction], err error) {
	defer annotate(&err, "list open holds")
	q := table.Query{
		Index: table.IndexInverse, Within: table.OpenHold.Partitions().After(s.After), Attributes: keysOnly,
	}
	lanes, err := l.lanes.Recent(ctx)
	if err != nil {
		return page, err
	}
	partitions := lanes.All()
	for i, lane := range partitions {
		partitions[i] = table.OpenHold.PK2(lane)
	}
	items, more, err := l.merge(ctx, q, partitions, s.Limit, table.AttrPK)
	if err != nil {
		return page, err
	}
	ids, ended := make([]string, len(items)), make(map[string]bool, len(items))
	for i, item := range items {
		expires, id, _ := table.OpenHold.Parse(table.ItemKey(item))
		ids[i], ended[id] = id, true
		if more {
			page.Next = expires + "#" + id // the last item's remains
		}
	}
	found, err := TransactionsByID(ctx, l.table, ended, table.Eventual)
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

// Versions of a hold's entries: while it is open, and once it has ended.
const (
	versionHeld  = 1
	versionEnded = 2
)

// versionOf returns the version of a hold's entries.
func versionOf(h events.Transaction) int64 {
	if h.Ended == nil {
		return versionHeld
	}
	return versionEnded
}

// accountsOf returns the accounts in the legs, in the order of the legs and without duplicates.
func accountsOf(h events.Transaction) []string {
	var accounts []string
	known := make(map[string]bool)
	for _, leg := range h.Header.Legs {
		if !known[leg.Account] {
			known[leg.Account] = true
			accounts = append(accounts, leg.Account)
		}
	}
	return accounts
}

// refreshUnnamed refreshes the holds of postings of k whose records have no figures, and so do not name the hold. It
// reads these postings.
func (p *Projector) refreshUnnamed(ctx context.Context, k events.Pair, dirty []dirtyPosting) error {
	for _, d := range dirty {
		if d.figures != nil {
			continue
		}
		before := d.id[:len(d.id)-1] // sorts before this posting, and after nearly every other
		for posting, err := range p.views.Postings(ctx, k, before, d.id) {
			if err == nil && posting.ID == d.id && posting.Hold != "" {
				t, number := ofFigures(posting.Figures)
				t.View = Holds
				err = p.Refresh(ctx, t, Seen{number, number})
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
