package main

import (
	"context"

	"github.com/spf13/cobra"

	"ledger.example/client"
)

// releaseCommand is `ledger release`.
func (env *environment) releaseCommand() *cobra.Command {
	var description string
	cmd := &cobra.Command{
		Use:   "release ID",
		Short: "Give back what a hold has set aside",
		Long: `release ends the hold ID without posting anything, and prints it. A hold that
was captured cannot be released: reverse it instead.`,
		Example: `  ledger release stay-7
  ledger release stay-7 --description 'The guest did not come'`,
	}
	cmd.Flags().StringVar(&description, flagDescription, "", "why it is released")
	env.dryRunFlag(cmd.Flags())
	return env.apiCommand(cmd, func(ctx context.Context, args []string) error {
		return env.post(ctx, client.Release{Transaction: args[0], Description: description}, sendAgain)
	})
}
