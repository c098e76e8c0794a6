package events_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ledger.example/events"
	"ledger.example/events/eventstest"
)

// A time that was given has two digits in each field, and an offset below a day.
func TestReadTime(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"2026-11-21T12:00:00Z": noon, "2026-11-21T12:00:00.000001Z": noon.Add(time.Microsecond),
		"2026-11-21T13:30:00+01:30": noon, "2026-11-20T12:01:00-23:59": noon, "2026-11-22T11:59:00+23:59": noon,
		"2026-11-21T12:00:00-00:00": noon, "2026-11-21T12:00:00.5+00:00": noon.Add(time.Second / 2),
		"2026-11-21T12:00:00+24:00": {}, "2026-11-21T12:00:00-24:00": {}, "2026-11-21T12:00:00+23:60": {},
		"2026-11-21T12:00:00.1-24:00": {}, "2026-11-21T2:00:00Z": {}, "2026-11-21T12:00:00,1Z": {},
		"2026-11-21T12:00:00": {}, "2026-11-21T12:00:00+0100": {}, "2026-11-21T12:00:00z": {}, "2026-11-21": {}, "": {},
		"2026-02-29T12:00:00Z": {}, "2026-11-21T24:00:00Z": {}, "2026-11-21T12:00:60Z": {},
	} {
		if got, ok := events.ReadTime(text); ok == want.IsZero() || !got.Equal(want) {
			t.Errorf("%q: %v, %t", text, got, ok)
		}
	}
}

func TestFormatTime(t *testing.T) {
	times := rapid.Custom(func(t *rapid.T) time.Time {
		zone := time.FixedZone("", rapid.IntRange(-12, 14).Draw(t, "hours")*3600)
		at := time.Unix(rapid.Int64Range(0, 253402300799).Draw(t, "second"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns"))
		return rapid.OneOf(eventstest.Time(), rapid.Just(at)).Draw(t, "time").In(zone)
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := times.Draw(t, "a"), times.Draw(t, "b").Truncate(time.Microsecond)
		text, cut := events.FormatTime(a), a.Truncate(time.Microsecond)
		back, err := events.ParseTime(text)
		if text != a.UTC().Format("2006-01-02T15:04:05.000000Z") || err != nil || !back.Equal(cut) || back.Location() != time.UTC {
			t.Fatalf("%v is written as %s and read as %v, %v", a, text, back, err)
		}
		if cut.Compare(b) != strings.Compare(text, events.FormatTime(b)) {
			t.Fatalf("%v and %v are ordered otherwise than their texts", a, b)
		}
	})
}

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
