package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
)

// EffectiveAge is how far in the past an effective date must be by the process's clock: the settle window and the clock
// tolerance. So the postings are settled when they are committed, and the first refold that counts them can move the
// seal past them.
const EffectiveAge = table.SettleWindow + clockTolerance

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

// backdate mints the KSUIDs of a header for its effective date, and sets its recording time. They are greater than
// after, which has no later time. Errors: those of mint.
func (l *Ledger) backdate(
	ctx context.Context, header *events.TransactionPosted, effective time.Time, after events.KSUID,
) error {
	db, err := l.checkClock(ctx, header.Legs[0].Account)
	if err != nil {
		return err
	}
	header.RecordedAt = l.instant()
	ids, err := l.minter.MintAt(effective, len(header.Legs), after)
	if err != nil || !isPast(effective, header.RecordedAt) { // the clock went back after the decision
		return l.clockError(ctx, "no KSUID can be minted", header.RecordedAt, db, err)
	}
	for i := range header.Legs {
		header.Legs[i].ID = ids[i]
	}
	return nil
}

// A closed period is a numbered log of its own, without an account. The command of a backdated request reads the newest
// once, and the header has the number. Nobody else reads it: a period can be closed only when it has been over for
// PeriodAge, so no other posting falls into it.
//
// The transaction of a backdated request does not check the log, so an attempt that began before the closing may be
// applied after it. That takes far less than events.FinalAfter.

// PeriodAge is how long a period must be over before it is closed, by the store's clock.
const PeriodAge = events.FinalAfter

// RuleNext is the rule of a closing's number.
const RuleNext = "must be the next number"

const ruleOver = "must be at least 5 minutes ago"

// ClosePeriod asks to close the books before a time.
type ClosePeriod struct {
	Number int64     // 1 more than that of the newest closing
	Before time.Time // at least PeriodAge ago; before the newest closing's, it opens what is after it
	Reason string    // 1 to events.DescriptionChars characters
	Actor  string    // who sends the request, 1 to events.ActorChars characters
}

// Shape returns the fields that are invalid by themselves; nil if there are none.
func (r ClosePeriod) Shape() []FieldError {
	var f faults
	if r.Number < 1 || r.Number > events.MemberNumberMax {
		f.check(Field{Name: "number"}, RuleNext)
	}
	if r.Before.Before(events.Epoch()) {
		f.check(Field{Name: "closed_before"}, ruleEarliest)
	}
	f.check(Field{Name: "reason"}, textViolation(r.Reason, 1, events.DescriptionChars))
	return f
}

// ClosePeriod closes the books before a time, or opens them from an earlier time on. created is false if the number was
// used before with the same body. Errors: CodeInvalidRequest, CodePeriodExists, CodeInvalidPeriod, CodeThrottled,
// CodeContention, CodeUnavailable, CodeOutcomeUnknown.
func (l *Ledger) ClosePeriod(ctx context.Context, r ClosePeriod) (
	closed events.PeriodClosed, created bool, err error,
) {
	c, cancel, err := startCommand(ctx, r.Shape(), r.Actor)
	if err != nil {
		return closed, false, err
	}
	defer cancel()
	r.Before = r.Before.UTC().Round(0).Truncate(time.Microsecond)
	closed, err = readEvent[events.PeriodClosed](c, l, table.Period.Key(table.Number(r.Number)))
	switch {
	case errors.Is(err, table.ErrAbsent):
	case err != nil:
		return closed, false, asError(err)
	default:
		return closed, false, r.differs(closed)
	}
	newest, err := l.newestPeriod(c)
	switch {
	case err != nil:
		return closed, false, asError(err)
	case r.Number > newest.Number+1: // what was closed meanwhile is answered below
		return closed, false, invalidPeriod("number", RuleNext)
	}
	db, err := l.checkClock(c, "")
	if err != nil {
		return closed, false, err
	}
	if r.Before.After(db.Add(-PeriodAge)) {
		return closed, false, invalidPeriod("closed_before", ruleOver)
	}
	wanted := events.PeriodClosed{
		Number: r.Number, Before: r.Before, Reason: r.Reason, Actor: r.Actor, At: l.instant(),
	}
	if closed, created, err = putDefinition(c, l, wanted); err != nil {
		return closed, false, err
	}
	if !created {
		err = r.differs(closed)
	}
	return closed, created, err
}

// differs returns CodePeriodExists if a period was closed otherwise than r asks.
func (r ClosePeriod) differs(stored events.PeriodClosed) error {
	var different []string
	if !stored.Before.Equal(r.Before) {
		different = append(different, "closed_before")
	}
	if stored.Reason != r.Reason {
		different = append(different, "reason")
	}
	if refused := definedOtherwise(CodePeriodExists, "period was closed", different); refused != nil {
		return refused
	}
	return nil
}

func invalidPeriod(field, rule string) *Error {
	return refuse(CodeInvalidPeriod, "The period cannot be closed.", FieldError{Field: Field{Name: field}, Rule: rule})
}

// newestPeriod reads the newest closing, strongly consistent; it has the number 0 if there is none.
func (l *Ledger) newestPeriod(ctx context.Context) (events.PeriodClosed, error) {
	return newest[events.PeriodClosed](ctx, l, table.Period.PK(), table.Period.All())
}

// closing is the newest closing of the books, as a command read it.
type closing struct {
	newest events.PeriodClosed
	err    error
}

// readPeriod reads the newest closing, once for a command. All its attempts go by this closing: they are made before
// the command's deadline, so what it read is young. It is not safe for concurrent use: a batch calls it first.
func (c *command) readPeriod(l *Ledger) *closing {
	if c.period == nil {
		c.period = &closing{}
		c.period.newest, c.period.err = l.newestPeriod(c)
	}
	return c.period
}

// openPeriod returns the number of the newest closing, or CodePeriodClosed for an effective date in a closed period.
// Other errors are those of the read.
func (c *command) openPeriod(l *Ledger, effective time.Time) (int64, error) {
	p := c.readPeriod(l)
	if p.err != nil || !effective.Before(p.newest.Before) {
		return p.newest.Number, p.err
	}
	before := events.FormatTime(p.newest.Before)
	return p.newest.Number, refuse(CodePeriodClosed, "The books are closed before "+before+".",
		FieldError{Field: Field{Name: "effective_at"}, Rule: "must not be before " + before})
}

func isPeriodClosed(err error) bool {
	refused, ok := errors.AsType[*Error](err)
	return ok && refused.Code == CodePeriodClosed
}
