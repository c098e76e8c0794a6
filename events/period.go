package events

import "time"

// FinalAfter is how long after the closing of a period a transaction may still be recorded in it, because it was
// decided before. It is far more than a command takes.
const FinalAfter = 5 * time.Minute

// PeriodClosed: the books before a time were closed. Nothing is posted with an effective date before that time. The one
// with the highest Number counts. It may have an earlier time, which opens what is after it again.
type PeriodClosed struct {
	Number int64     `stored:"number"`      // 1, 2 … MemberNumberMax
	Before time.Time `stored:"time"`        // UTC, whole microseconds
	Reason string    `stored:"description"` // 1 to DescriptionChars characters
	Actor  string    `stored:"actor"`       // who closed it, 1 to ActorChars characters
	At     time.Time `stored:"time"`        // UTC, whole microseconds; set by the command
}

// EventName implements Event.
func (PeriodClosed) EventName() string { return "PeriodClosed" }

func (PeriodClosed) check() (field, rule string) { return "", "" }

// FinalAt returns the time from which on nothing is recorded before e.Before, unless the period was opened again.
func (e PeriodClosed) FinalAt() time.Time { return e.At.Add(FinalAfter) }
