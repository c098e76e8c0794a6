// Package days says when the days and the months of a time zone begin and end.
//
// A day ends where the next one begins, so that days leave no instant out and share none. It begins with the first
// instant at which a calendar of the zone shows it or a later one. That is not always midnight: clocks that are put
// forward at midnight begin the day at one o'clock. If they are put back across midnight, the day begins with the first
// of the two. A day that a zone skipped, as Pacific/Apia did 30 December 2011, is empty.
//
// [time.Date] does not do this: at a midnight that does not exist, it returns a time of the day before in zones west of
// Greenwich.
package days

import (
	"errors"
	"regexp"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // the zones, for systems that have none
)

// Day is a day of the calendar, without a zone.
type Day struct {
	utc time.Time // its midnight in UTC
}

const monthOnly = "2006-01"

// Parse parses a day such as 2026-01-31.
func Parse(text string) (Day, error) { return parse(time.DateOnly, text) }

// ParseMonth parses a month such as 2026-01, and returns its first day.
func ParseMonth(text string) (first Day, err error) { return parse(monthOnly, text) }

func parse(layout, text string) (Day, error) {
	utc, err := time.Parse(layout, text)
	if err != nil {
		example := time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)
		return Day{}, errors.New("must be like " + example.Format(layout))
	}
	return Day{utc}, nil
}

// String returns the day in the format of Parse.
func (d Day) String() string { return d.utc.Format(time.DateOnly) }

// Next returns the next day of the calendar.
func (d Day) Next() Day { return Day{d.utc.AddDate(0, 0, 1)} }

// NextMonth returns the same day of the next month. d must not be later than the 28th.
func (d Day) NextMonth() Day { return Day{d.utc.AddDate(0, 1, 0)} }

const (
	// offsetMax is more than any zone differs from UTC.
	offsetMax = 26 * time.Hour
	whole     = 24 * time.Hour
)

// last is the last second that RFC 3339 can write.
var last = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)

// Begin returns the first instant of the day in a zone, in UTC. It is at most the last second of the year 9999.
func (d Day) Begin(in *time.Location) time.Time {
	// Between two changes of the zone's offset, local time only grows. The day begins in the first of these periods
	// that reaches it: at its midnight, or with the period if that is later.
	for at := d.utc.Add(-offsetMax).In(in); ; {
		_, offset := at.Zone()
		begin := d.utc.Add(-time.Duration(offset) * time.Second)
		if begin.Before(at) {
			begin = at
		}
		until, isLast := endOfOffset(at)
		if begin.After(last) {
			return last
		}
		if isLast || begin.Before(until) {
			return begin.UTC()
		}
		at = until
	}
}

// endOfOffset returns a later time up to which the zone of at has the same offset, unless it is the last one.
func endOfOffset(at time.Time) (until time.Time, isLast bool) {
	_, until = at.ZoneBounds()
	if !until.IsZero() && !until.After(at) {
		// Beyond the listed changes, Go lets the offset of winter end 365 days after the year began in UTC. In leap
		// years, that is before the last day.
		until = at.Truncate(whole).Add(whole)
	}
	return until, until.IsZero()
}

// End returns the end of the day in a zone, in UTC: the first instant of the next day. It is the end of a period that
// includes the day.
func (d Day) End(in *time.Location) time.Time { return d.Next().Begin(in) }

// Of returns the day that a calendar of the time's zone shows.
func Of(at time.Time) Day {
	year, month, day := at.Date()
	return Day{time.Date(year, month, day, 0, 0, 0, 0, time.UTC)}
}

// zoneName matches the names of the IANA Time Zone Database, and no other file beside its zones.
var zoneName = regexp.MustCompile(`^[A-Z][A-Za-z0-9_+-]*(/[A-Z][A-Za-z0-9_+-]*)*$`)

// ErrZone says what a zone must be.
var ErrZone = errors.New("must be a name of the IANA Time Zone Database, such as Europe/Berlin or UTC")

// local is what package time calls the zone of this machine. With TZ, or without /etc/localtime, time.Local has another
// name, which is that of a zone.
const local = "Local"

// Zone returns a zone by its name in the IANA Time Zone Database. The zone of this machine, Local, is refused: the same
// request would mean another day elsewhere. Error: ErrZone.
func Zone(name string) (*time.Location, error) {
	if in, ok := loaded.Load(name); ok {
		return in.(*time.Location), nil
	}
	if zoneName.MatchString(name) && name != local {
		if in, err := time.LoadLocation(name); err == nil {
			loaded.Store(strings.Clone(name), in)
			return in, nil
		}
	}
	return nil, ErrZone
}

// loaded has the zones that were used, by name: LoadLocation reads them anew each time. There are some hundred.
var loaded sync.Map
