package ledger_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/ledger"
)

var isFrozen, isOpen, isClosed = events.StateFrozen, events.StateOpen, events.StateClosed

func (r *rig) change(c ledger.ChangeAccount) (ledger.Account, error) {
	r.t.Helper()
	c.Actor = "tester"
	return r.ChangeAccount(r.t.Context(), c)
}

func (r *rig) mustChange(c ledger.ChangeAccount) ledger.Account {
	r.t.Helper()
	account, err := r.change(c)
	if err != nil {
		r.t.Fatalf("change: %v", err)
	}
	return account
}

func (r *rig) state(account string, s events.AccountState) ledger.Account {
	r.t.Helper()
	return r.mustChange(ledger.ChangeAccount{ID: account, State: &s})
}

// guardVersion returns the version of the guard of an account in USD, 0 if it is absent or has none.
func (r *rig) guardVersion(account string) int64 {
	item, _ := r.journal.memory.Item(table.Spend.Key(account, "USD"))
	if item[table.AttrChange] == nil {
		return 0
	}
	return table.Read(item).Integer(table.AttrChange)
}

// An account without a limit has no guard. A freeze applies to its debits within debitAge, and the closing of an
// account to its credits within creditAge, unless the id was posted before.
func TestCachedAccountsExpire(t *testing.T) {
	for name, c := range map[string]struct {
		state          events.AccountState
		account        string
		within         time.Duration
		from, to, code string
	}{
		"debits of a frozen issuer":    {isFrozen, "bank", ledger.DebitAge, "bank", "jane", "account_frozen"},
		"credits of a closed account":  {isClosed, "bob", ledger.CreditAge, "bank", "bob", "account_closed"},
		"credits of a closed issuer":   {isClosed, "market", ledger.CreditAge, "bank", "market", "account_closed"},
		"debits of a closed issuer":    {isClosed, "market", ledger.DebitAge, "market", "bob", "account_closed"},
		"credits of a frozen account":  {isFrozen, "bob", ledger.CreditAge, "bank", "bob", ""},
		"credits of a frozen issuer":   {isFrozen, "market", ledger.CreditAge, "bank", "market", ""},
		"a thaw is learned of at once": {isOpen, "bank", 0, "bank", "jane", ""},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				other := r.another()
				post := func(id string) error {
					_, err := other.Post(t.Context(), transfer(id, c.from, c.to, id[2:])) // never the same twice
					return err
				}
				zero := ledger.PostTransaction{Annotation: ledger.Annotation{ID: "first", Actor: "tester"}, Postings: []ledger.LegRequest{
					{Account: c.from, Asset: "AAPL", Cost: amount("1")}, {Account: c.to, Asset: "AAPL", Cost: amount("-1")},
				}}
				if _, err := other.Post(t.Context(), zero); err != nil { // caches both
					t.Fatal(err)
				}
				if c.state == isOpen {
					r.state(c.account, isFrozen)
					r.refused(func() error { time.Sleep(ledger.DebitAge); return post("t-1") }(), ledger.CodeAccountFrozen)
				}
				r.state(c.account, c.state)
				time.Sleep(c.within)
				err := post("t-2")
				if c.code == "" && err != nil {
					t.Error(err)
				} else if c.code != "" {
					r.refused(err, ledger.Code(c.code))
				}
				if again, err := other.Post(t.Context(), zero); err != nil || !again.Replayed {
					t.Errorf("a replay: %v", err)
				}
			})
		})
	}
}

// A cost that an account gives alone has no guard, so it reads the account strongly: a state that another process
// acknowledged binds it, also with a warm cache. It spends nothing, so funds never refuse it.
func TestCostAlone(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		cost := func(id, from, to string) ledger.PostTransaction {
			return ledger.PostTransaction{Annotation: ledger.Annotation{ID: id, Actor: "tester"}, Postings: []ledger.LegRequest{
				leg(from, "AAPL", "0", "-5"), leg(to, "AAPL", "0", "5")}}
		}
		other := func(state events.AccountState) {
			t.Helper()
			if _, err := r.another().ChangeAccount(t.Context(), ledger.ChangeAccount{ID: "bob", State: &state,
				Actor: "tester"}); err != nil {
				t.Fatal(err)
			}
		}
		r.mustPost(cost("c-1", "bob", "jane")) // from nothing
		r.mustPost(cost("c-2", "jane", "bob"))
		other(isFrozen)
		_, err := r.post(cost("c-3", "bob", "jane"))
		if e := r.refused(err, ledger.CodeAccountFrozen); e.Account != "bob" || len(e.Fields) != 1 {
			t.Errorf("refused with %+v", e)
		}
		_, err = r.post(reversal("r-1", "c-2", ledger.Part{}))
		r.refused(err, ledger.CodeAccountFrozen)
		r.mustPost(cost("c-4", "jane", "bob"))
		other(isOpen)
		r.mustPost(cost("c-5", "bob", "jane"))
		other(isClosed)
		_, err = r.post(cost("c-6", "bob", "jane"))
		r.refused(err, ledger.CodeAccountClosed)
		r.mustPost(reversal("r-2", "c-2", ledger.Part{})) // takes the cost from the closed account
		r.restart()                                       // and a process that knows that it is closed
		r.mustPost(reversal("r-3", "c-5", ledger.Part{}))
		_, err = r.post(cost("c-7", "jane", "bob"))
		r.refused(err, ledger.CodeAccountClosed)
	})
}

// A hold with costs alone on an account would let it be closed while the hold is open.
func TestHoldOfCostsAlone(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		hold := func(id string, legs ...ledger.LegRequest) error {
			_, err := r.post(ledger.PostTransaction{Postings: legs,
				Annotation: ledger.Annotation{ID: id, Actor: "tester", Hold: &ledger.HoldRequest{}}})
			return err
		}
		e := r.refused(hold("h-1", leg("jane", "AAPL", "0", "5"), leg("bob", "AAPL", "0", "-5")), ledger.CodeInvalidTransaction)
		if got := ledger.Names(e.Fields); !slices.Equal(got, []string{"postings[0].quantity", "postings[1].quantity"}) {
			t.Errorf("refused %q", got)
		}
		r.fund("market", "AAPL", "10")
		e = r.refused(hold("h-2", leg("market", "AAPL", "-1", "-5"), leg("jane", "AAPL", "1", "0"), leg("bob", "AAPL", "0", "5")),
			ledger.CodeInvalidTransaction)
		if got := ledger.Names(e.Fields); !slices.Equal(got, []string{"postings[2].quantity"}) {
			t.Errorf("refused %q", got)
		}
		// A cost alone in one posting of an account that has another one.
		if err := hold("h-3", leg("market", "AAPL", "-1", "0"), leg("jane", "AAPL", "1", "0"), leg("jane", "AAPL", "0", "5"),
			leg("market", "AAPL", "0", "-5")); err != nil {
			t.Error(err)
		}
	})
}

// A request with another body, for an asset or a group that this process does not know yet, leaves it as it is.
func TestRefusedRegistration(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		group := ledger.RegisterGroup{ID: "desk", Name: "Desk", Actor: "tester"}
		if _, _, err := r.another().RegisterGroup(t.Context(), group); err != nil {
			t.Fatal(err)
		}
		group.Name = "another"
		_, _, err := r.RegisterGroup(t.Context(), group)
		r.refused(err, ledger.CodeGroupExists)
		if got, err := r.Group(t.Context(), "desk"); err != nil || got.Name != "Desk" {
			t.Errorf("%+v, %v", got, err)
		}
		_, _, err = r.RegisterAsset(t.Context(), ledger.RegisterAsset{ID: "USD", Name: "another", Scale: 2, Actor: "tester"})
		r.refused(err, ledger.CodeAssetExists)
		if got, err := r.Asset(t.Context(), "USD"); err != nil || got.Name != "US dollar" {
			t.Errorf("%+v, %v", got, err)
		}
		r.mustPost(transfer("t-1", "bank", "jane", "1"))
	})
}

// A freeze may come after a debit found no guard and before it created one. Then the freeze updated no guard, and the
// debit must still be refused.
func TestFreezeBeforeTheGuardIsCreated(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.mustPost(transfer("d-1", "bank", "jane", "100"))
		r.journal.Project(pair("jane", "USD"), amount("100"))
		r.journal.writes = map[string][]put{"CreateGuard": {func(apply func() error) error {
			_, err := r.another().ChangeAccount(t.Context(), ledger.ChangeAccount{ID: "jane", State: &isFrozen, Actor: "tester"})
			return errors.Join(err, apply())
		}}}
		_, err := r.post(transfer("t-1", "jane", "shop", "1"))
		r.refused(err, ledger.CodeAccountFrozen)
		if v := r.guardVersion("jane"); v != 2 {
			t.Errorf("the guard has version %d", v)
		}
	})
}

// A raised limit applies before the guards have the new version: no debit is refused by an outdated limit.
func TestRaisedLimitAppliesBeforeItsGuardIsUpdated(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		other := r.another()
		if _, err := other.Post(t.Context(), transfer("t-1", "jane", "shop", "100")); err != nil {
			t.Fatal(err)
		}
		r.journal.fail = failing("Guards", errUnavailable)
		raised := events.Overdraft{Limits: map[string]events.Amount{"USD": amount("50")}}
		_, err := r.change(ledger.ChangeAccount{ID: "jane", Overdraft: &raised})
		r.refused(err, ledger.CodeOutcomeUnknown)
		if _, err := other.Post(t.Context(), transfer("t-2", "jane", "shop", "50")); err != nil {
			t.Error(err)
		}
		_, err = other.Post(t.Context(), transfer("t-3", "jane", "shop", "1"))
		if e := r.refused(err, ledger.CodeInsufficientFunds); !e.Funds.Available.IsZero() {
			t.Errorf("funds %+v", e.Funds)
		}
	})
}

// A debit that has a newer version of the account than the guard updates the guard.
func TestDebitUpdatesAnOutdatedGuard(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		r.journal.fail = failing("Guards", errUnavailable)
		_, err := r.change(ledger.ChangeAccount{ID: "jane", State: &isFrozen})
		r.refused(err, ledger.CodeOutcomeUnknown)
		_, err = r.another().Post(t.Context(), transfer("t-1", "jane", "shop", "1"))
		r.refused(err, ledger.CodeAccountFrozen)
		if spent, _ := r.journal.Spent(pair("jane", "USD")); !spent.IsZero() || r.guardVersion("jane") != 2 {
			t.Errorf("%v spent, version %d", spent, r.guardVersion("jane"))
		}
	})
}

// A change whose answer was lost is acknowledged only when all that was written with it is visible: a debit reads the
// copy of the newest change, which may be visible later than the change.
func TestUnknownChangeIsReadBeforeItIsAcknowledged(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		lost := func(apply func() error) error { return errors.Join(errUnknown, apply()) }
		r.journal.writes = map[string][]put{"PutChange": {lost}}
		r.journal.fail = failing("VerifyComplete", errUnavailable)
		_, err := r.change(ledger.ChangeAccount{ID: "jane", State: &isFrozen})
		r.refused(err, ledger.CodeOutcomeUnknown)
		r.journal.fail = nil
		if got := r.state("jane", isFrozen); got.Version != 2 {
			t.Errorf("%+v", got)
		}
	})
}

// Each step of creating a guard is retried until it succeeds. A guard that another process has put is used.
func TestCreationOfAGuardIsRetried(t *testing.T) {
	lost := func(apply func() error) error { return errors.Join(errUnknown, apply()) }
	for name, steps := range map[string]map[string][]put{
		"put by another":           nil,
		"put, not applied":         {"CreateGuard": {putAnswers(errUnknown), putAnswers(errThrottled)}},
		"put, answer lost":         {"CreateGuard": {lost}},
		"version set, not applied": {"SetGuardVersion": {putAnswers(errUnknown), putAnswers(table.ErrConflict)}},
		"version set, answer lost": {"SetGuardVersion": {lost}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				r.mustPost(transfer("d-1", "bank", "jane", "100"))
				if r.journal.writes = steps; steps == nil {
					if err := r.another().CreateGuard(t.Context(), pair("jane", "USD")); err != nil {
						t.Fatal(err)
					}
				}
				r.mustPost(transfer("t-1", "jane", "shop", "100"))
				_, err := r.post(transfer("t-2", "jane", "shop", "1"))
				r.refused(err, ledger.CodeInsufficientFunds)
				for method, left := range steps {
					if len(left) != 0 {
						t.Errorf("%s was not made again", method)
					}
				}
			})
		})
	}
}

// G5: a balance was too high for a moment, and a process cached its credits. After creditsTTL it reads them again, and
// refuses debits that are not covered.
func TestCachedCreditsExpire(t *testing.T) {
	jane := pair("jane", "USD")
	for name, wait := range map[string]func(r *rig){
		"by the monotonic clock": func(*rig) { time.Sleep(ledger.CreditsTTL) },
		// The monotonic clock may stop while a function is frozen, or a machine suspended. The wall clock goes on.
		"by the clock": func(r *rig) { r.skew, r.storeSkew = ledger.CreditsTTL, ledger.CreditsTTL; time.Sleep(time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				r.fund("jane", "USD", "100")
				r.restart()
				r.journal.Project(jane, amount("1000"))
				r.mustPost(transfer("t-1", "jane", "shop", "50"))
				r.journal.Project(jane, amount("100")) // it was rebuilt
				wait(r)
				_, err := r.post(transfer("t-2", "jane", "shop", "51"))
				if e := r.refused(err, ledger.CodeInsufficientFunds); e.Funds.Available != amount("50") {
					t.Errorf("funds %+v", *e.Funds)
				}
				r.mustPost(transfer("t-2", "jane", "shop", "50"))
			})
		})
	}
}

// Of commands that are refused at the same time because of old credits, one reads the exact ones. The others try again
// with them. What they do not cover is refused after a read of its own.
func TestExactCreditsAreReadOnceForAll(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "80")
		r.journal.Project(pair("jane", "USD"), events.Amount{})
		r.journal.fail = func(request string) error {
			if request == "Funds" {
				time.Sleep(100 * time.Millisecond)
			}
			return nil
		}
		codes := make([]ledger.Code, 9)
		var posts sync.WaitGroup
		for i := range codes {
			posts.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				_, err := r.post(transfer("", "jane", "shop", "10"))
				if e, ok := errors.AsType[*ledger.Error](err); ok {
					codes[i] = e.Code
				}
			})
		}
		posts.Wait()
		if slices.Sort(codes); !slices.Equal(codes, append(make([]ledger.Code, 8), ledger.CodeInsufficientFunds)) {
			t.Errorf("%q", codes)
		}
		if n := r.journal.count("Funds"); n != 2 {
			t.Errorf("the credits were read %d times", n)
		}
	})
}
