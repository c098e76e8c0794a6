package store_test

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
	"ledger.example/internal/store"
)

// An event comes back from its item. The declaration of the item names its type and the indexes that it is in.
func TestEventsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := eventstest.Event().Draw(t, "event")
		item := store.EventItem(e)
		if back, err := store.DecodeEvent(item); err != nil || !reflect.DeepEqual(back, e) {
			t.Fatalf("%v:\n got    %+v\n wanted %+v", err, back, e)
		}
		key, err := store.KeyOf(item)
		if err != nil || key != store.EventKey(e) {
			t.Fatalf("it is at %v, %v, wanted %v", key, err, store.EventKey(e))
		}
		if change, ok := e.(events.AccountChanged); ok { // its copy is at a key of its own
			current := store.NewItemEncoder(1).Current(change)
			back, err := store.DecodeCurrent(current)
			_, misplaced := store.DecodeCurrent(item)
			if err != nil || !reflect.DeepEqual(back, change) || misplaced == nil {
				t.Fatalf("the newest change came back as %+v, %v; the event as %v", back, err, misplaced)
			}
		}
		kind := item[store.AttrType].(*types.AttributeValueMemberS).Value
		if !slices.ContainsFunc(store.ItemTypes(), func(p *store.Pattern) bool {
			return p.Is(key.SK) && slices.Contains(strings.Fields(p.Type), kind) &&
				(p.ItemType.SK2 != "") == (item[store.AttrSK2] != nil) && (p.ItemType.PK2 != "") == (item[store.AttrPK2] != nil)
		}) {
			t.Fatalf("no declaration is of the %s at %v", kind, key)
		}
	})
}

func inverseIndex() store.Index {
	isInverse := func(x store.Index) bool { return x.Name == store.IndexInverse }
	return store.Indexes()[slices.IndexFunc(store.Indexes(), isInverse)]
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
func leaveListed(item store.Item) {
	inverse := inverseIndex()
	maps.DeleteFunc(item, func(name string, _ types.AttributeValue) bool {
		return !slices.Contains(inverse.Include, name) && name != inverse.PartitionKey && name != store.AttrPK &&
			name != store.AttrSK
	})
}

// The events in the inverse index come back from it with all that it has.
func TestListedEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := eventstest.Event().Draw(t, "event")
		item := store.EventItem(e)
		leaveListed(item)
		back, err := store.DecodeListed(item)
		if item[store.AttrPK2] == nil {
			if err == nil {
				t.Fatalf("it is in no list, and came back as %+v", back)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		again := store.EventItem(back)
		if leaveListed(again); !reflect.DeepEqual(again, item) {
			t.Fatalf("it came back as %+v", back)
		}
		item[store.AttrPK2] = store.String("ELSEWHERE")
		if _, err := store.DecodeListed(item); !errors.Is(err, store.ErrMalformedItem) {
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
	item := store.EventItem(eventstest.PostingRecorded().Example())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := store.DecodeEvent(item); err != nil {
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
		encoder := store.NewItemEncoder(1 + len(postings))
		encoder.Event(header)
		for i := range postings {
			encoder.Event(&postings[i])
		}
	}
}
