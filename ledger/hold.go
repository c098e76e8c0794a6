package ledger

import (
	"fmt"
	"time"

	"ledger.example/events"
)

// holdDays is how many days a hold is open if the request gives no time of expiry.
const holdDays = 7

const day = 24 * time.Hour

// expiry returns the time of expiry of a hold that is placed now, as events store it. Error: CodeInvalidRequest. It
// depends on the clock, so its refusal does not apply to a request that was posted before.
func (h HoldRequest) expiry(now time.Time) (time.Time, *Error) {
	if h.ExpiresAt == nil {
		return now.Add(holdDays * day), nil
	}
	at := h.ExpiresAt.UTC().Round(0).Truncate(time.Microsecond)
	if at.After(now) && !at.After(now.Add(events.HoldDaysMax*day)) {
		return at, nil
	}
	return time.Time{}, invalidRequest(FieldError{
		Field: EntryField("hold", "expires_at"),
		Rule:  fmt.Sprintf("must be after now and at most %d days ahead", events.HoldDaysMax),
	})
}
