// Package store has the errors of a store, and its clock. The DynamoDB adapters translate the SDK's errors into these,
// and packages ledger and projections handle no others. They are wrapped: compare them with errors.Is.
package store

import "errors"

var (
	// ErrAbsent: the item is not there, by a strongly consistent read.
	ErrAbsent = errors.New("item is absent")
	// ErrExists: a write on the condition of absence found the item there; nothing was written.
	ErrExists = errors.New("item exists already")
	// ErrConflict: another transaction was in progress on one of the items, or the version compared had changed.
	// Nothing of this attempt was written; it proves nothing about earlier attempts.
	ErrConflict = errors.New("conflicting write")
	// ErrOutdated: something that the write relies on is the newest no more. Nothing of this attempt was written; of
	// earlier ones it proves that as soon as it is said a second time.
	ErrOutdated = errors.New("what the write relies on is outdated")
	// ErrThrottled: the store rejected the request because of its load; nothing of this attempt was written.
	ErrThrottled = errors.New("store is throttling")
	// ErrUnavailable: the store could not be reached, or a read failed; nothing of this attempt was written.
	ErrUnavailable = errors.New("store is unavailable")
	// ErrMalformedItem: an item is not one that this code would have stored. Another attempt reads the same.
	ErrMalformedItem = errors.New("malformed item")
	// ErrUnknownOutcome: a write was sent, and no reply proves whether it has been, or will be, applied.
	ErrUnknownOutcome = errors.New("outcome of the write is unknown")
)

// NeedsReread reports whether err leaves open what is stored, so that a caller must read it again before the next
// attempt: another write came first, or nobody knows the outcome of this one.
func NeedsReread(err error) bool {
	return errors.Is(err, ErrConflict) || errors.Is(err, ErrUnknownOutcome)
}

// Attempts returns how many attempts in a row an error allows, for retry.Do: so many rereads when it NeedsReread, so
// many when the store throttled. Any other error is final.
func Attempts(rereads, throttled int) func(error) int {
	return func(err error) int {
		switch {
		case NeedsReread(err):
			return rereads
		case errors.Is(err, ErrThrottled):
			return throttled
		}
		return 0
	}
}
