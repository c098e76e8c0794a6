// Package trial computes trial balances with the client of the API: what each account was debited and credited, by
// asset. Over all accounts, the balances of an asset sum up to zero.
package trial

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/internal/desk/units"
)

// Query selects a trial balance.
type Query struct {
	Prefix, Group string    // only these accounts: at most one of them
	At            time.Time // not later than now
	Strong        bool      // include every transaction that was acknowledged before
}

// Line is a line of a trial balance: what an account has of an asset, or the sum of an asset, without an account.
// Amounts are in minor units.
type Line struct {
	Account string        `json:"account,omitempty"`
	Asset   string        `json:"asset"`
	Debits  events.Amount `json:"debits"`
	Credits events.Amount `json:"credits"`
	Balance events.Amount `json:"balance"`
}

// Balance is a trial balance.
type Balance struct {
	At      string `json:"at"`
	Settled bool   `json:"settled"`
	Data    []Line `json:"data"`
	Totals  []Line `json:"totals"`
}

// Accounts iterates over the ids of the accounts, in the order of ids. An error ends the iteration.
func Accounts(ctx context.Context, api *client.Client, q Query) iter.Seq2[string, error] {
	if q.Group != "" {
		return ids(api.GroupAccounts(q.Group).All(ctx), func(a client.GroupedAccount) string { return a.Account })
	}
	return ids(api.Accounts(q.Prefix).All(ctx), func(a client.Account) string { return a.ID })
}

func ids[T any](all iter.Seq2[T, error], id func(T) string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for item, err := range all {
			if !yield(id(item), err) {
				return
			}
		}
	}
}

// unsettledFor is how long postings of a time may still be committed.
const unsettledFor = 10 * time.Second

// farFuture is later than now for every clock. The ledger takes it as now.
var farFuture = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

// Clock tells the ledger's time, and what of the past is settled. Each question reads one balance. A ledger without
// accounts or assets has none: then the own clock decides.
type Clock struct {
	api            *client.Client
	account, asset string
}

// NewClock finds the balance to ask for, of any account that a query may be about. Errors: those of reads.
func NewClock(ctx context.Context, api *client.Client, q Query) (Clock, error) {
	c := Clock{api: api}
	for id, err := range Accounts(ctx, api, Query{Group: q.Group}) {
		if err != nil {
			return c, err
		}
		c.account = id
		break
	}
	for a, err := range api.Assets("").All(ctx) {
		if err != nil {
			return c, err
		}
		c.asset = a.ID
		break
	}
	return c, nil
}

// Moment is a time as the ledger takes it.
type Moment struct {
	At      time.Time
	IsNow   bool // it is the present, because no time or a later one was asked for
	Settled bool // see client.PastBalance
}

// Take returns what the ledger takes a time as, the zero time for now. Errors: those of reads.
func (c Clock) Take(ctx context.Context, at time.Time) (Moment, error) {
	if at.IsZero() {
		at = farFuture
	}
	if c.account == "" || c.asset == "" {
		m := Moment{At: at, Settled: time.Since(at) > unsettledFor}
		if now := time.Now(); at.After(now) {
			m.At, m.IsNow = now, true
		}
		return m, nil
	}
	b, err := c.api.BalanceAt(ctx, c.account, c.asset, at, false)
	if err != nil {
		return Moment{At: at}, err
	}
	taken, err := events.ParseTime(b.Value.At)
	return Moment{taken, taken.Before(at.Truncate(time.Microsecond)), b.Value.Settled}, err
}

// settledSteps is how many seconds NewestSettled goes back at most: the table's clock may be behind the service's.
const settledSteps = 20

// NewestSettled returns the newest time at which the past is settled, to the second. Errors: those of reads.
func (c Clock) NewestSettled(ctx context.Context) (time.Time, error) {
	now, err := c.Take(ctx, time.Time{})
	at := now.At.Add(-unsettledFor)
	for range settledSteps {
		var m Moment
		if err == nil {
			m, err = c.Take(ctx, at)
		}
		if m.Settled || err != nil {
			break
		}
		at = at.Add(-time.Second)
	}
	return at, err
}

// Read reads the balances of accounts, several at once, and adds them up. It calls done, from any goroutine, after each
// account. Whether it is settled does not hang on there being a balance. Errors: those of reads, and
// events.ErrOverflow.
func Read(ctx context.Context, api *client.Client, q Query, accounts []string, done func()) (Balance, error) {
	t := Balance{At: events.FormatTime(q.At), Data: []Line{}}
	c, err := NewClock(ctx, api, q)
	var m Moment
	if err == nil {
		m, err = c.Take(ctx, q.At) // what is read after it is settled
	}
	if t.Settled = m.Settled; err != nil {
		return t, err
	}
	all := make([][]Line, len(accounts))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(units.LoadingAtOnce)
	for i, account := range accounts {
		g.Go(func() error {
			for b, err := range api.BalancesAt(account, q.At, q.Strong).All(ctx) {
				if err != nil {
					return err
				}
				all[i] = append(all[i], Line{account, b.Asset, b.Debits, b.Credits, b.Quantity})
			}
			done()
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return t, err
	}
	t.Data = slices.Concat(append([][]Line{t.Data}, all...)...)
	t.Totals, err = totals(t.Data)
	return t, err
}

// totals returns the sums of each asset. Error: events.ErrOverflow.
func totals(lines []Line) ([]Line, error) {
	sums := make(map[string]Line)
	for _, l := range lines {
		s := sums[l.Asset]
		s.Asset = l.Asset
		var err1, err2, err3 error
		s.Debits, err1 = s.Debits.Add(l.Debits)
		s.Credits, err2 = s.Credits.Add(l.Credits)
		s.Balance, err3 = s.Balance.Add(l.Balance)
		if err := cmp.Or(err1, err2, err3); err != nil {
			return nil, err
		}
		sums[l.Asset] = s
	}
	return slices.SortedFunc(maps.Values(sums), func(a, b Line) int { return cmp.Compare(a.Asset, b.Asset) }), nil
}

// Unbalanced returns the first sum of all accounts that is not zero. It may be that for a moment, because the accounts
// are read one by one: if postings of the time are still being committed, or if a transaction with an effective date
// before At is posted meanwhile. ok is false if there is none, or if the trial balance is of some accounts only.
func (t Balance) Unbalanced(q Query) (sum Line, ok bool) {
	if q.Prefix+q.Group != "" {
		return Line{}, false
	}
	i := slices.IndexFunc(t.Totals, func(l Line) bool { return !l.Balance.IsZero() })
	if i < 0 {
		return Line{}, false
	}
	return t.Totals[i], true
}
