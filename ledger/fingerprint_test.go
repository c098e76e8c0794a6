package ledger

import (
	"bufio"
	"encoding/json"
	"os"
	"reflect"
	"testing"
	"time"

	"ledger.example/events"
)

// A printed is a request of any kind that posts, with its fingerprint. Fields of other kinds are empty.
type printed struct {
	Fingerprint string
	Kind        events.Kind

	ID, Actor   string `json:",omitzero"`
	Description string `json:",omitzero"`
	Metadata    map[string]string
	Hold        bool          `json:",omitzero"`
	ExpiresAt   *time.Time    `json:",omitzero"` // of a hold
	EffectiveAt *time.Time    `json:",omitzero"`
	Legs        []LegRequest  `json:",omitzero"` // of a transaction
	From, To    string        `json:",omitzero"` // of a transfer; the seller and the buyer of a trade
	Asset       string        `json:",omitzero"`
	Quantity    events.Amount `json:",omitzero"`
	Cost        events.Amount `json:",omitzero"`
	Settle      bool          `json:",omitzero"`
	Transaction string        `json:",omitzero"` // that is reversed
	Part        Part          `json:",omitzero"`
}

func (p printed) request() Request {
	a := Annotation{
		ID: p.ID, Annotation: events.Annotation{Description: p.Description, Metadata: p.Metadata},
		Actor: p.Actor, EffectiveAt: p.EffectiveAt,
	}
	if p.Hold {
		a.Hold = &HoldRequest{p.ExpiresAt}
	}
	switch p.Kind {
	case events.KindTransfer:
		return PostTransfer{a, p.From, p.To, p.Asset, p.Quantity, nil}
	case events.KindTrade:
		return PostTrade{a, p.Asset, p.To, p.From, p.Quantity, p.Cost, p.Settle}
	case events.KindReversal:
		return ReverseRequest{a, p.Transaction, p.Part}
	}
	return PostTransaction{a, p.Legs}
}

// Stored headers have fingerprints of such requests, which were drawn at random. Lines are added, and never edited.
func TestFingerprintsStay(t *testing.T) {
	file, err := os.Open("testdata/fingerprints.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	kinds := make(map[events.Kind]int)
	for n := 1; lines.Scan(); n++ {
		var p printed
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			t.Fatal(err)
		}
		if got := fingerprint(p.request().expand()); got != p.Fingerprint {
			t.Errorf("line %d: %s, want %s", n, got, p.Fingerprint)
		}
		kinds[p.Kind]++
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []events.Kind{
		events.KindTransaction, events.KindTransfer, events.KindTrade, events.KindReversal,
	} {
		if kinds[kind] < 125 {
			t.Errorf("%d fingerprints of the kind %s", kinds[kind], kind)
		}
	}
}

// A field that an annotation gets later is in the fingerprints of the requests that have it, and changes no other.
func TestFingerprintOfALaterField(t *testing.T) {
	type annotation struct {
		Description  string            `stored:"description,optional"`
		Metadata     map[string]string `stored:"metadata,optional"`
		Order, Route string            `stored:"description,optional"`
	}
	fields := annotationFieldsOf(reflect.TypeFor[annotation]())
	for want, a := range map[string]annotation{
		"":                               {Description: "d", Metadata: map[string]string{"a": "b"}},
		"5:order1:x":                     {Order: "x"},
		"5:route1:x":                     {Route: "x"},
		"5:order4:1:x55:route2:5:":       {Order: "1:x5", Route: "5:"},
		"5:order8:5:route15:route1:\x01": {Order: "5:route1", Route: "\x01"},
	} {
		if got := string(canonical(nil).later(fields, reflect.ValueOf(a))); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a field that is no text is taken")
		}
	}()
	annotationFieldsOf(reflect.TypeFor[struct {
		Copies int64 `stored:"number,optional"`
	}]())
}
