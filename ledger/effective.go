package ledger

import (
	"context"
	"fmt"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// EffectiveAge is how far in the past an effective date must be by the process's clock: the settle window and the clock
// tolerance. So the postings are settled when they are committed, and the first refold that counts them can move the
// seal past them.
const EffectiveAge = store.SettleWindow + clockTolerance

// The rules of an effective date, in words for callers.
var (
	ruleEarliest = "must not be before " + events.Epoch().Format(time.RFC3339)
	rulePast     = fmt.Sprintf("must be at least %.0f seconds in the past", EffectiveAge.Seconds())
)

// effective returns the requested effective date as events store it, zero for none.
func (a Annotation) effective() time.Time {
	if a.EffectiveAt == nil {
		return time.Time{}
	}
	return a.EffectiveAt.UTC().Round(0).Truncate(time.Microsecond)
}

// effectiveDateViolation returns the rule that an effective date breaks by itself, "" if none.
func (a Annotation) effectiveDateViolation() string {
	switch {
	case a.EffectiveAt == nil:
	case a.Hold != nil:
		return "must not be given for a hold"
	case a.EffectiveAt.Before(events.Epoch()):
		return ruleEarliest
	}
	return ""
}

// isPast reports whether an effective date is far enough in the past.
func isPast(effective, now time.Time) bool { return now.Sub(effective) >= EffectiveAge }

// checkEffectiveDate checks that the requested effective date is far enough in the past. It depends on the clock, so
// its refusal does not apply to a request that was posted before. Errors: CodeInvalidRequest, CodeUnavailable.
func (l *Ledger) checkEffectiveDate(ctx context.Context, a Annotation) *Error {
	if a.EffectiveAt == nil {
		return nil
	}
	if !isPast(a.effective(), l.instant()) {
		if _, err := l.checkClock(ctx, ""); err != nil { // the date may be old enough by a correct clock
			return asError(err)
		}
		return invalidRequest(FieldError{Field: Field{Name: "effective_at"}, Rule: rulePast})
	}
	return nil
}

// backdate mints the KSUIDs of a header for its effective date, and sets its recording time. Errors: those of mint.
func (l *Ledger) backdate(ctx context.Context, header *events.TransactionPosted, effective time.Time) error {
	db, err := l.checkClock(ctx, header.Legs[0].Account)
	if err != nil {
		return err
	}
	header.RecordedAt = l.instant()
	ids, err := l.minter.MintAt(effective, len(header.Legs))
	if err != nil || !isPast(effective, header.RecordedAt) { // the clock went back after checkEffectiveDate
		return l.clockError(ctx, "no KSUID can be minted", header.RecordedAt, db, err)
	}
	for i := range header.Legs {
		header.Legs[i].ID = ids[i]
	}
	return nil
}
