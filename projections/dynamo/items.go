package dynamo

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
	"ledger.example/projections"
)

// begin returns a projection's item with its key and type.
func begin(k table.Key, kind string) wire.Item {
	item := wire.Key(k)
	item[table.AttrType] = wire.String(kind)
	return item
}

// open returns a reader of an item that must be of this kind, and the item's key.
func open(item wire.Item, kind string) (*wire.Reader, table.Key) {
	r := wire.Read(item)
	if r.Text(table.AttrType) != kind {
		r.Fail(table.AttrType, "is not "+kind)
	}
	return r, table.Key{PK: r.Text(table.AttrPK), SK: r.Text(table.AttrSK)}
}

// balanceItem returns the item of a balance. Its figures are in no index.
func balanceItem(b projections.Balance) wire.Item {
	item := begin(table.BalanceKey(b.Account, b.Asset), table.KindBalance)
	item[table.AttrPK2] = wire.String(table.HoldersPK2(b.Asset))
	item[table.AttrAccount], item[table.AttrAsset] = wire.String(b.Account), wire.String(b.Asset)
	item[table.AttrVersion] = wire.Integer(b.Version)
	for name, fold := range map[string]projections.Fold{
		table.AttrBase: b.Base, table.AttrSeal: b.Seal, table.AttrHead: b.Head,
	} {
		if fold != (projections.Fold{}) {
			item[name] = wire.Map(putFold(make(wire.Item), fold))
		}
	}
	putFirst(item, b.First)
	if b.Unfinished {
		item[table.AttrUnfinished] = wire.Flag(true)
	}
	return item
}

func decodeBalance(item wire.Item) (projections.Balance, error) {
	r, key := open(item, table.KindBalance)
	account, asset, ok := table.ParseBalance(key)
	if !ok {
		r.Fail(table.AttrSK, "is not that of a balance")
	}
	b := projections.Balance{
		Key:        projections.Key{Account: account, Asset: asset},
		Version:    r.Integer(table.AttrVersion),
		Base:       takeNested(r, table.AttrBase),
		Seal:       takeNested(r, table.AttrSeal),
		Head:       takeNested(r, table.AttrHead),
		First:      events.KSUID(r.OptionalText(table.AttrFirst)),
		Unfinished: r.OptionalFlag(table.AttrUnfinished),
	}
	return b, at(key, r.Err())
}

// segmentItem returns the item of a segment.
func segmentItem(s projections.Segment) wire.Item {
	item := begin(table.SegmentKey(s.Account, s.Asset, string(s.Through)), table.KindSegment)
	if s.After != "" {
		item[table.AttrAfter] = wire.String(string(s.After))
	}
	return putFold(item, s.Fold)
}

func decodeSegment(item wire.Item) (projections.Segment, error) {
	r, key := open(item, table.KindSegment)
	account, asset, through, ok := table.ParseSegment(key)
	s := projections.Segment{
		Key:   projections.Key{Account: account, Asset: asset},
		After: events.KSUID(r.OptionalText(table.AttrAfter)),
		Fold:  takeFold(r),
	}
	if !ok || s.Through != events.KSUID(through) {
		r.Fail(table.AttrSK, "is not that of the segment")
	}
	return s, at(key, r.Err())
}

// summaryItem returns the item of an account's summary.
func summaryItem(s projections.Summary) wire.Item {
	item := begin(table.SummaryKey(s.Account), table.KindSummary)
	item[table.AttrVersion] = wire.Integer(s.Version)
	item[table.AttrAssets], item[table.AttrHoldings] = wire.Integer(s.Assets), wire.Integer(s.Holdings)
	putFirst(item, s.First)
	return item
}

func decodeSummary(item wire.Item) (projections.Summary, error) {
	r, key := open(item, table.KindSummary)
	account, ok := table.ParseSummary(key)
	if !ok {
		r.Fail(table.AttrSK, "is not that of a summary")
	}
	s := projections.Summary{
		Account:  account,
		Version:  r.Integer(table.AttrVersion),
		Assets:   r.Integer(table.AttrAssets),
		Holdings: r.Integer(table.AttrHoldings),
		First:    events.KSUID(r.OptionalText(table.AttrFirst)),
	}
	return s, at(key, r.Err())
}

// membershipItem returns the item of a membership. A revoked one is kept, for its number, but is not in the inverse
// index.
func membershipItem(m projections.Membership) wire.Item {
	item := begin(table.MembershipKey(m.Account, m.User), table.KindMembership)
	item[table.AttrAccount], item[table.AttrUser] = wire.String(m.Account), wire.String(m.User)
	item[table.AttrNumber] = wire.Integer(m.Number)
	if m.Role != "" {
		item[table.AttrRole] = wire.String(string(m.Role))
		item[table.AttrPK2] = wire.String(table.UserPK2(m.User))
	}
	return item
}

func decodeMembership(item wire.Item) (projections.Membership, error) {
	r, key := open(item, table.KindMembership)
	m := takeMembership(r, key)
	m.Number = r.Integer(table.AttrNumber)
	return m, at(key, r.Err())
}

// decodeListedMembership reads a membership from what the inverse index holds of it: its Number is left out.
func decodeListedMembership(item wire.Item) (projections.Membership, error) {
	r, key := open(item, table.KindMembership)
	m := takeMembership(r, key)
	return m, at(key, r.Err())
}

func takeMembership(r *wire.Reader, key table.Key) projections.Membership {
	account, user, ok := table.ParseMembership(key)
	if !ok {
		r.Fail(table.AttrSK, "is not that of a membership")
	}
	return projections.Membership{Account: account, User: user, Role: events.Role(r.OptionalText(table.AttrRole))}
}

// putFold adds the attributes of a fold to item.
func putFold(item wire.Item, f projections.Fold) wire.Item {
	item[table.AttrThrough] = wire.String(string(f.Through))
	item[table.AttrCredits], item[table.AttrDebits] = wire.Amount(f.Credits), wire.Amount(f.Debits)
	item[table.AttrExpenditure] = wire.Amount(f.Expenditure)
	item[table.AttrCount] = wire.Integer(f.Count)
	return item
}

func takeFold(r *wire.Reader) projections.Fold {
	return projections.Fold{
		Through:     events.KSUID(r.Text(table.AttrThrough)),
		Credits:     r.Amount(table.AttrCredits),
		Debits:      r.Amount(table.AttrDebits),
		Expenditure: r.Amount(table.AttrExpenditure),
		Count:       r.Integer(table.AttrCount),
	}
}

// takeNested takes a fold that is an attribute of its own; that of no postings is absent.
func takeNested(r *wire.Reader, name string) projections.Fold {
	if !r.Has(name) {
		return projections.Fold{}
	}
	nested := wire.Read(r.Map(name))
	f := takeFold(nested)
	if err := nested.Err(); err != nil {
		r.Fail(name, err.Error())
	}
	return f
}

func putFirst(item map[string]types.AttributeValue, first events.KSUID) {
	if first != "" {
		item[table.AttrFirst] = wire.String(string(first))
	}
}

// at names the item that an error is about.
func at(k table.Key, err error) error {
	if err != nil {
		return fmt.Errorf("item %s %s: %w", k.PK, k.SK, err)
	}
	return nil
}
