package audit

import (
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/store"
)

// attributes are an item, or a map in it.
type attributes = map[string]types.AttributeValue

// keyOf returns the primary key of an item.
func keyOf(item attributes) store.Key {
	return store.Key{PK: textOf(item[store.AttrPK]), SK: textOf(item[store.AttrSK])}
}

// textOf returns the value of a string, or "" for any other type.
func textOf(v types.AttributeValue) string {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

// decode checks one item by itself and decodes it into one of the types of the files decode_*.go. value is nil if the
// item is unknown, or has a defect that makes it unusable. found are its defects.
func decode(item attributes) (value any, found []Finding) {
	r := newReader(keyOf(item), item)
	name := textOf(item[store.AttrType])
	value, known := readAs(r, kinds[name])
	if !known {
		return nil, []Finding{{UnknownItem, r.key, store.AttrType, strconv.Quote(name),
			"a type of the ledger, with a key of that type"}}
	}
	if _, isEvent := value.(storedEvent); isEvent {
		r.finishEvent()
	} else {
		r.finish()
	}
	if r.broken {
		value = nil
	}
	return value, r.found
}

// as decodes an item that should be a T. ok is false if it is missing or unusable. The scan reports unusable items.
func as[T any](item attributes) (v T, ok bool) {
	if len(item) == 0 {
		return v, false
	}
	value, _ := decode(item)
	v, ok = value.(T)
	return v, ok
}

// kind decodes an item of one type. known is false if items of this type do not have such a key.
type kind func(r *reader) (value any, known bool)

// kinds are the types of items. Each has functions with the tables of its attributes, one for each form of its key.
var kinds = map[string][]kind{
	kindAsset:           {at(store.Asset.Pattern, readAsset)},
	kindAccount:         {at(store.Account.Pattern, readAccount)},
	kindHeader:          {at(store.Transaction.Pattern, readHeader)},
	kindHeld:            {at(store.Transaction.Pattern, readHeader)},
	kindCaptured:        {at(store.Outcome.Pattern, readOutcome)},
	kindReleased:        {at(store.Outcome.Pattern, readOutcome)},
	kindExpired:         {at(store.Outcome.Pattern, readOutcome)},
	kindReversed:        {at(store.Reversal.Pattern, readReversed)},
	kindChange:          {at(store.Change.Pattern, readChange)},
	kindPosting:         {at(store.Posting.Pattern, readPosting)},
	kindGroup:           {at(store.Group.Pattern, readGroup)},
	kindGrouping:        {at(store.Grouping.Pattern, readGrouping)},
	kindPeriod:          {at(store.Period.Pattern, readPeriod)},
	kindGrant:           {at(store.Grant.Pattern, readGrant), at(store.GroupGrant.Pattern, readGroupGrant)},
	kindRevoke:          {at(store.Grant.Pattern, readGrant), at(store.GroupGrant.Pattern, readGroupGrant)},
	store.Current.Type:  {at(store.Current.Pattern, readCurrent)},
	store.Spend.Type:    {at(store.Spend.Pattern, readGuard)},
	store.Balance.Type:  {at(store.Balance.Pattern, readBalance)},
	store.Segment.Type:  {at(store.Segment.Pattern, readSegment)},
	store.Summary.Type:  {at(store.Summary.Pattern, readSummary)},
	store.Grouped.Type:  {at(store.Grouped.Pattern, readGrouped)},
	store.Hold.Type:     {at(store.Hold.Pattern, readHoldEntry)},
	store.OpenHold.Type: {at(store.OpenHold.Pattern, readOpenHold)},
	store.Listed.Type:   {readListEntry},
	store.Journal.Type:  {at(store.Journal.Pattern, readJournalPage)},
	store.Membership.Type: {at(store.Membership.Pattern, readMembership),
		at(store.GroupMembership.Pattern, readGroupMembership)},
	store.Forwarded.Type: {at(store.Forwarded.Pattern, readCursor)},
}

// at is a kind of the items whose keys have a pattern. read gets the parts of the key. The first two are ids, or a
// number, which has the form of an id; read checks a third one.
func at[V any](pattern *store.Pattern, read func(r *reader, key []string) V) kind {
	return func(r *reader) (any, bool) {
		key, ok := pattern.Parts(r.key)
		if !ok {
			return nil, false
		}
		r.checkIDs(key[:min(2, len(key))]...)
		value := read(r, key)
		if !r.keysRead {
			r.keys("", "") // most items are in no index
		}
		return value, true
	}
}

// readAs decodes an item by the first of some kinds that has such a key.
func readAs(r *reader, all []kind) (value any, known bool) {
	for _, read := range all {
		if value, known = read(r); known {
			break
		}
	}
	return value, known
}
