package wire_test

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
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
			{ID: ids[0], Account: "jane", Asset: "AAPL", Quantity: amount("1000000000000000000000000000"), Cost: amount("150")},
			{ID: ids[1], Account: "market", Asset: "AAPL", Quantity: amount("-1000000000000000000000000000"), Cost: amount("-150")},
		},
		Fingerprint: "1:abc", Actor: "local",
	}
	return []events.Event{
		posted, posted.Postings()[0], posted.Postings()[1],
		events.AssetRegistered{ID: "USD", Name: "US dollar", Description: "cash", Scale: 2, Actor: "local", At: noon},
		events.AssetRegistered{ID: "AAPL", Name: "Apple", Currency: "USD", Actor: "local", At: noon},
		events.AccountOpened{ID: "jane", Name: "Jane", Profile: `{"email":"j@example.com"}`, Actor: "local", At: noon},
		events.AccountOpened{ID: "market", Name: "Market", Profile: "{}", Overdraft: events.Overdraft{Unlimited: true}, Actor: "local", At: noon},
		events.AccountOpened{
			ID: "margin", Name: "Margin", Profile: "{}", Actor: "local", At: noon,
			Overdraft: events.Overdraft{Limits: map[string]events.Amount{"USD": amount("500000"), "AAPL": amount("0")}},
		},
		events.MemberGranted{Account: "jane", User: "ann", Role: events.RoleOwner, Number: 7, Actor: "local", At: noon},
		events.MemberRevoked{Account: "jane", User: "ann", Number: 8, Actor: "local", At: noon},
	}
}

func TestEventsComeBack(t *testing.T) {
	for _, e := range facts(t) {
		item := wire.EventItem(e)
		back, err := wire.DecodeEvent(item)
		if err != nil {
			t.Errorf("%T: %v", e, err)
			continue
		}
		if !reflect.DeepEqual(back, e) {
			t.Errorf("%T:\n got    %+v\n wanted %+v", e, back, e)
		}
		key, err := wire.KeyOf(item)
		if err != nil || key != wire.EventKey(e) {
			t.Errorf("%T is at %v, %v, wanted %v", e, key, err, wire.EventKey(e))
		}
	}
}

// The secondary keys decide which index an event is in.
func TestEventsAreInTheirIndexes(t *testing.T) {
	wanted := map[string][2]string{ // SK2, PK2
		"TransactionPosted": {},
		"PostingRecorded":   {"POSTING#", ""},
		"AssetRegistered":   {"", "ASSETS"},
		"AccountOpened":     {"PROFILE", "ACCOUNTS"},
		"MemberGranted":     {},
		"MemberRevoked":     {},
	}
	for _, e := range facts(t) {
		name, _ := e.EventName()
		item := wire.Read(wire.EventItem(e))
		sk2, pk2 := item.OptionalText(table.AttrSK2), item.OptionalText(table.AttrPK2)
		if p, ok := e.(events.PostingRecorded); ok {
			wanted[name] = [2]string{"POSTING#" + string(p.ID), ""}
		}
		if got := [2]string{sk2, pk2}; got != wanted[name] || item.Err() != nil {
			t.Errorf("%s has SK2 and PK2 %q, wanted %q", name, got, wanted[name])
		}
		if item.Has(table.AttrSK2) != (sk2 != "") || item.Has(table.AttrPK2) != (pk2 != "") {
			t.Errorf("%s has an empty secondary key", name)
		}
	}
}

// An item that was moved, or whose keys or type were changed, is not taken for the event that it was.
func TestAlteredItemsAreRefused(t *testing.T) {
	for _, e := range facts(t) {
		for _, name := range []string{table.AttrPK, table.AttrSK, table.AttrSK2, table.AttrPK2, table.AttrType, table.AttrEventVersion} {
			for what, value := range map[string]types.AttributeValue{
				"another text": wire.String("ACCOUNT#other"), "a number": wire.Integer(2), "nothing": nil,
			} {
				item := maps.Clone(wire.EventItem(e))
				if _, there := item[name]; !there && value == nil {
					continue
				}
				if item[name] = value; value == nil {
					delete(item, name)
				}
				if back, err := wire.DecodeEvent(item); err == nil {
					t.Errorf("%T with %s as %s in its %s came back as %+v", e, value, what, name, back)
				}
			}
		}
	}
}

func TestForeignValuesAreRefused(t *testing.T) {
	for name, value := range map[string]types.AttributeValue{
		"null":    &types.AttributeValueMemberNULL{Value: true},
		"binary":  &types.AttributeValueMemberB{Value: []byte("Jane")},
		"strings": &types.AttributeValueMemberSS{Value: []string{"Jane"}},
		"number":  wire.Integer(1),
		"boolean": wire.Flag(true),
		"map":     wire.Map(wire.Item{"a": wire.String("b")}),
	} {
		item := wire.EventItem(facts(t)[5])
		item["Name"] = value
		if _, err := wire.DecodeEvent(item); !errors.Is(err, events.ErrMalformedEvent) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What the inverse index holds is enough for lists, and only Actor and Profile are missing from it.
func TestListedEvents(t *testing.T) {
	inverse := table.Indexes()[slices.IndexFunc(table.Indexes(), func(x table.Index) bool { return x.Name == table.IndexInverse })]
	for _, e := range facts(t) {
		item := wire.EventItem(e)
		for name := range item {
			if !slices.Contains(inverse.Include, name) && name != inverse.PartitionKey && name != table.AttrPK && name != table.AttrSK {
				delete(item, name)
			}
		}
		back, err := wire.DecodeListed(item)
		switch wanted := e.(type) {
		case events.AssetRegistered:
			wanted.Actor = ""
			e = wanted
		case events.AccountOpened:
			wanted.Actor, wanted.Profile = "", ""
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
		item[table.AttrPK2] = wire.String("ELSEWHERE")
		if _, err := wire.DecodeListed(item); !errors.Is(err, wire.ErrMalformedItem) {
			t.Errorf("%T in a foreign partition: %v", e, err)
		}
	}
}

func BenchmarkDecodePosting(b *testing.B) {
	item := wire.EventItem(facts(b)[1])
	b.ReportAllocs()
	for b.Loop() {
		if _, err := wire.DecodeEvent(item); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMaker makes the items of a trade: a header and its postings.
func BenchmarkMaker(b *testing.B) {
	for _, legs := range []int{2, 4, 48} {
		b.Run(fmt.Sprintf("legs%d", legs), func(b *testing.B) {
			header := events.TransactionPosted{ID: "t-1", Kind: events.KindTrade, Fingerprint: "1:abc", Actor: "local"}
			ids, _, err := events.NewMinter(nil, nil).Mint(legs)
			if err != nil {
				b.Fatal(err)
			}
			for _, id := range ids {
				header.Legs = append(header.Legs, events.Leg{ID: id, Account: "jane", Asset: "AAPL", Quantity: events.NewAmount(-10), Cost: events.NewAmount(-150000)})
			}
			b.ReportAllocs()
			for b.Loop() {
				m, postings := wire.NewMaker(1+legs), header.Postings()
				m.Event(header)
				for i := range postings {
					m.Event(&postings[i])
				}
			}
		})
	}
}
