package table

import "errors"

// What a store may answer besides the item asked for. The adapters translate the SDK's errors into these once, at
// their edge; the domain packages know no others. They are wrapped, so compare with errors.Is.
var (
	// ErrAbsent: the item is not there, by a strongly consistent read.
	ErrAbsent = errors.New("item is absent")
	// ErrExists: a write on the condition of absence found the item there; nothing was written.
	ErrExists = errors.New("item exists already")
	// ErrConflict: another transaction was under way on one of the items, or the version compared had changed. Nothing of
	// this attempt was written; it proves nothing about earlier attempts.
	ErrConflict = errors.New("conflicting write")
	// ErrThrottled: the store declined for its load; nothing of this attempt was written.
	ErrThrottled = errors.New("store is throttling")
	// ErrUnavailable: the store could not be reached, or a read failed; nothing of this attempt was written.
	ErrUnavailable = errors.New("store is unavailable")
	// ErrUnknownOutcome: a write was sent and no answer proves whether it was, or still will be, applied.
	ErrUnknownOutcome = errors.New("outcome of the write is unknown")
)
