package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"ledger.example/client"
	"ledger.example/internal/days"
	"ledger.example/internal/desk/trial"
)

// trialOptions holds the flags of `ledger trial-balance`.
type trialOptions struct {
	trial.Query
	noWait bool
}

// trialBalanceCommand is `ledger trial-balance`.
func (env *environment) trialBalanceCommand() *cobra.Command {
	var o trialOptions
	cmd := &cobra.Command{Use: "trial-balance", Args: cobra.NoArgs}
	f := cmd.Flags()
	f.StringVar(&o.Prefix, "prefix", "", "only accounts whose ids begin with this")
	idFlag(f, &o.Group, "group", "only the accounts of this group")
	env.atFlag(f, &o.At, "balances at this time, or at the end of this day")
	f.BoolVar(&o.noWait, "no-wait", false, "without --at: do not wait until postings of this moment are settled")
	cmd.MarkFlagsMutuallyExclusive("prefix", "group")
	return env.apiCommand(cmd, func(ctx context.Context, _ []string) error { return env.trialBalance(ctx, o) })
}

func (env *environment) trialBalance(ctx context.Context, o trialOptions) error {
	if err := env.settle(ctx, &o); err != nil {
		return err
	}
	t, err := env.readTrial(ctx, o.Query)
	if _, isUnbalanced := t.Unbalanced(o.Query); err == nil && isUnbalanced { // postings may have come in between
		o.Strong = true
		t, err = env.readTrial(ctx, o.Query)
	}
	if err != nil {
		return err
	}
	if err := env.printTrial(ctx, t); err != nil {
		return err
	}
	if !t.Settled {
		fmt.Fprintln(env.err, "Postings may still be missing: the time is less than ten seconds ago, or the "+
			"books were closed less than 5 minutes ago.")
	}
	if sum, ok := t.Unbalanced(o.Query); ok {
		return fmt.Errorf("the balances of %s sum up to %s, not to zero: if nobody posts with an effective date "+
			"before --at while they are read, run `ledger verify`", sum.Asset,
			env.units.Quantity(sum.Asset, sum.Balance))
	}
	return nil
}

// settleWait is how long settle waits: until no posting of the time can come any more, and a bit. Books that are being
// closed take minutes: it does not wait for that.
const settleWait = 15 * time.Second

// settle sets the time of a trial balance as the ledger takes it. One of now includes what was just posted, and settle
// waits until that time is settled, unless o.noWait.
func (env *environment) settle(ctx context.Context, o *trialOptions) error {
	clock, err := trial.NewClock(ctx, env.api, o.Query)
	var m trial.Moment
	if err == nil {
		m, err = clock.Take(ctx, o.At)
	}
	if o.At, o.Strong = m.At, m.IsNow; err != nil || !m.IsNow || o.noWait {
		return err
	}
	for end := time.Now().Add(settleWait); !m.Settled && time.Now().Before(end); {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Second):
		}
		if m, err = clock.Take(ctx, o.At); err != nil {
			return err
		}
	}
	return nil
}

// readTrial reads a trial balance, and shows progress on long ones.
func (env *environment) readTrial(ctx context.Context, q trial.Query) (t trial.Balance, err error) {
	var accounts []string
	for id, err := range trial.Accounts(ctx, env.api, q) {
		if err != nil {
			return t, err
		}
		accounts = append(accounts, id)
	}
	var done atomic.Int64
	status := func(time.Duration) (string, int64) {
		return fmt.Sprintf("%d of %s", done.Load(), counted(int64(len(accounts)), "account", "accounts")), done.Load()
	}
	err = env.watch(int64(len(accounts)), status, func() (err error) {
		t, err = trial.Read(ctx, env.api, q, accounts, func() { done.Add(1) })
		return err
	})
	return t, err
}

// printTrial prints a trial balance.
func (env *environment) printTrial(ctx context.Context, t trial.Balance) error {
	raw, err := json.Marshal(t)
	if err != nil {
		return err
	}
	var assets []string
	for _, total := range t.Totals {
		assets = append(assets, total.Asset)
	}
	return env.print(ctx, raw, assets, func() error {
		cells := func(l trial.Line) []string {
			u := env.units
			return []string{l.Account, l.Asset, u.Quantity(l.Asset, l.Debits), u.Quantity(l.Asset, l.Credits),
				u.Quantity(l.Asset, l.Balance)}
		}
		lines := slices.Concat(t.Data, t.Totals)
		if env.format == formatCSV {
			return env.writeCSV(t.Rows(env.units))
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

// closeBooksCommand is `ledger close-books`.
func (env *environment) closeBooksCommand() *cobra.Command {
	var before, through time.Time
	var reason string
	cmd := &cobra.Command{Use: "close-books", Args: cobra.NoArgs}
	f := cmd.Flags()
	f.Var(checked[time.Time]{&before, "time", func(text string) (time.Time, error) {
		at, err := parseTime(strings.TrimSpace(text))
		if err != nil {
			err = errors.New("must be like 2026-01-31T12:00:00Z")
		}
		return given(at), err
	}}, "before", "close what is before this time")
	f.Lookup("before").DefValue = ""
	env.dayFlag(f, "through", "close what is before the end of this day", func(day days.Day, in *time.Location) error {
		through = day.End(in)
		return nil
	})
	f.StringVar(&reason, "reason", "", "why the books are closed or opened")
	env.limitFlags(cmd, "closings")
	env.apiCommand(cmd, func(ctx context.Context, _ []string) error {
		switch {
		case before.IsZero() && through.IsZero() && reason != "":
			return usageErrorf("--reason needs --before or --through")
		case before.IsZero() && through.IsZero():
			return printList(ctx, env, env.api.Periods())
		case reason == "":
			return usageErrorf("--reason is missing")
		case !through.IsZero():
			before = through
		}
		return env.closeBooks(ctx, before, reason)
	})
	cmd.MarkFlagsMutuallyExclusive("before", "through")
	return cmd
}

// closeBooks sends the next closing.
func (env *environment) closeBooks(ctx context.Context, before time.Time, reason string) error {
	newest, err := env.api.Periods().Page(ctx, "", 1)
	if err != nil {
		return err
	}
	number := int64(1)
	if len(newest.Value.Data) > 0 {
		last := newest.Value.Data[0]
		if number = last.Number + 1; last.Reason == reason && sameTime(last.ClosedBefore, before) {
			number-- // the same closing again
		}
	}
	closed, w, err := env.api.ClosePeriod(ctx, number, before, reason)
	if err != nil {
		return err
	}
	if !w.New {
		fmt.Fprintln(env.err, "The books were already closed like this: nothing was written.")
	}
	return printFields[client.Period](env)(ctx, client.Reply[client.Period]{Value: closed, Raw: w.Raw})
}

// sameTime reports whether a time of the API is at.
func sameTime(text string, at time.Time) bool {
	t, err := time.Parse(time.RFC3339, text)
	return err == nil && t.Equal(at.Truncate(time.Microsecond))
}
