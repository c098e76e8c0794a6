package rebuild

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ledger.example/events"
	"ledger.example/ledger/table"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
)

// books are twenty accounts of three postings each, none of them projected.
func books(t *testing.T) (*viewstest.Memory, []string) {
	t.Helper()
	m := viewstest.NewMemory()
	from := time.Now().Add(-time.Hour)
	var accounts []string
	for n := range 20 {
		account := fmt.Sprintf("a%02d", n)
		accounts = append(accounts, account)
		for i := range 3 {
			p := projections.Posting{ID: events.FirstKSUID(from.Add(time.Duration(i) * time.Second)), Quantity: events.NewAmount(1)}
			if err := m.Post(t.Context(), projections.Key{Account: account, Asset: "USD"}, p); err != nil {
				t.Fatal(err)
			}
		}
	}
	return m, accounts
}

// told collects which accounts' balances were told of.
type told struct {
	mu       sync.Mutex
	accounts []string
}

func (l *told) tell(p projections.Part) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.Asset != "" {
		l.accounts = append(l.accounts, p.Account)
	}
}

func quiet(c Config) *Run {
	c.Log = slog.New(slog.DiscardHandler)
	return New(c)
}

// Everything is rebuilt once; a dry run before it says the same, a second run finds nothing.
func TestRunRebuildsEveryAccount(t *testing.T) {
	m, accounts := books(t)
	for _, c := range []struct {
		dry       bool
		different int64
	}{{true, 40}, {false, 20}, {true, 0}, {false, 0}} { // a balance that is made moves its summary to where it belongs
		var list told
		r := quiet(Config{Views: m, DryRun: c.dry, Tell: list.tell})
		if err := r.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		n := r.Counts()
		if n.Done != 20 || n.Accounts != 20 || n.Balances != 20 || n.Different != c.different || n.Failed+n.Behind+n.Strays > 0 || r.Next() != "" || r.Nothing() {
			t.Errorf("%+v: %+v, next %q", c, n, r.Next())
		}
		slices.Sort(list.accounts)
		if c.different > 0 && !slices.Equal(list.accounts, accounts) || c.different == 0 && len(list.accounts) > 0 {
			t.Errorf("told of %q", list.accounts)
		}
		if writes := m.Requests().Writes; c.dry != (writes == 0) && c.different > 0 {
			t.Errorf("%+v: %d writes", c, writes)
		}
	}
}

// A run that is stopped finishes what it is at; one from where it says so does the rest, and nothing is left out.
func TestRunGoesOnWhereItWasStopped(t *testing.T) {
	m, accounts := books(t)
	from, runs := "", 0
	var list told
	for ; runs < 50; runs++ {
		ctx, stop := context.WithCancel(t.Context())
		n := 0
		r := quiet(Config{Views: m, From: from, Tell: func(p projections.Part) {
			list.tell(p)
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
	slices.Sort(list.accounts)
	if got := slices.Compact(list.accounts); !slices.Equal(got, accounts) || runs == 0 {
		t.Errorf("%d runs rebuilt %q", runs, got)
	}
}

// unserved are views of a table that can't be reached after so many balances.
type unserved struct {
	*viewstest.Memory
	mu   sync.Mutex
	left int
}

func (u *unserved) Postings(ctx context.Context, k projections.Key, after, through events.KSUID) ([]projections.Posting, bool, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.left--; u.left < 0 {
		return nil, false, fmt.Errorf("postings: %w", table.ErrUnavailable)
	}
	return u.Memory.Postings(ctx, k, after, through)
}

// A table that can't be reached any more ends the run, and no account is taken for done that isn't.
func TestRunEndsWhenTheTableIsGone(t *testing.T) {
	m, accounts := books(t)
	r := quiet(Config{Views: &unserved{Memory: m, left: 10}})
	if err := r.Run(t.Context()); !errors.Is(err, table.ErrUnavailable) {
		t.Fatalf("error %v", err)
	}
	from := r.Next()
	if from == "" {
		t.Fatal("it says that all is done")
	}
	again := quiet(Config{Views: m, From: from})
	if err := again.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	whole := quiet(Config{Views: m, DryRun: true})
	if err := whole.Run(t.Context()); err != nil || whole.Counts().Different > 0 || whole.Counts().Done != int64(len(accounts)) {
		t.Errorf("left: %+v, %v", whole.Counts(), err)
	}
}

// One bad account is told of, and stops no other; one that isn't there is told from one that is right.
func TestRunOfOneAccount(t *testing.T) {
	m, _ := books(t)
	for account, nothing := range map[string]bool{"a03": false, "b": true} {
		r := quiet(Config{Views: m, Account: account, Asset: "USD"})
		if err := r.Run(t.Context()); err != nil || r.Nothing() != nothing || r.Counts().Balances != 1 {
			t.Errorf("%s: %+v, nothing %v: %v", account, r.Counts(), r.Nothing(), err)
		}
	}
	if n := m.Requests().Writes; n != 1 {
		t.Errorf("%d balances written", n)
	}
}

// The first that is read of one account waits for nothing: no list of accounts was paid for before it.
func TestRateOfOneAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(27 * 365 * 24 * time.Hour) // the bubble begins before the first KSUID
		m, _ := books(t)
		began := time.Now()
		r := quiet(Config{Views: m, Rate: 5000, Account: "a03"})
		if err := r.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n, took := r.Counts(), time.Since(began); n.Different != 1 || n.Postings < 3 || took > time.Second {
			t.Errorf("%+v in %v", n, took)
		}
	})
}

// So many items a second are read, and no more.
func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(27 * 365 * 24 * time.Hour) // the bubble begins before the first KSUID
		m, accounts := books(t)
		const rate = 10
		began := time.Now()
		r := quiet(Config{Views: m, Rate: rate})
		if err := r.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		n := r.Counts()
		took := time.Since(began)
		least := time.Duration(n.Postings+n.Listed)*time.Second/rate - 2*time.Second // what is owed at the end
		if took < least || took > 3*least || n.Postings < int64(3*len(accounts)) {
			t.Errorf("%d postings and %d items in %v, wanted at least %v", n.Postings, n.Listed, took, least)
		}
		began = time.Now()
		if err := quiet(Config{Views: m}).Run(t.Context()); err != nil || time.Since(began) > time.Second {
			t.Errorf("without a rate it took %v: %v", time.Since(began), err)
		}
	})
}
