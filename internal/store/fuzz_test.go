package store_test

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/events/eventstest"
	"ledger.example/internal/store"
	"ledger.example/internal/store/storetest"
)

// FuzzDecodeEvent replaces, adds or removes one attribute of a valid event's item. If it still decodes, it encodes to
// the same item.
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
			checkRefusal(t, e, err)
		}
		leaveListed(item)
		if e, err := store.DecodeListed(item); err == nil {
			whole := store.EventItem(e)
			leaveListed(whole)
			if !reflect.DeepEqual(whole, item) {
				t.Errorf("%v was taken for the listed %#v", item, e)
			}
		} else {
			checkRefusal(t, e, err)
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

// checkRefusal wants one of the three errors. No event comes with an error of the event.
func checkRefusal(t *testing.T, e events.Event, err error) {
	t.Helper()
	kinds := 0
	for _, kind := range []error{store.ErrMalformedItem, events.ErrMalformedEvent, events.ErrUnknownEvent} {
		if errors.Is(err, kind) {
			kinds++
		}
	}
	if kinds != 1 || e != nil && !errors.Is(err, store.ErrMalformedItem) { // which is found last
		t.Errorf("%v is %d of the kinds of error, and comes with %#v", err, kinds, e)
	}
}
