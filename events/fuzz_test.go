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

// FuzzDecodeFigures: what a fold reads of a posting is what the whole posting says, refused for the same figures.
func FuzzDecodeFigures(f *testing.F) {
	f.Fuzz(func(t *testing.T, name string, version int, quantity, cost string) {
		q, c, err := events.DecodeFigures(name, version, events.Number(quantity), events.Number(cost))
		fields := maps.Clone(events.Encode(golden["PostingRecorded.v1.json"]))
		fields["Quantity"], fields["Cost"] = events.Number(quantity), events.Number(cost)
		whole, wholeErr := events.Decode(name, version, fields)
		posting, isPosting := whole.(events.PostingRecorded)
		switch {
		case errors.Is(err, events.ErrUnknownEvent) && !isPosting:
		case errors.Is(err, events.ErrMalformedEvent) && errors.Is(wholeErr, events.ErrMalformedEvent) && q.Sign() == 0 && c.Sign() == 0:
		case err == nil && isPosting && posting.Quantity == q && posting.Cost == c:
		default:
			t.Fatalf("DecodeFigures(%q, %d, %q, %q) = %v, %v, %v; the whole is %v, %v", name, version, quantity, cost, q, c, err, whole, wholeErr)
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
		switch e := listed.(type) {
		case events.AssetRegistered:
			e.Actor = "-"
			listed = e
		case events.AccountOpened:
			e.Actor = "-"
			if profile, given := fields["Profile"]; given {
				e.Profile = profile.(string)
			}
			listed = e
		default:
			t.Fatalf("no list shows %#v", listed)
		}
		whole := events.Encode(listed)
		if actor, given := fields["Actor"]; given {
			whole["Actor"] = actor
		}
		if _, given := fields["Actor"]; !given {
			delete(whole, "Actor")
		}
		if !reflect.DeepEqual(whole, fields) {
			t.Fatalf("%v was taken for %#v", fields, listed)
		}
	})
}
