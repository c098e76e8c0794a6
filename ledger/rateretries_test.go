package ledger_test

import (
	"context"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/ledger"
)

// The attributes of perDay in a guard.
const daySlot, dayCounted, dayBack = "Rate:day@Europe/Berlin:Slot", "Rate:day@Europe/Berlin:Counted", "Rate:day@Europe/Berlin:Back"

// counted returns what the guard of an account has counted and given back by perDay, in its newest day.
func (r *rig) counted(account string) (counted, back string) {
	item, _ := r.journal.memory.Item(table.Spend.Key(account, "USD"))
	read := table.Read(item)
	return read.Amount(dayCounted).String(), read.Amount(dayBack).String()
}

// setGuard replaces attributes of a guard, as a restored table has older ones.
func (r *rig) setGuard(account string, attributes table.Item) {
	w := table.Write{
		Key: table.Spend.Key(account, "USD"), If: "attribute_exists(#a)",
		Names: map[string]string{"#a": daySlot, "#b": dayCounted, "#c": dayBack}, Values: table.Item{},
		Update: "SET #a = :a, #b = :b, #c = :c",
	}
	w.Values[":a"], w.Values[":b"], w.Values[":c"] = attributes[daySlot], attributes[dayCounted], attributes[dayBack]
	if _, err := r.journal.book.table.Write(r.t.Context(), w); err != nil {
		r.t.Fatal(err)
	}
}

// inDay runs f on a rig at the beginning of a day in Berlin. jane has 100000 USD and may spend 100 a day.
func inDay(t *testing.T, f func(t *testing.T, r *rig, ends string)) {
	t.Helper()
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100000")
		r.setRates("jane", perDay("100"))
		f(t, r, r.nextDay())
	})
}

// A process goes on although the table was restored under it: a guard that is older than what is known of it replaces
// that, and what was known to be given back is not believed for longer than known credits.
func TestRatesOfARestoredTable(t *testing.T) {
	inDay(t, func(_ *testing.T, r *rig, _ string) {
		r.mustPost(transfer("a", "jane", "shop", "60"))
		before, _ := r.journal.memory.Item(table.Spend.Key("jane", "USD"))
		r.nextDay()
		r.mustPost(transfer("b", "jane", "shop", "60"))
		r.setGuard("jane", before) // without b
		r.mustPost(transfer("c", "jane", "shop", "100"))
	})
	inDay(t, func(_ *testing.T, r *rig, ends string) {
		r.mustPost(held("h", "jane", "shop", "80", time.Hour))
		before, _ := r.journal.memory.Item(table.Spend.Key("jane", "USD"))
		r.mustPost(release("h"))
		r.mustPost(transfer("a", "jane", "shop", "1")) // the process knows what was given back
		r.setGuard("jane", before)                     // without the release, and without a
		time.Sleep(3 * time.Minute)
		dry := transfer("b", "jane", "shop", "1")
		dry.DryRun = true
		r.mustPost(dry) // it reads the credits anew, and these stay known for longer
		time.Sleep(3 * time.Minute)
		r.exceeds(transfer("b", "jane", "shop", "21"), "80", "20", "21", ends)
	})
}

// An attempt of unknown outcome was minted before midnight. Another process opens the next day. Then the attempt can no
// longer be applied, or was applied already: the transaction counts once, in the right day.
func TestRateOfAnUnknownAttemptBeforeMidnight(t *testing.T) {
	for name, isApplied := range map[string]bool{"lost": false, "applied": true} {
		t.Run(name, func(t *testing.T) {
			inDay(t, func(t *testing.T, r *rig, _ string) {
				r.mustPost(transfer("a", "jane", "shop", "10"))
				ends := r.nextDay()
				r.mustPost(transfer("b", "jane", "shop", "10"))
				r.beforeMidnight()
				looks := 0
				r.journal.fail = func(request string) error {
					if looks++; request == "Transaction" && looks < 12 {
						return errUnavailable // what became of the attempt is not known
					}
					return nil
				}
				var again commit
				r.journal.steps = []appended{func(ctx context.Context, c commit) error {
					again = c
					time.Sleep(200 * time.Millisecond) // it is the next day
					if isApplied {
						_ = c.apply(ctx)
					}
					_, err := r.another().Post(t.Context(), transfer("other", "jane", "shop", "90"))
					if err != nil {
						t.Error(err)
					}
					return errUnknown
				}}
				_, err := r.post(transfer("c", "jane", "shop", "20"))
				if isApplied {
					if err != nil {
						t.Error(err)
					}
				} else {
					e := r.refused(err, ledger.CodeRateExceeded) // final, though the outcome of an attempt was unknown
					if e.Rate.Available != amount("10") {
						t.Errorf("%+v", e.Rate)
					}
				}
				_ = again.apply(t.Context())
				r.stored("c", isApplied)
				if counted, _ := r.counted("jane"); counted != "90" {
					t.Errorf("counted %s; the day before ended at %s", counted, ends)
				}
			})
		})
	}
}

// An attempt that arrives after another process opened the next day is not counted there with KSUIDs of the day before:
// it is made again.
func TestRateOfAnAttemptThatArrivesAfterMidnight(t *testing.T) {
	inDay(t, func(t *testing.T, r *rig, ends string) {
		r.mustPost(transfer("a", "jane", "shop", "10"))
		r.beforeMidnight()
		r.journal.steps = []appended{func(ctx context.Context, c commit) error {
			time.Sleep(200 * time.Millisecond)
			if _, err := r.another().Post(t.Context(), transfer("b", "jane", "shop", "10")); err != nil {
				t.Error(err)
			}
			return c.apply(ctx)
		}}
		posted := r.mustPost(transfer("c", "jane", "shop", "20"))
		if at := posted.Header.PostedAt().Format(time.RFC3339); at < ends {
			t.Errorf("posted at %s, before %s", at, ends)
		}
		if counted, _ := r.counted("jane"); counted != "30" {
			t.Errorf("counted %s", counted)
		}
	})
}

// beforeMidnight waits until 100 milliseconds before the next day in Berlin.
func (r *rig) beforeMidnight() {
	in, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		r.t.Fatal(err)
	}
	y, m, d := storeNow().In(in).Date()
	time.Sleep(time.Date(y, m, d+1, 0, 0, 0, 0, in).Add(-100 * time.Millisecond).Sub(storeNow()))
}

// Independent requests that are written together fall apart when their answer is lost: each goes on alone, and counts
// once.
func TestRatesOfRequestsThatFallApart(t *testing.T) {
	for name, step := range map[string]appended{
		"applied": applied(errUnknown), "late": late(time.Second), "lost": answers(errUnknown), "throttled": answers(errThrottled),
	} {
		t.Run(name, func(t *testing.T) {
			inDay(t, func(t *testing.T, r *rig, _ string) {
				r.mustPost(transfer("a", "jane", "shop", "10"))
				r.journal.steps = []appended{step, answers(errThrottled), answers(errThrottled), answers(errThrottled), answers(errThrottled)}
				results, err := r.PostBatch(t.Context(), []ledger.Request{
					transfer("b", "jane", "shop", "40"), transfer("c", "jane", "shop", "50"), transfer("d", "jane", "shop", "1"),
				}, false)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				posted := 10
				for i, quantity := range []int{40, 50, 1} {
					if results[i].Err == nil {
						posted += quantity
					}
				}
				if posted != 100 {
					t.Errorf("%d were posted: %v, %v, %v", posted, results[0].Err, results[1].Err, results[2].Err)
				}
				if counted, _ := r.counted("jane"); counted != "100" {
					t.Errorf("counted %s", counted)
				}
			})
		})
	}
}

// The state of an account refuses before its rates do.
func TestRatesOfAccountsThatMayNotDebit(t *testing.T) {
	inDay(t, func(t *testing.T, r *rig, _ string) {
		r.mustPost(transfer("a", "jane", "shop", "100"))
		if _, err := r.ChangeAccount(t.Context(), ledger.ChangeAccount{
			ID: "jane", State: new(events.StateFrozen), Actor: "tester",
		}); err != nil {
			t.Fatal(err)
		}
		_, err := r.post(transfer("b", "jane", "shop", "1"))
		r.refused(err, ledger.CodeAccountFrozen)
		_, err = r.another().Post(t.Context(), transfer("c", "jane", "shop", "1"))
		r.refused(err, ledger.CodeAccountFrozen)
	})
}

// A rate that is new to a process, or whose guard it has forgotten, costs an attempt, and no debit is lost.
func TestRatesThatAreNewToAProcess(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "1000")
		r.mustPost(transfer("a", "jane", "shop", "10"))
		if _, err := r.another().ChangeAccount(t.Context(), ledger.ChangeAccount{
			ID: "jane", Rates: &[]events.Rate{perDay("100")}, Actor: "tester",
		}); err != nil {
			t.Fatal(err)
		}
		r.nextDay()
		r.mustPost(transfer("b", "jane", "shop", "100"))
		_, err := r.post(transfer("c", "jane", "shop", "1"))
		r.refused(err, ledger.CodeRateExceeded)
	})
}
