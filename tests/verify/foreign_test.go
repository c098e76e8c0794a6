package verify

import (
	"maps"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events/eventstest"
	"ledger.example/internal/audit"
	"ledger.example/internal/store"
)

// outsideFields are the attributes of an event's item that are no fields of the event.
var outsideFields = []string{store.AttrPK, store.AttrSK, store.AttrSK2, store.AttrPK2, store.AttrType, store.AttrForm,
	store.AttrChecksum}

// fieldsOfEvents returns the fields that the events of each type can have, with a value of each.
func fieldsOfEvents() map[string]map[string]types.AttributeValue {
	all, events := make(map[string]map[string]types.AttributeValue), eventstest.Event()
	for i := range 1000 {
		item := store.EventItem(events.Example(i))
		kind := store.TextOf(item[store.AttrType])
		if all[kind] == nil {
			all[kind] = make(map[string]types.AttributeValue)
		}
		for name, v := range item {
			if !slices.Contains(outsideFields, name) {
				all[kind][name] = v
			}
		}
	}
	return all
}

// A field of one event is not accepted on an event of another type. A checksum that covers it does not help: the finding
// names the field. So each type of event has a list of fields of its own in the audit.
func TestFieldsOfOtherEventsAreFound(t *testing.T) {
	fields, foreign := fieldsOfEvents(), make(map[string]types.AttributeValue)
	for _, of := range fields {
		maps.Copy(foreign, of)
	}
	for name, v := range foreign {
		b := copyOfBook(t)
		var altered []store.Key
		for kind, keys := range b.ofEachType(t) {
			if of, isEvent := fields[kind]; isEvent && of[name] == nil {
				b[keys[0]][name] = v
				altered = append(altered, keys[0])
			}
		}
		found := itemFindings(t, b)
		for _, k := range altered {
			if !slices.ContainsFunc(found[k], func(f audit.Finding) bool { return f.Attribute == name }) {
				t.Errorf("%s on the %s at %s %s: %+v", name, b.text(k, store.AttrType), k.PK, k.SK, found[k])
			}
		}
	}
}
