package rebuild

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
	"ledger.example/projections"
)

// accountsAtOnce is how many accounts are rebuilt at the same time: a rebuild waits for the store nearly all the time.
const accountsAtOnce = 8

// listTries is how often one page of the list of accounts is asked for while the store throttles.
const listTries = 100

// Config says what is rebuilt.
type Config struct {
	Views          projections.Views
	Account, Asset string // of one account, or one asset of it, only; "": all
	From           string // of all accounts, those from this on, in byte order
	DryRun         bool   // nothing is written
	Rate           int    // items read a second; 0: as many as can be
	// Tell is told of every part in which something was amiss; it is called by one goroutine at a time.
	Tell func(projections.Part)
	Log  *slog.Logger
}

// Counts is how far a run is.
type Counts struct {
	Listed   int64 // items gone through to find accounts
	Accounts int64 // found, those before From left out
	Done     int64 // of them

	Balances    int64 // gone through
	Unchanged   int64 // of them, those that were right
	Memberships int64 // gone through
	Postings    int64 // read
	Different   int64 // items that were mended, or would be
	Behind      int64 // items that lack nothing but postings of the last moments
	Strays      int64 // items that no rebuild can mend
	Failed      int64 // parts
}

// Run is one rebuild.
type Run struct {
	Config
	projector *projections.Projector
	views     projections.Views

	mu     sync.Mutex
	counts Counts
	next   string // the account to go on with; "": none
	open   map[string]bool
}

// New returns a run that has not begun.
func New(c Config) *Run {
	r := &Run{Config: c, views: c.Views, open: make(map[string]bool), next: c.From}
	if c.Rate > 0 {
		r.views = &paced{Views: c.Views, rate: c.Rate}
	}
	r.projector = projections.NewProjector(r.views, nil, c.Log)
	return r
}

// Counts returns how far it is. It may be called at any time.
func (r *Run) Counts() Counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts
}

// Next returns the first account that is not done, "" when all are, or when there is only one: with it as From, another run
// goes on where this one is. It may be called at any time.
func (r *Run) Next() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := r.next
	for account := range r.open {
		if first == "" || account < first {
			first = account
		}
	}
	return first
}

// Run rebuilds. When ctx ends, what is under way (a balance, a summary, a membership of each account) is finished first. Error:
// that of ctx, or why the table can't be worked on at all; what is amiss with one part is told, and the others go on.
func (r *Run) Run(ctx context.Context) error {
	if r.Account != "" {
		r.mu.Lock()
		r.counts.Accounts = 1
		r.mu.Unlock()
		return r.account(ctx, r.Account)
	}
	accounts, err := r.list(ctx)
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.next = ""
	if len(accounts) > 0 {
		r.next = accounts[0]
	}
	r.mu.Unlock()
	running, stopping := errgroup.WithContext(ctx)
	running.SetLimit(accountsAtOnce)
	for i, account := range accounts {
		if stopping.Err() != nil {
			break
		}
		r.begin(account, accounts[i+1:])
		running.Go(func() error { return r.account(stopping, account) })
	}
	if err := running.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

// begin notes that an account is under way, and those that are not yet.
func (r *Run) begin(account string, rest []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open[account] = true
	r.next = ""
	if len(rest) > 0 {
		r.next = rest[0]
	}
}

// list returns the accounts from r.From on, ascending.
func (r *Run) list(ctx context.Context) ([]string, error) {
	known := make(map[string]bool)
	for from, tries := "", 0; ; {
		accounts, read, next, err := r.views.Accounts(ctx, from)
		if errors.Is(err, table.ErrThrottled) && tries < listTries {
			tries++
			if err := wire.Pause(ctx, tries); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		tries = 0
		for _, account := range accounts {
			if account >= r.From {
				known[account] = true
			}
		}
		r.mu.Lock()
		r.counts.Listed += int64(read)
		r.counts.Accounts = int64(len(known))
		r.mu.Unlock()
		if next == "" {
			break
		}
		from = next
	}
	all := make([]string, 0, len(known))
	for account := range known {
		all = append(all, account)
	}
	slices.Sort(all)
	return all, nil
}

// account rebuilds one. Error: that of ctx, or one that is not of this account alone.
func (r *Run) account(ctx context.Context, account string) error {
	var unserved error
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	err := r.projector.RebuildAccount(ctx, account, r.Asset, r.DryRun, func(p projections.Part) {
		if wire.Unserved(p.Err) && unserved == nil {
			unserved = p.Err
			stop(p.Err)
		}
		r.tell(p)
	})
	switch {
	case unserved != nil:
		return unserved
	case err != nil && (wire.Unserved(err) || ctx.Err() != nil):
		return err
	case err != nil:
		r.tell(projections.Part{Account: account, Err: err})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, account)
	r.counts.Done++
	return nil
}

func (r *Run) tell(p projections.Part) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := &r.counts
	n.Postings += p.Postings
	n.Strays += int64(len(p.Strays))
	amiss := p.Err != nil || len(p.Strays) > 0
	for _, d := range p.Differences {
		if d.Behind {
			n.Behind++
			continue
		}
		n.Different++
		amiss = true
	}
	if p.Asset != "" {
		n.Balances++
		if len(p.Differences) == 0 && p.Err == nil {
			n.Unchanged++
		}
	}
	if p.User != "" {
		n.Memberships++
	}
	if p.Err != nil {
		n.Failed++
	}
	if amiss && r.Tell != nil {
		r.Tell(p)
	}
}

// Nothing tells whether there was nothing at all of what one account, or one asset of it, was rebuilt for: perhaps its name is
// not spelled right.
func (r *Run) Nothing() bool {
	n := r.Counts()
	found := n.Postings + n.Memberships + n.Different + n.Behind + n.Strays + n.Failed
	if r.Asset == "" {
		found += n.Balances
	}
	return r.Account != "" && found == 0
}
