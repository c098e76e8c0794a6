package table

import "errors"

var (
	// ErrAbsent: a strongly consistent read did not find the item.
	ErrAbsent = errors.New("item is absent")
	// ErrExists: the item of a write that must be new exists. Nothing was written.
	ErrExists = errors.New("item exists already")
	// ErrConflict: another transaction on one of the items was in progress, or an expected version had changed. This
	// attempt wrote nothing. It proves nothing about earlier attempts.
	ErrConflict = errors.New("conflicting write")
	// ErrOutdated: an event that the write relies on is no longer the newest. This attempt wrote nothing. If a second
	// attempt has this error too, no earlier attempt wrote anything either.
	ErrOutdated = errors.New("an event that the write relies on is outdated")
	// ErrThrottled: the store rejected the request because of its load. This attempt wrote nothing.
	ErrThrottled = errors.New("store is throttling")
	// ErrUnavailable: the store could not be reached, or a read failed. This attempt wrote nothing.
	ErrUnavailable = errors.New("store is unavailable")
	// ErrMalformedItem: a stored item is not in a form that the ledger writes. A retry does not help.
	ErrMalformedItem = errors.New("malformed item")
	// ErrNewerForm: a stored item has a form that only newer code knows. It must not be overwritten.
	ErrNewerForm = errors.New("the item's form is newer than this code")
	// ErrUnknownOutcome: a write was sent, and it is unknown whether it has been, or will be, applied.
	ErrUnknownOutcome = errors.New("outcome of the write is unknown")
)

// NeedsReread reports whether the stored data may have changed, so that a caller must read it again before a retry:
// another write came first, or the outcome of this one is unknown.
func NeedsReread(err error) bool {
	return errors.Is(err, ErrConflict) || errors.Is(err, ErrUnknownOutcome)
}

// Attempts returns how many attempts in a row an error allows, for retry.Do: rereads if it NeedsReread, throttled if
// the store throttled the request. Any other error is final.
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
