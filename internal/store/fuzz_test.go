package store_test

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/events/eventstest"
	"ledger.example/internal/store"
	"ledger.example/internal/store/storetest"
)

// FuzzDecodeEvent replaces, adds or removes one attribute of a valid event's item. If it still decodes, it encodes to
// the same item. Otherwise the error names the field.
func FuzzDecodeEvent(f *testing.F) {
	samples := sampleItems()
	f.Fuzz(func(t *testing.T, which, at uint8, name, value string, kind uint8) {
		item := maps.Clone(samples[int(which)%len(samples)])
		if names := slices.Sorted(maps.Keys(item)); name == "" {
			name = names[int(at)%len(names)]
		}
		storetest.Damage(item, name, value, kind)
		if e, err := store.DecodeEvent(item); err == nil {
			if !reflect.DeepEqual(store.EventItem(e), item) {
				t.Errorf("%v was taken for %#v", item, e)
			}
		} else {
			checkRefusal(t, e, err, name)
		}
		leaveListed(item)
		if e, err := store.DecodeListed(item); err == nil {
			whole := store.EventItem(e)
			leaveListed(whole)
			if !reflect.DeepEqual(whole, item) {
				t.Errorf("%v was taken for the listed %#v", item, e)
			}
		} else {
			checkRefusal(t, e, err, "")
		}
	})
}

// sampleItems returns one item of each event's name, in the order of the names.
func sampleItems() (all []store.Item) {
	byName := map[string]store.Item{}
	for seed := range 1000 {
		item := store.EventItem(eventstest.Event().Example(seed))
		byName[item[store.AttrType].(*types.AttributeValueMemberS).Value] = item
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		all = append(all, byName[name])
	}
	return all
}

// checkRefusal wants no event, and one of the three errors with the name of the damaged field, "" for any.
func checkRefusal(t *testing.T, e events.Event, err error, name string) {
	t.Helper()
	kinds := 0
	if e != nil && !errors.Is(err, store.ErrMalformedItem) { // which is found last
		t.Errorf("%v comes with %#v", err, e)
	}
	for _, kind := range []error{store.ErrMalformedItem, events.ErrMalformedEvent, events.ErrUnknownEvent} {
		if errors.Is(err, kind) {
			kinds++
		}
	}
	if kinds != 1 {
		t.Errorf("%v is %d of the kinds of error", err, kinds)
	}
	namesIt := errors.Is(err, events.ErrMalformedEvent) && !errors.Is(err, events.ErrChecksum)
	for _, fields := range related {
		if slices.Contains(fields, name) && slices.ContainsFunc(fields, func(other string) bool {
			return strings.Contains(err.Error(), other)
		}) {
			return
		}
	}
	if strings.Contains(err.Error(), "has the fields of") { // of another event
		return
	}
	if namesIt && name != store.AttrType && isPlain(name) && !strings.Contains(err.Error(), name) {
		t.Errorf("the field %s is at fault, and the error is %v", name, err)
	}
}

// related are fields that must fit each other, so that an error may name any of them: the amounts of a posting, the
// account or group of a grant, and the groups of a change of an account's groups.
var related = [][]string{
	{"Quantity", "Cost", "Pending", "Phase"},
	{"Account", "Group"}, {"Added", "Groups", "Removed"},
}

// isPlain reports whether errors show a name unquoted.
func isPlain(name string) bool {
	return strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") == ""
}
