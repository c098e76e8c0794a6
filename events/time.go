package events

import (
	"errors"
	"time"
)

// ErrTimeText is the error for a text that is not in the form of FormatTime.
var ErrTimeText = errors.New("not an RFC 3339 time in UTC with six decimals")

const timeLayout = "2006-01-02T15:04:05.000000Z"

// FormatTime formats t for events and replies: RFC 3339 in UTC, cut to microseconds, always with six decimals, so that
// the texts sort by time. The year must be 0 to 9999.
func FormatTime(t time.Time) string { return t.UTC().Format(timeLayout) }

// ParseTime parses the form of FormatTime, and no other. Error: ErrTimeText.
func ParseTime(s string) (time.Time, error) {
	t, err := time.Parse(timeLayout, s)
	if err != nil || FormatTime(t) != s {
		return time.Time{}, ErrTimeText
	}
	return t, nil
}
