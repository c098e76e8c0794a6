package ledger_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
	"ledger.example/ledger/journaltest"
)

// Whatever the store answers to one attempt, nothing applied, the next one succeeds.
func TestAttemptNotApplied(t *testing.T) {
	for name, step := range map[string]appended{
		"throttled":           answers(errThrottled),
		"unavailable":         answers(errUnavailable),
		"conflict":            answers(errConflict),
		"unknown":             answers(errUnknown),
		"hangs":               hangs,
		"header in conflict":  cancelled(ledger.Cancelled{Header: ledger.HeaderConflict}),
		"header throttled":    cancelled(ledger.Cancelled{Header: ledger.HeaderThrottled}),
		"another in conflict": cancelled(ledger.Cancelled{Conflict: true}),
		"another throttled":   cancelled(ledger.Cancelled{Throttled: true}),
		"no reason":           cancelled(ledger.Cancelled{}),
		"header in conflict, guard refused": cancelled(ledger.Cancelled{Header: ledger.HeaderConflict,
			Refused: []ledger.Refusal{{Pair: pair("jane", "USD"), Spent: amount("1")}}}),
		"header throttled, guard refused": cancelled(ledger.Cancelled{Header: ledger.HeaderThrottled,
			Refused: []ledger.Refusal{{Pair: pair("jane", "USD"), Spent: amount("1")}}}),
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				r.fund("jane", "USD", "100")
				r.journal.steps = []appended{step, step, step}
				start := time.Now()
				posted := r.mustPost(transfer("t-1", "jane", "shop", "100"))
				if posted.Replayed || len(r.journal.sent) != 4 && name != "hangs" {
					t.Errorf("%d attempts, replayed: %v", len(r.journal.sent), posted.Replayed)
				}
				if d := time.Since(start); d == 0 || d > 8*time.Second {
					t.Errorf("tried again after %v", d)
				}
				seen := map[events.KSUID]bool{}
				for _, c := range r.journal.sent {
					for _, leg := range c.Header.Legs {
						if seen[leg.ID] {
							t.Error("a KSUID was sent twice: it must be minted right before the write")
						}
						seen[leg.ID] = true
					}
				}
			})
		})
	}
}

// An attempt that was applied although its answer was lost is this request's own: a first answer, and no second posting.
func TestAttemptAppliedAndLost(t *testing.T) {
	for name, steps := range map[string][]appended{
		"at once":               {applied(errUnknown)},
		"a second later":        {late(time.Second)},
		"while others conflict": {late(2 * time.Second), cancelled(ledger.Cancelled{Header: ledger.HeaderConflict}), answers(errThrottled), cancelled(ledger.Cancelled{Conflict: true})},
		"after another one":     {answers(errUnknown), applied(errUnknown)},
		"lost again":            {answers(errUnknown), late(500 * time.Millisecond), late(100 * time.Millisecond)},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				r.fund("jane", "USD", "100")
				r.journal.steps = steps
				posted := r.mustPost(transfer("t-1", "jane", "shop", "100"))
				if posted.Replayed {
					t.Error("its own attempt counts as a replay")
				}
				if !reflect.DeepEqual(posted.Transaction, r.stored("t-1", true)) {
					t.Error("the answer is not what is stored")
				}
				if r.journal.count("Transaction") == 0 || name == "at once" && len(r.journal.sent) != 1 {
					t.Errorf("an unknown outcome was not looked up: %v", r.journal.calls)
				}
				time.Sleep(time.Minute)
				if spent, _ := r.journal.Spent(pair("jane", "USD")); spent != amount("100") {
					t.Errorf("spent %v: more than once", spent)
				}
			})
		})
	}
}

// slowConflict takes its time; when that is up before, nothing was sent.
func slowConflict(ctx context.Context, _ ledger.Commit, _ *journaltest.Memory) (time.Time, error) {
	if !waited(ctx, 2*time.Second) {
		return time.Time{}, errUnavailable
	}
	return time.Time{}, &ledger.Cancelled{Conflict: true}
}

// A store that keeps declining is said to, with nothing written; that takes a moment, not the caller's patience.
func TestDeclined(t *testing.T) {
	for name, test := range map[string]struct {
		step     appended
		code     ledger.Code
		from, to time.Duration
	}{
		"throttled":           {answers(errThrottled), ledger.CodeThrottled, 100 * time.Millisecond, 3 * time.Second},
		"unavailable":         {answers(errUnavailable), ledger.CodeUnavailable, 100 * time.Millisecond, 3 * time.Second},
		"all throttled":       {cancelled(ledger.Cancelled{Header: ledger.HeaderThrottled, Throttled: true}), ledger.CodeThrottled, 100 * time.Millisecond, 3 * time.Second},
		"one throttled":       {cancelled(ledger.Cancelled{Throttled: true}), ledger.CodeThrottled, 100 * time.Millisecond, 3 * time.Second},
		"conflict":            {cancelled(ledger.Cancelled{Conflict: true}), ledger.CodeContention, 5 * time.Second, 8 * time.Second},
		"header in conflict":  {cancelled(ledger.Cancelled{Header: ledger.HeaderConflict}), ledger.CodeContention, 5 * time.Second, 8 * time.Second},
		"both":                {cancelled(ledger.Cancelled{Throttled: true, Conflict: true}), ledger.CodeContention, 5 * time.Second, 8 * time.Second},
		"slow conflicts":      {slowConflict, ledger.CodeContention, 7 * time.Second, 8 * time.Second},
		"an error of our own": {answers(errors.New("a bug")), ledger.CodeInternal, 0, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				r.journal.forever = test.step
				start := time.Now()
				_, err := r.post(transfer("t-1", "bank", "jane", "1"))
				r.refused(err, test.code)
				if d := time.Since(start); d < test.from || d > test.to {
					t.Errorf("said after %v", d)
				}
				time.Sleep(time.Minute)
				r.stored("t-1", false)
			})
		})
	}
}

// Others may keep coming first with debits of their own; that is contention, never insufficient funds.
func TestContentionOnAGuard(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		r.journal.forever = func(_ context.Context, c ledger.Commit, _ *journaltest.Memory) (time.Time, error) {
			return time.Time{}, &ledger.Cancelled{Refused: []ledger.Refusal{{Pair: pair("jane", "USD"), Spent: amount("40")}}}
		}
		start := time.Now()
		_, err := r.post(transfer("t-1", "jane", "shop", "60"))
		r.refused(err, ledger.CodeContention)
		if d := time.Since(start); d < 5*time.Second {
			t.Errorf("said after %v", d)
		}
		_, err = r.post(transfer("t-1", "jane", "shop", "61"))
		if e := r.refused(err, ledger.CodeInsufficientFunds); e.Funds.Available != amount("60") {
			t.Errorf("funds %+v", *e.Funds)
		}
	})
}

// Guards that refused are proved also when other items met a conflict.
func TestMixedCancellation(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		r.journal.steps = []appended{cancelled(ledger.Cancelled{
			Conflict: true, Throttled: true, Refused: []ledger.Refusal{{Pair: pair("jane", "USD"), Spent: amount("80")}},
		})}
		_, err := r.post(transfer("t-1", "jane", "shop", "21"))
		r.refused(err, ledger.CodeInsufficientFunds)
		if len(r.journal.sent) != 1 {
			t.Errorf("%d attempts", len(r.journal.sent))
		}
	})
}

// Once an attempt's outcome is unknown, that is all that may be said, unless more is proved.
func TestUnknownIsSticky(t *testing.T) {
	for name, then := range map[string]appended{
		"throttled":          answers(errThrottled),
		"unavailable":        answers(errUnavailable),
		"conflict":           cancelled(ledger.Cancelled{Conflict: true}),
		"header in conflict": cancelled(ledger.Cancelled{Header: ledger.HeaderConflict}),
		"unknown":            answers(errUnknown),
		"hangs":              hangs,
		"a bug":              answers(errors.New("a bug")),
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				r.journal.steps = []appended{late(30 * time.Second)}
				r.journal.forever = then
				start := time.Now()
				_, err := r.post(transfer("t-1", "bank", "jane", "1"))
				if e := r.refused(err, ledger.CodeOutcomeUnknown); e.Transaction != "t-1" || e.RetryAfter != 0 {
					t.Errorf("%+v", e)
				}
				if d := time.Since(start); d > 8*time.Second || d < 7*time.Second && name != "a bug" {
					t.Errorf("lived for %v: it is worth finding out", d)
				}
				if !strings.Contains(r.log.String(), "outcome of a transaction is unknown") {
					t.Errorf("log: %s", r.log)
				}
				time.Sleep(time.Minute) // it was applied in the end
				first := r.stored("t-1", true)
				r.journal.forever = nil
				again := r.mustPost(transfer("t-1", "bank", "jane", "1"))
				if !again.Replayed || !reflect.DeepEqual(again.Transaction, first) {
					t.Errorf("asked again: %+v", again)
				}
			})
		})
	}
}

func TestUnknownThenProved(t *testing.T) {
	t.Run("another body", func(t *testing.T) {
		inBubble(t, func(t *testing.T, r *rig) {
			r.journal.steps = []appended{func(ctx context.Context, c ledger.Commit, j *journaltest.Memory) (time.Time, error) {
				r.restart() // somebody else comes first
				r.mustPost(transfer("t-1", "bank", "bob", "2"))
				return late(10*time.Second)(ctx, c, j)
			}}
			_, err := r.post(transfer("t-1", "bank", "jane", "1"))
			r.refused(err, ledger.CodeTransactionIDReused)
			time.Sleep(time.Minute)
			if got := r.stored("t-1", true); got.Legs[1].Account != "bob" {
				t.Error("the refused one was written")
			}
		})
	})
	// A refusal after an attempt of unknown outcome holds also when that attempt arrives at last: what was spent never
	// falls, and its bound was no higher than the one that the refusal was judged by.
	t.Run("no funds", func(t *testing.T) {
		inBubble(t, func(t *testing.T, r *rig) {
			r.fund("jane", "USD", "100")
			r.journal.Project(pair("jane", "USD"), amount("60"))
			r.restart()
			r.journal.steps = []appended{
				func(ctx context.Context, c ledger.Commit, j *journaltest.Memory) (time.Time, error) {
					other := ledger.New(ledger.Config{Journal: j, Projections: j, Now: storeNow})
					if _, err := other.Post(t.Context(), transfer("", "jane", "shop", "60")); err != nil {
						t.Error(err)
					}
					return late(20*time.Second)(ctx, c, j)
				},
			}
			_, err := r.post(transfer("t-1", "jane", "shop", "41"))
			if e := r.refused(err, ledger.CodeInsufficientFunds); e.Funds.Available != amount("40") || e.Funds.Requested != amount("41") {
				t.Errorf("funds %+v", *e.Funds)
			}
			time.Sleep(time.Minute)
			r.stored("t-1", false)
			for i, c := range r.journal.sent {
				if bound := c.Debits[0].Bound; i > 0 && bound.Cmp(r.journal.sent[i-1].Debits[0].Bound) < 0 {
					t.Errorf("attempt %d has a lower bound than the one before", i)
				}
			}
		})
	})
}

// A refusal while the header may be being committed proves nothing: it may be this request's first attempt.
func TestNoRefusalOnItsOwnConflict(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		r.journal.fail = func(method string) error {
			if method == "Transaction" {
				return errUnavailable // it can't be looked up
			}
			return nil
		}
		r.journal.steps = []appended{applied(errUnknown)}
		r.journal.steps = append(r.journal.steps, cancelled(ledger.Cancelled{
			Header: ledger.HeaderConflict, Refused: []ledger.Refusal{{Pair: pair("jane", "USD"), Spent: amount("100")}},
		}))
		if posted := r.mustPost(transfer("t-1", "jane", "shop", "100")); posted.Replayed {
			t.Error("its own attempt counts as a replay")
		}
	})
}

// Credits that say that an account is below its limit already have missed one that is being committed item by item.
func TestCreditsStillBeingCommitted(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		refusal := cancelled(ledger.Cancelled{Refused: []ledger.Refusal{{Pair: pair("jane", "USD"), Spent: amount("80")}}})
		r.fund("jane", "USD", "70")
		r.journal.steps = []appended{refusal, refusal, func(ctx context.Context, c ledger.Commit, j *journaltest.Memory) (time.Time, error) {
			if _, err := ledger.New(ledger.Config{Journal: j, Projections: j, Now: storeNow}).Post(t.Context(), transfer("", "bank", "jane", "30")); err != nil {
				t.Error(err)
			}
			return refusal(ctx, c, j)
		}}
		r.mustPost(transfer("t-1", "jane", "shop", "20"))

		// If it stays so, it is said and logged: the books are damaged, and the debit isn't covered.
		r.journal.forever = cancelled(ledger.Cancelled{Refused: []ledger.Refusal{{Pair: pair("jane", "USD"), Spent: amount("180")}}})
		_, err := r.post(transfer("t-2", "jane", "shop", "1"))
		if e := r.refused(err, ledger.CodeInsufficientFunds); e.Funds.Available != amount("-80") {
			t.Errorf("funds %+v", *e.Funds)
		}
		if log := r.log.String(); !strings.Contains(log, "account is below its limit") || !strings.Contains(log, "BelowLimit=1") {
			t.Errorf("log: %s", log)
		}
	})
}

// What a refusal needs to be proved can't be read: that is no refusal.
func TestCreditsCannotBeRead(t *testing.T) {
	for err, code := range map[error]ledger.Code{
		errThrottled: ledger.CodeThrottled, errUnavailable: ledger.CodeUnavailable, errConflict: ledger.CodeContention, errors.New("a bug"): ledger.CodeInternal,
	} {
		t.Run(string(code), func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				r.journal.fail = func(method string) error {
					if method == "Credits" {
						return err
					}
					return nil
				}
				start := time.Now()
				_, err := r.post(transfer("t-1", "jane", "shop", "1"))
				r.refused(err, code)
				if d := time.Since(start); code == ledger.CodeContention && d < 5*time.Second {
					t.Errorf("said after %v", d)
				}
				r.stored("t-1", false)
				// The same after an unknown outcome.
				r.journal.steps = []appended{late(30 * time.Second)}
				_, err = r.post(transfer("t-1", "jane", "shop", "1"))
				r.refused(err, ledger.CodeOutcomeUnknown)
			})
		})
	}
}

func TestLooksFail(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		failures := 3
		r.journal.fail = func(method string) error {
			if failures--; failures >= 0 {
				return errThrottled
			}
			return nil
		}
		r.mustPost(transfer("", "bank", "jane", "1"))
		for err, code := range map[error]ledger.Code{errThrottled: ledger.CodeThrottled, errUnavailable: ledger.CodeUnavailable} {
			r.restart()
			r.journal.fail = func(string) error { return err }
			_, err := r.post(transfer("t-1", "bank", "jane", "1"))
			r.refused(err, code)
			_, err = r.Asset(t.Context(), "USD")
			r.refused(err, code)
			_, err = r.Account(t.Context(), "jane")
			r.refused(err, code)
			_, err = r.Transaction(t.Context(), "t-1")
			r.refused(err, code)
		}
		if r.journal.count("Append") != 0 {
			t.Error("something was appended")
		}
	})
}

func TestCallerHangsUp(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := r.Post(ctx, transfer("t-0", "bank", "jane", "1"))
		r.refused(err, ledger.CodeUnavailable)
		if r.journal.count("Append") != 0 {
			t.Error("something was appended for nobody")
		}

		// Once it was sent, the answer is found out all the same, for the log and for the next who asks.
		ctx, cancel = context.WithCancel(t.Context())
		r.journal.steps = []appended{func(ctx context.Context, c ledger.Commit, j *journaltest.Memory) (time.Time, error) {
			cancel()
			if ctx.Err() != nil {
				t.Error("the attempt was given up with its caller")
			}
			return late(time.Second)(ctx, c, j)
		}}
		if _, err := r.Post(ctx, transfer("t-1", "bank", "jane", "1")); err != nil {
			t.Errorf("hung up in the middle: %v", err)
		}
	})
}

func TestCallersDeadline(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		for _, deadline := range []time.Duration{time.Second, 3 * time.Second} {
			ctx, cancel := context.WithTimeout(t.Context(), deadline)
			start := time.Now()
			r.journal.forever = hangs
			_, err := r.Post(ctx, transfer("t-1", "bank", "jane", "1"))
			r.refused(err, ledger.CodeOutcomeUnknown)
			if d := time.Since(start); d >= deadline || d < deadline/2 {
				t.Errorf("answered after %v of %v", d, deadline)
			}
			cancel()
		}
	})
}
