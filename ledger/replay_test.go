package ledger_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
	"ledger.example/ledger/journaltest"
	"ledger.example/ledger/table"
)

// sure records which postings were made sure of.
type sure struct {
	*script
	mu   sync.Mutex
	made []events.KSUID
	say  func(n int) error // of the n-th call, counted from one
}

func (s *sure) MakeSure(ctx context.Context, account, asset string, id events.KSUID) error {
	s.mu.Lock()
	s.made = append(s.made, id)
	n := len(s.made)
	s.mu.Unlock()
	if s.say != nil {
		if err := s.say(n); err != nil {
			return err
		}
	}
	return s.script.MakeSure(ctx, account, asset, id)
}

func (s *sure) of(t *testing.T, want events.TransactionPosted) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []events.KSUID
	for _, leg := range want.Legs {
		ids = append(ids, leg.ID)
	}
	made := slices.Sorted(slices.Values(s.made))
	if made = slices.Compact(made); !slices.Equal(made, ids) {
		t.Errorf("made sure of %v, want %v", made, ids)
	}
}

func (r *rig) withSure() *sure {
	s := &sure{script: r.journal}
	r.Ledger = ledger.New(ledger.Config{Journal: r.journal, Projections: s, Now: func() time.Time { return storeNow().Add(r.skew) }})
	return s
}

// G7: what is older than half the settle window when it is answered, first answer or replay, is made sure of.
func TestMakingSure(t *testing.T) {
	many := ledger.PostTransaction{Annotation: ledger.Annotation{ID: "t-1", Actor: "tester"}}
	for _, account := range []string{"bank", "jane", "bank", "jane", "bank", "bob"} {
		q := "-1"
		if account != "bank" {
			q = "1"
		}
		many.Postings = append(many.Postings, ledger.LegRequest{Account: account, Asset: "USD", Quantity: amount(q)})
	}
	t.Run("fresh", func(t *testing.T) {
		inBubble(t, func(t *testing.T, r *rig) {
			s := r.withSure()
			r.mustPost(many)
			time.Sleep(3 * time.Second)
			r.mustPost(many)
			if len(s.made) != 0 {
				t.Errorf("made sure of what is fresh")
			}
		})
	})
	t.Run("old replay", func(t *testing.T) {
		inBubble(t, func(t *testing.T, r *rig) {
			s := r.withSure()
			first := r.mustPost(many)
			time.Sleep(5 * time.Second) // half the settle window, whatever the store's Date is cut to
			r.mustPost(many)
			s.of(t, first.Transaction)
		})
	})
	t.Run("old by the store's clock", func(t *testing.T) {
		inBubble(t, func(t *testing.T, r *rig) {
			s := r.withSure()
			r.skew = -4900 * time.Millisecond
			s.of(t, r.mustPost(many).Transaction)
		})
	})
	t.Run("old by its own stopwatch", func(t *testing.T) {
		inBubble(t, func(t *testing.T, r *rig) {
			s := r.withSure()
			r.skew = 4 * time.Second // it looks fresh by the store's clock
			r.journal.steps = []appended{func(ctx context.Context, c ledger.Commit, j *journaltest.Memory) (time.Time, error) {
				j.Append(ctx, c)
				<-ctx.Done()
				return time.Time{}, errUnknown
			}}
			r.journal.fail = func(method string) error {
				if method == "Transaction" {
					time.Sleep(2 * time.Second)
				}
				return nil
			}
			posted := r.mustPost(many)
			if posted.Replayed {
				t.Error("its own attempt counts as a replay")
			}
			s.of(t, posted.Transaction)
		})
	})
	t.Run("conflict", func(t *testing.T) {
		inBubble(t, func(t *testing.T, r *rig) {
			s := r.withSure()
			s.say = func(n int) error {
				if n <= 3 {
					return errConflict
				}
				return nil
			}
			r.skew = -4900 * time.Millisecond
			s.of(t, r.mustPost(many).Transaction)
		})
	})
	for name, err := range map[string]error{"not counted": errConflict, "throttled": errThrottled, "unavailable": errUnavailable, "a bug": errors.New("a bug")} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				s := r.withSure()
				s.say = func(int) error { return err }
				r.skew = -4900 * time.Millisecond
				start := time.Now()
				_, err := r.post(many)
				if e := r.refused(err, ledger.CodeOutcomeUnknown); e.Transaction != "t-1" {
					t.Errorf("asks again with %q", e.Transaction)
				}
				if d := time.Since(start); d > 8*time.Second {
					t.Errorf("lived for %v", d)
				}
				first := r.stored("t-1", true)
				_, err = r.post(many)
				r.refused(err, ledger.CodeOutcomeUnknown)
				s.say = nil
				if again := r.mustPost(many); !again.Replayed || !reflect.DeepEqual(again.Transaction, first) {
					t.Errorf("asked again: %+v", again)
				}
			})
		})
	}
}

// A transaction is acknowledged when all its items were read together, never by the sight of its header.
func TestWholeBeforeReplay(t *testing.T) {
	for name, test := range map[string]struct {
		failures int
		err      error
		code     ledger.Code
	}{
		"being committed":       {3, errConflict, ""},
		"throttled":             {3, errThrottled, ""},
		"committed for ever":    {1000, errConflict, ledger.CodeOutcomeUnknown},
		"throttled for ever":    {1000, errThrottled, ledger.CodeOutcomeUnknown},
		"unavailable for ever":  {1000, errUnavailable, ledger.CodeOutcomeUnknown},
		"a posting was deleted": {1000, table.ErrAbsent, ledger.CodeInternal},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				r.mustPost(transfer("t-1", "bank", "jane", "1"))
				failures := test.failures
				r.journal.fail = func(method string) error {
					if method == "Whole" {
						if failures--; failures >= 0 {
							return test.err
						}
					}
					return nil
				}
				posted, err := r.post(transfer("t-1", "bank", "jane", "1"))
				if test.code != "" {
					r.refused(err, test.code)
					return
				}
				if err != nil || !posted.Replayed {
					t.Errorf("%+v, %v", posted, err)
				}
			})
		})
	}
}

// A header by a rule of fingerprints that this code doesn't know is neither the same request nor another.
func TestUnknownFingerprint(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.journal.steps = []appended{func(ctx context.Context, c ledger.Commit, j *journaltest.Memory) (time.Time, error) {
			c.Header.Fingerprint = "2" + strings.TrimPrefix(c.Header.Fingerprint, "1")
			return j.Append(ctx, c)
		}}
		r.mustPost(transfer("t-1", "bank", "jane", "1"))
		_, err := r.post(transfer("t-1", "bank", "jane", "1"))
		r.refused(err, ledger.CodeInternal)
	})
}

// The header may be left out of a cancellation: it is read then.
func TestCancelledWithoutHeader(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.mustPost(transfer("t-1", "bank", "jane", "1"))
		r.journal.forever = cancelled(ledger.Cancelled{Header: ledger.HeaderExists})
		if posted := r.mustPost(transfer("t-1", "bank", "jane", "1")); !posted.Replayed {
			t.Errorf("%+v", posted)
		}
		r.journal.fail = func(string) error { return errUnavailable }
		_, err := r.post(transfer("t-1", "bank", "jane", "1"))
		r.refused(err, ledger.CodeOutcomeUnknown)
	})
}
