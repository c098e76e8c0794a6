package ledger

import (
	"context"
	"errors"
	"reflect"
	"time"

	"ledger.example/events"
	"ledger.example/internal/retry"
	"ledger.example/internal/store"
)

const (
	// commandTimeout is how long a command may take. It is less than table.SettleWindow, so that what a command
	// appended is not settled before it answers.
	commandTimeout = 8 * time.Second
	// replyMargin is kept of the caller's own deadline, for the reply.
	replyMargin = 250 * time.Millisecond
	// requestTimeout is how long one request to the store may take. One that hangs leaves time for others.
	requestTimeout = 2500 * time.Millisecond
	// maxDeclines is how many requests of one command the store may decline (throttled, unavailable).
	maxDeclines = 6
)

// backoff paces the attempts of one command.
var backoff = retry.Backoff{First: 20 * time.Millisecond, Max: 640 * time.Millisecond, Jitter: retry.Half}

// pause waits before the next attempt, and reports whether there is time for one. Failed counts attempts from one.
func pause(ctx context.Context, failed int) bool { return backoff.Sleep(ctx, failed) == nil }

// command is the context of one command: that of its caller without its cancellation. When a caller hangs up, an
// outcome that is unknown can still be found out.
type command struct {
	context.Context
	caller context.Context
}

// startCommand starts a command, unless its request has faults. An event without an actor could not be read again, so
// a missing actor is CodeInternal: the caller of this package has to say who acts.
func startCommand(ctx context.Context, shape []FieldError, actor string) (*command, context.CancelFunc, error) {
	if len(shape) > 0 {
		return nil, nil, invalidRequest(shape)
	}
	if broken := brokenByText(actor, 1, events.ActorChars); broken != "" {
		return nil, nil, internalError(errors.New("actor " + broken))
	}
	end := time.Now().Add(commandTimeout)
	if own, ok := ctx.Deadline(); ok && own.Add(-replyMargin).Before(end) {
		end = own.Add(-replyMargin)
	}
	own, cancel := context.WithDeadline(context.WithoutCancel(ctx), end)
	return &command{Context: own, caller: ctx}, cancel, nil
}

// abandoned returns nil while the caller waits for the reply. After that nothing more may be written for it: it may
// have repeated the request meanwhile, and that may have been refused.
func (c *command) abandoned() error { return c.caller.Err() }

// call makes one request to the store and notes the store's clock, which do returns.
func (l *Ledger) call(ctx context.Context, do func(context.Context) (time.Time, error)) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	sent := time.Now()
	at, err := do(ctx)
	l.clock.Observe(at, sent, time.Now())
	return err
}

// callUntimed makes one request to the store that does not tell its clock.
func (l *Ledger) callUntimed(ctx context.Context, do func(context.Context) error) error {
	return l.call(ctx, func(ctx context.Context) (time.Time, error) { return time.Time{}, do(ctx) })
}

// read makes a request that only reads, and retries it.
func (l *Ledger) read(ctx context.Context, do func(context.Context) (time.Time, error)) error {
	return retryRead(ctx, func() error { return l.call(ctx, do) })
}

// retryRead does what changes nothing, and retries it a few times when the store declines or conflicts.
func retryRead(ctx context.Context, do func() error) error {
	for failed := 1; ; failed++ {
		err := do()
		retryable := declined(err) || errors.Is(err, store.ErrConflict)
		if !retryable || failed == maxDeclines || !pause(ctx, failed) {
			return err
		}
	}
}

// declined reports whether the store did not take a request, or a read of it failed.
func declined(err error) bool {
	return errors.Is(err, store.ErrThrottled) || errors.Is(err, store.ErrUnavailable)
}

// put puts an event on the condition of its absence. It retries when the store declines, and when the outcome is
// unknown: putting the same event twice is harmless. It puts nothing once the caller is gone. It returns what is
// stored; created is true when this command put it. The error is an *Error: with CodeContention, it wraps
// store.ErrOutdated if any of unless is stored.
func (l *Ledger) put(
	c *command, e events.Event, unless ...events.Event,
) (stored events.Event, created bool, _ error) {
	unknown, outdated, declines := false, false, 0
	failure := func(err error) error {
		if unknown {
			return unknownError("", err)
		}
		return storeError(err)
	}
	for failed := 1; ; failed++ {
		if err := c.abandoned(); err != nil {
			return nil, false, failure(err)
		}
		err := l.call(c, func(ctx context.Context) (_ time.Time, err error) {
			stored, err = l.journal.Put(ctx, e, unless...)
			return time.Time{}, err
		})
		switch {
		case err == nil:
			return stored, true, nil
		case errors.Is(err, store.ErrExists):
			return stored, unknown && reflect.DeepEqual(stored, e), nil
		case errors.Is(err, store.ErrOutdated) && (outdated || !unknown):
			return nil, false, storeError(err)
		case errors.Is(err, store.ErrOutdated): // but an earlier attempt may have come before that
			outdated = true
		case declined(err):
			declines++
		case errors.Is(err, store.ErrConflict):
		case errors.Is(err, store.ErrUnknownOutcome):
			unknown = true
			l.log.WarnContext(c, "outcome of a write is unknown; the event is put again", "error", err)
		default:
			return nil, false, internalError(err)
		}
		if declines == maxDeclines && !unknown || !pause(c, failed) {
			return nil, false, failure(err)
		}
	}
}
