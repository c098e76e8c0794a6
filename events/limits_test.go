package events_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ledger.example/events"
)

func TestValidID(t *testing.T) {
	for _, id := range []string{"a", "Z", "0", "users:alice:cash", "a.b_c:d@e-f", "AAPL", strings.Repeat("x", 64), "3MPlq7CblaK144v8BdRNuauB4LH"} {
		if !events.ValidID(id) {
			t.Errorf("%q is refused", id)
		}
	}
	for _, id := range []string{
		"", strings.Repeat("x", 65), ".a", "_a", ":a", "@a", "-a", "a b", " a", "a ", "a\x00", "a\n", "a#b", "a/b", "a~", "a%20", "a+b",
		"é", "aé", "a\u202eb", "a\u200b", "\xff", "a\xff", "Ａ", "а", /* Cyrillic */
	} {
		if events.ValidID(id) {
			t.Errorf("%q is accepted", id)
		}
	}
	grammar := regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:@-]{0,63}$`)
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.OneOf(rapid.StringN(0, 70, -1), rapid.StringMatching(`[ -~]{0,70}`), genID()).Draw(t, "id")
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
	for _, s := range []string{
		"", "2026-11-21", "2026-11-21T09:06:39Z", "2026-11-21T09:06:39.123Z", "2026-11-21T09:06:39.1234567Z", "2026-11-21T09:06:39,123456Z",
		"2026-11-21T09:06:39.123456", "2026-11-21T09:06:39.123456+00:00", "2026-11-21t09:06:39.123456z", "2026-11-21 09:06:39.123456Z",
		"2026-11-21T24:00:00.000000Z", "2026-02-30T09:06:39.123456Z", "2026-11-21T9:06:39.123456Z", " 2026-11-21T09:06:39.123456Z", "2026-11-21T09:06:39.123456Z ",
		"12026-11-21T09:06:39.123456Z",
	} {
		if at, err := events.ParseTime(s); err != events.ErrTimeText || !at.IsZero() {
			t.Errorf("ParseTime(%q) = %v, %v; want ErrTimeText", s, at, err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := genTime().Draw(t, "a"), genTime().Draw(t, "b")
		if a.Compare(b) != strings.Compare(events.FormatTime(a), events.FormatTime(b)) {
			t.Fatalf("%v and %v are ordered otherwise than their texts", a, b)
		}
	})
}
