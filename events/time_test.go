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
	zone := time.FixedZone("", -5*3600)
	for _, test := range []struct {
		at   time.Time
		want string
	}{
		{time.Date(2026, 11, 21, 9, 6, 39, 123456999, time.UTC), "2026-11-21T09:06:39.123456Z"},
		{time.Date(2026, 11, 21, 4, 6, 39, 0, zone), "2026-11-21T09:06:39.000000Z"},
		{time.Date(2026, 12, 31, 23, 59, 59, 1000, zone), "2027-01-01T04:59:59.000001Z"},
		{time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC), "9999-12-31T23:59:59.999999Z"},
	} {
		if got := events.FormatTime(test.at); got != test.want {
			t.Errorf("FormatTime(%v) = %s, want %s", test.at, got, test.want)
		}
		back, err := events.ParseTime(test.want)
		if err != nil || !back.Equal(test.at.Truncate(time.Microsecond)) || back.Location() != time.UTC {
			t.Errorf("ParseTime(%s) = %v, %v", test.want, back, err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := eventstest.Time().Draw(t, "a"), eventstest.Time().Draw(t, "b")
		if a.Compare(b) != strings.Compare(events.FormatTime(a), events.FormatTime(b)) {
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
