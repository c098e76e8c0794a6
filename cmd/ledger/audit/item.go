package audit

import (
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/ledger/table"
)

func keyOf(item attributes) table.Key {
	return table.Key{PK: textOf(item[table.AttrPK]), SK: textOf(item[table.AttrSK])}
}

// textOf is a string's value, and "" of anything else.
func textOf(v types.AttributeValue) string {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

// decode reads one item by itself. The value is one of the types of events.go and projections.go; nil when the item is
// unknown, or so broken that nothing can be computed from it. What is wrong with it is in the findings.
func decode(item attributes) (value any, found []Finding) {
	r := read(keyOf(item), item)
	kind := textOf(item[table.AttrType])
	value, known := r.decode(kind)
	if !known {
		return nil, []Finding{{Code: UnknownItem, Key: r.key, Attribute: table.AttrType, Stored: strconv.Quote(kind), Recomputed: "an item of the ledger"}}
	}
	if r.broken {
		value = nil
	}
	return value, r.found
}

// decode reads the item as what its key says that it is, if its type agrees.
func (r *reader) decode(kind string) (value any, known bool) {
	k := r.key
	if id, ok := table.ParseAsset(k); ok && kind == kindAsset {
		return decodeAsset(r, id), true
	}
	if id, ok := table.ParseAccount(k); ok && kind == kindAccount {
		return decodeAccount(r, id), true
	}
	if id, ok := table.ParseTransaction(k); ok && kind == kindHeader {
		return decodeHeader(r, id), true
	}
	if account, asset, ksuid, ok := table.ParsePosting(k); ok && kind == kindPosting {
		return decodePosting(r, account, asset, ksuid), true
	}
	if account, user, number, ok := table.ParseGrant(k); ok && (kind == kindGrant || kind == kindRevoke) {
		return decodeGrant(r, kind, account, user, number), true
	}
	if account, asset, ok := table.ParseSpend(k); ok && kind == table.KindSpend {
		return decodeGuard(r, account, asset), true
	}
	if account, asset, ok := table.ParseBalance(k); ok && kind == table.KindBalance {
		return decodeBalance(r, account, asset), true
	}
	if account, asset, through, ok := table.ParseSegment(k); ok && kind == table.KindSegment {
		return decodeSegment(r, account, asset, through), true
	}
	if _, ok := table.ParseSummary(k); ok && kind == table.KindSummary {
		return decodeSummary(r), true
	}
	if account, user, ok := table.ParseMembership(k); ok && kind == table.KindMembership {
		return decodeMembership(r, account, user), true
	}
	return nil, false
}

// as decodes an item that is expected to be a T. ok is false when it is absent, or cannot be used: the scan tells of that.
func as[T any](item attributes) (v T, ok bool) {
	if len(item) == 0 {
		return v, false
	}
	value, _ := decode(item)
	v, ok = value.(T)
	return v, ok
}

// idsOf lists the ids in a key of the ledger's.
func idsOf(k table.Key) []string {
	if id, ok := table.ParseAsset(k); ok {
		return []string{id}
	}
	if id, ok := table.ParseTransaction(k); ok {
		return []string{id}
	}
	account, ok := accountOf(k)
	if !ok {
		return nil
	}
	ids := []string{account}
	for _, two := range []func(table.Key) (string, string, bool){table.ParseSpend, table.ParseBalance, table.ParseMembership} {
		if _, id, ok := two(k); ok {
			return append(ids, id)
		}
	}
	if _, asset, _, ok := table.ParsePosting(k); ok {
		return append(ids, asset)
	}
	if _, asset, _, ok := table.ParseSegment(k); ok {
		return append(ids, asset)
	}
	if _, user, _, ok := table.ParseGrant(k); ok {
		return append(ids, user)
	}
	return ids
}

// accountOf is the account in whose partition a key lies.
func accountOf(k table.Key) (string, bool) {
	return table.ParseAccount(table.Key{PK: k.PK, SK: k.PK})
}
