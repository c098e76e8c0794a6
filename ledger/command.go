package ledger

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"ledger.example/events"
	"ledger.example/internal/retry"
	"ledger.example/internal/table"
)

const (
	// commandTimeout is how long a command may take. It is less than table.SettleWindow, so that no posting is settled
	// before its command answers.
	commandTimeout = 8 * time.Second
	// replyMargin is how long before its caller's deadline a command ends, to leave time for the reply.
	replyMargin = 250 * time.Millisecond
	// requestTimeout is the timeout of one request to the store. It leaves time to retry a request that hangs.
	requestTimeout = 2500 * time.Millisecond
	// maxDeclines is after how many declined requests (throttled, unavailable) a command gives up.
	maxDeclines = 6
)

// backoff paces the attempts of one command.
var backoff = retry.Backoff{First: 20 * time.Millisecond, Max: 640 * time.Millisecond, Jitter: retry.Half}

// pause waits before the next attempt, and reports whether there is time for one. failed counts attempts from 1.
func pause(ctx context.Context, failed int) bool { return backoff.Sleep(ctx, failed) == nil }

// command is the context of one command: that of its caller, but without its cancellation. So a command can still
// resolve an unknown outcome after its caller hung up.
type command struct {
	context.Context
	caller context.Context
	period *closing // nil until it is read
}

// startCommand starts a command with a deadline. shape has the invalid fields of its request: if there are any, the
// error is CodeInvalidRequest. An invalid actor is CodeInternal, because the callers of this package set it.
func startCommand(ctx context.Context, shape []FieldError, actor string) (*command, context.CancelFunc, error) {
	if len(shape) > 0 {
		return nil, nil, invalidRequest(shape...)
	}
	if violation := textViolation(actor, 1, events.ActorChars); violation != "" {
		return nil, nil, internalError(errors.New("actor " + violation))
	}
	end := time.Now().Add(commandTimeout)
	if own, ok := ctx.Deadline(); ok && own.Add(-replyMargin).Before(end) {
		end = own.Add(-replyMargin)
	}
	own, cancel := context.WithDeadline(context.WithoutCancel(ctx), end)
	return &command{Context: own, caller: ctx}, cancel, nil
}

// abandoned returns nil while the caller waits for the reply. After that the command must not write: the caller may
// have sent the request again, and that may have been refused.
func (c *command) abandoned() error { return c.caller.Err() }

// call makes one request to the store. do returns the store's time.
func (l *Ledger) call(ctx context.Context, do func(context.Context) (time.Time, error)) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	sent := time.Now()
	at, err := do(ctx)
	l.clock.Observe(at, sent, time.Now())
	return err
}

// read makes a read request, with retries.
func (l *Ledger) read(ctx context.Context, do func(context.Context) (time.Time, error)) error {
	return retryRead(ctx, func() error { return l.call(ctx, do) })
}

// items reads the items of a query to its end, each page with retries.
func (l *Ledger) items(ctx context.Context, q table.Query) iter.Seq2[table.Item, error] {
	return table.All(ctx, table.Retried{Table: l.table, Retry: l.read}, q)
}

// tries are those of one write.
type tries struct {
	failed   int   // tries so far, for the backoff
	declines int   // tries that the store declined
	unknown  bool  // a try may have been applied, or may still be
	last     error // of the previous try
}

// again waits after a try that failed with err, and reports whether another one may be made.
func (t *tries) again(ctx context.Context, err error) bool {
	t.failed++
	if declined(err) {
		t.declines++
	}
	if t.declines >= maxDeclines && !t.unknown || !pause(ctx, t.failed) {
		return false
	}
	t.last = err
	return true
}

// cause returns the error that a command ends with because of e: that of the previous try if the tries used up the
// time, and not the request that found the store unavailable.
func (t *tries) cause(ctx context.Context, e *Error) *Error {
	if e.Code == CodeUnavailable && t.last != nil && ctx.Err() != nil {
		return asError(t.last)
	}
	return e
}

// retryRead calls do, a read, at most maxDeclines times: again if the store declines it or reports a conflict.
func retryRead(ctx context.Context, do func() error) error {
	for failed := 1; ; failed++ {
		err := do()
		retryable := declined(err) || errors.Is(err, table.ErrConflict)
		if !retryable || failed == maxDeclines || !pause(ctx, failed) {
			return err
		}
	}
}

// maxRequests is how many requests one command has in flight at a time.
const maxRequests = 8

// parallel calls do for 0 to n-1, at most maxRequests at a time, until one fails.
func parallel(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxRequests)
	for i := range n {
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
}

// declined reports whether the store did not carry out a request because it was throttled or unavailable.
func declined(err error) bool {
	return errors.Is(err, table.ErrThrottled) || errors.Is(err, table.ErrUnavailable)
}

// clockTolerance is how far the process's clock may differ from the store's.
const clockTolerance = table.ClockTolerance

// errClock is the cause of CodeUnavailable when the process's clock differs from the store's by more than
// clockTolerance, or the store's time is unknown.
var errClock = errors.New("no KSUID can be minted by this clock")

// mint returns n KSUIDs greater than after, and the monotonic time just before minting. Errors: those of checkClock,
// and CodeUnavailable when the minter's clock is off the store's.
func (l *Ledger) mint(
	ctx context.Context, n int, account string, after events.KSUID,
) ([]events.KSUID, time.Time, error) {
	db, err := l.checkClock(ctx, account)
	if err != nil {
		return nil, time.Time{}, err
	}
	start := time.Now()
	// The minter would stay behind an after that is too far ahead, and so would all other commands of the process.
	if at := after.Time(); at.After(l.now()) {
		if off, db := l.clock.Off(at, start); off {
			return nil, time.Time{}, l.clockError(ctx, "KSUIDs to mint are off the store's clock", at, db, nil)
		}
	}
	ids, instant, err := l.minter.MintAfter(after, n)
	if err != nil {
		return nil, time.Time{}, l.clockError(ctx, "no KSUID can be minted", l.now(), db, err)
	}
	// A minter never goes back, so it may still be ahead after the process's clock was corrected.
	if off, db := l.clock.Off(instant, start); off {
		return nil, time.Time{}, l.clockError(ctx, "newest KSUID is off the store's clock", instant, db, nil)
	}
	return ids, start, nil
}

// checkClock returns CodeUnavailable if the process's clock is off the store's. Before that it reads the store's clock
// again, by looking up the account, because a suspended process has outdated times. Without an account it makes no
// request: the caller read the store's clock just before. It also returns the earliest possible time of the store.
func (l *Ledger) checkClock(ctx context.Context, account string) (db time.Time, _ error) {
	off, db := l.clock.Off(l.now(), time.Now())
	if off && account != "" {
		if _, err := l.lookup(ctx, lookupKeys{accounts: []string{account}}); err != nil {
			return db, err
		}
		off, db = l.clock.Off(l.now(), time.Now())
	}
	if off {
		return db, l.clockError(ctx, "clock is off the store's", l.now(), db, nil)
	}
	return db, nil
}

func (l *Ledger) clockError(ctx context.Context, message string, ours, db time.Time, err error) *Error {
	l.log.LogAttrs(ctx, slog.LevelError, message, slog.Time("clock", ours.UTC()), slog.Time("store", db.UTC()),
		slog.Any("error", err), slog.Int("ClockOff", 1)) // ClockOff is counted as a metric
	cause := errClock
	if err != nil {
		cause = fmt.Errorf("%w: %w", errClock, err)
	}
	return &Error{Code: CodeUnavailable, RetryAfter: clockTolerance, Err: cause,
		Detail: "The service cannot post at the moment. Nothing was written."}
}

// instant is the process's time as events store it.
func (l *Ledger) instant() time.Time { return l.now().UTC().Round(0).Truncate(time.Microsecond) }
