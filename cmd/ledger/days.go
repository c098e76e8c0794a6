package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/internal/days"
)

// The zone of the days and months on the command line, and the environment variable that is its default.
const (
	flagZone     = "zone"
	zoneVariable = "LEDGER_ZONE"
	defaultZone  = "UTC"
)

// zoneFlag adds --zone, unless the command has it.
func (env *environment) zoneFlag(f *pflag.FlagSet) {
	if f.Lookup(flagZone) != nil {
		return
	}
	env.zone = defaultZone
	usage := "time zone of days, months and the times in tables, such as Europe/Berlin; or set " + zoneVariable
	textFlag(f, &env.zone, flagZone, usage, func(text string) error {
		_, err := days.Zone(text)
		return err
	})
}

// setDays sets the targets of flags that were given days. They begin and end in the zone of --zone, which may follow
// them on the command line. Tables have their times in it, too.
func (env *environment) setDays(flags *pflag.FlagSet, getenv func(string) string) error {
	zone := flags.Lookup(flagZone)
	if zone == nil {
		return nil
	}
	if name := getenv(zoneVariable); name != "" && !zone.Changed {
		if err := zone.Value.Set(name); err != nil {
			return fmt.Errorf("%s: %q %w", zoneVariable, name, err)
		}
	}
	in, err := days.Zone(env.zone)
	if err != nil {
		return err
	}
	env.screen.zone = in
	for _, set := range env.given {
		if err := set(in); err != nil {
			return err
		}
	}
	return nil
}

// beginOf returns the first instant of a day.
func beginOf(day days.Day, in *time.Location) time.Time { return day.Begin(in) }

// atFlag adds --at, which includes what was posted at that time, or until the end of that day.
func (env *environment) atFlag(f *pflag.FlagSet, target *time.Time, usage string) {
	last := func(day days.Day, in *time.Location) time.Time { return client.LastBefore(day.End(in)) }
	env.timeFlag(f, target, "at", last, usage)
}

// periodFlags adds --from and --to, the period in which something was posted. to is exclusive; a day is included.
func (env *environment) periodFlags(f *pflag.FlagSet, from, to *time.Time) {
	env.timeFlag(f, from, "from", beginOf, "posted at this time or later")
	env.timeFlag(f, to, "to", days.Day.End, "posted before this time, or until the end of this day")
}

// checkPeriod validates a period of periodFlags.
func checkPeriod(from, to time.Time) error {
	if !to.IsZero() && !from.Before(to) {
		return usageErrorf("--from must be earlier than --to")
	}
	return nil
}

// timeFlag adds a flag for a time, or for a day, of which ofDay returns the time that it means. The help shows no
// default.
func (env *environment) timeFlag(
	f *pflag.FlagSet, target *time.Time, name string, ofDay func(days.Day, *time.Location) time.Time, usage string,
) {
	env.givenFlag(f, name, usage, func(text string) (setter, error) {
		at, ok := timeOf(text, ofDay)
		if !ok {
			return nil, errors.New("must be like 2026-01-31T12:00:00Z or 2026-01-31")
		}
		return func(in *time.Location) error {
			*target = at(in)
			return nil
		}, nil
	})
}

// timeOf parses a time, or a day, of which ofDay returns the time that it means.
func timeOf(
	text string, ofDay func(days.Day, *time.Location) time.Time,
) (at func(in *time.Location) time.Time, ok bool) {
	if at, err := parseTime(text); err == nil {
		return func(*time.Location) time.Time { return given(at) }, true
	}
	day, err := days.Parse(text)
	return func(in *time.Location) time.Time { return given(ofDay(day, in)) }, err == nil
}

// given returns at, or one nanosecond later if it is the zero time, which means that a flag is not given.
func given(at time.Time) time.Time {
	if at.IsZero() {
		return at.Add(time.Nanosecond)
	}
	return at
}

// dayFlag adds a flag for a day without a time. set gets the day and its zone.
func (env *environment) dayFlag(f *pflag.FlagSet, name, usage string, set func(days.Day, *time.Location) error) {
	env.givenFlag(f, name, usage, func(text string) (setter, error) {
		day, err := days.Parse(text)
		return func(in *time.Location) error { return set(day, in) }, err
	})
}

// monthFlag adds a flag for a month. It sets the month's beginning and its end.
func (env *environment) monthFlag(f *pflag.FlagSet, from, to *time.Time, name, usage string) {
	env.givenFlag(f, name, usage, func(text string) (setter, error) {
		first, err := days.ParseMonth(text)
		return func(in *time.Location) error {
			*from, *to = given(first.Begin(in)), first.NextMonth().Begin(in)
			return nil
		}, err
	})
}

// setter sets the target of a flag once the zone is known.
type setter func(in *time.Location) error

// givenFlag adds a flag, and --zone.
func (env *environment) givenFlag(f *pflag.FlagSet, name, usage string, parse func(text string) (setter, error)) {
	env.zoneFlag(f)
	f.Var(checked[string]{new(string), "time", func(text string) (string, error) {
		set, err := parse(strings.TrimSpace(text))
		if err == nil {
			env.given = append(env.given, set)
		}
		return text, err
	}}, name, usage)
}

// withoutSeconds is a form of times that only the command line takes.
const withoutSeconds = "2006-01-02T15:04Z07:00"

// parseTime parses a time of RFC 3339, which needs no seconds.
func parseTime(text string) (time.Time, error) {
	if at, isTime := events.ReadTime(text); isTime {
		return at, nil
	}
	return time.Parse(withoutSeconds, text)
}
