package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"ledger.example/client"
)

// balanceCommand is `ledger balance`, the simplest command that calls the API: flags, one call, and a list for people.
func (env *environment) balanceCommand() *cobra.Command {
	var at time.Time
	cmd := &cobra.Command{Use: "balance ACCOUNT ASSET"}
	atFlag(cmd.Flags(), &at, "print the balance at this time, or at the end of this day")
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
			t := env.newList()
			t.row("Account", b.Account)
			t.row("Asset", b.Asset)
			env.sumRows(t, b.Asset, b.Sums)
			t.row("Available", u.Available(b))
			t.row("Postings", fmt.Sprint(b.Postings))
			t.row("As of", orNone(b.AsOfTime))
			return t.flush()
		})
	})
}

// balanceAt prints an account's balance of one asset at a time in the past.
func (env *environment) balanceAt(ctx context.Context, account, asset string, at time.Time) error {
	r, err := env.api.BalanceAt(ctx, account, asset, at, env.strong)
	if err != nil {
		return err
	}
	b := r.Value
	return env.print(ctx, r.Raw, []string{b.Asset}, func() error {
		t := env.newList()
		t.row("Account", b.Account)
		t.row("Asset", b.Asset)
		t.row("At", b.At)
		env.sumRows(t, b.Asset, b.Sums)
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

// sumRows adds the rows of the sums of an asset.
func (env *environment) sumRows(t *grid, asset string, s client.Sums) {
	t.row("Quantity", env.units.Quantity(asset, s.Quantity))
	t.row("Net expenditure", env.units.CostCell(asset, s.NetExpenditure))
	t.row("Credits", env.units.Quantity(asset, s.Credits))
	t.row("Debits", env.units.Quantity(asset, s.Debits))
	t.row("Pending debits", env.units.Quantity(asset, s.PendingDebits))
	t.row("Pending credits", env.units.Quantity(asset, s.PendingCredits))
}
