package projections

import (
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
)

// SettledBefore returns the KSUID below which postings are settled for a reader that began at begun by its own clock
// and at storeTime by the store's. The earlier counts. Without the store's clock nothing is settled.
func SettledBefore(begun, storeTime time.Time) events.KSUID {
	return before(begun, storeTime, table.SettleWindow)
}

// before returns the first KSUID of the instant that is by so much earlier than both clocks, "" without the store's.
func before(begun, storeTime time.Time, trail time.Duration) events.KSUID {
	if storeTime.IsZero() {
		return ""
	}
	if storeTime.Before(begun) {
		begun = storeTime
	}
	return events.FirstKSUID(begun.Add(-trail))
}
