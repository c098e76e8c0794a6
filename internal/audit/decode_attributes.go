package audit

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/store"
)

// reader reads an item by the tables of its type, and collects the item's faults. The readers of an item and of the
// maps in it share their faults.
type reader struct {
	item  attributes
	taken []string // names of the attributes in the tables that were read
	path  string   // prefix of attribute names in findings, such as "Head."

	keysRead bool // the index keys were checked
	*faults
}

// faults are the defects of one item.
type faults struct {
	key    store.Key
	found  []Finding
	broken bool // some value is unusable
}

func newReader(key store.Key, item attributes) *reader {
	return &reader{item: item, taken: make([]string, 0, len(item)), faults: &faults{key: key}}
}

// inner returns a reader of a map in the item. The caller must finish it.
func (r *reader) inner(at string, m attributes) *reader {
	return &reader{item: m, path: r.path + at + ".", faults: r.faults}
}

const absent = "nothing"

// fault adds a finding about an attribute. wanted describes a correct value.
func (r *reader) fault(code Code, name, wanted string) {
	stored := absent
	if v, ok := r.item[name]; ok {
		stored = truncated(formatValue(v))
	}
	r.found = append(r.found, Finding{code, r.key, r.path + name, stored, wanted})
	switch code {
	case MissingAttribute, WrongType, WrongValue, HoldEntryWrong:
		r.broken = true
	}
}

// has reports whether the item has an attribute.
func (r *reader) has(name string) bool { return r.item[name] != nil }

// row says of one attribute in a type's table which values it may have, and where its value goes.
type row struct {
	name       string
	isOptional bool
	typ        string                                            // as findings name it
	read       func(r *reader, v types.AttributeValue) (ok bool) // not ok: v has another type
}

// must is a row for an attribute that every item of the type has. to may be nil; it stays as it is without a value.
func must[T any](name string, as *rule[T], to *T) row {
	return row{name, false, as.typ, func(r *reader, v types.AttributeValue) bool {
		s, ok := scalar(v, as.typ)
		if !ok {
			return false
		}
		value, isRight := as.parse(s)
		if !isRight {
			r.fault(WrongValue, name, as.wanted)
		} else if to != nil {
			*to = value
		}
		return true
	}}
}

// may is must for an attribute that need not be there.
func may[T any](name string, as *rule[T], to *T) row { return must(name, as, to).optional() }

func (a row) optional() row {
	a.isOptional = true
	return a
}

// holding is a row for a value of another type of the store.
func holding[V types.AttributeValue](name, typ string, read func(r *reader, v V)) row {
	return row{name, false, typ, func(r *reader, v types.AttributeValue) bool {
		value, ok := v.(V)
		if ok {
			read(r, value)
		}
		return ok
	}}
}

// dictionary is a row for an optional map of values of one kind. wanted describes the right names and the right map.
func dictionary[T any](name string, as *rule[T], isName func(string) bool, isRight func(map[string]T) bool,
	to *map[string]T, wanted string,
) row {
	return holding(name, "a map", func(r *reader, m *types.AttributeValueMemberM) {
		inner, all := r.inner(name, m.Value), make(map[string]T, len(m.Value))
		for key := range m.Value {
			var value T
			if inner.read(must(key, as, &value)); !isName(key) {
				inner.fault(WrongValue, key, wanted)
			}
			all[key] = value
		}
		if *to = all; !r.broken && (len(all) == 0 || !isRight(all)) {
			r.fault(WrongValue, name, wanted)
		}
	}).optional()
}

// list is a row for a list of least to most maps, each with the given attributes. what names the maps in a finding.
func list(name, what string, least, most int, read func(one *reader)) row {
	return holding(name, "a list", func(r *reader, all *types.AttributeValueMemberL) {
		if n := len(all.Value); n < least || n > most {
			r.fault(WrongValue, name, fmt.Sprintf("%d to %d %s", least, most, what))
		}
		for i, element := range all.Value {
			m, ok := element.(*types.AttributeValueMemberM)
			if !ok {
				r.fault(WrongType, name, "a list of maps")
				break
			}
			one := r.inner(name+"["+strconv.Itoa(i)+"]", m.Value)
			read(one)
			one.finish()
		}
	})
}

// read reads the attributes in a table.
func (r *reader) read(table ...row) {
	for _, a := range table {
		r.taken = append(r.taken, a.name)
		switch v := r.item[a.name]; {
		case v == nil && !a.isOptional:
			r.fault(MissingAttribute, a.name, a.typ)
		case v != nil && !a.read(r, v):
			r.fault(WrongType, a.name, a.typ)
		}
	}
}

// keys checks the version of the form and the index keys; an empty one must be absent. decode has checked the primary
// key and the type.
func (r *reader) keys(sk2, pk2 string) {
	r.read(must(store.AttrForm, aForm, nil))
	r.taken = append(r.taken, store.AttrPK, store.AttrSK, store.AttrType, store.AttrSK2, store.AttrPK2)
	r.keysRead = true
	for _, secondary := range [...]struct{ name, want string }{{store.AttrSK2, sk2}, {store.AttrPK2, pk2}} {
		if secondary.want == "" && r.has(secondary.name) {
			r.fault(WrongKey, secondary.name, absent)
		} else if textOf(r.item[secondary.name]) != secondary.want {
			r.fault(WrongKey, secondary.name, strconv.Quote(secondary.want))
		}
	}
}

// numbered returns the number at the end of the key, which must be that of the item, n.
func (r *reader) numbered(n int64, key []string) int64 {
	inKey, _ := strconv.ParseInt(key[len(key)-1], 10, 64)
	if n != inKey && !r.broken {
		r.fault(WrongKey, store.AttrNumber, strconv.FormatInt(inKey, 10))
	}
	return inKey
}

// instantInKey returns the time in the KSUID at the end of the key.
func (r *reader) instantInKey(ksuid string) time.Time {
	at, ok := instantOf(ksuid)
	if !ok {
		r.fault(WrongKey, store.AttrSK, "a key that ends with a KSUID")
	}
	return at
}

// checkIDs checks the ids in the key.
func (r *reader) checkIDs(ids ...string) {
	for _, id := range ids {
		if !isID(id) {
			r.fault(WrongKey, store.AttrSK, "a valid id instead of "+strconv.Quote(id))
			return
		}
	}
}

// finish reports the attributes that were not read.
func (r *reader) finish() {
	for name := range r.item {
		if !slices.Contains(r.taken, name) {
			r.fault(UnknownAttribute, name, absent)
		}
	}
}
