package projections

import (
	"errors"
	"fmt"
	"strconv"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// Form says how one kind of projection is stored.
type Form[T any] struct {
	Item    func(T) store.Item
	Decode  func(store.Item) (T, error)                // errors: store.ErrMalformedItem, ErrNewerForm
	Bare    func(k store.Key, version int64) (value T) // of which only these are known
	Counter string                                     // which every write changes; "": no write compares one
}

// The forms of projections. Those of balances and summaries decode only items with a usable version.
var (
	BalanceForm = Form[Balance]{balanceItem, writable(decodeBalance), func(k store.Key, version int64) Balance {
		account, asset, _ := store.Balance.Parse(k)
		return Balance{Pair: events.Pair{Account: account, Asset: asset}, Version: version}
	}, store.AttrVersion}
	SegmentForm = Form[Segment]{segmentItem, decodeSegment, func(k store.Key, _ int64) Segment {
		account, _ := store.Account.Owner(k)
		pair := events.Pair{Account: account, Asset: store.FirstID(k.SK)}
		return Segment{Pair: pair, Fold: Fold{Through: events.KSUID(store.LastID(k.SK))}}
	}, ""}
	SummaryForm = Form[Summary]{summaryItem, writable(decodeSummary), func(k store.Key, version int64) Summary {
		account, _ := store.Summary.Parse(k)
		return Summary{Account: account, Version: version}
	}, store.AttrVersion}
	MembershipForm = Form[Membership]{membershipItem, decodeMembership, func(k store.Key, _ int64) Membership {
		account, group, user, _ := membershipKey(store.KeyItem(k))
		return Membership{Account: account, Group: group, User: user}
	}, store.AttrNumber}
	GroupedForm = Form[GroupedAccount]{groupedItem, decodeGrouped, func(k store.Key, _ int64) GroupedAccount {
		account, group, _ := store.Grouped.Parse(k)
		return GroupedAccount{Account: account, Group: group}
	}, store.AttrNumber}
	JournalForm = Form[JournalPage]{journalItem, decodeJournal, func(k store.Key, _ int64) JournalPage {
		return JournalPage{ID: events.KSUID(store.FirstID(k.SK))}
	}, ""}
)

// Replace returns the put of value on the condition that the stored item still has revision r.
func (f Form[T]) Replace(value T, r Revision) store.Write { return r.Replace(f.Item(value), f.Counter) }

// anyForm returns f for values of any type; Item panics if its value is not a T.
func anyForm[T any](f Form[T]) Form[any] {
	return Form[any]{
		Item:    func(value any) store.Item { return f.Item(value.(T)) },
		Decode:  func(item store.Item) (any, error) { return f.Decode(item) },
		Bare:    func(k store.Key, version int64) any { return f.Bare(k, version) },
		Counter: f.Counter,
	}
}

// itemForm is the form of a view whose values are items. A rebuild only names the attributes in which they differ.
func itemForm(counter string) Form[any] {
	return Form[any]{
		Item: func(item any) store.Item { return item.(store.Item) },
		Decode: func(item store.Item) (any, error) {
			err := store.Open(item, store.TextOf(item[store.AttrType])).Err()
			if !errors.Is(err, store.ErrNewerForm) {
				err = nil
			}
			return item, at(store.ItemKey(item), err)
		},
		Bare:    func(store.Key, int64) any { return store.Item(nil) },
		Counter: counter,
	}
}

// open returns a reader of an item of a projection. hasKey reports whether its key is that of such an item.
func open(item store.Item, kind string, hasKey bool) *store.Reader {
	r := store.Open(item, kind)
	_, _ = r.Text(store.AttrPK), r.Text(store.AttrSK)
	if !hasKey {
		r.Fail(store.AttrSK, "is not that of a "+kind)
	}
	return r
}

// balanceItem returns the item of a balance. It has a map for each non-empty fold, named Base, Seal and Head. The
// inverse index has only the item's keys, so that new figures cost no index write.
func balanceItem(b Balance) store.Item {
	item := store.Begin(store.Balance.Key(b.Account, b.Asset), store.Balance.Type)
	item[store.AttrPK2] = store.String(store.Balance.PK2(b.Asset))
	item[store.AttrAccount], item[store.AttrAsset] = store.String(b.Account), store.String(b.Asset)
	item[store.AttrVersion] = store.Integer(b.Version)
	putNested(item, store.AttrBase, b.Base)
	putNested(item, store.AttrSeal, b.Seal)
	putNested(item, store.AttrHead, b.Head)
	putText(item, store.AttrFirst, string(b.First))
	putFlag(item, store.AttrUnfinished, b.Unfinished)
	return item
}

// decodeBalance decodes a balance. Its Version is 0 if the item has no usable version; the balance can be shown but not
// updated.
func decodeBalance(item store.Item) (Balance, error) {
	account, asset, ok := store.Balance.Parse(store.ItemKey(item))
	r := open(item, store.Balance.Type, ok)
	return decoded(Balance{
		Pair:       events.Pair{Account: account, Asset: asset},
		Version:    VersionOf(item),
		Base:       takeNested(r, store.AttrBase),
		Seal:       takeNested(r, store.AttrSeal),
		Head:       takeNested(r, store.AttrHead),
		First:      events.KSUID(r.OptionalText(store.AttrFirst)),
		Unfinished: r.OptionalFlag(store.AttrUnfinished),
	}, item, r)
}

// segmentItem returns the item of a segment. Its sort key ends in Through, so segments sort like postings.
func segmentItem(s Segment) store.Item {
	item := store.Begin(store.Segment.Key(s.Account, s.Asset, string(s.Through)), store.Segment.Type)
	putText(item, store.AttrAfter, string(s.After))
	return putFold(item, s.Fold)
}

// decodeSegment decodes a segment. Its Through must match its sort key.
func decodeSegment(item store.Item) (Segment, error) {
	account, asset, through, ok := store.Segment.Parse(store.ItemKey(item))
	r := open(item, store.Segment.Type, ok)
	s := Segment{
		Pair:  events.Pair{Account: account, Asset: asset},
		After: events.KSUID(r.OptionalText(store.AttrAfter)),
		Fold:  takeFold(r),
	}
	if s.Through != events.KSUID(through) {
		r.Fail(store.AttrSK, "is not that of the segment")
	}
	return decoded(s, item, r)
}

// summaryItem returns the item of an account's summary.
func summaryItem(s Summary) store.Item {
	item := store.Begin(store.Summary.Key(s.Account), store.Summary.Type)
	item[store.AttrVersion] = store.Integer(s.Version)
	item[store.AttrAssets], item[store.AttrHoldings] = store.Integer(s.Assets), store.Integer(s.Holdings)
	putText(item, store.AttrFirst, string(s.First))
	return item
}

// decodeSummary decodes a summary. Its Version is as in decodeBalance.
func decodeSummary(item store.Item) (Summary, error) {
	account, ok := store.Summary.Parse(store.ItemKey(item))
	r := open(item, store.Summary.Type, ok)
	return decoded(Summary{
		Account:  account,
		Version:  VersionOf(item),
		Assets:   r.Integer(store.AttrAssets),
		Holdings: r.Integer(store.AttrHoldings),
		First:    events.KSUID(r.OptionalText(store.AttrFirst)),
	}, item, r)
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
var errNoVersion = fmt.Errorf("%w: its %s is not usable", store.ErrMalformedItem, store.AttrVersion)

// VersionOf returns the version of an item, 0 if no write can compare and increment it.
func VersionOf(item store.Item) int64 {
	r := store.Read(item)
	version := r.Integer(store.AttrVersion)
	if r.Err() != nil || version > store.VersionMax {
		return 0
	}
	return version
}

// putFold adds the attributes of a fold to item, and returns item. Amounts are numbers of at most 38 digits.
func putFold(item store.Item, f Fold) store.Item {
	item[store.AttrThrough] = store.String(string(f.Through))
	item[store.AttrCredits], item[store.AttrDebits] = store.Amount(f.Credits), store.Amount(f.Debits)
	item[store.AttrExpenditure] = store.Amount(f.Expenditure)
	item[store.AttrCount] = store.Integer(f.Count)
	putAmount(item, store.AttrHolds, events.NewAmount(f.Holds))
	putAmount(item, store.AttrPendingDebits, f.PendingDebits)
	putAmount(item, store.AttrPendingCredits, f.PendingCredits)
	putAmount(item, store.AttrReturned, f.Returned)
	return item
}

// putNested adds a fold to item as a map, unless it is zero.
func putNested(item store.Item, name string, f Fold) {
	if f != (Fold{}) {
		item[name] = store.Map(putFold(make(store.Item), f))
	}
}

// putAmount adds an amount to item unless it is zero.
func putAmount(item store.Item, name string, amount events.Amount) {
	if !amount.IsZero() {
		item[name] = store.Amount(amount)
	}
}

// takeFold reads a fold. Attributes of holds may be missing, all others are required.
func takeFold(r *store.Reader) Fold {
	f := Fold{
		Through:     events.KSUID(r.Text(store.AttrThrough)),
		Credits:     r.Amount(store.AttrCredits),
		Debits:      r.Amount(store.AttrDebits),
		Expenditure: r.Amount(store.AttrExpenditure),
		Count:       r.Integer(store.AttrCount),

		PendingDebits:  r.OptionalAmount(store.AttrPendingDebits),
		PendingCredits: r.OptionalAmount(store.AttrPendingCredits),
		Returned:       r.OptionalAmount(store.AttrReturned),
	}
	if r.Has(store.AttrHolds) {
		f.Holds = r.Integer(store.AttrHolds)
	}
	return f
}

// takeNested reads a fold from a map attribute. A missing attribute is the zero fold.
func takeNested(r *store.Reader, name string) Fold {
	if !r.Has(name) {
		return Fold{}
	}
	nested := store.Read(r.Map(name))
	f := takeFold(nested)
	if err := nested.Err(); err != nil {
		r.Fail(name, err.Error())
	}
	return f
}

// putText adds a text to item unless it is empty.
func putText(item store.Item, name, text string) {
	if text != "" {
		item[name] = store.String(text)
	}
}

// putFlag adds a flag to item unless it is false.
func putFlag(item store.Item, name string, flag bool) {
	if flag {
		item[name] = store.Flag(true)
	}
}

// decoded returns value, which was read by r from item, or the error of r.
func decoded[T any](value T, item store.Item, r *store.Reader) (T, error) {
	if r.Err() != nil {
		value = *new(T)
	}
	return value, at(store.ItemKey(item), r.Err())
}

// at adds the item's key to an error.
func at(k store.Key, err error) error {
	if err != nil {
		return fmt.Errorf("item %s %s: %w", k.PK, k.SK, err)
	}
	return nil
}

// Revision identifies one state of a stored item, by the attribute that every write changes: the version of balances
// and summaries, the number of memberships. The zero Revision is that of an absent item.
type Revision struct {
	stored bool
	kind   string // of the attribute's value, as store.TypeOf; "": the attribute is missing
	digits string // of a number; an attribute of another type is only replaced by a rebuild
}

// RevisionOf returns the revision of an item by the named attribute. item is nil if it is absent.
func RevisionOf(item store.Item, name string) Revision {
	return Revision{item != nil, store.TypeOf(item[name]), store.DigitsOf(item[name])}
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
func (r Revision) Replace(item store.Item, name string) store.Write {
	w := store.Write{Item: item, Names: map[string]string{"#revision": name}}
	switch {
	case r == Revision{}:
		w.If, w.Names = store.IfAbsent, nil
	case name == "":
		w.Names = nil
	case r.kind == "":
		w.If = "attribute_exists(" + store.AttrPK + ") AND attribute_not_exists(#revision)"
	case r.kind == "N":
		w.If, w.Values = "#revision = :revision", store.Item{":revision": store.Digits(r.digits)}
	default:
		w.If, w.Values = "attribute_type(#revision, :type)", store.Item{":type": store.String(r.kind)}
	}
	return w
}
