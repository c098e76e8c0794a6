package events

import (
	"errors"
	"strings"
	"time"
)

// ErrTimeText is the error for a text that is not in the form of FormatTime.
var ErrTimeText = errors.New("not an RFC 3339 time in UTC with six decimals")

const timeLayout = "2006-01-02T15:04:05.000000Z"

// FormatTime formats t for events and replies: RFC 3339 in UTC, cut to microseconds, always with six decimals, so that
// the texts sort by time. The year must be 0 to 9999.
func FormatTime(t time.Time) string { return t.UTC().Format(timeLayout) }

// ParseTime parses the form of FormatTime, and no other. It allocates nothing. Error: ErrTimeText.
func ParseTime(s string) (time.Time, error) {
	t, err := time.Parse(timeLayout, s)
	var again [2 * len(timeLayout)]byte // it is longer while it is formatted
	if err != nil || string(t.UTC().AppendFormat(again[:0], timeLayout)) != s {
		return time.Time{}, ErrTimeText
	}
	return t, nil
}

// ReadTime reads a time as people and callers give it: RFC 3339, with any offset from -23:59 to +23:59. The parser of
// package time also accepts hours of one digit, a comma before the fraction, and offsets of 24 hours or 60 minutes.
func ReadTime(s string) (t time.Time, ok bool) {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil || s[len("2006-01-02T15")] != ':' || strings.Contains(s, ",") {
		return time.Time{}, false
	}
	if last := len(s) - 1; s[last] != 'Z' && (s[last-4:last-2] > "23" || s[last-1:] > "59") {
		return time.Time{}, false
	}
	return t, true
}
