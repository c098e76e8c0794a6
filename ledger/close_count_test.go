package ledger_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
	"ledger.example/projections"
)

// project counts a transaction in the balances of an account, as the projector would.
func (r *rig) project(account string, t events.TransactionPosted) {
	r.t.Helper()
	for _, leg := range t.Legs {
		if leg.Account != account {
			continue
		}
		p := projections.NewProjector(r.journal.views, storeNow, nil)
		if err := p.Refold(r.t.Context(), pair(account, leg.Asset), []events.KSUID{leg.ID}); err != nil {
			r.t.Fatal(err)
		}
	}
}

// An account does not close while its balances lack an acknowledged posting: a backdated credit counts only once it is
// projected. A retry by any process continues.
func TestCloseCountsPostings(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		time.Sleep(time.Minute)
		r.mustPost(transfer("t-1", "jane", "shop", "60"))
		time.Sleep(time.Minute)
		r.project("jane", r.mustPost(transfer("t-2", "jane", "shop", "40")).Transaction)
		late := r.mustPost(backdated("late", "bank", "jane", "1000", time.Hour)) // below the seal
		request := ledger.ChangeAccount{ID: "jane", State: &isClosed, Actor: "tester", IfMatch: 1}
		_, err := r.ChangeAccount(t.Context(), request)
		r.refused(err, ledger.CodeOutcomeUnknown)
		r.now("jane", 2, isFrozen)
		_, err = r.another().ChangeAccount(t.Context(), request)
		r.refused(err, ledger.CodeContention)

		r.project("jane", late.Transaction)
		_, err = r.another().ChangeAccount(t.Context(), request)
		r.refused(err, ledger.CodeInvalidChange)
	})
}

// So does a backdated credit of an asset that has no other posting.
func TestCloseCountsPostingsOfANewAsset(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		credit := backdated("t-1", "bank", "jane", "5", time.Hour)
		credit.Asset = "AAPL"
		r.mustPost(credit)
		_, err := r.close("jane")
		r.refused(err, ledger.CodeOutcomeUnknown)
		r.now("jane", 2, isFrozen)
	})
}

// A credit that is committed while the account is being closed, in a stretch that was counted before, is kept.
// One that comes before the count makes the command look again.
func TestCreditWhilePostingsAreCounted(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		r.mustPost(transfer("t-1", "jane", "shop", "100"))
		comes := &hiding{Projections: r.journal}
		comes.before = func() {
			comes.before = nil
			r.project("jane", r.mustPost(backdated("t-2", "bank", "jane", "5", time.Hour)).Transaction)
		}
		l := ledger.New(ledger.Config{Journal: r.journal, Projections: comes, Now: storeNow})
		_, err := l.ChangeAccount(t.Context(), ledger.ChangeAccount{ID: "jane", State: &isClosed, Actor: "tester"})
		r.refused(err, ledger.CodeInvalidChange)
		r.now("jane", 3, isOpen)
	})
}

// The guard of an asset whose first posting is not visible yet has spent something that no holding shows. Closing waits
// for that posting.
func TestCloseWaitsForTheFirstPostingOfAnAsset(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.journal.Guard(pair("margin", "EUR"))
		r.mustPost(transfer("t-1", "bank", "margin", "1"))
		r.mustPost(transfer("t-2", "margin", "bank", "1"))
		debit := transfer("t-3", "margin", "shop", "7")
		r.mustPost(debit)
		r.mustPost(transfer("t-4", "shop", "margin", "7"))
		hidden := &hiding{Projections: r.journal, asset: "USD"}
		l := ledger.New(ledger.Config{Journal: r.journal, Projections: hidden, Now: storeNow})
		request := ledger.ChangeAccount{ID: "margin", State: &isClosed, Actor: "tester"}
		_, err := l.ChangeAccount(t.Context(), request)
		r.refused(err, ledger.CodeOutcomeUnknown)
		r.now("margin", 2, isFrozen)
		hidden.asset = ""
		if got, err := l.ChangeAccount(t.Context(), request); err != nil || got.Version != 3 {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// An account with more postings than can be counted in time is not closed, and says so as any command out of time.
func TestCloseOfAnAccountThatIsTooLarge(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		r.mustPost(transfer("t-1", "jane", "shop", "100"))
		r.state("jane", isFrozen)
		slow := &hiding{Projections: r.journal}
		l := ledger.New(ledger.Config{Journal: r.journal, Projections: slow, Now: storeNow})
		slow.counting = func(ctx context.Context) error {
			<-ctx.Done()
			return fmt.Errorf("count: %w", ctx.Err())
		}
		began := time.Now()
		_, err := l.ChangeAccount(t.Context(), ledger.ChangeAccount{ID: "jane", State: &isClosed, Actor: "tester"})
		r.refused(err, ledger.CodeUnavailable)
		if took := time.Since(began); took > 9*time.Second {
			t.Errorf("took %v", took)
		}
		r.now("jane", 2, isFrozen)
	})
}
