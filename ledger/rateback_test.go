package ledger_test

import (
	"fmt"
	"testing"
	"time"

	"ledger.example/internal/table"
	"ledger.example/ledger"
)

// A hold that expires gives back all of it, whoever ends it: the sweeper, or a capture that is too late, alone or in a
// batch that is refused for it.
func TestExpiryGivesBackToRates(t *testing.T) {
	for name, end := range map[string]func(r *rig){
		"sweeper": func(r *rig) {
			if _, err := r.Expire(r.t.Context(), "h"); err != nil {
				r.t.Error(err)
			}
		},
		"late capture": func(r *rig) {
			_, err := r.post(capture("h", ledger.Part{}))
			r.refused(err, ledger.CodeHoldExpired)
		},
		"late capture in a batch": func(r *rig) {
			_, err := r.PostBatch(r.t.Context(), []ledger.Request{
				transfer("b", "jane", "shop", "1"), capture("h", ledger.Part{}),
			}, true)
			if e := r.refused(err, ledger.CodeHoldExpired); e.Request != 2 {
				r.t.Errorf("%+v", e)
			}
		},
	} {
		for _, cold := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", cold ", cold), func(t *testing.T) {
				inDay(t, func(t *testing.T, r *rig, ends string) {
					r.mustPost(held("h", "jane", "shop", "70", time.Minute))
					r.mustPost(transfer("a", "jane", "shop", "20"))
					time.Sleep(2 * time.Minute)
					if cold {
						r.restart()
					}
					end(r)
					if counted, back := r.counted("jane"); counted != "90" || back != "70" {
						t.Errorf("counted %s, given back %s", counted, back)
					}
					r.stored("b", false)
					r.exceeds(transfer("c", "jane", "shop", "81"), "20", "80", "81", ends)
					r.mustPost(transfer("d", "jane", "shop", "80"))
				})
			})
		}
	}
}

// A hold whose guard has lost its day still ends: there is nothing to give back to.
func TestHoldsEndWithoutTheirGuard(t *testing.T) {
	inDay(t, func(t *testing.T, r *rig, _ string) {
		r.mustPost(held("h", "jane", "shop", "70", time.Hour))
		older := table.Item{daySlot: table.Integer(20010101), dayCounted: table.Integer(0), dayBack: table.Integer(0)}
		r.setGuard("jane", older)
		r.mustPost(release("h"))
	})
}

// What a dry run of an end would give back changes nothing.
func TestDryRunsOfEndsGiveNothingBack(t *testing.T) {
	inDay(t, func(t *testing.T, r *rig, _ string) {
		r.mustPost(held("h", "jane", "shop", "70", time.Hour))
		dry := release("h")
		dry.DryRun = true
		r.mustPost(dry)
		dryCapture := capture("h", some("30"))
		dryCapture.DryRun = true
		r.mustPost(dryCapture)
		if counted, back := r.counted("jane"); counted != "70" || back != "0" {
			t.Errorf("counted %s, given back %s", counted, back)
		}
	})
}

// Each guard that gets something back is one more write of an atomic batch.
func TestGiveBacksCountAsWrites(t *testing.T) {
	inDay(t, func(t *testing.T, r *rig, _ string) {
		r.mustPost(held("h", "jane", "shop", "70", time.Hour))
		batch := []ledger.Request{release("h")} // 1 + 2 postings + 1 guard
		for i := range 32 {                     // 1 + 2 postings
			batch = append(batch, transfer(fmt.Sprint("t-", i), "bank", "market", "1"))
		}
		_, err := r.PostBatch(t.Context(), append(batch, transfer("over", "bank", "market", "1")), true)
		if e := r.refused(err, ledger.CodeBatchTooLarge); e.TooMany != 3 {
			t.Errorf("%+v", e)
		}
		if _, err := r.PostBatch(t.Context(), batch, true); err != nil {
			t.Error(err)
		}
	})
}
