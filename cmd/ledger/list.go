package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"ledger.example/client"
)

// listCommand returns the `list` command of parent, which lists entities, such as accounts, whose ids begin with
// --prefix. idPrefix is a prefix for the example. print prints one page.
func listCommand[T any](
	env *environment, parent, what, idPrefix string, list func(*client.Client, string) client.Listing[T],
	print func(items []T, heading bool) error,
) *cobra.Command {
	var prefix string
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: fmt.Sprintf("List %s by id", what),
		Long: fmt.Sprintf(`list prints %s by id. The list may be about a second behind. --json
prints the API's answers, one line for each page.`, what),
		Example: fmt.Sprintf("  ledger %[1]s list\n  ledger %[1]s list --prefix %[2]s --all", parent, idPrefix),
		Args:    cobra.NoArgs,
	}
	cmd.Flags().StringVar(&prefix, "prefix", "", fmt.Sprintf("only %s whose ids begin with this", what))
	limitFlags(cmd, &limit, what)
	return env.apiCommand(cmd, func(ctx context.Context, _ []string) error {
		return printPages(ctx, env, limit, list(env.api, prefix).Page, noAmounts, print)
	})
}

// parent completes a command that only has subcommands.
func parent(cmd *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(commands...)
	return cmd
}

// pagesCommand completes a command that prints a list for its argument. list returns the list; assets and print are
// those of printPages.
func pagesCommand[T any](
	env *environment, cmd *cobra.Command, items string, list func(*client.Client, string) client.Listing[T],
	assets func([]T) []string, print func(items []T, heading bool) error,
) *cobra.Command {
	var limit int
	limitFlags(cmd, &limit, items)
	return env.apiCommand(cmd, func(ctx context.Context, args []string) error {
		return printPages(ctx, env, limit, list(env.api, args[0]).Page, assets, print)
	})
}
