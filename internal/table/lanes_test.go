package table

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ledger.example/events"
)

// Ids of every usual form lie evenly in the lanes, also those whose characters are alike.
func TestLanesAreEven(t *testing.T) {
	forms := map[string]func(int) string{
		"numbers":      strconv.Itoa,
		"padded":       func(n int) string { return fmt.Sprintf("order-%08d", n) },
		"pairs":        func(n int) string { return strings.Repeat(fmt.Sprintf("%06x", n), 2) },
		"even numbers": func(n int) string { return fmt.Sprint("t:", 2*n) },
		"KSUIDs": func(n int) string {
			return string(events.FirstKSUID(time.Unix(1_795_000_000, int64(n)*1_000_000)))
		},
	}
	const each = 64
	for name, id := range forms {
		for _, lanes := range []int{2, 4, 32, 256} {
			in := make(map[string]int)
			for n := range each * lanes {
				in[Lane(id(n), lanes)]++
			}
			for l, n := range in {
				if n > 2*each || len(in) != lanes || !isLane(l) {
					t.Errorf("%s: %d of %d in lane %s; %d lanes are used", name, n, each*lanes, l, len(in))
				}
			}
		}
	}
}

// A lane stays, or its half moves to the lane that is new.
func TestLanesSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id, n := ids().Draw(t, "id"), 1<<rapid.IntRange(0, 7).Draw(t, "lanes")
		few, _ := strconv.Atoi(Lane(id, n))
		many, _ := strconv.Atoi(Lane(id, 2*n))
		if few != many%n {
			t.Errorf("%s is in lane %d of %d, and in lane %d of %d", id, few, n, many, 2*n)
		}
	})
}

// logTable is a table with a log of growths, and a clock.
type logTable struct {
	Table
	grown []events.LanesGrown
	at    time.Time
	reads int
	err   error
}

func (l *logTable) Query(_ context.Context, q Query) (Page, error) {
	l.reads++
	if q.Partition != "LANES" || q.Consistency != Strong {
		return Page{}, fmt.Errorf("query %+v", q)
	}
	page := Page{At: l.at}
	for _, g := range l.grown {
		page.Items = append(page.Items, EventItem(g))
	}
	return page, l.err
}

// A writer's log serves times that no growth decided later can concern, and is read again for others. A reader's is at
// most a minute old, and has growths that are not in force yet.
func TestLaneLogIsReadInTime(t *testing.T) {
	morning := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	l := &logTable{at: morning}
	now := morning
	log := NewLaneLog(l, func() time.Time { return now })
	expect := func(what string, got Lanes, err error, at time.Time, lanes, largest, reads int) {
		t.Helper()
		if err != nil || got.At(at) != lanes || got.Largest() != largest || len(got.All()) != largest || l.reads != reads {
			t.Errorf("%s: %v, %d lanes of %d after %d reads", what, err, got.At(at), got.Largest(), l.reads)
		}
	}
	through := func(what string, at time.Time, lanes, largest, reads int) {
		t.Helper()
		got, err := log.Through(t.Context(), at)
		expect(what, got, err, at, lanes, largest, reads)
	}
	recent := func(what string, lanes, largest, reads int) {
		t.Helper()
		got, err := log.Recent(t.Context())
		expect(what, got, err, now, lanes, largest, reads)
	}
	through("the first", morning, 1, 1, 1)
	through("known", morning.Add(LanesGood-1), 1, 1, 1)
	through("long ago", time.Time{}, 1, 1, 1)
	recent("recent", 1, 1, 1)

	l.grown = []events.LanesGrown{{Number: 1, Lanes: 4, From: morning.Add(LanesLead)}}
	now, l.at = now.Add(59*time.Second), l.at.Add(59*time.Second)
	recent("not a minute old", 1, 1, 1)
	now, l.at = now.Add(time.Second), l.at.Add(time.Second)
	recent("a minute old", 1, 4, 2)
	through("beyond the first read", morning.Add(LanesGood), 1, 4, 2)
	now, l.at = now.Add(time.Hour), l.at.Add(time.Hour)
	through("before the growth", morning.Add(LanesLead-1), 1, 4, 3)
	through("in force", morning.Add(LanesLead), 4, 4, 3)
	now = now.Add(-2 * time.Hour)
	recent("the clock went back", 1, 4, 4)

	if _, err := log.Through(t.Context(), l.at.Add(LanesGood)); !errors.Is(err, ErrMalformedItem) {
		t.Errorf("in the future: %v", err)
	}
	l.err = ErrThrottled
	if _, err := log.Through(t.Context(), l.at.Add(LanesGood)); !errors.Is(err, ErrThrottled) {
		t.Errorf("throttled: %v", err)
	}
	l.err, l.at = nil, time.Time{}
	if _, err := NewLaneLog(l, nil).Recent(t.Context()); !errors.Is(err, ErrUnavailable) {
		t.Errorf("without a clock: %v", err)
	}
}

// Largest and At know each growth, and no time takes a lane away.
func TestLanesOnlyGrow(t *testing.T) {
	morning := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	l := LanesOf(
		events.LanesGrown{Number: 1, Lanes: 2, From: morning},
		events.LanesGrown{Number: 2, Lanes: 32, From: morning},
		events.LanesGrown{Number: 3, Lanes: 64, From: morning.Add(time.Hour)},
	)
	var got []int
	for _, at := range []time.Duration{-1, 0, time.Hour - 1, time.Hour, 1e6 * time.Hour} {
		got = append(got, l.At(morning.Add(at)))
	}
	if want := []int{1, 32, 32, 64, 64}; !slices.Equal(got, want) || l.Largest() != 64 {
		t.Errorf("%v lanes, %d at most", got, l.Largest())
	}
}
