package ledger_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
	"ledger.example/ledger/journaltest"
)

// A process whose clock is off mints nothing; the store's Date is cut to seconds, so that up to 5 s is surely allowed.
func TestClockOff(t *testing.T) {
	for skew, ok := range map[time.Duration]bool{
		0: true, 4900 * time.Millisecond: true, -4900 * time.Millisecond: true,
		6100 * time.Millisecond: false, -6100 * time.Millisecond: false, time.Hour: false, -time.Hour: false,
		-40 * 365 * 24 * time.Hour: false, // KSUIDs can't hold it
	} {
		t.Run(skew.String(), func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				r.skew = skew
				time.Sleep(300 * time.Millisecond)
				for _, id := range []string{"cold", "warm", ""} {
					_, err := r.post(transfer(id, "bank", "jane", "1"))
					if ok {
						if err != nil {
							t.Errorf("%q: %v", id, err)
						}
						continue
					}
					r.refused(err, ledger.CodeUnavailable)
					if r.journal.count("Append") != 0 {
						t.Error("something was appended")
					}
					for _, word := range []string{"level=ERROR", "clock=", "store="} {
						if !strings.Contains(r.log.String(), word) {
							t.Errorf("no %s in log: %s", word, r.log)
						}
					}
				}
			})
		})
	}
}

// The clock may be set while the process runs: it is judged by the newest that the store said, asked again when in doubt.
func TestClockIsSetMeanwhile(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.mustPost(transfer("t-1", "bank", "jane", "1"))
		time.Sleep(time.Hour)
		r.journal.forget()
		r.mustPost(transfer("t-2", "bank", "jane", "1"))
		if r.journal.count("Look") != 0 {
			t.Errorf("an hour later the store was asked again: %v", r.journal.calls)
		}
		r.skew = time.Minute
		_, err := r.post(transfer("t-3", "bank", "jane", "1"))
		r.refused(err, ledger.CodeUnavailable)
		r.skew = 0
		r.mustPost(transfer("t-3", "bank", "jane", "1"))
	})
}

// Every answer tells the store's clock, cancellations too; the newest counts.
func TestStoresClockIsSetMeanwhile(t *testing.T) {
	for name, ask := range map[string]func(r *rig){
		"posted": func(r *rig) { r.mustPost(transfer("t-1", "bank", "jane", "1")) },
		"refused": func(r *rig) {
			_, err := r.post(transfer("t-1", "jane", "bob", "1"))
			r.refused(err, ledger.CodeInsufficientFunds)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				r.mustPost(transfer("t-0", "bank", "bob", "1"))
				_, err := r.post(transfer("t-0", "jane", "bob", "1"))
				r.refused(err, ledger.CodeTransactionIDReused)
				time.Sleep(time.Minute)
				r.storeSkew = 10 * time.Second
				ask(r)
				_, err = r.post(transfer("t-2", "bank", "jane", "1"))
				r.refused(err, ledger.CodeUnavailable)
			})
		})
	}
}

// When the clock was set back, a minter that stays at the newest it minted may be ahead for longer.
func TestMinterIsAhead(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		ahead := true
		minter := events.NewMinter(func() time.Time {
			if ahead {
				return storeNow().Add(30 * time.Second)
			}
			return storeNow()
		}, nil)
		if _, _, err := minter.Mint(1); err != nil {
			t.Fatal(err)
		}
		ahead = false
		l := ledger.New(ledger.Config{Journal: r.journal, Projections: r.journal, Minter: minter, Now: storeNow})
		for range 4 {
			_, err := l.Post(t.Context(), transfer("t-1", "bank", "jane", "1"))
			r.refused(err, ledger.CodeUnavailable)
			time.Sleep(6 * time.Second)
		}
		r.stored("t-1", false)
		time.Sleep(3 * time.Second)
		if _, err := l.Post(t.Context(), transfer("t-1", "bank", "jane", "1")); err != nil {
			t.Errorf("after the clock caught up: %v", err)
		}
	})
}

// mute is a journal that never tells the store's clock.
type mute struct{ *script }

func (m mute) Look(ctx context.Context, w ledger.Wanted) (ledger.Found, error) {
	found, err := m.script.Look(ctx, w)
	found.At = time.Time{}
	return found, err
}

func TestStoreWithoutClock(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		l := ledger.New(ledger.Config{Journal: mute{r.journal}, Projections: r.journal, Now: storeNow})
		_, err := l.Post(t.Context(), transfer("t-1", "bank", "jane", "1"))
		r.refused(err, ledger.CodeUnavailable)
		r.stored("t-1", false)
	})
}

// Off only after an attempt of unknown outcome: then that is still all that may be said.
func TestClockOffAfterUnknown(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.journal.steps = []appended{func(ctx context.Context, c ledger.Commit, j *journaltest.Memory) (time.Time, error) {
			r.skew = time.Hour
			return late(20*time.Second)(ctx, c, j)
		}}
		_, err := r.post(transfer("t-1", "bank", "jane", "1"))
		r.refused(err, ledger.CodeOutcomeUnknown)
	})
}
