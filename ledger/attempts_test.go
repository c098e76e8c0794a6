package ledger_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/ledger"
)

// A refusal while the header is in conflict proves nothing: the other write may be this request's first attempt.
func TestConflictOfTheHeaderIsNoRefusal(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		r.journal.fail = func(method string) error {
			if method == "Transaction" {
				return errUnavailable // it can't be looked up
			}
			return nil
		}
		r.journal.steps = []appended{applied(errUnknown)}
		r.journal.steps = append(r.journal.steps, cancelled(head(0, store.CauseConflict), refuses("jane", "100")))
		if posted := r.mustPost(transfer("t-1", "jane", "shop", "100")); posted.Replayed {
			t.Error("its own attempt counts as a replay")
		}
	})
}

// If credits put an account below its limit before the debit, they miss a credit that is being committed item by item.
func TestAccountBelowItsLimitIsRetried(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		refusal := cancelled(refuses("jane", "80"))
		r.fund("jane", "USD", "70")
		r.journal.steps = []appended{refusal, refusal, func(ctx context.Context, c commit) error {
			if _, err := r.another().Post(t.Context(), transfer("", "bank", "jane", "30")); err != nil {
				t.Error(err)
			}
			return refusal(ctx, c)
		}}
		r.mustPost(transfer("t-1", "jane", "shop", "20"))

		// If it stays so, it is said and logged: the books are damaged, and the debit isn't covered.
		r.journal.forever = cancelled(refuses("jane", "180"))
		_, err := r.post(transfer("t-2", "jane", "shop", "1"))
		if e := r.refused(err, ledger.CodeInsufficientFunds); e.Funds.Available != amount("-80") {
			t.Errorf("funds %+v", *e.Funds)
		}
		if log := r.log.String(); !strings.Contains(log, "account is below its limit") || !strings.Contains(log, "BelowLimit=1") {
			t.Errorf("log: %s", log)
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
			if !strings.Contains(r.log.String(), "outcome of a write is unknown") {
				t.Errorf("log: %s", r.log)
			}
			cancel()
		}
	})
}

// hangsUp answers as the step does, and then the caller cancels.
func hangsUp(cancel func(), step appended) appended {
	return func(ctx context.Context, c commit) error {
		err := step(ctx, c)
		cancel()
		return err
	}
}

// A caller that is gone may have sent the request again, and that may have been refused. So the first command makes no
// further attempt, and the refusal stays true.
func TestNoAttemptAfterTheCallerIsGone(t *testing.T) {
	for name, test := range map[string]struct {
		step appended
		code ledger.Code
	}{
		"throttled":               {answers(errThrottled), ledger.CodeUnavailable},
		"in conflict":             {cancelled(head(0, store.CauseConflict)), ledger.CodeUnavailable},
		"refused on what it knew": {cancelled(refuses("jane", "10")), ledger.CodeUnavailable},
		"unknown, not applied":    {answers(errUnknown), ledger.CodeOutcomeUnknown},
		"unknown, applied":        {applied(errUnknown), ""},
		"unknown, applied late":   {late(3 * time.Second), ""},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				r.fund("jane", "USD", "100")
				ctx, cancel := context.WithCancel(t.Context())
				r.journal.steps = []appended{hangsUp(cancel, test.step)}
				_, err := r.Post(ctx, transfer("t-1", "jane", "shop", "10"))
				if test.code != "" {
					r.refused(err, test.code)
				} else if err != nil {
					t.Error(err)
				}
				time.Sleep(time.Minute)
				if n := len(r.journal.sent); n != 1 {
					t.Errorf("%d attempts", n)
				}
				r.stored("t-1", test.code == "")
			})
		})
	}
}

// A grant that is retried after its caller is gone could undo a revocation that was acknowledged.
func TestNoPutAfterTheCallerIsGone(t *testing.T) {
	for answer, code := range map[error]ledger.Code{errThrottled: ledger.CodeUnavailable, errUnknown: ledger.CodeOutcomeUnknown} {
		inBubble(t, func(t *testing.T, r *rig) {
			ctx, cancel := context.WithCancel(t.Context())
			r.journal.putsForever = func(func() error) error { cancel(); return answer }
			_, err := r.Grant(ctx, grant(events.RoleOwner))
			r.refused(err, code)
			if r.journal.written != 1 {
				t.Errorf("put %d times", r.journal.written)
			}
		})
	}
}
