package store_test

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/store"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 123456000, time.UTC)

// facts are one or more of each event, with every kind of value.
func facts(t testing.TB) []events.Event {
	t.Helper()
	ids, _, err := events.NewMinter(func() time.Time { return noon }, nil).Mint(2)
	if err != nil {
		t.Fatal(err)
	}
	amount := func(s string) events.Amount {
		a, err := events.ParseAmount(s, events.PostedDigits)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	posted := events.TransactionPosted{
		ID: "t-1", Kind: events.KindTrade, Description: "first", Metadata: map[string]string{"order": "1", "PK": "x"},
		Legs: []events.Leg{
			{ID: ids[0], Account: "jane", Asset: "AAPL", Quantity: amount("1000000000000000000000000000"),
				Cost: amount("150")},
			{ID: ids[1], Account: "market", Asset: "AAPL", Quantity: amount("-1000000000000000000000000000"),
				Cost: amount("-150")},
		},
		Fingerprint: "1:abc", Actor: "local",
	}
	held, taken := posted, []events.Taken{{Quantity: amount("-1")}, {Quantity: amount("1"), Cost: amount("7")}}
	held.ExpiresAt = noon
	captured := events.HoldEnded{Transaction: "t-1", Outcome: events.OutcomeCaptured, Legs: posted.Legs, Actor: "local"}
	return []events.Event{
		posted, posted.Postings()[0], posted.Postings()[1],
		held, held.Postings()[0], captured, captured.Postings(held)[1],
		events.TransactionReversed{Transaction: "t-1", Number: 12, By: "r-1", Taken: taken},
		events.AccountChanged{ID: "jane", Number: 2, Profile: "{}", State: events.StateFrozen, Actor: "local", At: noon},
		events.AssetRegistered{ID: "USD", Name: "US dollar", Description: "cash", Scale: 2, Actor: "local", At: noon},
		events.AssetRegistered{ID: "AAPL", Name: "Apple", Currency: "USD", Actor: "local", At: noon},
		events.AccountOpened{ID: "jane", Name: "Jane", Profile: `{"email":"j@example.com"}`, Actor: "local", At: noon},
		events.AccountOpened{ID: "market", Name: "Market", Profile: "{}", Overdraft: events.Overdraft{Unlimited: true},
			Actor: "local", At: noon},
		events.AccountOpened{
			ID: "margin", Name: "Margin", Profile: "{}", Actor: "local", At: noon,
			Overdraft: events.Overdraft{Limits: map[string]events.Amount{"USD": amount("500000"),
				"AAPL": amount("0")}},
		},
		events.MemberGranted{Account: "jane", User: "ann", Role: events.RoleOwner, Number: 7, Actor: "local",
			At: noon},
		events.MemberGranted{Account: "jane", User: "ann", Number: 8, Actor: "local", At: noon},
		events.GroupRegistered{ID: "desk", Name: "Desk", Description: "Trades", Actor: "local", At: noon},
		events.MemberGranted{Group: "desk", User: "ann", Role: events.RoleOwner, Number: 7, Actor: "local",
			At: noon},
		events.MemberGranted{Group: "desk", User: "ann", Number: 8, Actor: "local", At: noon},
		events.AccountGrouped{Account: "jane", Number: 2, Groups: []string{"a", "desk"}, Added: "desk", Actor: "local",
			At: noon},
		events.AccountGrouped{Account: "jane", Number: 3, Removed: "desk", Actor: "local", At: noon},
	}
}

func TestEventsComeBack(t *testing.T) {
	for _, e := range facts(t) {
		item := store.EventItem(e)
		back, err := store.DecodeEvent(item)
		if err != nil {
			t.Errorf("%T: %v", e, err)
			continue
		}
		if !reflect.DeepEqual(back, e) {
			t.Errorf("%T:\n got    %+v\n wanted %+v", e, back, e)
		}
		key, err := store.KeyOf(item)
		if err != nil || key != store.EventKey(e) {
			t.Errorf("%T is at %v, %v, wanted %v", e, key, err, store.EventKey(e))
		}
	}
}

// The declaration of an event's item names its type and the indexes that it is in.
func TestEventsAreDeclared(t *testing.T) {
	for _, e := range facts(t) {
		item, key := store.EventItem(e), store.EventKey(e)
		kind := item[store.AttrType].(*types.AttributeValueMemberS).Value
		if !slices.ContainsFunc(store.ItemTypes(), func(p *store.Pattern) bool {
			return p.Is(key.SK) && slices.Contains(strings.Fields(p.Type), kind) &&
				(p.ItemType.SK2 != "") == (item[store.AttrSK2] != nil) && (p.ItemType.PK2 != "") == (item[store.AttrPK2] != nil)
		}) {
			t.Errorf("no declaration is of the %s at %v", kind, key)
		}
	}
}

// An item that was copied to another key, or whose keys or type were changed, is rejected.
func TestAlteredItemsAreRefused(t *testing.T) {
	for _, e := range facts(t) {
		for _, name := range []string{
			store.AttrPK, store.AttrSK, store.AttrSK2, store.AttrPK2, store.AttrType, store.AttrForm,
			store.AttrChecksum,
		} {
			for what, value := range map[string]types.AttributeValue{
				"another text": store.String("ACCOUNT#other"), "a number": store.Integer(99), "nothing": nil,
			} {
				item := maps.Clone(store.EventItem(e))
				if _, there := item[name]; !there && value == nil {
					continue
				}
				if item[name] = value; value == nil {
					delete(item, name)
				}
				if back, err := store.DecodeEvent(item); err == nil {
					t.Errorf("%T with %s as %s in its %s came back as %+v", e, value, what, name, back)
				}
			}
		}
	}
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

// The inverse index has all fields of listed events except Actor and Profile.
func TestListedEvents(t *testing.T) {
	inverse := inverseIndex()
	for _, e := range facts(t) {
		item := store.EventItem(e)
		for name := range item {
			if !slices.Contains(inverse.Include, name) && name != inverse.PartitionKey && name != store.AttrPK &&
				name != store.AttrSK {
				delete(item, name)
			}
		}
		back, err := store.DecodeListed(item)
		switch wanted := e.(type) {
		case events.AssetRegistered:
			wanted.Actor = ""
			e = wanted
		case events.AccountOpened:
			wanted.Actor, wanted.Profile = "", ""
			e = wanted
		case events.GroupRegistered:
			wanted.Actor = ""
			e = wanted
		default:
			if err == nil {
				t.Errorf("%T is in no list, and came back", e)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(back, e) {
			t.Errorf("%T: %v\n got    %+v\n wanted %+v", e, err, back, e)
		}
		item[store.AttrPK2] = store.String("ELSEWHERE")
		if _, err := store.DecodeListed(item); !errors.Is(err, store.ErrMalformedItem) {
			t.Errorf("%T in a foreign partition: %v", e, err)
		}
	}
}

func BenchmarkDecodePosting(b *testing.B) {
	item := store.EventItem(facts(b)[1])
	b.ReportAllocs()
	for b.Loop() {
		if _, err := store.DecodeEvent(item); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEncodeTrade encodes a settled trade: a header with four legs, and their postings.
func BenchmarkEncodeTrade(b *testing.B) {
	header := facts(b)[0].(events.TransactionPosted)
	header.Legs = append(header.Legs, header.Legs...)
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
