package digest

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/events/eventstest"
	"ledger.example/internal/digest"
	"ledger.example/internal/store"
	"ledger.example/internal/store/storetest"
	"ledger.example/projections/viewstest"
	_ "ledger.example/tests/full" // the seed of what is drawn
)

// drawn returns random events of every type of the journal that have every field between them, and the fields by stored
// type and by Go type.
func drawn(t testing.TB) (all []events.Event, fields map[string]map[string]bool) {
	t.Helper()
	fields, keys := make(map[string]map[string]bool), make(map[store.Key]bool)
	for seed := range 1000 {
		e := eventstest.Event().Example(seed)
		item, key := store.EventItem(e), store.EventKey(e)
		if _, ok := store.ParseJournaled(key.ID()); !ok || keys[key] ||
			storetest.Checksum(item) != store.Read(item).Text(store.AttrChecksum) { // a text that JSON may escape
			continue
		}
		isNew := false
		for _, kind := range []string{e.EventName(), reflect.TypeOf(e).Name()} {
			if fields[kind] == nil {
				fields[kind] = make(map[string]bool)
			}
			before := len(fields[kind])
			for name := range item {
				fields[kind][name] = true
			}
			isNew = isNew || len(fields[kind]) > before
		}
		if isNew {
			all, keys[key] = append(all, e), true
		}
	}
	return all, fields
}

// variant is another value of what is at a path in an item, nil for none.
type variant struct {
	path  string
	value types.AttributeValue
}

// texts are texts of fields of events.
var texts = []string{
	"x", "viewer", "owner", "frozen", "closed", "unlimited", "trade", "transfer", `{"a":1}`, "2026-11-21T09:06:39.123456Z",
	"1:" + strings.Repeat("0", 64), string(events.FirstKSUID(viewstest.Morning)), "MemberRevoked", "HoldReleased", "HoldExpired",
}

// variants returns other values of v, and of each value in it.
func variants(path string, v types.AttributeValue) (all []variant) {
	add := func(value types.AttributeValue) { all = append(all, variant{path, value}) }
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		for _, text := range append([]string{v.Value + "x"}, texts...) {
			if text != v.Value {
				add(store.String(text))
			}
		}
	case *types.AttributeValueMemberN:
		for _, n := range []string{v.Value + "0", "1", "2"} {
			if n != v.Value && n != "00" {
				add(&types.AttributeValueMemberN{Value: n})
			}
		}
	case *types.AttributeValueMemberBOOL:
		add(store.Flag(!v.Value))
	case *types.AttributeValueMemberM:
		all = inMap(path+".", v.Value, func(m store.Item) types.AttributeValue { return store.Map(m) })
		more := maps.Clone(v.Value)
		more["more"] = store.String("x")
		add(store.Map(more))
	case *types.AttributeValueMemberL:
		last := len(v.Value) - 1
		add(&types.AttributeValueMemberL{Value: v.Value[:last]})
		for _, x := range variants(path+"[]", v.Value[last]) {
			all = append(all, variant{x.path, &types.AttributeValueMemberL{Value: append(slices.Clone(v.Value[:last]), x.value)}})
		}
	}
	return all
}

// inMap returns variants of a map.
func inMap(path string, m store.Item, of func(store.Item) types.AttributeValue) (all []variant) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		without := maps.Clone(m)
		delete(without, name)
		all = append(all, variant{path + name + " removed", of(without)})
		for _, x := range variants(path+name, m[name]) {
			with := maps.Clone(m)
			with[name] = x.value
			all = append(all, variant{x.path, of(with)})
		}
	}
	return all
}

// Whatever field of whatever event is altered, and its checksum computed anew, also such that the ledger reads the
// event without a complaint: a check names the event, and no other.
func TestEveryFieldIsSealed(t *testing.T) {
	all, fields := drawn(t)
	for _, kind := range store.JournaledTypes() {
		if fields[kind] == nil {
			t.Errorf("no %s was drawn", kind)
		}
	}
	for _, e := range all {
		for _, f := range reflect.VisibleFields(reflect.TypeOf(e)) {
			if f.Tag.Get("stored") != "-" && !fields[reflect.TypeOf(e).Name()][f.Name] {
				t.Errorf("no %s with %s was drawn", e.EventName(), f.Name)
			}
		}
	}
	b := newBook(t)
	for page := range slices.Chunk(all, 20) {
		b.page(page...)
	}
	b.run()
	altered, read := 0, 0
	for _, e := range all {
		original, paths := store.EventItem(e), make(map[string]store.Item)
		keep := func(m store.Item) types.AttributeValue { return store.Map(m) }
		for _, x := range inMap("", original, keep) {
			item := x.value.(*types.AttributeValueMemberM).Value
			if k, err := store.KeyOf(item); err != nil || k != store.EventKey(e) {
				continue // it is another item
			}
			if x.path != store.AttrChecksum && x.path != store.AttrChecksum+" removed" {
				item[store.AttrChecksum] = store.String(storetest.Checksum(item))
			}
			_, err := store.DecodeEvent(item)
			if _, isThere := paths[x.path]; !isThere || err == nil {
				paths[x.path] = item
			}
		}
		for path, item := range paths {
			b.put(item)
			if _, err := store.DecodeEvent(item); err == nil {
				read++
			}
			altered++
			r, err := digest.Check(t.Context(), b.config())
			b.must(err)
			if found := strings.Join(r.Findings, "\n"); strings.Count(found, "event "+store.EventKey(e).ID()) != 1 ||
				strings.Count(found, "event ") != 1 {
				t.Errorf("%s of %v: found %q", path, original, found)
			}
		}
		b.put(original)
	}
	if t.Logf("%d events with %d altered fields, of which %d can be read", len(all), altered, read); read < altered/3 {
		t.Error("the ledger refuses most of them")
	}
}
