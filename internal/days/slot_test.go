package days_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"ledger.example/internal/days"
)

// oddZones are zones with unusual clocks, beside ordinary ones.
var oddZones = []string{
	"UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "America/Sao_Paulo",
	"America/Asuncion", "America/Havana", "Asia/Beirut", "Africa/Cairo", "Asia/Gaza", "America/Santiago",
	"Pacific/Apia", "Pacific/Kiritimati", "Africa/Casablanca", "Antarctica/Troll", "America/St_Johns", "Asia/Tehran",
}

func slotsOf(t interface{ Fatal(...any) }, unit days.Unit, zone string) days.Slots {
	in, err := days.Zone(zone)
	if err != nil {
		t.Fatal(zone, err)
	}
	return days.Slots{Unit: unit, In: in}
}

// TestSlotsShareNoInstant draws instants: each is at or after the start of its slot and before the next one, whose
// number is higher. So numbers grow with time, and no instant is left out.
func TestSlotsShareNoInstant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SampledFrom([]days.Unit{days.EachDay, days.EachWeek, days.EachMonth}).Draw(t, "unit")
		zone := rapid.SampledFrom(oddZones).Draw(t, "zone")
		s := slotsOf(t, unit, zone)
		at := time.UnixMicro(rapid.Int64Range(1_000_000_000e6, 5_694_000_000e6).Draw(t, "at")).UTC()
		if rapid.Bool().Draw(t, "at a change of the clocks") {
			if _, change := at.In(s.In).ZoneBounds(); !change.IsZero() {
				at = change.UTC().Add(time.Duration(rapid.Int64Range(-90*60, 90*60).Draw(t, "off")) * time.Second)
			}
		}
		number := s.Of(at)
		begin, next := s.Begin(number), s.Next(at)
		switch {
		case begin.After(at), !next.After(at):
			t.Fatalf("%s %s: %v is not from %v to %v", zone, unit, at, begin, next)
		case s.Of(begin) != number, s.Of(begin.Add(-1)) >= number:
			t.Fatalf("%s %s: slot %d does not begin at %v", zone, unit, number, begin)
		case s.Of(next.Add(-1)) != number, s.Of(next) <= number, !s.Begin(s.Of(next)).Equal(next):
			t.Fatalf("%s %s: slot %d does not end at %v", zone, unit, number, next)
		}
	})
}

// TestUnusualMidnights has starts that were looked up.
func TestUnusualMidnights(t *testing.T) {
	for _, c := range []struct {
		zone string
		unit days.Unit
		at   string
		slot int64
		next string
	}{
		{"UTC", days.EachDay, "2026-11-28T23:59:59.999999Z", 20261128, "2026-11-29T00:00:00Z"},
		{"UTC", days.EachMonth, "2026-11-28T12:00:00Z", 202611, "2026-12-01T00:00:00Z"},
		{"UTC", days.EachMonth, "2024-02-29T12:00:00Z", 202402, "2024-03-01T00:00:00Z"},
		{"UTC", days.EachWeek, "2026-11-29T12:00:00Z", 20261123, "2026-11-30T00:00:00Z"}, // a Sunday
		{"UTC", days.EachWeek, "2027-01-01T12:00:00Z", 20261228, "2027-01-04T00:00:00Z"},
		{"Europe/Berlin", days.EachDay, "2026-11-28T22:59:59Z", 20261128, "2026-11-28T23:00:00Z"},
		{"Europe/Berlin", days.EachDay, "2026-03-29T12:00:00Z", 20260329, "2026-03-29T22:00:00Z"}, // of 23 hours
		{"Europe/Berlin", days.EachMonth, "2026-10-31T22:59:59Z", 202610, "2026-10-31T23:00:00Z"},
		// Midnight does not exist: the day begins at one o'clock.
		{"America/Sao_Paulo", days.EachDay, "2018-11-04T02:59:59Z", 20181103, "2018-11-04T03:00:00Z"},
		// At midnight, clocks go back to 23:00: the hour is there twice, and belongs to the day before both times.
		{"America/Sao_Paulo", days.EachDay, "2018-02-18T02:30:00Z", 20180217, "2018-02-18T03:00:00Z"},
		// 30 December 2011 does not exist.
		{"Pacific/Apia", days.EachDay, "2011-12-30T09:59:59Z", 20111229, "2011-12-30T10:00:00Z"},
		// At 00:01, clocks go back to 23:01: the new day has begun, and stays.
		{"America/St_Johns", days.EachDay, "2010-11-07T02:45:00Z", 20101107, "2010-11-08T03:30:00Z"},
	} {
		at, err := time.Parse(time.RFC3339Nano, c.at)
		if err != nil {
			t.Fatal(err)
		}
		s := slotsOf(t, c.unit, c.zone)
		if slot, next := s.Of(at), s.Next(at).Format(time.RFC3339); slot != c.slot || next != c.next {
			t.Errorf("%s %s at %s: slot %d until %s, want %d until %s", c.zone, c.unit, c.at, slot, next, c.slot, c.next)
		}
	}
}

func BenchmarkSlot(b *testing.B) {
	s := slotsOf(b, days.EachWeek, "Europe/Berlin")
	at := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	b.ReportAllocs()
	for b.Loop() {
		s.Of(at)
	}
}
