package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
	"ledger.example/projections"
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
		if e := r.refused(err, ledger.CodeContention); !strings.Contains(e.Detail, "not closed yet") {
			t.Error(e.Detail)
		}
		r.now("bob", 2, isFrozen)
		hidden.left, request.IfMatch = 0, 1
		if got, err := l.ChangeAccount(t.Context(), request); err != nil || got.Version != 3 {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// hiding returns smaller totals than were spent for a number of calls, or leaves out an asset. It may fail to count
// postings.
type hiding struct {
	ledger.Projections
	left     int
	asset    string
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

// project counts a transaction in the balances of an account, as the projector would.
func (r *rig) project(account string, t events.TransactionPosted) {
	r.t.Helper()
	for _, leg := range t.Legs {
		if leg.Account != account {
			continue
		}
		p := projections.NewProjector(r.journal.book.table, storeNow, nil)
		if err := p.Refold(r.t.Context(), pair(account, leg.Asset), []events.KSUID{leg.ID}); err != nil {
			r.t.Fatal(err)
		}
	}
}

// A change by somebody else is never taken for the first step of a closing, even if it froze the account.
func TestCloseAfterAnotherFreeze(t *testing.T) {
	byA, byB := "by A", "by B"
	for name, freeze := range map[string]ledger.ChangeAccount{
		"with a name": {State: &isFrozen, Name: &byA}, "alone": {State: &isFrozen},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				freeze.ID = "jane"
				r.mustChange(freeze)
				_, err := r.change(ledger.ChangeAccount{ID: "jane", State: &isClosed, Name: &byB, IfMatch: 1})
				if e := r.refused(err, ledger.CodeVersionMismatch); e.Version != 2 {
					t.Errorf("%+v", e)
				}
				r.now("jane", 2, isFrozen)
			})
		})
	}
}

// Somebody freezes an account that is being closed, or that a closing left frozen. If it cannot be closed, it stays
// frozen.
func TestFreezeOfAnAccountThatIsBeingClosed(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		r.mustPost(transfer("t-1", "jane", "shop", "100"))
		r.journal.writes = map[string][]put{"PutChange": {func(apply func() error) error {
			_, err := r.another().Post(t.Context(), transfer("t-2", "bank", "jane", "5"))
			return errors.Join(err, apply())
		}, func(apply func() error) error { // that opens the account again
			freeze := ledger.ChangeAccount{ID: "jane", State: &isFrozen, Actor: "somebody"}
			got, err := r.another().ChangeAccount(t.Context(), freeze)
			if err != nil || got.Version != 3 {
				t.Errorf("%+v, %v", got, err)
			}
			return apply()
		}}}
		_, err := r.close("jane")
		r.refused(err, ledger.CodeInvalidChange)
		r.now("jane", 3, isFrozen)
	})
}

// An account was frozen, but its guard does not have that yet. A closing brings it up to date first. If these writes get
// no answer, that is no defect: the closing may be tried again.
func TestCloseWithoutAnswersOfAGuard(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		r.mustPost(transfer("t-1", "jane", "shop", "100"))
		r.journal.fail = failing("Guards", errUnavailable)
		_, err := r.change(ledger.ChangeAccount{ID: "jane", State: &isFrozen})
		r.refused(err, ledger.CodeOutcomeUnknown)
		r.journal.fail = failing("SetGuardVersion", errUnknown)
		_, err = r.close("jane")
		r.refused(err, ledger.CodeUnavailable)
		r.journal.fail = nil
		if got, err := r.close("jane"); err != nil || got.State != isClosed {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// An account that somebody froze and that cannot be closed stays frozen. A closed one cannot be changed.
func TestCloseAndChangeRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "1")
		r.state("jane", isFrozen)
		_, err := r.close("jane")
		r.refused(err, ledger.CodeInvalidChange)
		r.now("jane", 2, isFrozen)
		r.state("bob", isClosed)
		name := "Bob"
		for _, change := range []ledger.ChangeAccount{{State: &isOpen}, {Name: &name}} {
			change.ID = "bob"
			_, err := r.change(change)
			r.refused(err, ledger.CodeInvalidChange)
		}
		r.now("bob", 3, isClosed)
	})
}

// Other commands use the cached account while this one closes it and opens it again. It must not change under them.
func TestCachedAccountIsNotChanged(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		var frozen *ledger.Account
		r.journal.writes = map[string][]put{"PutChange": {func(apply func() error) error {
			_, err := r.another().Post(t.Context(), transfer("t-1", "bank", "jane", "5"))
			return errors.Join(err, apply())
		}}}
		r.journal.fail = func(string) error {
			if cached, ok := r.CachedAccount("jane"); frozen == nil && ok && cached.Version == 2 {
				frozen = &cached
			}
			return nil
		}
		_, err := r.close("jane")
		r.refused(err, ledger.CodeInvalidChange)
		r.now("jane", 3, events.StateOpen)
		if frozen.Version != 2 || frozen.State != isFrozen {
			t.Errorf("it became %+v", *frozen)
		}
	})
}

// A limit was raised, used and lowered again. The debt is no alarm, and is not read again; a deeper one is.
func TestDebtUnderAnEarlierLimit(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		limit := func(amounts map[string]events.Amount) {
			r.mustChange(ledger.ChangeAccount{ID: "jane", Overdraft: &events.Overdraft{Limits: amounts}})
		}
		limit(map[string]events.Amount{"USD": amount("500"), "EUR": amount("7")})
		r.mustPost(transfer("t-1", "jane", "shop", "400"))
		for _, amounts := range []map[string]events.Amount{nil, {"USD": amount("300")}, {"EUR": amount("9")}, nil} {
			limit(amounts)
			began := time.Now()
			_, err := r.post(transfer("", "jane", "shop", "1"))
			r.refused(err, ledger.CodeInsufficientFunds)
			if took := time.Since(began); took > 0 || strings.Contains(r.log.String(), "BelowLimit") {
				t.Errorf("took %v: %s", took, r.log)
			}
			a, err := r.Account(t.Context(), "jane")
			if floor := a.Floor("USD"); err != nil || *floor != amount("-500") {
				t.Errorf("floor %v, %v", floor, err)
			}
		}
		a, err := r.Account(t.Context(), "jane")
		if floor := a.Floor("EUR"); err != nil || *floor != amount("-9") || *a.Floor("AAPL") != amount("0") {
			t.Errorf("floor %v, %v", floor, err)
		}
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
		l := ledger.New(ledger.Config{Table: r.journal.table(), Projections: hidden, Now: storeNow})
		request := ledger.ChangeAccount{ID: "margin", State: &isClosed, Actor: "tester"}
		_, err := l.ChangeAccount(t.Context(), request)
		r.refused(err, ledger.CodeContention)
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
		l := ledger.New(ledger.Config{Table: r.journal.table(), Projections: slow, Now: storeNow})
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
