package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (c *cli) balanceCommand() *cobra.Command {
	var minor, strong bool
	cmd := &cobra.Command{
		Use:   "balance ACCOUNT ASSET",
		Short: "Show what an account holds of one asset",
		Long: `balance prints what an account holds of one asset. It is the projection's, which may be behind for a
moment; with --strong it includes every transaction acknowledged before.`,
		Example: `  ledger balance jane USD
  ledger balance jane AAPL --strong --json`,
		Args: ids("ACCOUNT", "ASSET"),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := c.dial(0, 0)
			if err != nil {
				return err
			}
			r, err := api.Balance(cmd.Context(), args[0], args[1], strong)
			if err != nil {
				return err
			}
			if c.json {
				return c.printJSON(r.Raw)
			}
			u := newUnits(api, minor)
			if err := u.load(cmd.Context(), args[1]); err != nil {
				return err
			}
			b := r.Value
			t := newTable(c.out, "ACCOUNT", "ASSET", "QUANTITY", "NET EXPENDITURE", "CREDITS", "DEBITS", "POSTINGS", "AS OF")
			t.row(b.Account, b.Asset, u.quantity(b.Asset, b.Quantity), u.costCell(b.Asset, b.NetExpenditure),
				u.quantity(b.Asset, b.Credits), u.quantity(b.Asset, b.Debits), fmt.Sprint(b.Postings), orNone(b.AsOfTime))
			return t.flush()
		},
	}
	cmd.Flags().BoolVar(&minor, "minor", false, "amounts in whole minor units")
	cmd.Flags().BoolVar(&strong, "strong", false, "include every acknowledged transaction")
	return cmd
}
