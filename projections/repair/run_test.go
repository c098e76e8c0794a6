package repair_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/projections"
	"ledger.example/projections/repair"
	"ledger.example/projections/viewstest"
)

// books are twenty accounts of three postings each, none of them projected.
func books(t *testing.T) (*viewstest.Store, []string) {
	t.Helper()
	m := viewstest.NewStore(t, time.Now)
	from := time.Now().Add(-time.Hour)
	var accounts []string
	for n := range 20 {
		accounts = append(accounts, fmt.Sprintf("a%02d", n))
		for i := range 3 {
			p := projections.Posting{ID: events.FirstKSUID(from.Add(time.Duration(i) * time.Second))}
			p.Quantity = events.NewAmount(1)
			if err := m.Post(t.Context(), events.Pair{Account: accounts[n], Asset: "USD"}, p); err != nil {
				t.Fatal(err)
			}
		}
	}
	return m, accounts
}

// collect returns a report that collects in list of which accounts' balances it is called.
func collect(list *[]string) func(repair.Report) {
	return func(p repair.Report) {
		if p.Asset != "" {
			*list = append(*list, p.Account)
		}
	}
}

func quiet(c repair.Config) *repair.Run {
	c.Log = quietly
	return repair.New(c)
}

// ran is a run to its end.
func ran(t *testing.T, c repair.Config) *repair.Run {
	t.Helper()
	r := quiet(c)
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

// Everything is rebuilt once; a dry run before it says the same, a second run finds nothing.
func TestRunRebuildsEveryAccount(t *testing.T) {
	m, accounts := books(t)
	for _, c := range []struct {
		dry       bool
		different int64
	}{{true, 20}, {false, 20}, {true, 0}, {false, 0}} { // a balance that is made moves its summary to where it belongs
		var list []string
		r := ran(t, repair.Config{Views: m, Report: collect(&list), Scope: repair.Scope{DryRun: c.dry}})
		n := r.Counts()
		if n.Done != 20 || n.Accounts != 20 || n.Balances != 20 || n.Different != c.different ||
			n.Failed+n.Behind+n.Strays > 0 || r.Next() != "" || r.FoundNothing() {
			t.Errorf("%+v: %+v, next %q", c, n, r.Next())
		}
		slices.Sort(list)
		if c.different > 0 && !slices.Equal(list, accounts) || c.different == 0 && len(list) > 0 {
			t.Errorf("reported of %q", list)
		}
		if writes := m.Requests().Writes(); c.dry != (writes == 0) && c.different > 0 {
			t.Errorf("%+v: %d writes", c, writes)
		}
	}
}

// A run that is stopped finishes what it is at; one from where it says so does the rest, and nothing is left out.
func TestRunGoesOnWhereItWasStopped(t *testing.T) {
	m, accounts := books(t)
	from, runs := "", 0
	var list []string
	for ; runs < 50; runs++ {
		ctx, stop := context.WithCancel(t.Context())
		n := 0
		r := quiet(repair.Config{Views: m, From: from, Report: func(p repair.Report) {
			collect(&list)(p)
			if n++; n == 3 {
				stop()
			}
		}})
		err := r.Run(ctx)
		stop()
		if r.Next() == "" {
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			break
		}
		if !errors.Is(err, context.Canceled) || r.Next() < from {
			t.Fatalf("error %v, from %q to %q", err, from, r.Next())
		}
		from = r.Next()
	}
	slices.Sort(list)
	if got := slices.Compact(list); !slices.Equal(got, accounts) || runs == 0 {
		t.Errorf("%d runs rebuilt %q", runs, got)
	}
}

// A table that can't be reached any more ends the run, and no account is taken for done that isn't.
func TestRunEndsWhenTheTableIsGone(t *testing.T) {
	m, accounts := books(t)
	var pages atomic.Int32
	r := quiet(repair.Config{Views: &viewstest.Hooked{Store: m,
		AfterPostings: func(page []projections.Posting) ([]projections.Posting, error) {
			if pages.Add(1) > 10 {
				return nil, fmt.Errorf("postings: %w", store.ErrUnavailable)
			}
			return page, nil
		}}})
	if err := r.Run(t.Context()); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("error %v", err)
	}
	from := r.Next()
	if from == "" {
		t.Fatal("it says that all is done")
	}
	ran(t, repair.Config{Views: m, From: from})
	whole := ran(t, repair.Config{Views: m, Scope: repair.Scope{DryRun: true}}).Counts()
	if whole.Different > 0 || whole.Done != int64(len(accounts)) {
		t.Errorf("left: %+v", whole)
	}
}

// One bad account is reported of, and stops no other; one that isn't there is reported from one that is right.
func TestRunOfOneAccount(t *testing.T) {
	m, _ := books(t)
	for account, nothing := range map[string]bool{"a03": false, "b": true} {
		r := ran(t, repair.Config{Views: m, Scope: repair.Scope{Account: account, Asset: "USD"}})
		if r.FoundNothing() != nothing || r.Counts().Balances != 1 {
			t.Errorf("%s: %+v, nothing %v", account, r.Counts(), r.FoundNothing())
		}
	}
	if n := m.Requests().Writes(); n != 1 {
		t.Errorf("%d balances written", n)
	}
}

// So many items a second are read, and no more.
func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(27 * 365 * 24 * time.Hour) // the bubble begins before the first KSUID
		m, accounts := books(t)
		const rate = 10
		began := time.Now()
		r := ran(t, repair.Config{Views: m, Rate: rate})
		n := r.Counts()
		took := time.Since(began)
		least := time.Duration(n.Postings+n.Listed)*time.Second/rate - 2*time.Second // what is owed at the end
		if took < least || took > 3*least || n.Postings < int64(3*len(accounts)) {
			t.Errorf("%d postings and %d items in %v, wanted at least %v", n.Postings, n.Listed, took, least)
		}
		began = time.Now()
		if ran(t, repair.Config{Views: m}); time.Since(began) > time.Second {
			t.Errorf("without a rate it took %v", time.Since(began))
		}
	})
}
