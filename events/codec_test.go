package events_test

import (
	"errors"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"ledger.example/events"
)

func TestEventsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := genEvent().Draw(t, "event")
		name, version := e.EventName()
		back, err := events.Decode(name, version, events.Encode(e))
		if err != nil || !reflect.DeepEqual(back, e) {
			t.Fatalf("%#v\ncame back as %#v, %v", e, back, err)
		}
	})
}

func TestPostingsOfAHeader(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := genTransactionPosted().Draw(t, "header").(events.TransactionPosted)
		postings := e.Postings()
		if len(postings) != len(e.Legs) {
			t.Fatalf("%d postings of %d legs", len(postings), len(e.Legs))
		}
		for i, p := range postings {
			if want := (events.PostingRecorded{Leg: e.Legs[i], Transaction: e.ID, Kind: e.Kind, Description: e.Description}); p != want {
				t.Fatalf("%+v, want %+v", p, want)
			}
			if !p.ID.Time().Equal(e.PostedAt()) {
				t.Fatalf("%v of a transaction of %v", p.ID.Time(), e.PostedAt())
			}
		}
	})
}

func TestDecodeUnknown(t *testing.T) {
	for _, kind := range kinds {
		name, version := kind.EventName()
		for _, v := range []int{-1, 0, version + 1} {
			if e, err := events.Decode(name, v, events.Fields{}); e != nil || !errors.Is(err, events.ErrUnknownEvent) {
				t.Errorf("%s version %d: %v, %v; want ErrUnknownEvent", name, v, e, err)
			}
		}
		if _, err := events.Decode(name, version, events.Fields{}); !errors.Is(err, events.ErrMalformedEvent) {
			t.Errorf("%s version %d without fields: %v; want ErrMalformedEvent", name, version, err)
		}
		if _, err := events.Decode(name, version, nil); !errors.Is(err, events.ErrMalformedEvent) {
			t.Errorf("%s version %d of nil: %v; want ErrMalformedEvent", name, version, err)
		}
	}
	for _, name := range []string{"", "postingrecorded", "PostingRecorded ", "Nonsense"} {
		if e, err := events.Decode(name, 1, events.Fields{}); e != nil || !errors.Is(err, events.ErrUnknownEvent) {
			t.Errorf("%q: %v, %v; want ErrUnknownEvent", name, e, err)
		}
	}
}

// TestEncodeMergesEmptyForms: empty and absent are one thing, with one stored form.
func TestEncodeMergesEmptyForms(t *testing.T) {
	empty := events.AccountOpened{ID: "fees", Overdraft: events.Overdraft{Limits: map[string]events.Amount{}}, Actor: "local", At: goldenAt}
	if got, want := toJSON(empty), toJSON(golden["AccountOpened.v1.least.json"]); string(got) != string(want) {
		t.Errorf("%s, want %s", got, want)
	}
	header := golden["TransactionPosted.v1.trade.json"].(events.TransactionPosted)
	want := toJSON(header)
	header.Metadata = nil
	if got := toJSON(header); string(got) != string(want) {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestDecodePostingAllocatesOnlyTheEvent(t *testing.T) {
	f := events.Encode(golden["PostingRecorded.v1.json"])
	if n := testing.AllocsPerRun(100, func() {
		if _, err := events.Decode("PostingRecorded", 1, f); err != nil {
			t.Error(err)
		}
	}); n > 1 {
		t.Errorf("%v allocations, want the event's own", n)
	}
}

func BenchmarkDecodePosting(b *testing.B) {
	f := events.Encode(golden["PostingRecorded.v1.json"])
	b.ReportAllocs()
	for b.Loop() {
		if _, err := events.Decode("PostingRecorded", 1, f); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodePosting(b *testing.B) {
	e := golden["PostingRecorded.v1.json"]
	b.ReportAllocs()
	for b.Loop() {
		_ = events.Encode(e)
	}
}

func BenchmarkDecodeTransaction(b *testing.B) {
	f := events.Encode(golden["TransactionPosted.v1.json"])
	b.ReportAllocs()
	for b.Loop() {
		if _, err := events.Decode("TransactionPosted", 1, f); err != nil {
			b.Fatal(err)
		}
	}
}
