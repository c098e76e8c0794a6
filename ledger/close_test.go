package ledger_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
)

func (r *rig) close(account string) (ledger.Account, error) {
	r.t.Helper()
	return r.change(ledger.ChangeAccount{ID: account, State: &isClosed})
}

// now returns the current account, and fails the test unless it has this version and state.
func (r *rig) now(account string, version int64, state events.AccountState) {
	r.t.Helper()
	got, err := r.Account(r.t.Context(), account)
	if err != nil || got.Version != version || got.State != state {
		r.t.Errorf("%s is %+v, %v; want version %d, %s", account, got, err, version, state)
	}
}

// While a debit is not visible yet, its guard has a higher total than the postings. Closing waits for that debit. If it
// stays invisible, the account is not closed, and a retry continues.
func TestCloseWaitsForDebits(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		r.mustPost(transfer("t-1", "jane", "shop", "100"))
		hidden := &hiding{Projections: r.journal, left: 3}
		l := ledger.New(ledger.Config{Table: r.journal.table(), Projections: hidden, Now: storeNow})
		request := ledger.ChangeAccount{ID: "jane", State: &isClosed, Actor: "tester"}
		if got, err := l.ChangeAccount(t.Context(), request); err != nil || got.State != isClosed || hidden.left != 0 {
			t.Errorf("%+v, %v; %d looks left", got, err, hidden.left)
		}
		r.fund("bob", "USD", "10")
		r.mustPost(transfer("t-2", "bob", "shop", "10"))
		hidden.left, request.ID = 1000, "bob"
		_, err := l.ChangeAccount(t.Context(), request)
		r.refused(err, ledger.CodeContention)
		r.now("bob", 2, isFrozen)
		hidden.left, request.IfMatch = 0, 1
		if got, err := l.ChangeAccount(t.Context(), request); err != nil || got.Version != 3 {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// hiding returns smaller totals than were spent for a number of calls, or leaves out an asset. It calls its hooks before
// it counts postings.
type hiding struct {
	ledger.Projections
	left     int
	asset    string
	before   func()
	counting func(context.Context) error
}

func (h *hiding) Holdings(ctx context.Context, account, after string) ([]events.Holding, string, error) {
	page, next, err := h.Projections.Holdings(ctx, account, after)
	if h.left > 0 {
		h.left--
		for i := range page {
			page[i].Spent = events.Amount{}
		}
	}
	isHidden := func(holding events.Holding) bool { return holding.Asset == h.asset }
	return slices.DeleteFunc(page, isHidden), next, err
}

func (h *hiding) CountPostings(ctx context.Context, account, asset string) (int64, error) {
	if h.before != nil {
		h.before()
	}
	if h.counting != nil {
		return 0, h.counting(ctx)
	}
	return h.Projections.CountPostings(ctx, account, asset)
}

// An account without a balance is not closed while it has an open hold: it may debit the account, or credit it.
func TestAccountWithAnOpenHoldIsNotClosed(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.mustPost(held("debit", "margin", "bank", "10", time.Hour))
		r.mustPost(held("credit", "bank", "jane", "10", time.Hour))
		for account, hold := range map[string]string{"margin": "debit", "jane": "credit"} {
			_, err := r.close(account)
			r.refused(err, ledger.CodeInvalidChange)
			r.now(account, 1, events.StateOpen)
			r.mustPost(release(hold))
			if got, err := r.close(account); err != nil || got.State != isClosed {
				t.Errorf("%s: %+v, %v", account, got, err)
			}
		}
	})
}
