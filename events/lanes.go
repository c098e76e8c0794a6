package events

import (
	"math/bits"
	"time"
)

// LanesMax is the maximum number of lanes.
const LanesMax = 256

// LanesGrown: from a time on, each ledger-wide list is spread over more partition keys, its lanes. There is one lane
// before the first growth. The growths are a numbered log, and lanes are never taken away.
type LanesGrown struct {
	Number int64     `stored:"number"` // 1, 2 …
	Lanes  int       `stored:"lanes"`  // a power of two from 2 to LanesMax, above that of the growth before
	From   time.Time `stored:"time"`   // UTC, whole microseconds; not before that of the growth before
}

// EventName implements Event.
func (LanesGrown) EventName() string { return "LanesGrown" }

func (e LanesGrown) check() (field, rule string) {
	if bits.OnesCount(uint(e.Lanes)) != 1 {
		return "Lanes", "is not a power of two"
	}
	return "", ""
}
