package events_test

import (
	"testing"
	"time"

	"ledger.example/events"
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
