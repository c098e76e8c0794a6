package audit

import (
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/table"
)

// attributes are an item, or a map in it.
type attributes = map[string]types.AttributeValue

// keyOf returns the primary key of an item.
func keyOf(item attributes) table.Key {
	return table.Key{PK: textOf(item[table.AttrPK]), SK: textOf(item[table.AttrSK])}
}

// textOf returns the value of a string, "" for anything else.
func textOf(v types.AttributeValue) string {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

// decode checks one item by itself and decodes it into one of the types of the files decode_*.go: nil if the item is
// unknown, or too broken to compute from. The findings say what is wrong with it.
func decode(item attributes) (value any, found []Finding) {
	r := newReader(keyOf(item), item)
	name, known := textOf(item[table.AttrType]), false
	if read := kinds[name]; read != nil {
		value, known = read(r)
	}
	if !known {
		return nil, []Finding{{UnknownItem, r.key, table.AttrType, strconv.Quote(name), "an item of the ledger"}}
	}
	if _, isEvent := value.(dated); isEvent {
		r.finishEvent()
	} else {
		r.finish()
	}
	if r.broken {
		value = nil
	}
	return value, r.found
}

// as decodes an item that should be a T. ok is false if it is absent or unusable; the scan reports the latter.
func as[T any](item attributes) (v T, ok bool) {
	if len(item) == 0 {
		return v, false
	}
	value, _ := decode(item)
	v, ok = value.(T)
	return v, ok
}

// kind reads an item of one kind. known is false if such an item has no such key.
type kind func(r *reader) (value any, known bool)

// kinds are all kinds of items, by their type: how the key is read, and how the attributes are.
var kinds = map[string]kind{
	kindAsset:          one(table.ParseAsset, (*reader).asset),
	kindAccount:        one(table.ParseAccount, (*reader).account),
	kindHeader:         one(table.ParseTransaction, (*reader).header),
	kindHeld:           one(table.ParseTransaction, (*reader).header),
	kindCaptured:       one(table.ParseOutcome, (*reader).outcome),
	kindReleased:       one(table.ParseOutcome, (*reader).outcome),
	kindExpired:        one(table.ParseOutcome, (*reader).outcome),
	kindReversed:       two(table.ParseReversal, (*reader).reversal),
	kindChange:         two(table.ParseChange, (*reader).change),
	kindPosting:        three(table.ParsePosting, (*reader).posting),
	kindGroup:          one(table.ParseGroup, (*reader).group),
	kindGrouping:       two(table.ParseGrouping, (*reader).grouping),
	table.KindGrouped:  two(table.ParseGrouped, (*reader).grouped),
	table.KindSpend:    two(table.ParseSpend, (*reader).guard),
	table.KindBalance:  two(table.ParseBalance, (*reader).balance),
	table.KindSegment:  three(table.ParseSegment, (*reader).segment),
	table.KindSummary:  one(table.ParseSummary, (*reader).summary),
	table.KindCurrent:  one(table.ParseCurrent, (*reader).current),
	table.KindHold:     two(table.ParseHold, (*reader).holdEntry),
	table.KindOpenHold: two(table.ParseOpenHold, (*reader).openHold),
	table.KindListed:   readListed,
	table.KindJournal:  one(table.ParseJournal, (*reader).page),

	kindGrant: either(three(table.ParseGrant, granted(table.AttrAccount, true)),
		three(table.ParseGroupGrant, granted(fieldGroup, true))),
	kindRevoke: either(three(table.ParseGrant, granted(table.AttrAccount, false)),
		three(table.ParseGroupGrant, granted(fieldGroup, false))),
	table.KindMembership: either(two(table.ParseMembership, (*reader).membership),
		two(table.ParseGroupMembership, (*reader).membershipOfGroup)),

	table.KindBalanceWithHolds: two(table.ParseBalance, (*reader).balance),
	table.KindSegmentWithHolds: three(table.ParseSegment, (*reader).segment),
}

// one is a kind whose key has one id.
func one[V any](parse func(table.Key) (string, bool), read func(r *reader, id string) V) kind {
	return func(r *reader) (any, bool) {
		id, ok := parse(r.key)
		if !ok {
			return nil, false
		}
		r.checkIDs(id)
		return read(r, id), true
	}
}

// two is a kind whose key has an id, mostly that of an account, and another one or a number.
func two[T, V any](parse func(table.Key) (string, T, bool), read func(r *reader, id string, end T) V) kind {
	return func(r *reader) (any, bool) {
		id, end, ok := parse(r.key)
		if !ok {
			return nil, false
		}
		r.checkIDs(id, fmt.Sprint(end)) // as a text, a number is an id, too
		return read(r, id, end), true
	}
}

// three is a kind whose key has a KSUID or a number, too, which read checks.
func three[T, V any](parse func(table.Key) (string, string, T, bool),
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
