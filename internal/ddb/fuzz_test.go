package ddb_test

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/ddb"
	"ledger.example/internal/store"
	"ledger.example/internal/table"
)

// FuzzDecodeEvent replaces, adds or removes one attribute of a sound event's item: what is still taken is stored just
// so, and of what is refused the error names the field.
func FuzzDecodeEvent(f *testing.F) {
	f.Fuzz(func(t *testing.T, which, at uint8, name, value string, kind uint8) {
		all := facts(t)
		event := all[int(which)%len(all)]
		item := ddb.EventItem(event)
		if names := slices.Sorted(maps.Keys(item)); name == "" {
			name = names[int(at)%len(names)]
		}
		damage(item, name, value, kind)
		if e, err := ddb.DecodeEvent(item); err == nil {
			if !reflect.DeepEqual(ddb.EventItem(e), item) {
				t.Errorf("%v was taken for %#v", item, e)
			}
		} else {
			checkRefusal(t, e, err, name)
		}
		// The inverse index holds no key of the other index, and neither the two long fields nor the checksum.
		delete(item, table.AttrSK2)
		delete(item, "Actor")
		delete(item, "Profile")
		delete(item, table.AttrChecksum)
		if e, err := ddb.DecodeListed(item); err == nil {
			whole := ddb.EventItem(e)
			delete(whole, table.AttrSK2)
			delete(whole, "Actor")
			delete(whole, "Profile")
			delete(whole, table.AttrChecksum)
			if name != table.AttrEventVersion && !reflect.DeepEqual(whole, item) { // of an older version it is not
				t.Errorf("%v was taken for the listed %#v", item, e)
			}
		} else {
			checkRefusal(t, e, err, "")
		}
	})
}

// damage makes the named attribute one of any kind, or removes it.
func damage(item ddb.Item, name, value string, kind uint8) {
	switch kind % 10 {
	case 0:
		delete(item, name)
	case 1:
		item[name] = ddb.String(value)
	case 2:
		item[name] = &types.AttributeValueMemberN{Value: value}
	case 3:
		item[name] = ddb.Flag(value != "")
	case 4:
		item[name] = &types.AttributeValueMemberNULL{Value: true}
	case 5:
		item[name] = &types.AttributeValueMemberB{Value: []byte(value)}
	case 6:
		item[name] = &types.AttributeValueMemberSS{Value: []string{value}}
	case 7:
		item[name] = ddb.Map(ddb.Item{value: ddb.String(value)})
	case 8:
		item[name] = &types.AttributeValueMemberL{Value: []types.AttributeValue{ddb.String(value), nil}}
	case 9:
		item[name] = nil // of a kind that this SDK does not know
	}
}

// checkRefusal wants no event, and one of the three errors, which names the
// field that was damaged, "" for whichever.
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
	if namesIt && name != table.AttrType && isPlain(name) && !strings.Contains(err.Error(), name) {
		t.Errorf("the field %s is at fault, and the error is %v", name, err)
	}
}

// related are fields that have to fit each other: any of them may be named. They are the figures of a posting, what a
// grant is on, and the groups that a change of an account's groups made.
var related = [][]string{
	{events.FigureQuantity, events.FigureCost, events.FigurePending, events.FigurePhase},
	{"Account", "Group"}, {"Added", "Groups", "Removed"},
}

// isPlain reports whether errors show a name unquoted.
func isPlain(name string) bool {
	return strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") == ""
}
