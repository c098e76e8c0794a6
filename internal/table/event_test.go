package table_test

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"ledger.example/events"
	"ledger.example/events/eventstest"
	"ledger.example/internal/table"
)

// An event comes back from its item. The declaration of the item names its type and the indexes that it is in.
func TestEventsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := eventstest.Event().Draw(t, "event")
		item := table.EventItem(e)
		if back, err := table.DecodeEvent(item); err != nil || !reflect.DeepEqual(back, e) {
			t.Fatalf("%v:\n got    %+v\n wanted %+v", err, back, e)
		}
		key, err := table.KeyOf(item)
		if err != nil || key != table.EventKey(e) {
			t.Fatalf("it is at %v, %v, wanted %v", key, err, table.EventKey(e))
		}
		if change, ok := e.(events.AccountChanged); ok { // its copy is at a key of its own
			current := table.NewItemEncoder(1).Current(change)
			back, err := table.DecodeCurrent(current)
			_, misplaced := table.DecodeCurrent(item)
			if err != nil || !reflect.DeepEqual(back, change) || misplaced == nil {
				t.Fatalf("the newest change came back as %+v, %v; the event as %v", back, err, misplaced)
			}
		}
		kind := item[table.AttrType].(*types.AttributeValueMemberS).Value
		if !slices.ContainsFunc(table.ItemTypes(), func(p *table.Pattern) bool {
			return p.Is(key.SK) && slices.Contains(strings.Fields(p.Type), kind) &&
				(p.ItemType.SK2 != "") == (item[table.AttrSK2] != nil) && (p.ItemType.PK2 != "") == (item[table.AttrPK2] != nil)
		}) {
			t.Fatalf("no declaration is of the %s at %v", kind, key)
		}
	})
}

func inverseIndex() table.Index {
	isInverse := func(x table.Index) bool { return x.Name == table.IndexInverse }
	return table.Indexes()[slices.IndexFunc(table.Indexes(), isInverse)]
}

// Each field of a listed event is in the inverse index or is tagged unlisted. Else it would be lost in lists.
func TestFieldsOfListedEventsAreIndexed(t *testing.T) {
	inverse := inverseIndex()
	for _, e := range []events.Event{events.AssetRegistered{}, events.AccountOpened{}, events.GroupRegistered{}} {
		for f := range reflect.TypeOf(e).Fields() {
			unlisted := slices.Contains(strings.Split(f.Tag.Get("stored"), ","), "unlisted")
			if slices.Contains(inverse.Include, f.Name) == unlisted {
				t.Errorf("%T.%s: add it to index.go and template.yaml, or tag it unlisted; not both", e, f.Name)
			}
		}
	}
}

// leaveListed keeps the attributes that the inverse index has.
func leaveListed(item table.Item) {
	inverse := inverseIndex()
	maps.DeleteFunc(item, func(name string, _ types.AttributeValue) bool {
		return !slices.Contains(inverse.Include, name) && name != inverse.PartitionKey && name != table.AttrPK &&
			name != table.AttrSK
	})
}

// The events in the inverse index come back from it with all that it has.
func TestListedEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := eventstest.Event().Draw(t, "event")
		item := table.EventItem(e)
		leaveListed(item)
		back, err := table.DecodeListed(item)
		if item[table.AttrPK2] == nil {
			if err == nil {
				t.Fatalf("it is in no list, and came back as %+v", back)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		again := table.EventItem(back)
		if leaveListed(again); !reflect.DeepEqual(again, item) {
			t.Fatalf("it came back as %+v", back)
		}
		item[table.AttrPK2] = table.String("ELSEWHERE")
		if _, err := table.DecodeListed(item); !errors.Is(err, table.ErrMalformedItem) {
			t.Fatalf("in a foreign partition: %v", err)
		}
	})
}

// trade is a settled trade.
func trade() events.TransactionPosted {
	return eventstest.Event().Filter(func(e events.Event) bool {
		header, ok := e.(events.TransactionPosted)
		return ok && len(header.Legs) == 4 && header.ExpiresAt.IsZero()
	}).Example().(events.TransactionPosted)
}

func BenchmarkDecodePosting(b *testing.B) {
	item := table.EventItem(eventstest.PostingRecorded().Example())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := table.DecodeEvent(item); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEncodeTrade encodes a settled trade: a header with four legs, and their postings.
func BenchmarkEncodeTrade(b *testing.B) {
	header := trade()
	postings := header.Postings()
	b.ReportAllocs()
	for b.Loop() {
		encoder := table.NewItemEncoder(1 + len(postings))
		encoder.Event(header)
		for i := range postings {
			encoder.Event(&postings[i])
		}
	}
}
