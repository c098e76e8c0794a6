package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

// balanceCommand is `ledger balance`. It is the simplest command that calls the API: its flags, one call, and how the
// answer is shown to people.
func (env *environment) balanceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "balance ACCOUNT ASSET",
		Short: "Show what an account holds of one asset",
		Long: `balance prints what an account holds of one asset. The figure comes from the
projection, which may be about a second behind. With --strong it includes every
transaction that was acknowledged before.

Quantity, credits and debits count what is posted. Pending is what open holds
set aside. Available is what can be spent: the quantity and the overdraft, less
the pending debits.`,
		Example: `  ledger balance jane USD
  ledger balance jane AAPL --strong --json`,
		Args: named,
	}
	env.strongFlag(cmd, "include every acknowledged transaction")
	return env.apiCommand(cmd, func(ctx context.Context, args []string) error {
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
