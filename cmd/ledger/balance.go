package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

// balanceCommand is `ledger balance`. It is the simplest command that calls the API: its flags, one call, and how the
// answer is shown to people.
func (env *environment) balanceCommand() *cobra.Command {
	var at time.Time
	cmd := &cobra.Command{
		Use:   "balance ACCOUNT ASSET",
		Short: "Show what an account holds of one asset",
		Long: `balance prints what an account holds of one asset. The figure comes from the
projection, which may be about a second behind. With --strong it includes every
transaction that was acknowledged before.

Quantity, credits and debits count what is posted. Pending is what open holds
set aside. Available is what can be spent: the quantity and the overdraft, less
the pending debits.

With --at it is the balance at that time: all postings at the time or before.
It takes a time (2026-01-31T12:00:00Z) or a day (2026-01-31, which begins at
midnight UTC). The revision is the number of postings counted: as long as it is
the same, so is the balance. Settled says that the time is over for at least
ten seconds, so that only late or backdated postings can change it.`,
		Example: `  ledger balance jane USD
  ledger balance jane USD --at 2026-03-01
  ledger balance jane AAPL --strong --json`,
	}
	timeFlag(cmd.Flags(), &at, "at", timeFormats(), "what it was at this time")
	env.strongFlag(cmd, "include every acknowledged transaction")
	return env.apiCommand(cmd, func(ctx context.Context, args []string) error {
		if !at.IsZero() {
			return env.balanceAt(ctx, args[0], args[1], at)
		}
		r, err := env.api.Balance(ctx, args[0], args[1], env.strong)
		if err != nil {
			return err
		}
		b, u := r.Value, env.units
		return env.print(ctx, r.Raw, []string{b.Asset}, func() error {
			t := newList(env.out)
			t.row("Account", b.Account)
			t.row("Asset", b.Asset)
			t.row("Quantity", u.Quantity(b.Asset, b.Quantity))
			t.row("Net expenditure", u.CostCell(b.Asset, b.NetExpenditure))
			t.row("Credits", u.Quantity(b.Asset, b.Credits))
			t.row("Debits", u.Quantity(b.Asset, b.Debits))
			t.row("Pending debits", u.Quantity(b.Asset, b.PendingDebits))
			t.row("Pending credits", u.Quantity(b.Asset, b.PendingCredits))
			t.row("Available", u.Available(b))
			t.row("Postings", fmt.Sprint(b.Postings))
			t.row("As of", orNone(b.AsOfTime))
			return t.flush()
		})
	})
}

// balanceAt shows what an account held of one asset at a time.
func (env *environment) balanceAt(ctx context.Context, account, asset string, at time.Time) error {
	r, err := env.api.BalanceAt(ctx, account, asset, at, env.strong)
	if err != nil {
		return err
	}
	b, u := r.Value, env.units
	return env.print(ctx, r.Raw, []string{b.Asset}, func() error {
		t := newList(env.out)
		t.row("Account", b.Account)
		t.row("Asset", b.Asset)
		t.row("At", b.At)
		t.row("Quantity", u.Quantity(b.Asset, b.Quantity))
		t.row("Net expenditure", u.CostCell(b.Asset, b.NetExpenditure))
		t.row("Credits", u.Quantity(b.Asset, b.Credits))
		t.row("Debits", u.Quantity(b.Asset, b.Debits))
		t.row("Pending debits", u.Quantity(b.Asset, b.PendingDebits))
		t.row("Pending credits", u.Quantity(b.Asset, b.PendingCredits))
		t.row("Newest posting", orNone(b.AsOfTime))
		t.row("Revision", fmt.Sprint(b.Revision))
		t.row("Settled", yesOrNo(b.Settled))
		return t.flush()
	})
}

func yesOrNo(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}
