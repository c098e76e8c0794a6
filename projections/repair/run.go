package repair

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"ledger.example/internal/ddb"
)

// accountsAtOnce is how many accounts are rebuilt at the same time: a rebuild waits for the store nearly all the time.
const accountsAtOnce = 8

// Config says what a run rebuilds.
type Config struct {
	Views Views
	Scope Scope  // no account: all of them
	From  string // of all accounts, those from this on, in byte order
	Rate  int    // items read a second; 0: as many as can be

	Lists     ListViews // of all accounts: also the lists of transactions and the journal, to which Journal appends
	Journal   Journal
	Indexed   []string // the metadata keys by which transactions are listed
	ListsOnly bool     // no account
	// Report is called for every projection in which something was wrong, by one goroutine at a time.
	Report func(Report)
	Log    *slog.Logger
}

// Counts is the progress of a run.
type Counts struct {
	Listed   int64 // items gone through to find accounts
	Accounts int64 // found, those before From left out
	Done     int64 // of them

	Balances    int64 // gone through
	Unchanged   int64 // of them, those that were right
	Memberships int64 // gone through, with places in groups
	Holds       int64 // of each account, gone through
	// Transactions gone through for the lists of transactions and the journal.
	Transactions int64
	Postings     int64 // read
	Different    int64 // items that were wrong
	Behind       int64 // items that lack nothing but postings of the last moments
	Strays       int64 // items that no rebuild can make right
	Failed       int64 // balances, summaries and memberships
}

// Run rebuilds a table, or an account. It is run once.
type Run struct {
	Config
	rebuilder *Rebuilder

	mu       sync.Mutex // also held while Report is called
	counts   Counts
	accounts []string // to rebuild, ascending
	done     []bool   // by the index of its account; nil: accounts are not listed yet
}

// New returns a run that has not begun.
func New(c Config) *Run {
	return &Run{Config: c, rebuilder: NewRebuilder(&paced{Views: c.Views, rate: c.Rate}, nil, c.Log)}
}

// Counts returns the progress. It may be called at any time.
func (r *Run) Counts() Counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts
}

// Next returns the first account that is not done, "" when all are, or when there is only one: with it as From, another
// run resumes this one. It may be called at any time.
func (r *Run) Next() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done == nil {
		return r.From
	}
	if i := slices.Index(r.done, false); i >= 0 && r.Scope.Account == "" {
		return r.accounts[i]
	}
	return ""
}

// Run rebuilds. When ctx ends, what is under way (a balance, a summary, a membership of each account) is finished
// first. Error: that of ctx, or why the table cannot be used at all. What is wrong with one projection is reported, and
// the others go on.
func (r *Run) Run(ctx context.Context) (err error) {
	if !r.ListsOnly {
		err = r.all(ctx)
	}
	if err != nil || r.Lists == nil || r.Scope.Account != "" {
		return err
	}
	return r.lists(ctx)
}

// all rebuilds the accounts.
func (r *Run) all(ctx context.Context) (err error) {
	accounts := []string{r.Scope.Account}
	if accounts[0] == "" {
		if accounts, err = r.list(ctx); err != nil {
			return err
		}
	}
	r.count(func(n *Counts) {
		r.accounts, r.done, n.Accounts = accounts, make([]bool, len(accounts)), int64(len(accounts))
	})
	running, runCtx := errgroup.WithContext(ctx)
	running.SetLimit(accountsAtOnce)
	for i, account := range accounts {
		running.Go(func() error {
			err := r.account(runCtx, account)
			if err == nil {
				r.count(func(n *Counts) { r.done[i] = true; n.Done++ })
			}
			return err
		})
	}
	err = cmp.Or(running.Wait(), ctx.Err())
	if err == nil && r.Scope.Account == "" {
		err = r.groups(ctx)
	}
	return err
}

func (r *Run) count(change func(*Counts)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.counts)
}

// list returns the accounts from From on, ascending.
func (r *Run) list(ctx context.Context) ([]string, error) {
	known := make(map[string]bool)
	for from, more := "", true; more; {
		err := r.rebuilder.retry(ctx, func() error {
			accounts, read, next, err := r.rebuilder.views.Accounts(ctx, from)
			if err != nil {
				return err
			}
			for _, account := range accounts {
				if account >= r.From {
					known[account] = true
				}
			}
			r.count(func(n *Counts) { n.Listed += int64(read); n.Accounts = int64(len(known)) })
			from, more = next, next != ""
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return slices.Sorted(maps.Keys(known)), nil
}

// account rebuilds one account. Error: that of ctx, or one that is not of this account alone.
func (r *Run) account(ctx context.Context, account string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	accountCtx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	scope := r.Scope
	scope.Account = account
	err := r.rebuilder.Account(accountCtx, scope, func(report Report) {
		if ddb.IsTableWide(report.Err) {
			stop(report.Err)
		}
		r.report(report)
	})
	switch cause := context.Cause(accountCtx); {
	case ddb.IsTableWide(cause):
		return cause
	case ddb.IsTableWide(err), err != nil && ctx.Err() != nil:
		return err
	case err != nil:
		r.report(Report{Account: account, Err: err})
	}
	return nil
}

func (r *Run) report(p Report) {
	r.count(func(n *Counts) {
		n.Postings += p.Postings
		n.Strays += int64(len(p.Strays))
		for _, d := range p.Differences {
			if d.Behind {
				n.Behind++
			} else {
				n.Different++
			}
		}
		switch {
		case p.Asset != "":
			n.Balances++
			if len(p.Differences) == 0 && p.Err == nil {
				n.Unchanged++
			}
		case p.User != "", p.Group != "":
			n.Memberships++
		case p.Hold != "":
			n.Holds++
		}
		if p.Err != nil {
			n.Failed++
		}
		if r.Report != nil && (p.Err != nil || len(p.Strays) > 0 || !allBehind(p.Differences)) {
			r.Report(p)
		}
	})
}

// FoundNothing reports whether the one account, or its asset, that was asked for has nothing at all: its id may be
// wrong.
func (r *Run) FoundNothing() bool {
	n := r.Counts()
	return r.Scope.Account != "" && n.Postings+n.Memberships+n.Holds+n.Different+n.Behind+n.Strays+n.Failed == 0
}
