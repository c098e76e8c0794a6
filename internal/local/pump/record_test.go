package pump

import (
	"testing"
	"time"
)

func TestLatestCreationTime(t *testing.T) {
	minute := time.Date(2026, 11, 21, 9, 6, 0, 0, time.UTC)
	at := func(d time.Duration) time.Time { return minute.Add(d) }
	tests := map[string]struct{ given, seen, want time.Time }{
		"to the second, as AWS has it":        {at(17 * time.Second), at(20 * time.Second), at(17 * time.Second)},
		"to the minute, seen within it":       {minute, at(20*time.Second + 7), at(20*time.Second + 7)},
		"to the minute, seen long after":      {minute, at(time.Hour), at(time.Minute)},
		"to the minute, by a clock behind it": {minute, at(-time.Second), at(time.Minute)},
	}
	for name, tt := range tests {
		if got := latestCreationTime(tt.given, tt.seen); !got.Equal(tt.want) {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}
