package projections

import (
	"fmt"

	"ledger.example/events"
	"ledger.example/internal/ddb"
	"ledger.example/internal/store"
	"ledger.example/internal/table"
)

// Form says how one kind of projection is stored.
type Form[T any] struct {
	Item    func(T) store.Item
	Decode  func(store.Item) (T, error) // errors: store.ErrMalformedItem, ErrNewerForm
	Counter string                      // the attribute that every write changes; "": no write compares it
}

// The forms of projections. Those of balances and summaries decode only items with a usable version.
var (
	BalanceForm    = Form[Balance]{balanceItem, writable(decodeBalance), table.AttrVersion}
	SegmentForm    = Form[Segment]{segmentItem, decodeSegment, ""}
	SummaryForm    = Form[Summary]{summaryItem, writable(decodeSummary), table.AttrVersion}
	MembershipForm = Form[Membership]{membershipItem, decodeMembership, table.AttrNumber}
	GroupedForm    = Form[GroupedAccount]{groupedItem, decodeGrouped, table.AttrNumber}
	JournalForm    = Form[JournalPage]{journalItem, decodeJournal, ""}
)

// ListedForm is the form of the entries in the list of transactions in partition pk.
func ListedForm(pk string) Form[ListedEntry] {
	return Form[ListedEntry]{func(e ListedEntry) store.Item { return listedItem(pk, e) }, decodeListedEntry, ""}
}

// Replace returns the put of value on the condition that the stored item still has revision r.
func (f Form[T]) Replace(value T, r Revision) store.Write { return r.Replace(f.Item(value), f.Counter) }

// open returns a reader of an item of a projection, and the item's key.
func open(item store.Item, kind string) (*ddb.Reader, table.Key) {
	r := ddb.Open(item, kind)
	return r, table.Key{PK: r.Text(table.AttrPK), SK: r.Text(table.AttrSK)}
}

// balanceItem returns the item of a balance. It has a map for each non-empty fold, named Base, Seal and Head. The
// inverse index has only the item's keys, so that new figures cost no index write.
func balanceItem(b Balance) store.Item {
	item := ddb.Begin(table.Balance.Key(b.Account, b.Asset), table.Balance.Type)
	item[table.AttrPK2] = ddb.String(table.Balance.PK2(b.Asset))
	item[table.AttrAccount], item[table.AttrAsset] = ddb.String(b.Account), ddb.String(b.Asset)
	item[table.AttrVersion] = ddb.Integer(b.Version)
	for name, fold := range map[string]Fold{
		table.AttrBase: b.Base, table.AttrSeal: b.Seal, table.AttrHead: b.Head,
	} {
		if fold != (Fold{}) {
			item[name] = ddb.Map(putFold(make(store.Item), fold))
		}
	}
	putText(item, table.AttrFirst, string(b.First))
	putFlag(item, table.AttrUnfinished, b.Unfinished)
	return item
}

// decodeBalance decodes a balance. Its Version is 0 if the item has no usable version; the balance can be shown but not
// updated. On an error, only the Version is set.
func decodeBalance(item store.Item) (Balance, error) {
	r, key := open(item, table.Balance.Type)
	account, asset, ok := table.Balance.Parse(key)
	if !ok {
		r.Fail(table.AttrSK, "is not that of a balance")
	}
	b := Balance{
		Pair:       events.Pair{Account: account, Asset: asset},
		Version:    VersionOf(item),
		Base:       takeNested(r, table.AttrBase),
		Seal:       takeNested(r, table.AttrSeal),
		Head:       takeNested(r, table.AttrHead),
		First:      events.KSUID(r.OptionalText(table.AttrFirst)),
		Unfinished: r.OptionalFlag(table.AttrUnfinished),
	}
	if err := at(key, r.Err()); err != nil {
		return Balance{Version: b.Version}, err
	}
	return b, nil
}

// segmentItem returns the item of a segment. Its sort key ends in Through, so segments sort like postings.
func segmentItem(s Segment) store.Item {
	item := ddb.Begin(table.Segment.Key(s.Account, s.Asset, string(s.Through)), table.Segment.Type)
	putText(item, table.AttrAfter, string(s.After))
	return putFold(item, s.Fold)
}

// decodeSegment decodes a segment. Its Through must match its sort key.
func decodeSegment(item store.Item) (Segment, error) {
	r, key := open(item, table.Segment.Type)
	account, asset, through, ok := table.Segment.Parse(key)
	s := Segment{
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
func summaryItem(s Summary) store.Item {
	item := ddb.Begin(table.Summary.Key(s.Account), table.Summary.Type)
	item[table.AttrVersion] = ddb.Integer(s.Version)
	item[table.AttrAssets], item[table.AttrHoldings] = ddb.Integer(s.Assets), ddb.Integer(s.Holdings)
	putText(item, table.AttrFirst, string(s.First))
	return item
}

// decodeSummary decodes a summary. Version and errors are as in decodeBalance.
func decodeSummary(item store.Item) (Summary, error) {
	r, key := open(item, table.Summary.Type)
	account, ok := table.Summary.Parse(key)
	if !ok {
		r.Fail(table.AttrSK, "is not that of a summary")
	}
	s := Summary{
		Account:  account,
		Version:  VersionOf(item),
		Assets:   r.Integer(table.AttrAssets),
		Holdings: r.Integer(table.AttrHoldings),
		First:    events.KSUID(r.OptionalText(table.AttrFirst)),
	}
	if err := at(key, r.Err()); err != nil {
		return Summary{Version: s.Version}, err
	}
	return s, nil
}

// writable returns a decoder with an additional check: the item must have a usable version.
func writable[T any](decode func(store.Item) (T, error)) func(store.Item) (T, error) {
	return func(item store.Item) (T, error) {
		value, err := decode(item)
		if err == nil && VersionOf(item) == 0 {
			err = errNoVersion
		}
		return value, err
	}
}

// errNoVersion is the fault of an item whose version no conditional write can compare and increment.
var errNoVersion = fmt.Errorf("%w: its %s is not usable", store.ErrMalformedItem, table.AttrVersion)

// VersionOf returns the version of an item, 0 if no write can compare and increment it.
func VersionOf(item store.Item) int64 {
	r := ddb.Read(item)
	version := r.Integer(table.AttrVersion)
	if r.Err() != nil || version > table.VersionMax {
		return 0
	}
	return version
}

// putFold adds the attributes of a fold to item, and returns item. Amounts are numbers of at most 38 digits.
func putFold(item store.Item, f Fold) store.Item {
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
func takeFold(r *ddb.Reader) Fold {
	f := Fold{
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
func takeNested(r *ddb.Reader, name string) Fold {
	if !r.Has(name) {
		return Fold{}
	}
	nested := ddb.Read(r.Map(name))
	f := takeFold(nested)
	if err := nested.Err(); err != nil {
		r.Fail(name, err.Error())
	}
	return f
}

// putText adds a text to item unless it is empty.
func putText(item store.Item, name, text string) {
	if text != "" {
		item[name] = ddb.String(text)
	}
}

// putFlag adds a flag to item unless it is false.
func putFlag(item store.Item, name string, flag bool) {
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
