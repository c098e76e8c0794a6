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

func TestValidID(t *testing.T) {
	grammar := regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:@-]{0,63}$`)
	rapid.Check(t, func(t *rapid.T) {
		odd := rapid.SampledFrom([]string{
			"", ".a", "-a", "a b", "a\x00", "a\n", "a#b", "a/b", "a~", "a+b", "aé", "a\u202eb", "\xff", "а" /* Cyrillic */, strings.Repeat("x", 65),
		})
		id := rapid.OneOf(odd, rapid.StringN(0, 70, -1), rapid.StringMatching(`[ -~]{0,70}`), eventstest.ID()).Draw(t, "id")
		if got := events.ValidID(id); got != (grammar.MatchString(id) && !strings.HasSuffix(id, "\n")) {
			t.Fatalf("ValidID(%q) = %t", id, got)
		}
	})
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
