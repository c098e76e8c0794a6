// Package repair rebuilds the accounts and groups of a table at a limited rate, and then the lists and the journal,
// while the ledger serves requests. Package rebuild, of the projections, rebuilds each of them.
package repair

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"ledger.example/events"
	"ledger.example/internal/retry"
	"ledger.example/internal/table"
	"ledger.example/projections"
	"ledger.example/projections/rebuild"
)

// accountsAtOnce is how many accounts are rebuilt in parallel. A rebuild mostly waits for the store.
const accountsAtOnce = 8

// Config says what a run rebuilds.
type Config struct {
	Table table.Table
	Scope rebuild.Scope // an empty Scope.Account: all accounts
	From  string        // with all accounts: the first one, in byte order
	Rate  int           // maximum items read per second; 0: unlimited

	// Append appends entries to the journal, in a page that no reader's cursor has passed, like projections.Lister.
	// With all accounts, the run also rebuilds the lists of transactions and of accounts by metadata, and the journal;
	// nil: it does not.
	Append    func(ctx context.Context, entries []projections.JournalEntry) error
	Indexed   []string // the metadata keys by which transactions and accounts are listed
	ListsOnly bool     // rebuild no accounts
	// Report is called for each projection that has a problem, never concurrently.
	Report func(rebuild.Report)
	Log    *slog.Logger
}

// Counts is the progress of a run.
type Counts struct {
	Listed   int64 // items scanned to find accounts
	Accounts int64 // found, without those before From
	Done     int64 // accounts rebuilt

	Balances     int64            // checked
	Unchanged    int64            // balances that were correct
	Views        map[string]int64 // targets checked, by projections.View.Figure
	Transactions int64            // checked for the lists of transactions and the journal
	Postings     int64            // read
	Different    int64            // items that were wrong
	Behind       int64            // items that lack only recent postings
	Strays       int64            // items that no rebuild can repair
	Failed       int64            // reports with an error
}

// Run rebuilds a table, or an account. It must be run only once.
type Run struct {
	Config
	table     table.Table // with the limited rate
	lanes     *table.LaneLog
	rebuilder *rebuild.Rebuilder

	mu       sync.Mutex // also held while Report is called
	counts   Counts
	accounts []string // to rebuild, ascending
	done     []bool   // by the index of its account; nil: accounts are not listed yet
}

// New returns a run that has not begun.
func New(c Config) *Run {
	slow := &paced{Table: c.Table, rate: c.Rate}
	return &Run{
		Config: c, table: slow, lanes: table.NewLaneLog(slow, nil), rebuilder: rebuild.NewRebuilder(slow, nil, c.Log),
		counts: Counts{Views: make(map[string]int64)},
	}
}

// Counts returns the progress. It may be called at any time.
func (r *Run) Counts() Counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	counts := r.counts
	counts.Views = maps.Clone(counts.Views)
	return counts
}

// Next returns the first account that is not done, "" if all are done or if there is only one. Another run with it as
// From resumes this run. It may be called at any time.
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

// Run rebuilds. When ctx ends, each account in progress finishes its current projection first. Errors of one projection
// are reported and do not stop the run. Error: that of ctx, or one that affects the entire table.
func (r *Run) Run(ctx context.Context) (err error) {
	if !r.ListsOnly {
		err = r.all(ctx)
	}
	if err != nil || r.Append == nil || r.Scope.Account != "" {
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
	keys := table.Scan{Attributes: []string{table.AttrPK, table.AttrSK}}
	err := r.rebuilder.Scan(ctx, keys, func(p table.Page) error {
		for _, item := range p.Items {
			if account, ok := table.Account.Owner(table.ItemKey(item)); ok && account >= r.From {
				known[account] = true
			}
		}
		r.count(func(n *Counts) { n.Listed += int64(p.Count); n.Accounts = int64(len(known)) })
		return nil
	})
	return slices.Sorted(maps.Keys(known)), err
}

// account rebuilds one account. Error: that of ctx, or one that affects the entire table.
func (r *Run) account(ctx context.Context, account string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	accountCtx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	scope := r.Scope
	scope.Account = account
	err := r.rebuilder.Account(accountCtx, scope, func(report rebuild.Report) {
		if table.IsTableWide(report.Err) {
			stop(report.Err)
		}
		r.report(report)
	})
	switch cause := context.Cause(accountCtx); {
	case table.IsTableWide(cause):
		return cause
	case table.IsTableWide(err), err != nil && ctx.Err() != nil:
		return err
	case err != nil:
		r.report(rebuild.Report{Target: projections.Target{Account: account}, Err: err})
	}
	return nil
}

func (r *Run) report(p rebuild.Report) {
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
		case p.View != nil:
			n.Views[p.View.Figure]++
		}
		if p.Err != nil {
			n.Failed++
		}
		if r.Report != nil && (p.Err != nil || len(p.Strays) > 0 || !rebuild.AllBehind(p.Differences)) {
			r.Report(p)
		}
	})
}

// FoundNothing reports whether nothing was found for the account of the scope, or for its asset. The id may be wrong.
func (r *Run) FoundNothing() bool {
	n := r.Counts()
	return r.Scope.Account != "" && len(n.Views) == 0 && n.Postings+n.Different+n.Behind+n.Strays+n.Failed == 0
}

const groupsPage = 1000

// groups rebuilds the memberships of all groups, one group after the other. The list of groups is eventually
// consistent. Error: that of ctx, or of listing groups.
func (r *Run) groups(ctx context.Context) error {
	lists := projections.NewLists(r.table)
	for s, more := (projections.Slice{Limit: groupsPage}), true; more; {
		var page projections.Page[events.GroupRegistered]
		err := r.rebuilder.Retry(ctx, func() (err error) {
			page, err = lists.Groups(ctx, "", s)
			return err
		})
		if err != nil {
			return fmt.Errorf("list groups: %w", err)
		}
		s.After, more = page.Next, page.Next != ""
		for _, group := range page.Items {
			err := r.rebuilder.Group(ctx, group.ID, r.Scope.DryRun, r.report)
			switch {
			case err != nil && ctx.Err() != nil:
				return ctx.Err()
			case err != nil:
				r.report(rebuild.Report{Target: projections.Target{Group: group.ID}, Err: err})
			}
		}
	}
	return nil
}

// paced is a table.Table with a rate limit for reading postings and the journal, for scans, and for reads of many keys.
// Other reads are few and not limited.
//
// Most waits are before a balance begins, or begins again. While a balance is read, reads may exceed the rate by one
// second's worth: a hot balance is written often, and a wait between reading its version and writing it would cause a
// conflict.
type paced struct {
	table.Table
	rate int // items per second; 0: unlimited

	mu   sync.Mutex
	paid time.Time // when the items read so far are within the rate
}

// Query implements table.Table.
func (p *paced) Query(ctx context.Context, q table.Query) (page table.Page, err error) {
	if q.Limit == 1 || !table.Posting.Is(q.Within.From) && !table.Journal.Is(q.Within.From) {
		return p.Table.Query(ctx, q)
	}
	if err = p.wait(ctx, time.Second); err == nil {
		page, err = p.Table.Query(ctx, q)
		p.charge(len(page.Items))
	}
	return page, err
}

// Scan implements table.Table.
func (p *paced) Scan(ctx context.Context, s table.Scan) (page table.Page, err error) {
	if err = p.wait(ctx, 0); err == nil {
		page, err = p.Table.Scan(ctx, s)
		p.charge(page.Count)
	}
	return page, err
}

// BatchGet implements table.Table.
func (p *paced) BatchGet(ctx context.Context, keys []table.Key, c table.Consistency) (
	items []table.Item, at time.Time, err error,
) {
	if err = p.wait(ctx, 0); err == nil {
		items, at, err = p.Table.BatchGet(ctx, keys, c)
		p.charge(len(keys))
	}
	return items, at, err
}

// Get implements table.Table. The read of a balance alone begins an attempt to rebuild it.
func (p *paced) Get(ctx context.Context, k table.Key, c table.Consistency) (table.Item, time.Time, error) {
	if _, _, ok := table.Balance.Parse(k); ok {
		if err := p.wait(ctx, 0); err != nil {
			return nil, time.Time{}, err
		}
	}
	return p.Table.Get(ctx, k, c)
}

// wait sleeps until owed before paid. Error: that of ctx.
func (p *paced) wait(ctx context.Context, owed time.Duration) error {
	p.mu.Lock()
	due := time.Until(p.paid.Add(-owed)) // time.Until(p.paid)-owed would overflow for the zero time
	p.mu.Unlock()
	return retry.Sleep(ctx, max(0, due))
}

// charge delays the next reads by the time for items. A request counts as one item at least.
func (p *paced) charge(items int) {
	if p.rate == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := time.Now(); p.paid.Before(now) {
		p.paid = now
	}
	p.paid = p.paid.Add(time.Duration(max(1, items)) * time.Second / time.Duration(p.rate))
}
