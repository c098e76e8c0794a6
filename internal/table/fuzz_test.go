package table_test

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"ledger.example/events"
	"ledger.example/events/eventstest"
	"ledger.example/internal/table"
	"ledger.example/internal/table/tabletest"
)

// FuzzDecodeEvent replaces, adds or removes one attribute of a valid event's item. If it still decodes, it encodes to
// the same item.
func FuzzDecodeEvent(f *testing.F) {
	samples := sampleItems()
	f.Fuzz(func(t *testing.T, which, at uint8, name, value string, kind uint8) {
		checkDamaged(t, maps.Clone(samples[int(which)%len(samples)]), int(at), name, value, kind)
	})
}

// The same for events and damage of all kinds, and with the checksum of what is then stored. An item that was copied to
// another key, or whose keys or type were changed, would encode to another item.
func TestDamagedItems(t *testing.T) {
	text := rapid.OneOf(eventstest.ID(), rapid.String(), rapid.SampledFrom([]string{"ACCOUNT#other", "99", "1"}))
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"", "", "", "Role", "At", "Pending", "Phase", "RecordedAt", table.AttrSK2})
		checkDamaged(t, table.EventItem(eventstest.Event().Draw(t, "event")), rapid.IntRange(0, 99).Draw(t, "at"),
			name.Draw(t, "name"), text.Draw(t, "value"), rapid.Uint8().Draw(t, "kind"))
	})
}

// failer is a test of package testing or of package rapid.
type failer interface {
	Helper()
	Errorf(format string, args ...any)
}

// checkDamaged damages the attribute with that name, or the one at a position in the order of names.
func checkDamaged(t failer, item table.Item, at int, name, value string, kind uint8) {
	if names := slices.Sorted(maps.Keys(item)); name == "" {
		name = names[at%len(names)]
	}
	tabletest.Damage(item, name, value, kind)
	if _, ok := item[table.AttrChecksum].(*types.AttributeValueMemberS); ok && name != table.AttrChecksum && at%2 == 0 {
		item[table.AttrChecksum] = table.String(tabletest.Checksum(item))
	}
	if e, err := table.DecodeEvent(item); err != nil {
		checkRefusal(t, e, err)
	} else if !reflect.DeepEqual(table.EventItem(e), item) {
		t.Errorf("%v was taken for %#v", item, e)
	}
	leaveListed(item)
	e, err := table.DecodeListed(item)
	if err != nil {
		checkRefusal(t, e, err)
		return
	}
	whole := table.EventItem(e)
	if leaveListed(whole); !reflect.DeepEqual(whole, item) {
		t.Errorf("%v was taken for the listed %#v", item, e)
	}
}

// sampleItems returns one item of each event's name, in the order of the names.
func sampleItems() (all []table.Item) {
	byName := map[string]table.Item{}
	for seed := range 1000 {
		item := table.EventItem(eventstest.Event().Example(seed))
		byName[item[table.AttrType].(*types.AttributeValueMemberS).Value] = item
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		all = append(all, byName[name])
	}
	return all
}

// checkRefusal wants one of the three errors. No event comes with an error of the event.
func checkRefusal(t failer, e events.Event, err error) {
	t.Helper()
	kinds := 0
	for _, kind := range []error{table.ErrMalformedItem, events.ErrMalformedEvent, events.ErrUnknownEvent} {
		if errors.Is(err, kind) {
			kinds++
		}
	}
	if kinds != 1 || e != nil && !errors.Is(err, table.ErrMalformedItem) { // which is found last
		t.Errorf("%v is %d of the kinds of error, and comes with %#v", err, kinds, e)
	}
}
