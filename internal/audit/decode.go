package audit

import (
	"fmt"
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
	name, known := textOf(item[store.AttrType]), false
	if read := kinds[name]; read != nil {
		value, known = read(r)
	}
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

// kinds says for each type of item how its key and its attributes are decoded.
var kinds = map[string]kind{
	kindAsset:           key1(store.Asset.Parse, (*reader).asset),
	kindAccount:         key1(store.Account.Parse, (*reader).account),
	kindHeader:          key1(store.Transaction.Parse, (*reader).header),
	kindHeld:            key1(store.Transaction.Parse, (*reader).header),
	kindCaptured:        key1(store.Outcome.Parse, (*reader).outcome),
	kindReleased:        key1(store.Outcome.Parse, (*reader).outcome),
	kindExpired:         key1(store.Outcome.Parse, (*reader).outcome),
	kindReversed:        key2(store.Reversal.Parse, (*reader).reversal),
	kindChange:          key2(store.Change.Parse, (*reader).change),
	kindPosting:         key3(store.Posting.Parse, (*reader).posting),
	kindGroup:           key1(store.Group.Parse, (*reader).group),
	kindGrouping:        key2(store.Grouping.Parse, (*reader).grouping),
	store.Grouped.Type:  key2(store.Grouped.Parse, (*reader).grouped),
	store.Spend.Type:    key2(store.Spend.Parse, (*reader).guard),
	store.Balance.Type:  key2(store.Balance.Parse, (*reader).balance),
	store.Segment.Type:  key3(store.Segment.Parse, (*reader).segment),
	store.Summary.Type:  key1(store.Summary.Parse, (*reader).summary),
	store.Current.Type:  key1(store.Current.Parse, (*reader).current),
	store.Hold.Type:     key2(store.Hold.Parse, (*reader).holdEntry),
	store.OpenHold.Type: key2(store.OpenHold.Parse, (*reader).openHold),
	store.Listed.Type:   readListEntry,
	store.Journal.Type:  key1(store.Journal.Parse, (*reader).journalPage),

	kindGrant: eitherKey(key3(store.Grant.Parse, granted(store.AttrAccount, true)),
		key3(store.GroupGrant.Parse, granted(fieldGroup, true))),
	kindRevoke: eitherKey(key3(store.Grant.Parse, granted(store.AttrAccount, false)),
		key3(store.GroupGrant.Parse, granted(fieldGroup, false))),
	store.Membership.Type: eitherKey(key2(store.Membership.Parse, (*reader).membership),
		key2(store.GroupMembership.Parse, (*reader).membershipOfGroup)),
}

// key1 is a kind whose key has one id.
func key1[V any](parse func(store.Key) (string, bool), read func(r *reader, id string) V) kind {
	return func(r *reader) (any, bool) {
		id, ok := parse(r.key)
		if !ok {
			return nil, false
		}
		r.checkIDs(id)
		return read(r, id), true
	}
}

// key2 is a kind whose key has an id, mostly of an account, and then another id or a number.
func key2[T, V any](parse func(store.Key) (string, T, bool), read func(r *reader, id string, end T) V) kind {
	return func(r *reader) (any, bool) {
		id, end, ok := parse(r.key)
		if !ok {
			return nil, false
		}
		r.checkIDs(id, fmt.Sprint(end)) // a number has the form of an id
		return read(r, id, end), true
	}
}

// key3 is a kind whose key has two ids, and then a KSUID or a number, which read checks.
func key3[T, V any](parse func(store.Key) (string, string, T, bool),
	read func(r *reader, account, id string, end T) V) kind {
	return func(r *reader) (any, bool) {
		account, id, end, ok := parse(r.key)
		if !ok {
			return nil, false
		}
		r.checkIDs(account, id)
		return read(r, account, id, end), true
	}
}
