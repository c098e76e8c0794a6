package events

import (
	"errors"
	"time"
)

// ErrTimeText is returned for a text that FormatTime would not have written.
var ErrTimeText = errors.New("not an RFC 3339 time in UTC with six decimals")

const timeLayout = "2006-01-02T15:04:05.000000Z"

// FormatTime returns t in the form in which facts store times and replies show them: RFC 3339 in UTC, cut to
// microseconds, always six decimals, so that the order of texts is the order of times. For years 0 to 9999.
func FormatTime(t time.Time) string { return t.UTC().Format(timeLayout) }

// ParseTime reads exactly what FormatTime writes. Error: ErrTimeText.
func ParseTime(s string) (time.Time, error) {
	t, err := time.Parse(timeLayout, s)
	if err != nil || FormatTime(t) != s {
		return time.Time{}, ErrTimeText
	}
	return t, nil
}
