package days

import "time"

// Unit is a stretch of days that repeats.
type Unit string

// The units. A week begins on Monday.
const (
	EachDay   Unit = "day"
	EachWeek  Unit = "week"
	EachMonth Unit = "month"
)

// Slots number the units of a zone. As time goes on, numbers never fall, whatever the zone does with its clocks: they
// are those of days, which begin once each. See the package.
type Slots struct {
	Unit Unit
	In   *time.Location
}

// Of returns the number of the unit with an instant: 20261128 for a day, that of its Monday for a week, and 202611 for
// a month.
func (s Slots) Of(at time.Time) int64 {
	year, month, day := s.first(s.day(at)).utc.Date()
	number := int64(year)*100 + int64(month)
	if s.Unit == EachMonth {
		return number
	}
	return number*100 + int64(day)
}

// Begin returns when the unit with a number begins, in UTC. The number must be one of Of: no other has a meaning.
func (s Slots) Begin(number int64) time.Time {
	if s.Unit == EachMonth {
		number = number*100 + 1
	}
	year, month, day := int(number/10_000), time.Month(number/100%100), int(number%100)
	return Day{time.Date(year, month, day, 0, 0, 0, 0, time.UTC)}.Begin(s.In)
}

// Next returns when the next unit begins after that of an instant, in UTC.
func (s Slots) Next(at time.Time) time.Time {
	first := s.first(s.day(at))
	switch s.Unit {
	case EachMonth:
		first = first.NextMonth()
	case EachWeek:
		first = Day{first.utc.AddDate(0, 0, 7)}
	default:
		first = first.Next()
	}
	begin := first.Begin(s.In)
	if !begin.After(at) { // the zone skipped that day
		return s.Next(begin)
	}
	return begin
}

// day returns the day with an instant. It is not always the one that a calendar shows: clocks that are put back across
// midnight show the day before again.
func (s Slots) day(at time.Time) Day {
	d := Of(at.In(s.In))
	for !d.End(s.In).After(at) {
		d = d.Next()
	}
	return d
}

// first returns the first day of the unit with a day.
func (s Slots) first(d Day) Day {
	switch s.Unit {
	case EachMonth:
		return Day{d.utc.AddDate(0, 0, 1-d.utc.Day())}
	case EachWeek:
		return Day{d.utc.AddDate(0, 0, -(int(d.utc.Weekday())+6)%7)}
	}
	return d
}
