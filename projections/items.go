package projections

import (
	"errors"
	"fmt"
	"strconv"

	"ledger.example/events"
	"ledger.example/internal/table"
)

// Form says how one kind of projection is stored.
type Form[T any] struct {
	Item    func(T) table.Item
	Decode  func(table.Item) (T, error)                // errors: table.ErrMalformedItem, ErrNewerForm
	Bare    func(k table.Key, version int64) (value T) // of which only these are known
	Counter string                                     // which every write changes; "": no write compares one
}

// The forms of projections. Those of balances and summaries decode only items with a usable version.
var (
	BalanceForm = Form[Balance]{balanceItem, writable(decodeBalance), func(k table.Key, version int64) Balance {
		account, asset, _ := table.Balance.Parse(k)
		return Balance{Pair: events.Pair{Account: account, Asset: asset}, Version: version}
	}, table.AttrVersion}
	SegmentForm = Form[Segment]{segmentItem, decodeSegment, func(k table.Key, _ int64) Segment {
		account, _ := table.Account.Owner(k)
		pair := events.Pair{Account: account, Asset: table.FirstID(k.SK)}
		return Segment{Pair: pair, Fold: Fold{Through: events.KSUID(table.LastID(k.SK))}}
	}, ""}
	SummaryForm = Form[Summary]{summaryItem, writable(decodeSummary), func(k table.Key, version int64) Summary {
		account, _ := table.Summary.Parse(k)
		return Summary{Account: account, Version: version}
	}, table.AttrVersion}
	MembershipForm = Form[Membership]{membershipItem, decodeMembership, func(k table.Key, _ int64) Membership {
		account, group, user, _ := membershipKey(table.KeyItem(k))
		return Membership{Account: account, Group: group, User: user}
	}, table.AttrNumber}
	GroupedForm = Form[GroupedAccount]{groupedItem, decodeGrouped, func(k table.Key, _ int64) GroupedAccount {
		account, group, _ := table.Grouped.Parse(k)
		return GroupedAccount{Account: account, Group: group}
	}, table.AttrNumber}
	JournalForm = Form[JournalPage]{journalItem, decodeJournal, func(k table.Key, _ int64) JournalPage {
		return JournalPage{ID: events.KSUID(table.FirstID(k.SK))}
	}, ""}
)

// Replace returns the put of value on the condition that the stored item still has revision r.
func (f Form[T]) Replace(value T, r Revision) table.Write { return r.Replace(f.Item(value), f.Counter) }

// anyForm returns f for values of any type; Item panics if its value is not a T.
func anyForm[T any](f Form[T]) Form[any] {
	return Form[any]{
		Item:    func(value any) table.Item { return f.Item(value.(T)) },
		Decode:  func(item table.Item) (any, error) { return f.Decode(item) },
		Bare:    func(k table.Key, version int64) any { return f.Bare(k, version) },
		Counter: f.Counter,
	}
}

// itemForm is the form of a view whose values are items. A rebuild only names the attributes in which they differ.
func itemForm(counter string) Form[any] {
	return Form[any]{
		Item: func(item any) table.Item { return item.(table.Item) },
		Decode: func(item table.Item) (any, error) {
			err := table.Open(item, table.TextOf(item[table.AttrType])).Err()
			if !errors.Is(err, table.ErrNewerForm) {
				err = nil
			}
			return item, at(table.ItemKey(item), err)
		},
		Bare:    func(table.Key, int64) any { return table.Item(nil) },
		Counter: counter,
	}
}

// open returns a reader of an item of a projection. hasKey reports whether its key is that of such an item.
func open(item table.Item, kind string, hasKey bool) *table.Reader {
	r := table.Open(item, kind)
	_, _ = r.Text(table.AttrPK), r.Text(table.AttrSK)
	if !hasKey {
		r.Fail(table.AttrSK, "is not that of a "+kind)
	}
	return r
}

// balanceItem returns the item of a balance. It has a map for each non-empty fold, named Base, Seal and Head. The
// inverse index has only the item's keys, so that new figures cost no index write.
func balanceItem(b Balance) table.Item {
	item := table.Begin(table.Balance.Key(b.Account, b.Asset), table.Balance.Type)
	item[table.AttrPK2] = table.String(table.Balance.PK2(b.Asset))
	item[table.AttrAccount], item[table.AttrAsset] = table.String(b.Account), table.String(b.Asset)
	item[table.AttrVersion] = table.Integer(b.Version)
	putNested(item, table.AttrBase, b.Base)
	putNested(item, table.AttrSeal, b.Seal)
	putNested(item, table.AttrHead, b.Head)
	putText(item, table.AttrFirst, string(b.First))
	putFlag(item, table.AttrUnfinished, b.Unfinished)
	return item
}

// decodeBalance decodes a balance. Its Version is 0 if the item has no usable version; the balance can be shown but not
// updated.
func decodeBalance(item table.Item) (Balance, error) {
	account, asset, ok := table.Balance.Parse(table.ItemKey(item))
	r := open(item, table.Balance.Type, ok)
	return decoded(Balance{
		Pair:       events.Pair{Account: account, Asset: asset},
		Version:    VersionOf(item),
		Base:       takeNested(r, table.AttrBase),
		Seal:       takeNested(r, table.AttrSeal),
		Head:       takeNested(r, table.AttrHead),
		First:      events.KSUID(r.OptionalText(table.AttrFirst)),
		Unfinished: r.OptionalFlag(table.AttrUnfinished),
	}, item, r)
}

// segmentItem returns the item of a segment. Its sort key ends in Through, so segments sort like postings.
func segmentItem(s Segment) table.Item {
	item := table.Begin(table.Segment.Key(s.Account, s.Asset, string(s.Through)), table.Segment.Type)
	putText(item, table.AttrAfter, string(s.After))
	return putFold(item, s.Fold)
}

// decodeSegment decodes a segment. Its Through must match its sort key.
func decodeSegment(item table.Item) (Segment, error) {
	account, asset, through, ok := table.Segment.Parse(table.ItemKey(item))
	r := open(item, table.Segment.Type, ok)
	s := Segment{
		Pair:  events.Pair{Account: account, Asset: asset},
		After: events.KSUID(r.OptionalText(table.AttrAfter)),
		Fold:  takeFold(r),
	}
	if s.Through != events.KSUID(through) {
		r.Fail(table.AttrSK, "is not that of the segment")
	}
	return decoded(s, item, r)
}

// summaryItem returns the item of an account's summary.
func summaryItem(s Summary) table.Item {
	item := table.Begin(table.Summary.Key(s.Account), table.Summary.Type)
	item[table.AttrVersion] = table.Integer(s.Version)
	item[table.AttrAssets], item[table.AttrHoldings] = table.Integer(s.Assets), table.Integer(s.Holdings)
	putText(item, table.AttrFirst, string(s.First))
	return item
}

// decodeSummary decodes a summary. Its Version is as in decodeBalance.
func decodeSummary(item table.Item) (Summary, error) {
	account, ok := table.Summary.Parse(table.ItemKey(item))
	r := open(item, table.Summary.Type, ok)
	return decoded(Summary{
		Account:  account,
		Version:  VersionOf(item),
		Assets:   r.Integer(table.AttrAssets),
		Holdings: r.Integer(table.AttrHoldings),
		First:    events.KSUID(r.OptionalText(table.AttrFirst)),
	}, item, r)
}

// writable returns a decoder with an additional check: the item must have a usable version.
func writable[T any](decode func(table.Item) (T, error)) func(table.Item) (T, error) {
	return func(item table.Item) (T, error) {
		value, err := decode(item)
		if err == nil && VersionOf(item) == 0 {
			err = errNoVersion
		}
		return value, err
	}
}

// errNoVersion is the fault of an item whose version no conditional write can compare and increment.
var errNoVersion = fmt.Errorf("%w: its %s is not usable", table.ErrMalformedItem, table.AttrVersion)

// VersionOf returns the version of an item, 0 if no write can compare and increment it.
func VersionOf(item table.Item) int64 {
	r := table.Read(item)
	version := r.Integer(table.AttrVersion)
	if r.Err() != nil || version > table.VersionMax {
		return 0
	}
	return version
}

// putFold adds the attributes of a fold to item, and returns item. Amounts are numbers of at most 38 digits.
func putFold(item table.Item, f Fold) table.Item {
	item[table.AttrThrough] = table.String(string(f.Through))
	item[table.AttrCredits], item[table.AttrDebits] = table.Amount(f.Credits), table.Amount(f.Debits)
	item[table.AttrExpenditure] = table.Amount(f.Expenditure)
	item[table.AttrCount] = table.Integer(f.Count)
	putAmount(item, table.AttrHolds, events.NewAmount(f.Holds))
	putAmount(item, table.AttrPendingDebits, f.PendingDebits)
	putAmount(item, table.AttrPendingCredits, f.PendingCredits)
	putAmount(item, table.AttrReturned, f.Returned)
	return item
}

// putNested adds a fold to item as a map, unless it is zero.
func putNested(item table.Item, name string, f Fold) {
	if f != (Fold{}) {
		item[name] = table.Map(putFold(make(table.Item), f))
	}
}

// putAmount adds an amount to item unless it is zero.
func putAmount(item table.Item, name string, amount events.Amount) {
	if !amount.IsZero() {
		item[name] = table.Amount(amount)
	}
}

// takeFold reads a fold. Attributes of holds may be missing, all others are required.
func takeFold(r *table.Reader) Fold {
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
func takeNested(r *table.Reader, name string) Fold {
	if !r.Has(name) {
		return Fold{}
	}
	nested := table.Read(r.Map(name))
	f := takeFold(nested)
	if err := nested.Err(); err != nil {
		r.Fail(name, err.Error())
	}
	return f
}

// putText adds a text to item unless it is empty.
func putText(item table.Item, name, text string) {
	if text != "" {
		item[name] = table.String(text)
	}
}

// putFlag adds a flag to item unless it is false.
func putFlag(item table.Item, name string, flag bool) {
	if flag {
		item[name] = table.Flag(true)
	}
}

// decoded returns value, which was read by r from item, or the error of r.
func decoded[T any](value T, item table.Item, r *table.Reader) (T, error) {
	if r.Err() != nil {
		value = *new(T)
	}
	return value, at(table.ItemKey(item), r.Err())
}

// at adds the item's key to an error.
func at(k table.Key, err error) error {
	if err != nil {
		return fmt.Errorf("item %s %s: %w", k.PK, k.SK, err)
	}
	return nil
}

// Revision identifies one state of a stored item, by the attribute that every write changes: the version of balances
// and summaries, the number of memberships. The zero Revision is that of an absent item.
type Revision struct {
	stored bool
	kind   string // of the attribute's value, as table.TypeOf; "": the attribute is missing
	digits string // of a number; an attribute of another type is only replaced by a rebuild
}

// RevisionOf returns the revision of an item by the named attribute. item is nil if it is absent.
func RevisionOf(item table.Item, name string) Revision {
	return Revision{item != nil, table.TypeOf(item[name]), table.DigitsOf(item[name])}
}

// revisionRead returns the revision that a write compares: given, or if it is nil the revision of the version that was
// read. Version 0 is an absent item.
func revisionRead(version int64, given *Revision) Revision {
	switch {
	case given != nil:
		return *given
	case version == 0:
		return Revision{}
	}
	return Revision{true, "N", strconv.FormatInt(version, 10)}
}

// Replace returns the put of item on the condition that the stored one still has revision r by the named attribute.
// Without a name it replaces any stored item.
func (r Revision) Replace(item table.Item, name string) table.Write {
	w := table.Write{Item: item, Names: map[string]string{"#revision": name}}
	switch {
	case r == Revision{}:
		w.If, w.Names = table.IfAbsent, nil
	case name == "":
		w.Names = nil
	case r.kind == "":
		w.If = "attribute_exists(" + table.AttrPK + ") AND attribute_not_exists(#revision)"
	case r.kind == "N":
		w.If, w.Values = "#revision = :revision", table.Item{":revision": table.Digits(r.digits)}
	default:
		w.If, w.Values = "attribute_type(#revision, :type)", table.Item{":type": table.String(r.kind)}
	}
	return w
}
