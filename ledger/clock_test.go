package ledger_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"ledger.example/ledger"
)

// A process whose clock is off mints no KSUIDs. The store's Date is cut to seconds, so that an error of up to 5 s is
// tolerated. Replays and reused ids need no KSUIDs, so they are answered.
func TestClockOff(t *testing.T) {
	for skew, ok := range map[time.Duration]bool{
		4900 * time.Millisecond: true, -4900 * time.Millisecond: true,
		6100 * time.Millisecond: false, -6100 * time.Millisecond: false,
		-40 * 365 * 24 * time.Hour: false, // KSUIDs can't hold it
	} {
		t.Run(skew.String(), func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				first := r.mustPost(transfer("t-1", "bank", "jane", "1"))
				r.journal.forget()
				r.skew = skew
				time.Sleep(300 * time.Millisecond)
				for range 2 { // warm, and then cold
					_, err := r.post(transfer("", "bank", "jane", "1"))
					if ok && err != nil {
						t.Error(err)
					} else if !ok {
						r.refused(err, ledger.CodeUnavailable)
						if log := r.log.String(); !strings.Contains(log, "level=ERROR") || !strings.Contains(log, "clock=") {
							t.Errorf("log: %s", log)
						}
					}
					again := r.mustPost(transfer("t-1", "bank", "jane", "1"))
					if !again.Replayed || !reflect.DeepEqual(again.Transaction, first.Transaction) || r.journal.count("VerifyComplete") == 0 {
						t.Errorf("%+v; calls %v", again, r.journal.calls)
					}
					_, err = r.post(transfer("t-1", "bank", "jane", "2"))
					r.refused(err, ledger.CodeTransactionIDReused)
					r.restart()
				}
				if !ok && len(r.journal.Headers()) != 1 {
					t.Error("something was appended")
				}
			})
		})
	}
}

// Clocks may be set while a process runs. The newest time of the store in any reply counts, and the store is asked
// again before a refusal.
func TestClockIsSetWhileTheProcessRuns(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.mustPost(transfer("t-1", "bank", "jane", "1"))
		time.Sleep(ledger.DebitAge - time.Second) // after that the account is read again
		r.journal.forget()
		r.mustPost(transfer("t-2", "bank", "jane", "1"))
		if r.journal.count("Lookup") != 0 {
			t.Errorf("a minute later the store was asked again: %v", r.journal.calls)
		}
		r.skew = time.Minute
		_, err := r.post(transfer("t-3", "bank", "jane", "1"))
		r.refused(err, ledger.CodeUnavailable)
		r.skew = 0
		r.mustPost(transfer("t-3", "bank", "jane", "1"))
		_, err = r.post(transfer("t-1", "jane", "bob", "9")) // caches what the next needs
		r.refused(err, ledger.CodeTransactionIDReused)
		time.Sleep(time.Minute)
		r.storeSkew = 10 * time.Second
		_, err = r.post(transfer("t-4", "jane", "bob", "9"))
		r.refused(err, ledger.CodeInsufficientFunds)
		_, err = r.post(transfer("t-4", "bank", "jane", "1"))
		r.refused(err, ledger.CodeUnavailable)
	})
}
