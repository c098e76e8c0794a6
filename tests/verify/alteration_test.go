package verify

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"ledger.example/internal/store"
	"ledger.example/tests/full"
)

// unjudged are the attributes, by type, for which another number (N) or another text (S) need not be a finding. The
// projector counts its writes in the numbers, and no event says how many there were. No item says how far a target got
// in the journal.
var unjudged = map[string]string{
	store.Balance.Type + "." + store.AttrVersion: "N",
	store.Summary.Type + "." + store.AttrVersion: "N",

	store.Forwarded.Type + "." + store.AttrVersion: "N",
	store.Forwarded.Type + "." + store.AttrAfter:   "S",
	store.Forwarded.Type + "." + store.AttrAt:      "S",
}

// ofEachType returns the keys of the book's items by type, in order. The book has items of every type.
func (b book) ofEachType(t *testing.T) map[string][]store.Key {
	t.Helper()
	all := make(map[string][]store.Key)
	for k := range b {
		kind := b.text(k, store.AttrType)
		all[kind] = append(all[kind], k)
	}
	for _, p := range store.ItemTypes() {
		for kind := range strings.FieldsSeq(p.Type) {
			if len(all[kind]) == 0 {
				t.Errorf("the book has no %s", kind)
			}
		}
	}
	for _, keys := range all {
		slices.SortFunc(keys, compareKeys)
	}
	return all
}

// Whatever attribute of whatever item is changed, removed or added, also inside a map or a list: the audit finds it.
// That holds for projections, guards and copies as well, which no checksum protects.
func TestEveryAlterationOfAnItemIsFound(t *testing.T) {
	full.Checks(60)
	sound := copyOfBook(t)
	items, values := sound.ofEachType(t), sound.values()
	rapid.Check(t, func(r *rapid.T) {
		for range full.Count(1, 5) {
			b := copyOfBook(t)
			kind := rapid.SampledFrom(slices.Sorted(maps.Keys(items))).Draw(r, "type")
			k := rapid.SampledFrom(items[kind]).Draw(r, "item")
			if rapid.Bool().Draw(r, "borrows") {
				borrow(r, b[k], values)
			} else {
				alter(r, b[k], true)
			}
			name := changed(sound[k], b[k])
			if name == "" || b[k][name] != nil && unjudged[kind+"."+name] == store.TypeOf(b[k][name]) {
				continue
			}
			if verify(t, b.client(t), 0).Sound() {
				r.Errorf("%s of the %s at %s %s is %v instead of %v: no finding", name, kind, k.PK, k.SK,
					store.Read(b[k]).Text(name), store.Read(sound[k]).Text(name))
			}
		}
	})
}

// values returns the values that attributes have in the book, by the attribute's name.
func (b book) values() map[string][]types.AttributeValue {
	all := make(map[string][]types.AttributeValue)
	for _, k := range slices.SortedFunc(maps.Keys(b), compareKeys) {
		for name, v := range b[k] {
			isSame := func(w types.AttributeValue) bool { return reflect.DeepEqual(v, w) }
			if !slices.ContainsFunc(all[name], isSame) {
				all[name] = append(all[name], v)
			}
		}
	}
	return all
}

// borrow gives an item the value that an attribute has in another item: its form is right.
func borrow(r *rapid.T, item store.Item, values map[string][]types.AttributeValue) {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(item)), func(name string) bool {
		return name == store.AttrPK || name == store.AttrSK // with another's key it would replace that one
	})
	name := rapid.SampledFrom(names).Draw(r, "attribute")
	item[name] = rapid.SampledFrom(values[name]).Draw(r, "value")
}

func compareKeys(k, l store.Key) int { return strings.Compare(k.PK+" "+k.SK, l.PK+" "+l.SK) }

// changed returns the name of the attribute in which two items differ, or "".
func changed(before, after store.Item) string {
	all := maps.Clone(before)
	maps.Copy(all, after)
	for name := range all {
		if !reflect.DeepEqual(before[name], after[name]) {
			return name
		}
	}
	return ""
}
