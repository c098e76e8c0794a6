package audit

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/table"
)

// attributes are an item, or a map in it.
type attributes = map[string]types.AttributeValue

// keyOf returns the primary key of an item.
func keyOf(item attributes) table.Key {
	return table.Key{PK: textOf(item[table.AttrPK]), SK: textOf(item[table.AttrSK])}
}

// textOf returns the value of a string, or "" for any other type.
func textOf(v types.AttributeValue) string {
	s, _ := scalar(v, aString)
	return s
}

// kinds are the types of items, with the names of the parts of their keys. A part with the name of a field sets it. Any
// other is an id; one without a name may be any text. Those of numberedKinds are added.
var kinds = kindsByType(
	kindOf[asset](table.Asset.Pattern, "ID"),
	kindOf[account](table.Account.Pattern, "ID"),
	kindOf[change](table.Change.Pattern, "ID", "Number"),
	kindOf[current](table.Current.Pattern, "ID"),
	kindOf[period](table.Period.Pattern, "Number"),
	kindOf[growth](table.LanesGrown.Pattern, "Number"),
	kindOf[group](table.Group.Pattern, "ID"),
	kindOf[grouping](table.Grouping.Pattern, "Account", "Number"),
	kindOf[grant](table.Grant.Pattern, "Account", "User", "Number"),
	kindOf[grant](table.GroupGrant.Pattern, "Group", "User", "Number"),
	kindOf[header](table.Transaction.Pattern, "ID"),
	kindOf[posting](table.Posting.Pattern, "Account", "Asset", "ID"),
	kindOf[outcome](table.Outcome.Pattern, "Transaction"),
	kindOf[reversed](table.Reversal.Pattern, "Transaction", "Number"),
	kindOf[holdEntry](table.Hold.Pattern, "Account", "KSUID"),
	kindOf[openHold](table.OpenHold.Pattern, "Expires", "Hold"),
	kindOf[listEntry](table.Listed.Pattern, "Lane", "KSUID", "Transaction"),
	kindOf[listEntry](table.ListedMetadata.Pattern, "Lane", "Name", "", "KSUID", "Transaction"),
	kindOf[tagged](table.Tagged.Pattern, "Account", "Key"),
	kindOf[journalPage](table.Journal.Pattern, "Lane", "KSUID"),
	kindOf[cursor](table.Forwarded.Pattern, "Target"),
	kindOf[balance](table.Balance.Pattern, "Account", "Asset"),
	kindOf[segment](table.Segment.Pattern, "Account", "Asset", "Through"),
	kindOf[summary](table.Summary.Pattern, "Account"),
	kindOf[guard](table.Spend.Pattern, "Account", "Asset"),
)

// kind is how items with keys of one pattern are decoded.
type kind struct {
	pattern *table.Pattern
	as      reflect.Type
	names   []string // of the parts of the key
	rules   []rule   // of the parts
}

func kindOf[T any](pattern *table.Pattern, names ...string) kind {
	k := kind{pattern, reflect.TypeFor[T](), names, make([]rule, len(names))}
	for i, name := range names {
		k.rules[i] = rules["id"]
		at := slices.IndexFunc(columnsOf(k.as), func(c column) bool { return c.name == name })
		if name == "" {
			k.rules[i] = rules["text"]
		} else if at >= 0 {
			k.rules[i] = columnsOf(k.as)[at].rule
		}
	}
	return k
}

// kindsByType returns the kinds by the names of types in items.
func kindsByType(all ...kind) map[string][]kind {
	found := make(map[string][]kind)
	for _, numbered := range numberedKinds {
		all = append(all, numbered.items...)
	}
	for _, k := range all {
		for name := range strings.FieldsSeq(k.pattern.Type) {
			found[name] = append(found[name], k)
		}
	}
	return found
}

// Types that items are decoded into may have these methods.
type (
	// checked checks what concerns several attributes, and sets the fields that are no attributes.
	checked interface{ check(r *reader) }
	// indexed returns the keys in the indexes. Most items are in none.
	indexed interface {
		index(r *reader) (sk2, pk2 string)
	}
)

// decode checks one item by itself and decodes it into the type of its kind. value is nil if the item is unknown, or
// has a defect that makes it unusable. found are its defects.
func decode(item attributes) (value any, found []Finding) {
	r := newReader(keyOf(item), item)
	name := textOf(item[table.AttrType])
	for _, k := range kinds[name] {
		if parts, ok := k.pattern.Parts(r.key); ok {
			value = r.decode(k, parts)
			return value, r.found
		}
	}
	return nil, []Finding{{UnknownItem, r.key, table.AttrType, strconv.Quote(name),
		"a type of the ledger, with a key of that type"}}
}

func (r *reader) decode(k kind, parts []string) (value any) {
	r.parts = make(map[string]string, len(parts))
	for i, part := range parts {
		r.parts[k.names[i]] = part
		if is := k.rules[i]; is.typ == aString && !is.fits(part) {
			r.fault(WrongKey, table.AttrSK, is.wanted+" instead of "+strconv.Quote(part))
		}
	}
	var form struct {
		V int64 `is:"form"` // the version of the stored form
	}
	r.fill(&form)
	to := reflect.New(k.as)
	r.fill(to.Interface())
	if v, ok := to.Interface().(checked); ok {
		v.check(r)
	}
	sk2, pk2 := "", ""
	if v, ok := to.Interface().(indexed); ok {
		sk2, pk2 = v.index(r)
	}
	r.indexKeys(sk2, pk2)
	r.finish()
	value = to.Elem().Interface()
	if e, isEvent := value.(interface{ sum() string }); isEvent {
		r.compareChecksum(e.sum())
	}
	if r.broken {
		return nil
	}
	return value
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
