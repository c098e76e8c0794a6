package main

import (
	"github.com/spf13/cobra"

	"ledger.example/cmd/ledger/client"
)

func (c *cli) transferCommand() *cobra.Command {
	var a annotation
	cmd := &cobra.Command{
		Use:   "transfer FROM TO QUANTITY ASSET",
		Short: "Move a quantity of an asset from one account to another",
		Long: `transfer posts a transfer and prints the transaction.

Without --id an id is made before anything is sent. While the outcome is unknown the request is sent again
with the same id; if it stays unknown, the id is told, to run the command again with it.`,
		Example: `  ledger transfer jane shop 25.00 USD
  ledger transfer jane shop 25.00 USD --id order-1001 --description 'Card order' --metadata order=1001
  ledger transfer jane shop 2500 USD --minor`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 4 {
				return ids("FROM", "TO", "QUANTITY", "ASSET")(cmd, args)
			}
			return ids("FROM", "TO", "ASSET")(cmd, []string{args[0], args[1], args[3]})
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			id, metadata, err := a.complete()
			if err != nil {
				return err
			}
			api, err := c.dial(0, 0)
			if err != nil {
				return err
			}
			ctx, u, asset := cmd.Context(), newUnits(api, a.minor), args[3]
			if err := u.load(ctx, asset); err != nil {
				return err
			}
			quantity, err := u.parseQuantity(asset, args[2])
			if err != nil {
				return wrongUse("QUANTITY: %w", err)
			}
			t, w, err := api.PostTransfer(ctx, client.Transfer{
				ID: id, Description: a.description, Metadata: metadata,
				From: args[0], To: args[1], Asset: asset, Quantity: quantity,
			})
			return c.printPosted(ctx, t, w, err, u)
		},
	}
	a.flags(cmd)
	return cmd
}
