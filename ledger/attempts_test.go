package ledger_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
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
		r.journal.steps = append(r.journal.steps, cancelled(head(0, table.CauseConflict), refuses("jane", "100")))
		if posted := r.mustPost(transfer("t-1", "jane", "shop", "100")); posted.Replayed {
			t.Error("its own attempt counts as a replay")
		}
	})
}

// If a guard counts more than the exact read finds, a commit is visible in part. Its credits may cover the debit.
func TestCommitVisibleInPartIsNoRefusal(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		refusal := cancelled(refuses("jane", "30")) // by a batch that gave jane 100, and took 30 from her
		r.fund("jane", "USD", "50")
		r.journal.steps = []appended{refusal, refusal, func(ctx context.Context, c commit) error {
			if _, err := r.another().PostBatch(t.Context(), []ledger.Request{
				transfer("b-1", "bank", "jane", "100"), transfer("b-2", "jane", "shop", "30"),
			}, true); err != nil {
				t.Error(err)
			}
			return refusal(ctx, c)
		}}
		r.mustPost(transfer("t-1", "jane", "shop", "40"))
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
		"in conflict":             {cancelled(head(0, table.CauseConflict)), ledger.CodeUnavailable},
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
			r.journal.writes = map[string][]put{"Put": {func(func() error) error { cancel(); return answer }}}
			_, err := r.Grant(ctx, grant(events.RoleOwner))
			r.refused(err, code)
			if n := r.journal.count("Put"); n != 1 {
				t.Errorf("put %d times", n)
			}
		})
	}
}

// loseAnswerThenRefuse makes the first attempt by the given step, and cancels the next one with a refusal by the guard
// alone: a cancellation may have no reason for a header that exists.
func (r *rig) loseAnswerThenRefuse(first appended) {
	r.journal.steps = []appended{first, cancelled(refuses("jane", "100"))}
	looks := 0
	r.journal.fail = func(method string) error {
		if method == "Transaction" {
			if looks++; looks <= 6 {
				return errUnavailable // the first look, with its repetitions, is in vain
			}
		}
		return nil
	}
}

// G4: before a refusal is final the header is read: an attempt of this request, or another request with this id, may
// have been posted.
func TestNoRefusalOfAStoredTransaction(t *testing.T) {
	t.Run("by its own attempt", func(t *testing.T) {
		inBubble(t, func(t *testing.T, r *rig) {
			r.fund("jane", "USD", "100")
			r.loseAnswerThenRefuse(applied(errUnknown))
			if posted := r.mustPost(transfer("t-1", "jane", "shop", "100")); posted.Replayed {
				t.Error("its own attempt counts as a replay")
			}
			if n := len(r.journal.sent); n != 2 {
				t.Errorf("%d attempts", n)
			}
		})
	})
	for name, quantity := range map[string]string{"by another request": "100", "by a request with another body": "60"} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				r.fund("jane", "USD", "100")
				other := r.another()
				r.loseAnswerThenRefuse(func(_ context.Context, _ commit) error {
					_, err := other.Post(t.Context(), transfer("t-1", "jane", "shop", quantity))
					return errors.Join(errUnknown, err)
				})
				posted, err := r.post(transfer("t-1", "jane", "shop", "100"))
				if quantity != "100" {
					r.refused(err, ledger.CodeTransactionIDReused)
				} else if err != nil || !posted.Replayed {
					t.Errorf("%+v, %v", posted, err)
				}
			})
		})
	}
}

// G7: before a transaction older than half the settle window is acknowledged, by a first answer or a replay, its
// postings are made visible.
func TestEnsureVisibleBeforeTheReply(t *testing.T) {
	for name, test := range map[string]struct {
		skew, pause time.Duration // of the process's clock; before a replay, 0 for the first answer
		steps       []appended
		lookup      time.Duration // that a lookup of the header takes
		ensured     bool
	}{
		"fresh":                    {pause: 3 * time.Second},
		"old replay":               {pause: 5 * time.Second, ensured: true}, // whatever the store's Date is cut to
		"old by the store's clock": {skew: -4900 * time.Millisecond, ensured: true},
		// It looks fresh by the store's clock.
		"old by the monotonic clock": {skew: 4 * time.Second, lookup: 2 * time.Second, ensured: true,
			steps: []appended{func(ctx context.Context, c commit) error {
				c.apply(ctx)
				<-ctx.Done()
				return errUnknown
			}}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				r.skew, r.journal.steps = test.skew, test.steps
				r.journal.fail = func(method string) error {
					if method == "Transaction" {
						time.Sleep(test.lookup)
					}
					return nil
				}
				posted := r.mustPost(transfer("t-1", "bank", "jane", "1"))
				if test.pause > 0 {
					time.Sleep(test.pause)
					posted = r.mustPost(transfer("t-1", "bank", "jane", "1"))
				}
				var want []events.KSUID
				for _, leg := range posted.Header.Legs {
					if test.ensured {
						want = append(want, leg.ID)
					}
				}
				slices.Sort(r.journal.visible)
				if posted.Replayed != (test.pause > 0) || !slices.Equal(r.journal.visible, want) {
					t.Errorf("replayed %t, ensured %v, want %v", posted.Replayed, r.journal.visible, want)
				}
			})
		})
	}
}

// A cancellation may omit the stored header. Then the header is read.
func TestCancelledWithoutHeader(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.mustPost(transfer("t-1", "bank", "jane", "1"))
		r.journal.forever = cancelled(head(0, table.CauseCondition))
		if posted := r.mustPost(transfer("t-1", "bank", "jane", "1")); !posted.Replayed {
			t.Errorf("%+v", posted)
		}
		r.journal.fail = func(string) error { return errUnavailable }
		_, err := r.post(transfer("t-1", "bank", "jane", "1"))
		r.refused(err, ledger.CodeOutcomeUnknown)
	})
}

// An event without an actor could not be decoded.
func TestActorIsRequired(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		nobody := transfer("t-1", "bank", "jane", "1")
		nobody.Actor = ""
		_, posted := r.post(nobody)
		_, _, registered := r.RegisterAsset(t.Context(), ledger.RegisterAsset{ID: "XAU", Name: "n"})
		_, _, opened := r.OpenAccount(t.Context(), ledger.OpenAccount{ID: "x"})
		_, granted := r.Grant(t.Context(), ledger.GrantMember{Account: "jane", User: "u", Role: events.RoleOwner})
		for _, err := range []error{posted, registered, opened, granted} {
			r.refused(err, ledger.CodeInternal)
		}
		if r.journal.count("Put") != 0 || len(r.journal.sent) != 0 {
			t.Error("something was written for nobody")
		}
	})
}
