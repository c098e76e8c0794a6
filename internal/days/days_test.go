package days

import (
	"archive/zip"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ledger.example/tests/harness/full"
)

// zones returns the names of all zones that Go knows.
func zones(t *testing.T) (names []string) {
	t.Helper()
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	all, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	for _, f := range all.File {
		if !strings.HasSuffix(f.Name, "/") {
			names = append(names, f.Name)
		}
	}
	if len(names) < 500 {
		t.Fatalf("only %d zones", len(names))
	}
	return names
}

// dayOf returns the local date of an instant as a number, such as 20260131.
func dayOf(at time.Time, in *time.Location) int {
	year, month, day := at.In(in).Date()
	return year*10_000 + int(month)*100 + day
}

// check compares the beginning of a day with the definition: it is the smallest instant whose local date is the day, or
// a later one if the day was skipped. It tries all quarters of an hour before, and the last nanosecond.
func check(t interface{ Fatalf(string, ...any) }, d Day, in *time.Location) {
	begin, number := d.Begin(in), dayOf(d.utc, time.UTC)
	if got := dayOf(begin, in); got < number {
		t.Fatalf("%s in %s: %s shows %d", d, in, begin, got)
	}
	for before := d.utc.Add(-36 * time.Hour); before.Before(begin); before = before.Add(15 * time.Minute) {
		if got := dayOf(before, in); got >= number {
			t.Fatalf("%s in %s begins at %s, but already %s shows %d", d, in, begin, before, got)
		}
	}
	if got := dayOf(begin.Add(-1), in); got >= number {
		t.Fatalf("%s in %s begins at %s, but the instant before shows %d", d, in, begin, got)
	}
	if end := d.End(in); !end.Equal(d.Next().Begin(in)) || end.Before(begin) ||
		!end.Equal(begin) != (dayOf(begin, in) == number) {
		t.Fatalf("%s in %s is from %s to %s", d, in, begin, end)
	}
}

// In every zone, random days and the days around every change of the offset in many years begin with their first
// instant.
func TestDaysBeginWithTheirFirstInstant(t *testing.T) {
	since, until := 2014, 2042 // the changes of later years follow one rule for each zone
	if full.Enabled() {
		since, until = 1840, 2110
	}
	for _, name := range zones(t) {
		in, err := Zone(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		at := time.Date(since, 1, 1, 0, 0, 0, 0, in)
		for isLast := false; !isLast && at.Year() < until; at, isLast = endOfOffset(at) {
			d := Of(at)
			for _, near := range []int{-2, -1, 0, 1, 2} {
				check(t, Day{d.utc.AddDate(0, 0, near)}, in)
			}
		}
	}
	all := zones(t)
	rapid.Check(t, func(t *rapid.T) {
		in, err := Zone(rapid.SampledFrom(all).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		day := rapid.IntRange(-50_000, 150_000).Draw(t, "days since 1970")
		check(t, Day{time.Unix(int64(day)*86_400, 0).UTC()}, in)
	})
}

// The days and months without a usual midnight that are known.
func TestKnownDays(t *testing.T) {
	for _, c := range []struct{ zone, day, begin, end string }{
		{"UTC", "2026-01-31", "2026-01-31T00:00:00Z", "2026-02-01T00:00:00Z"},
		{"Europe/Berlin", "2026-03-29", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"},
		{"America/Asuncion", "2023-09-30", "2023-09-30T04:00:00Z", "2023-10-01T04:00:00Z"}, // no midnight on 1 October
		{"America/Santiago", "2023-09-02", "2023-09-02T04:00:00Z", "2023-09-03T04:00:00Z"},
		{"America/Havana", "2024-03-09", "2024-03-09T05:00:00Z", "2024-03-10T05:00:00Z"},
		{"America/Havana", "2024-11-03", "2024-11-03T04:00:00Z", "2024-11-04T05:00:00Z"}, // midnight twice
		{"Atlantic/Azores", "2024-03-31", "2024-03-31T01:00:00Z", "2024-04-01T00:00:00Z"},
		{"America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"},
		{"Africa/Cairo", "2024-04-26", "2024-04-25T22:00:00Z", "2024-04-26T21:00:00Z"}, // east of Greenwich
		{"America/St_Johns", "2010-11-07", "2010-11-07T02:30:00Z", "2010-11-08T03:30:00Z"},
		{"Europe/Berlin", "2040-12-31", "2040-12-30T23:00:00Z", "2040-12-31T23:00:00Z"}, // the end of a leap year
		{"Pacific/Auckland", "2096-12-31", "2096-12-30T11:00:00Z", "2096-12-31T11:00:00Z"},
		{"UTC", "9999-12-31", "9999-12-31T00:00:00Z", "9999-12-31T23:59:59Z"},
		{"Pacific/Apia", "2011-12-29", "2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z"},
		{"Pacific/Apia", "2011-12-30", "2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z"}, // skipped
		{"Pacific/Apia", "2011-12-31", "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z"},
	} {
		in, err := Zone(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		d, err := Parse(c.day)
		if err != nil || d.String() != c.day {
			t.Fatal(d, err)
		}
		begin, end := d.Begin(in).Format(time.RFC3339), d.End(in).Format(time.RFC3339)
		if begin != c.begin || end != c.end {
			t.Errorf("%s in %s: %s to %s, want %s to %s", c.day, c.zone, begin, end, c.begin, c.end)
		}
		if d.utc.Year() < 9999 {
			check(t, d, in)
		}
	}
	first, err := ParseMonth("2023-12")
	if next := first.NextMonth(); err != nil || first.String() != "2023-12-01" || next.String() != "2024-01-01" {
		t.Errorf("%s to %s, %v", first, next, err)
	}
}

// What is no IANA name is no zone, even if this machine has a file of that name.
func TestZonesAreNames(t *testing.T) {
	for _, name := range []string{"", "Local", "local", "localtime", "posixrules", "right/UTC", "posix/UTC", "utc",
		"Europe/Nowhere", "Europe/", "../UTC", "/UTC", "Europe//Berlin", "+01:00", " UTC", "UTC\n", "MEZ"} {
		if in, err := Zone(name); !errors.Is(err, ErrZone) {
			t.Errorf("%q: %v, %v", name, in, err)
		}
	}
}

// What is no day is refused.
func TestWhatIsNoDay(t *testing.T) {
	for _, text := range []string{"", "2026-1-31", "2026-02-30", "2026-01", "20260131", "2026-01-31T00:00:00Z"} {
		if d, err := Parse(text); err == nil {
			t.Errorf("%q is %s", text, d)
		}
	}
	if d, err := ParseMonth("2026-13"); err == nil {
		t.Errorf("it is %s", d)
	}
}

// The zone of this machine has the name of a zone where TZ names it, and is UTC in a container without /etc/localtime.
func TestZoneOfThisMachine(t *testing.T) {
	before := time.Local
	t.Cleanup(func() { time.Local = before })
	for _, name := range []string{"Europe/Berlin", "UTC"} {
		var err error
		if time.Local, err = time.LoadLocation(name); err != nil {
			t.Fatal(err)
		}
		if _, err := Zone(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := Zone("Local"); err == nil {
			t.Error("Local is a zone")
		}
	}
}
