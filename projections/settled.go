package projections

import (
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// SettledBefore returns the KSUID below which postings are settled for a reader that began at begun by its own clock
// and at storeTime by the store's. It trusts the earlier of the two clocks. Without the store's clock (zero) it returns
// "": nothing is settled.
func SettledBefore(begun, storeTime time.Time) events.KSUID {
	return trailingKSUID(begun, storeTime, store.SettleWindow)
}

// trailingKSUID returns the first KSUID of the instant that is trail before the earlier of both clocks. It returns ""
// if storeTime is zero.
func trailingKSUID(begun, storeTime time.Time, trail time.Duration) events.KSUID {
	if storeTime.IsZero() {
		return ""
	}
	if storeTime.Before(begun) {
		begun = storeTime
	}
	return events.FirstKSUID(begun.Add(-trail))
}
