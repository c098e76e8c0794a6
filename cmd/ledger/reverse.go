package main

import (
	"context"

	"github.com/spf13/cobra"

	"ledger.example/client"
)

// reverseCommand is `ledger reverse`.
func (env *environment) reverseCommand() *cobra.Command {
	var part partFlags
	var p postFlags
	cmd := &cobra.Command{
		Use:   "reverse ID [QUANTITY]",
		Short: "Reverse a transaction, in whole or in part",
		Long: `reverse posts a transaction that reverses the transaction ID, and prints it. A
transaction can be reversed in several parts, up to its full amounts. Quantities
and costs have the signs of the postings that are reversed.` + partHelp + idHelp,
		Example: `  ledger reverse order-1001 --id refund-1001
  ledger reverse order-1001 5.00 --description 'One item came back'
  ledger reverse t-1 2 --cost 300.00 --dry-run`,
	}
	part.flags(cmd)
	return env.postingCommand(cmd, &p, func(ctx context.Context, args []string) (client.Request, error) {
		taken, err := part.read(ctx, env, args[0], args[1:])
		return client.Reversal{
			Transaction: args[0], ID: p.id, Description: p.description, Metadata: p.metadata,
			EffectiveAt: p.effective, Part: taken,
		}, err
	})
}
