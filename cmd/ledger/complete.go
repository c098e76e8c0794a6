package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ledger.example/client"
	"ledger.example/internal/units"
)

const (
	// completions is the most ids that the shell is offered, and completionTimeout how long it waits for them.
	completions       = 100
	completionTimeout = 2 * time.Second
)

// completeIDs makes the shell complete the ids of accounts, assets and groups from the API: the arguments in the Use of
// a command, and the flags, by their names.
func (env *environment) completeIDs(cmd *cobra.Command) {
	names := strings.Fields(cmd.Use)[1:]
	cmd.ValidArgsFunction = func(
		cmd *cobra.Command, args []string, text string,
	) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) >= len(names) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return env.idsOf(cmd, names[len(args)], text)
	}
	for _, name := range []string{"account", "asset", "group", "buyer", "seller"} {
		if cmd.Flags().Lookup(name) == nil {
			continue
		}
		_ = cmd.RegisterFlagCompletionFunc(name, func( // it fails only for an unknown flag
			cmd *cobra.Command, _ []string, text string,
		) ([]cobra.Completion, cobra.ShellCompDirective) {
			return env.idsOf(cmd, name, text)
		})
	}
}

// idsOf returns the ids that begin with text, for the name of an argument or a flag, with their names as descriptions.
// Files are offered where the argument is one.
func (env *environment) idsOf(
	cmd *cobra.Command, name, text string,
) (found []cobra.Completion, _ cobra.ShellCompDirective) {
	name = strings.ToUpper(strings.Trim(name, "[]"))
	if name == "FILE" || name == "DIR" {
		return nil, cobra.ShellCompDirectiveDefault
	}
	// The function that usually reads the environment does not run here. No error may be printed.
	api, err := (*client.Client)(nil), env.applyVariables(cmd.Flags(), env.getenv)
	if err == nil {
		api, err = env.dial(completionTimeout, units.LoadingAtOnce)
	}
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), completionTimeout)
	defer cancel()
	switch name {
	case "ACCOUNT", "FROM", "TO", "BUYER", "SELLER":
		found = completed(ctx, api.Accounts(text), func(a client.Account) (string, string) { return a.ID, a.Name })
	case "ASSET":
		found = completed(ctx, api.Assets(text), func(a client.Asset) (string, string) { return a.ID, a.Name })
	case "GROUP":
		found = completed(ctx, api.Groups(text), func(g client.Group) (string, string) { return g.ID, g.Name })
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// completed returns the first page of a list. It returns nothing if the API does not answer.
func completed[T any](
	ctx context.Context, list client.Listing[T], describe func(T) (id, name string),
) (found []cobra.Completion) {
	page, err := list.Page(ctx, "", completions)
	if err != nil {
		return nil
	}
	for _, item := range page.Value.Data {
		id, name := describe(item)
		found = append(found, cobra.CompletionWithDesc(id, printable(name)))
	}
	return found
}
