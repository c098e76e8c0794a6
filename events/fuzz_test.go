package events_test

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"testing"
	"time"

	"ledger.example/events"
)

// FuzzParseTime: accepted is exactly an RFC 3339 time of six decimals in UTC, and is written as it was read.
func FuzzParseTime(f *testing.F) {
	form := regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z$`)
	f.Fuzz(func(t *testing.T, s string) {
		at, err := events.ParseTime(s)
		standard, standardErr := time.Parse(time.RFC3339, s)
		if wanted := standardErr == nil && form.MatchString(s); wanted != (err == nil) {
			t.Fatalf("ParseTime(%q) = %v, %v; RFC 3339 says %v", s, at, err, standardErr)
		}
		if err == nil && (!at.Equal(standard) || events.FormatTime(at) != s) || err != nil && (err != events.ErrTimeText || !at.IsZero()) {
			t.Fatalf("ParseTime(%q) = %v, %v", s, at, err)
		}
	})
}

// FuzzDecodeFigures: what a fold reads of a posting is what the whole posting says, refused for the same figures,
// and for another checksum.
func FuzzDecodeFigures(f *testing.F) {
	f.Fuzz(func(t *testing.T, name string, version int, quantity, cost string) {
		good := golden["PostingRecorded.v1.json"].(events.PostingRecorded)
		fields := encode(good)
		fields["Quantity"], fields["Cost"] = events.Number(quantity), events.Number(cost)
		right := good
		right.Quantity, _ = events.ParseAmount(quantity, events.PostedDigits)
		right.Cost, _ = events.ParseAmount(cost, events.PostedDigits)
		for _, sum := range []string{"", events.Checksum(good), events.Checksum(right)} {
			got, err := events.DecodeFigures(events.StoredPosting{
				Name: name, Version: version, Checksum: sum, Account: good.Account, Asset: good.Asset, ID: string(good.ID),
				Quantity: events.Number(quantity), Cost: events.Number(cost),
				Transaction: good.Transaction, Kind: string(good.Kind), Description: good.Description,
			})
			whole, wholeErr := events.Decode(name, version, sum, fields)
			posting, isPosting := whole.(events.PostingRecorded)
			switch {
			case errors.Is(err, events.ErrUnknownEvent) && !isPosting:
			case errors.Is(err, events.ErrMalformedEvent) && errors.Is(wholeErr, events.ErrMalformedEvent) && got == (events.Figures{}) &&
				errors.Is(err, events.ErrChecksum) == errors.Is(wholeErr, events.ErrChecksum):
			case err == nil && isPosting && posting.Figures() == got:
			default:
				t.Fatalf("%q, %d, %q, %q, %q = %v, %v; the whole is %v, %v", name, version, sum, quantity, cost, got, err, whole, wholeErr)
			}
		}
	})
}

// FuzzDecodeListed: what a list shows is taken exactly when the whole would be, with any actor and no profile.
func FuzzDecodeListed(f *testing.F) {
	for _, e := range golden {
		f.Add(toJSON(e))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := fromJSON(text)
		fields, ok := s.Fields.(events.Fields)
		if !ok || err != nil {
			return
		}
		before := fmt.Sprint(fields)
		listed, err := events.DecodeListed(s.Name, s.Version, fields)
		if fmt.Sprint(fields) != before {
			t.Fatalf("decoding %s changed it to %v", before, fields)
		}
		if err != nil {
			if listed != nil || errors.Is(err, events.ErrUnknownEvent) == errors.Is(err, events.ErrMalformedEvent) {
				t.Fatalf("DecodeListed(%s) = %v, %v", text, listed, err)
			}
			return
		}
		given := maps.Clone(fields)
		if _, ok := given["Actor"]; !ok {
			given["Actor"] = "-"
		}
		whole, wholeErr := events.Decode(s.Name, s.Version, events.Checksum(withActor(listed, given)), given)
		switch e := whole.(type) {
		case events.AssetRegistered:
			e.Actor = ""
			whole = e
		case events.AccountOpened:
			e.Actor, e.Profile = "", ""
			whole = e
		case events.GroupRegistered:
			e.Actor = ""
			whole = e
		}
		if wholeErr != nil || !reflect.DeepEqual(listed, whole) {
			t.Fatalf("%s was taken for %#v; the whole is %#v, %v", text, listed, whole, wholeErr)
		}
	})
}

// withActor returns a listed event with the actor and the profile of its fields.
func withActor(listed events.Event, f events.Fields) events.Event {
	actor, _ := f["Actor"].(string)
	switch e := listed.(type) {
	case events.AssetRegistered:
		e.Actor = actor
		return e
	case events.AccountOpened:
		e.Actor = actor
		e.Profile, _ = f["Profile"].(string)
		return e
	case events.GroupRegistered:
		e.Actor = actor
		return e
	}
	return listed
}
