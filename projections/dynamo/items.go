package dynamo

import (
	"fmt"

	"ledger.example/events"
	"ledger.example/internal/ddb"
	"ledger.example/internal/store"
	"ledger.example/internal/table"
	"ledger.example/projections"
)

// open returns a reader of an item of a projection, and the item's key.
func open(item ddb.Item, kind string) (*ddb.Reader, table.Key) {
	r := ddb.Open(item, kind)
	return r, table.Key{PK: r.Text(table.AttrPK), SK: r.Text(table.AttrSK)}
}

// balanceItem returns the item of a balance. It has a map for each non-empty fold, named Base, Seal and Head. The
// inverse index has only the item's keys, so that new figures cost no index write.
func balanceItem(b projections.Balance) ddb.Item {
	item := ddb.Begin(table.Balance.Key(b.Account, b.Asset), table.Balance.Type)
	item[table.AttrPK2] = ddb.String(table.Balance.PK2(b.Asset))
	item[table.AttrAccount], item[table.AttrAsset] = ddb.String(b.Account), ddb.String(b.Asset)
	item[table.AttrVersion] = ddb.Integer(b.Version)
	for name, fold := range map[string]projections.Fold{
		table.AttrBase: b.Base, table.AttrSeal: b.Seal, table.AttrHead: b.Head,
	} {
		if fold != (projections.Fold{}) {
			item[name] = ddb.Map(putFold(make(ddb.Item), fold))
		}
	}
	putText(item, table.AttrFirst, string(b.First))
	putFlag(item, table.AttrUnfinished, b.Unfinished)
	return item
}

// decodeBalance decodes a balance. Its Version is 0 if the item has no usable version; the balance can be shown but not
// updated. On an error, only the Version is set.
func decodeBalance(item ddb.Item) (projections.Balance, error) {
	r, key := open(item, table.Balance.Type)
	account, asset, ok := table.Balance.Parse(key)
	if !ok {
		r.Fail(table.AttrSK, "is not that of a balance")
	}
	b := projections.Balance{
		Pair:       events.Pair{Account: account, Asset: asset},
		Version:    versionOf(item),
		Base:       takeNested(r, table.AttrBase),
		Seal:       takeNested(r, table.AttrSeal),
		Head:       takeNested(r, table.AttrHead),
		First:      events.KSUID(r.OptionalText(table.AttrFirst)),
		Unfinished: r.OptionalFlag(table.AttrUnfinished),
	}
	if err := at(key, r.Err()); err != nil {
		return projections.Balance{Version: b.Version}, err
	}
	return b, nil
}

// segmentItem returns the item of a segment. Its sort key ends in Through, so segments sort like postings.
func segmentItem(s projections.Segment) ddb.Item {
	item := ddb.Begin(table.Segment.Key(s.Account, s.Asset, string(s.Through)), table.Segment.Type)
	putText(item, table.AttrAfter, string(s.After))
	return putFold(item, s.Fold)
}

// decodeSegment decodes a segment. Its Through must match its sort key.
func decodeSegment(item ddb.Item) (projections.Segment, error) {
	r, key := open(item, table.Segment.Type)
	account, asset, through, ok := table.Segment.Parse(key)
	s := projections.Segment{
		Pair:  events.Pair{Account: account, Asset: asset},
		After: events.KSUID(r.OptionalText(table.AttrAfter)),
		Fold:  takeFold(r),
	}
	if !ok || s.Through != events.KSUID(through) {
		r.Fail(table.AttrSK, "is not that of the segment")
	}
	return decoded(s, key, r)
}

// summaryItem returns the item of an account's summary.
func summaryItem(s projections.Summary) ddb.Item {
	item := ddb.Begin(table.Summary.Key(s.Account), table.Summary.Type)
	item[table.AttrVersion] = ddb.Integer(s.Version)
	item[table.AttrAssets], item[table.AttrHoldings] = ddb.Integer(s.Assets), ddb.Integer(s.Holdings)
	putText(item, table.AttrFirst, string(s.First))
	return item
}

// decodeSummary decodes a summary. Version and errors are as in decodeBalance.
func decodeSummary(item ddb.Item) (projections.Summary, error) {
	r, key := open(item, table.Summary.Type)
	account, ok := table.Summary.Parse(key)
	if !ok {
		r.Fail(table.AttrSK, "is not that of a summary")
	}
	s := projections.Summary{
		Account:  account,
		Version:  versionOf(item),
		Assets:   r.Integer(table.AttrAssets),
		Holdings: r.Integer(table.AttrHoldings),
		First:    events.KSUID(r.OptionalText(table.AttrFirst)),
	}
	if err := at(key, r.Err()); err != nil {
		return projections.Summary{Version: s.Version}, err
	}
	return s, nil
}

// writable returns decode with an additional check: the item must have a usable version.
func writable[T any](decode func(ddb.Item) (T, error)) func(ddb.Item) (T, error) {
	return func(item ddb.Item) (T, error) {
		value, err := decode(item)
		if err == nil && versionOf(item) == 0 {
			err = errNoVersion
		}
		return value, err
	}
}

// errNoVersion is the fault of an item whose version no conditional write can compare and increment.
var errNoVersion = fmt.Errorf("%w: its %s is not usable", store.ErrMalformedItem, table.AttrVersion)

// versionOf returns the version of an item, 0 if no write can compare and increment it.
func versionOf(item ddb.Item) int64 {
	r := ddb.Read(item)
	version := r.Integer(table.AttrVersion)
	if r.Err() != nil || version > table.VersionMax {
		return 0
	}
	return version
}

// membershipItem returns the item of a membership. A revoked membership remains stored because of its number, but is
// not in the inverse index.
func membershipItem(m projections.Membership) ddb.Item {
	item := ddb.Begin(m.Key(), table.Membership.Type)
	putText(item, table.AttrAccount, m.Account)
	item[table.AttrUser] = ddb.String(m.User)
	item[table.AttrNumber] = ddb.Integer(m.Number)
	putText(item, table.AttrRole, string(m.Role))
	if m.Role != "" {
		item[table.AttrPK2] = ddb.String(table.Membership.PK2(m.User))
	}
	return item
}

// decodeMembership decodes a membership. Its Number is 0 if the item is from the inverse index, which has no Number.
func decodeMembership(item ddb.Item) (projections.Membership, error) {
	r, key := open(item, table.Membership.Type)
	account, user, ok := table.Membership.Parse(key)
	m := projections.Membership{
		Account: account, User: user, Role: events.Role(r.OptionalText(table.AttrRole)), Number: numberOf(item),
	}
	if !ok {
		if m.Group, m.User, ok = table.GroupMembership.Parse(key); !ok {
			r.Fail(table.AttrSK, "is not that of a membership")
		}
	}
	return decoded(m, key, r)
}

// numberOf returns the number of the event that an item was projected from, 0 if the item has none.
func numberOf(item ddb.Item) int64 {
	r := ddb.Read(item)
	if number := r.Integer(table.AttrNumber); r.Err() == nil {
		return number
	}
	return 0
}

// groupedItem returns the item of an account's place in a group. If the account was taken out, the item remains stored
// because of its number, but is not in the inverse index.
func groupedItem(g projections.GroupedAccount) ddb.Item {
	item := ddb.Begin(table.Grouped.Key(g.Account, g.Group), table.Grouped.Type)
	item[table.AttrAccount] = ddb.String(g.Account)
	item[table.AttrNumber] = ddb.Integer(g.Number)
	if !g.Out {
		item[table.AttrPK2] = ddb.String(table.Grouped.PK2(g.Group))
	}
	return item
}

// decodeGrouped decodes an account's place in a group. Its Number is 0 if the item is from the inverse index, which has
// no Number.
func decodeGrouped(item ddb.Item) (projections.GroupedAccount, error) {
	r, key := open(item, table.Grouped.Type)
	account, group, ok := table.Grouped.Parse(key)
	if !ok {
		r.Fail(table.AttrSK, "is not that of a place in a group")
	}
	out := !r.Has(table.AttrPK2)
	return decoded(projections.GroupedAccount{Account: account, Group: group, Out: out, Number: numberOf(item)}, key, r)
}

// putFold adds the attributes of a fold to item, and returns item. Amounts are numbers of at most 38 digits.
func putFold(item ddb.Item, f projections.Fold) ddb.Item {
	item[table.AttrThrough] = ddb.String(string(f.Through))
	item[table.AttrCredits], item[table.AttrDebits] = ddb.Amount(f.Credits), ddb.Amount(f.Debits)
	item[table.AttrExpenditure] = ddb.Amount(f.Expenditure)
	item[table.AttrCount] = ddb.Integer(f.Count)
	if f.Holds != 0 {
		item[table.AttrHolds] = ddb.Integer(f.Holds)
	}
	for name, amount := range map[string]events.Amount{
		table.AttrPendingDebits: f.PendingDebits, table.AttrPendingCredits: f.PendingCredits,
		table.AttrReturned: f.Returned,
	} {
		if !amount.IsZero() {
			item[name] = ddb.Amount(amount)
		}
	}
	return item
}

// takeFold reads a fold. Attributes of holds may be missing, all others are required.
func takeFold(r *ddb.Reader) projections.Fold {
	f := projections.Fold{
		Through:     events.KSUID(r.Text(table.AttrThrough)),
		Credits:     r.Amount(table.AttrCredits),
		Debits:      r.Amount(table.AttrDebits),
		Expenditure: r.Amount(table.AttrExpenditure),
		Count:       r.Integer(table.AttrCount),

		PendingDebits:  r.OptionalAmount(table.AttrPendingDebits),
		PendingCredits: r.OptionalAmount(table.AttrPendingCredits),
		Returned:       r.OptionalAmount(table.AttrReturned),
	}
	if r.Has(table.AttrHolds) {
		f.Holds = r.Integer(table.AttrHolds)
	}
	return f
}

// takeNested reads a fold from a map attribute. A missing attribute is the zero fold.
func takeNested(r *ddb.Reader, name string) projections.Fold {
	if !r.Has(name) {
		return projections.Fold{}
	}
	nested := ddb.Read(r.Map(name))
	f := takeFold(nested)
	if err := nested.Err(); err != nil {
		r.Fail(name, err.Error())
	}
	return f
}

// putText adds a text to item unless it is empty.
func putText(item ddb.Item, name, text string) {
	if text != "" {
		item[name] = ddb.String(text)
	}
}

// putFlag adds a flag to item unless it is false.
func putFlag(item ddb.Item, name string, flag bool) {
	if flag {
		item[name] = ddb.Flag(true)
	}
}

// decoded returns value, which was read by r from the item of k, or the error of r.
func decoded[T any](value T, k table.Key, r *ddb.Reader) (T, error) {
	if err := at(k, r.Err()); err != nil {
		var none T
		return none, err
	}
	return value, nil
}

// at adds the item's key to an error.
func at(k table.Key, err error) error {
	if err != nil {
		return fmt.Errorf("item %s %s: %w", k.PK, k.SK, err)
	}
	return nil
}
