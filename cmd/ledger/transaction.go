package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"ledger.example/cmd/ledger/client"
)

func (c *cli) transactionCommand() *cobra.Command {
	var minor bool
	cmd := &cobra.Command{
		Use:   "transaction ID",
		Short: "Show a transaction with all its postings",
		Long:  `transaction prints a transaction with all its postings. It is always strongly consistent.`,
		Example: `  ledger transaction order-1001
  ledger transaction order-1001 --json`,
		Args: ids("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := c.dial(0, loadingAtOnce)
			if err != nil {
				return err
			}
			r, err := api.Transaction(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return c.printTransaction(cmd.Context(), r.Value, r.Raw, newUnits(api, minor))
		},
	}
	cmd.Flags().BoolVar(&minor, "minor", false, "amounts in whole minor units")
	// Accepted as by the other commands that read: it changes nothing here.
	cmd.Flags().Bool("strong", true, "always so")
	return cmd
}

func (c *cli) printTransaction(ctx context.Context, t client.Transaction, raw []byte, u *units) error {
	if c.json {
		return c.printJSON(raw)
	}
	assets := make([]string, len(t.Postings))
	for i, p := range t.Postings {
		assets[i] = p.Asset
	}
	if err := u.load(ctx, assets...); err != nil {
		return err
	}
	head := newTable(c.out)
	head.row("Transaction", t.ID)
	head.row("Kind", t.Kind)
	head.row("Posted at", t.PostedAt)
	if t.Description != "" {
		head.row("Description", t.Description)
	}
	for _, k := range slices.Sorted(maps.Keys(t.Metadata)) {
		head.row("Metadata", k+" = "+t.Metadata[k])
	}
	if err := head.flush(); err != nil {
		return err
	}
	fmt.Fprintln(c.out)
	legs := newTable(c.out, "ACCOUNT", "ASSET", "QUANTITY", "COST")
	for _, p := range t.Postings {
		legs.row(p.Account, p.Asset, u.quantity(p.Asset, p.Quantity), u.costCell(p.Asset, p.Cost))
	}
	return legs.flush()
}
