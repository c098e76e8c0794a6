package main

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/internal/units"
)

// trialOptions holds the flags of `ledger trial-balance`.
type trialOptions struct {
	prefix, group, format string
	at                    time.Time
}

// trialLine is a line of a trial balance: what an account has of an asset, or the sum of an asset, without an account.
// Amounts are in minor units in JSON.
type trialLine struct {
	Account string        `json:"account,omitempty"`
	Asset   string        `json:"asset"`
	Debits  events.Amount `json:"debits"`
	Credits events.Amount `json:"credits"`
	Balance events.Amount `json:"balance"`
}

// trial is a trial balance.
type trial struct {
	At      string      `json:"at"`
	Settled bool        `json:"settled"`
	Data    []trialLine `json:"data"`
	Totals  []trialLine `json:"totals"`
}

// trialBalanceCommand is `ledger trial-balance`.
func (env *environment) trialBalanceCommand() *cobra.Command {
	var o trialOptions
	cmd := &cobra.Command{
		Use:   "trial-balance",
		Short: "Show the debits, credits and balances of all accounts",
		Args:  cobra.NoArgs,
	}
	f := cmd.Flags()
	f.StringVar(&o.prefix, "prefix", "", "only accounts whose ids begin with this")
	idFlag(f, &o.group, "group", "only the accounts of this group")
	atFlag(f, &o.at, "balances at this time, or at the end of this day")
	choiceFlag(f, &o.format, "format", "", "table, csv or json; --json is the last", "table", "csv", "json")
	cmd.MarkFlagsMutuallyExclusive("prefix", "group")
	env.apiCommand(cmd, func(ctx context.Context, _ []string) error { return env.trialBalance(ctx, o) })
	cmd.MarkFlagsMutuallyExclusive("format", "json")
	return cmd
}

func (env *environment) trialBalance(ctx context.Context, o trialOptions) error {
	if now := time.Now(); o.at.IsZero() || o.at.After(now) {
		o.at, env.strong = now, true // what was just posted is included
	}
	t := trial{At: events.FormatTime(o.at), Settled: true, Data: []trialLine{}}
	if err := env.readTrial(ctx, o, &t); err != nil {
		return err
	}
	var err error
	if t.Totals, err = totalsOf(t.Data); err != nil {
		return err
	}
	if err := env.printTrial(ctx, o.format, t); err != nil {
		return err
	}
	if !t.Settled {
		fmt.Fprintln(env.err, "Postings of the last seconds may still be missing.")
	}
	if o.prefix+o.group != "" {
		return nil
	}
	for _, total := range t.Totals {
		if !total.Balance.IsZero() && t.Settled {
			return fmt.Errorf("the balances of %s sum up to %s, not to zero: run `ledger verify`", total.Asset,
				env.units.Quantity(total.Asset, total.Balance))
		}
	}
	return nil
}

// readTrial reads the balances of all accounts, several at once, and shows progress on long lists.
func (env *environment) readTrial(ctx context.Context, o trialOptions, t *trial) error {
	accounts, err := env.trialAccounts(ctx, o)
	if err != nil {
		return err
	}
	all := make([][]client.PastBalance, len(accounts))
	var done atomic.Int64
	status := func(time.Duration) (string, int64) {
		return fmt.Sprintf("%d of %s", done.Load(), counted(int64(len(accounts)), "account", "accounts")), done.Load()
	}
	err = env.watch(int64(len(accounts)), status, func() error {
		g, ctx := errgroup.WithContext(ctx)
		g.SetLimit(units.LoadingAtOnce)
		for i, account := range accounts {
			g.Go(func() (err error) {
				list := env.api.BalancesAt(account, o.at, env.strong)
				all[i], err = collect(ctx, list, func(b client.PastBalance) client.PastBalance { return b })
				done.Add(1)
				return err
			})
		}
		return g.Wait()
	})
	for _, b := range slices.Concat(all...) {
		t.Data = append(t.Data, trialLine{b.Account, b.Asset, b.Debits, b.Credits, b.Quantity})
		t.Settled = t.Settled && b.Settled
	}
	return err
}

// trialAccounts returns the ids of the accounts, in the order of ids.
func (env *environment) trialAccounts(ctx context.Context, o trialOptions) ([]string, error) {
	if o.group != "" {
		return collect(ctx, env.api.GroupAccounts(o.group), func(a client.GroupedAccount) string { return a.Account })
	}
	return collect(ctx, env.api.Accounts(o.prefix), func(a client.Account) string { return a.ID })
}

// collect reads a whole list, and returns what of returns for each item.
func collect[T, V any](ctx context.Context, list client.Listing[T], of func(T) V) (all []V, err error) {
	for item, err := range list.All(ctx) {
		if err != nil {
			return nil, err
		}
		all = append(all, of(item))
	}
	return all, nil
}

// totalsOf returns the sums of each asset. Error: events.ErrOverflow.
func totalsOf(lines []trialLine) ([]trialLine, error) {
	sums := make(map[string]trialLine)
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
	return slices.SortedFunc(maps.Values(sums), func(a, b trialLine) int { return cmp.Compare(a.Asset, b.Asset) }), nil
}

// printTrial prints a trial balance in one of the formats.
func (env *environment) printTrial(ctx context.Context, format string, t trial) error {
	env.json = env.json || format == "json"
	raw, err := json.Marshal(t)
	if err != nil {
		return err
	}
	var assets []string
	for _, total := range t.Totals {
		assets = append(assets, total.Asset)
	}
	return env.print(ctx, raw, assets, func() error {
		cells := func(l trialLine) []string {
			u := env.units
			return []string{l.Account, l.Asset, u.Quantity(l.Asset, l.Debits), u.Quantity(l.Asset, l.Credits),
				u.Quantity(l.Asset, l.Balance)}
		}
		lines := slices.Concat(t.Data, t.Totals)
		if format == "csv" {
			rows := [][]string{{"account", "asset", "debits", "credits", "balance"}}
			for _, l := range lines {
				rows = append(rows, cells(l))
			}
			return csv.NewWriter(env.out).WriteAll(rows)
		}
		table := env.newTable(words("ACCOUNT"), words("ASSET"), numbers("DEBITS"), numbers("CREDITS"),
			numbers("BALANCE"))
		for _, l := range lines {
			l.Account = cmp.Or(l.Account, "Total")
			table.row(cells(l)...)
		}
		return table.flush()
	})
}
