package ledger_test

import (
	"context"
	"errors"
	"fmt"
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

func TestCloseAccount(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		// With a balance, or with anything pending, nothing is written.
		r.fund("jane", "USD", "100")
		_, err := r.close("jane")
		r.refused(err, ledger.CodeInvalidChange)
		r.mustPost(transfer("t-1", "jane", "shop", "60"))
		r.mustPost(held("h-1", "jane", "bob", "40", time.Hour))
		for _, account := range []string{"jane", "bob", "shop"} {
			_, err = r.close(account)
			r.refused(err, ledger.CodeInvalidChange)
			r.now(account, 1, isOpen)
		}
		if _, err := r.Post(t.Context(), capture("h-1", some("30"))); err != nil {
			t.Fatal(err)
		}
		r.mustPost(transfer("t-2", "jane", "shop", "10"))
		name := "Gone"
		got := r.mustChange(ledger.ChangeAccount{ID: "jane", State: &isClosed, Name: &name, IfMatch: 1})
		if got.Version != 3 || got.State != isClosed || got.Name != name {
			t.Errorf("%+v", got)
		}
		if v := r.guardVersion("jane"); v != 3 {
			t.Errorf("the guard has version %d", v)
		}
		// It is final.
		if again, err := r.close("jane"); err != nil || again.Version != 3 {
			t.Errorf("%+v, %v", again, err)
		}
		_, err = r.change(ledger.ChangeAccount{ID: "jane", State: &isOpen})
		r.refused(err, ledger.CodeInvalidChange)
		_, err = r.another().Post(t.Context(), transfer("t-3", "jane", "shop", "1"))
		r.refused(err, ledger.CodeAccountClosed)
		_, err = r.another().Post(t.Context(), transfer("t-3", "shop", "jane", "1"))
		r.refused(err, ledger.CodeAccountClosed)
		// The rest of what was held went back to where it came from, and a reversal takes back what came too late.
		r.state("market", isClosed)
		r.now("market", 3, isClosed)
	})
}

// A credit that reached an account while it was being closed can be reversed.
func TestReversalOfALateCredit(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		other := r.another()
		if _, err := other.Post(t.Context(), transfer("t-0", "bank", "bob", "1")); err != nil {
			t.Fatal(err)
		}
		r.mustPost(transfer("t-1", "bob", "bank", "1"))
		r.state("bob", isClosed)
		if _, err := other.Post(t.Context(), transfer("t-2", "bank", "bob", "5")); err != nil {
			t.Fatalf("a process that knows bob as open: %v", err)
		}
		_, err := r.post(transfer("t-3", "bob", "bank", "5"))
		r.refused(err, ledger.CodeAccountClosed)
		back := ledger.ReverseRequest{Annotation: ledger.Annotation{ID: "r-1", Actor: "tester"}, Transaction: "t-2"}
		if _, err := r.Post(t.Context(), back); err != nil {
			t.Error(err)
		}
	})
}

// A reversal cannot bring a closed account below zero.
func TestReversalCannotOverdrawAClosedAccount(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.mustPost(transfer("t-1", "bank", "margin", "50"))
		r.mustPost(transfer("t-2", "margin", "bank", "50"))
		r.state("margin", isClosed)
		back := ledger.ReverseRequest{Annotation: ledger.Annotation{ID: "r-1", Actor: "tester"}, Transaction: "t-1"}
		for _, l := range []*ledger.Ledger{r.Ledger, r.another()} {
			_, err := l.Post(t.Context(), back)
			e := r.refused(err, ledger.CodeInsufficientFunds)
			if e.Funds == nil || e.Funds.Available != amount("0") || e.Funds.Requested != amount("50") {
				t.Errorf("%+v", e.Funds)
			}
		}
		r.stored("r-1", false)
	})
}

// If a credit is posted while an account is being closed, the account is opened again and the request is refused.
func TestCreditWhileAnAccountIsBeingClosed(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		r.mustPost(transfer("t-1", "jane", "shop", "100"))
		r.journal.writes = map[string][]put{"PutChange": {func(apply func() error) error {
			_, err := r.another().Post(t.Context(), transfer("t-2", "bank", "jane", "5"))
			return errors.Join(err, apply())
		}}}
		_, err := r.close("jane")
		r.refused(err, ledger.CodeInvalidChange)
		r.now("jane", 3, isOpen)
		if _, err := r.another().Post(t.Context(), transfer("t-3", "jane", "shop", "5")); err != nil {
			t.Error(err)
		}
		// One that was frozen before stays so.
		r.state("shop", isFrozen)
		_, err = r.close("shop")
		r.refused(err, ledger.CodeInvalidChange)
		r.now("shop", 2, isFrozen)
	})
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

// No debit is posted between the check of the holdings and the closing.
func TestDebitWhileAnAccountIsBeingClosed(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("margin", "USD", "10")
		r.mustPost(transfer("t-1", "margin", "shop", "10"))
		other := r.another()
		if _, err := other.Post(t.Context(), transfer("t-2", "bank", "margin", "1")); err != nil { // knows it as open
			t.Fatal(err)
		}
		r.mustPost(transfer("t-3", "margin", "shop", "1"))
		freezes := func(apply func() error) error { return apply() }
		r.journal.writes = map[string][]put{"PutChange": {freezes, func(apply func() error) error {
			_, err := other.Post(t.Context(), transfer("t-4", "margin", "shop", "100"))
			r.refused(err, ledger.CodeAccountFrozen)
			return apply()
		}}}
		if got, err := r.close("margin"); err != nil || got.State != isClosed {
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

// Every guard is updated, page by page. If the command's time is not enough, the outcome is unknown, and a retry
// continues with the remaining guards.
func TestChangeOfAnAccountWithManyGuards(t *testing.T) {
	const guards = 10_000
	inBubble(t, func(t *testing.T, r *rig) {
		for i := range guards {
			p := pair("jane", fmt.Sprintf("asset-%05d", i))
			if err := r.another().CreateGuard(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		}
		r.journal.forget()
		r.state("jane", isFrozen)
		t.Logf("%d guards: %d tells, %d queries, %d other requests", guards, r.journal.count("SetGuardVersion"), r.journal.count("Guards"),
			len(r.journal.calls)-r.journal.count("SetGuardVersion")-r.journal.count("Guards"))
		if n := r.journal.count("SetGuardVersion"); n != guards {
			t.Errorf("%d tells", n)
		}
		// Each takes 20 ms: a command tells some 6,000.
		r.journal.forget()
		r.journal.delay = map[string]time.Duration{"SetGuardVersion": 20 * time.Millisecond}
		_, err := r.change(ledger.ChangeAccount{ID: "jane", State: &isOpen})
		r.refused(err, ledger.CodeOutcomeUnknown)
		first := r.journal.count("SetGuardVersion")
		r.journal.forget()
		start := time.Now()
		r.state("jane", isOpen)
		t.Logf("by 20 ms each: %d tells in the first command, %d in the next, which took %v", first, r.journal.count("SetGuardVersion"), time.Since(start))
		if second := r.journal.count("SetGuardVersion"); first+second > guards+32 || second == 0 {
			t.Errorf("%d tells, and then %d", first, second)
		}
	})
}
