package ledger

import (
	"fmt"
	"time"

	"ledger.example/events"
)

// holdDays is how many days a hold is open unless the request says until when.
const holdDays = 7

const day = 24 * time.Hour

// expires returns when a hold that is placed now expires, in the form that events store. Error: CodeInvalidRequest. It
// depends on the clock, so it is judged after the id: a request that was carried out before is answered as it was then.
func (h HoldRequest) expiry(now time.Time) (time.Time, *Error) {
	if h.ExpiresAt == nil {
		return now.Add(holdDays * day), nil
	}
	at := h.ExpiresAt.UTC().Round(0).Truncate(time.Microsecond)
	if at.After(now) && !at.After(now.Add(events.HoldDaysMax*day)) {
		return at, nil
	}
	return time.Time{}, invalidRequest([]FieldError{{
		Field: EntryField("hold", "expires_at"),
		Rule:  fmt.Sprintf("must be after now and at most %d days ahead", events.HoldDaysMax),
	}})
}

// mayWriteLife returns nil if this ledger may write the stored forms of holds, of their ends, of reversals, of changes,
// of groups and of effective dates. Otherwise older code still reads the table, which would not understand them:
// CodeUnavailable.
func (l *Ledger) checkNewestForm() *Error {
	if l.newestForm >= events.NewestForm {
		return nil
	}
	return &Error{
		Code: CodeUnavailable, RetryAfter: time.Minute,
		Detail: fmt.Sprintf("The ledger's parameter NewestForm is %d: no holds, reversals, changes of accounts or "+
			"groups, and no effective dates are written yet. Nothing was written.", l.newestForm),
	}
}
