package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"ledger.example/client"
)

// groupCommand is `ledger group` with its commands.
func (env *environment) groupCommand() *cobra.Command {
	return parent(&cobra.Command{
		Use:   "group",
		Short: "Register groups, put accounts into them and take them out",
		Long: `group manages groups of accounts. A role in a group is a role on all accounts of
the group: see "ledger member grant --group". An account is in at most 10
groups.`,
	}, env.groupRegisterCommand(), env.groupListCommand(), env.groupShowCommand(),
		env.groupAddCommand(), env.groupRemoveCommand(), env.groupAccountsCommand(),
		env.groupMembersCommand(), env.groupBalancesCommand())
}

// groupRegisterCommand is `ledger group register`.
func (env *environment) groupRegisterCommand() *cobra.Command {
	return operation(env, client.RegisterGroup, &cobra.Command{
		Use: "register GROUP",
		Long: `register registers a group and prints it. If the group exists with the same
definition, register succeeds. A group cannot be changed.`,
		Example: `  ledger group register desk --name "The desk"`,
	}, printFields[client.Group](env))
}

// groupShowCommand is `ledger group show`.
func (env *environment) groupShowCommand() *cobra.Command {
	return operation(env, client.GetGroup, &cobra.Command{
		Use:     "show GROUP",
		Short:   "Show a group's name and description",
		Long:    `show prints a group. The read is strongly consistent.`,
		Example: `  ledger group show desk`,
	}, printFields[client.Group](env))
}

// groupListCommand is `ledger group list`.
func (env *environment) groupListCommand() *cobra.Command {
	var prefix, account, user string
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List groups: all, those of an account, or those of a user",
		Long: `list prints groups by id. The list may be about a second behind. --json prints
the API's answers, one line for each page.`,
		Example: `  ledger group list
  ledger group list --account jane
  ledger group list --of-user u-17`,
		Args: cobra.NoArgs,
	}
	f := cmd.Flags()
	f.StringVar(&prefix, "prefix", "", "only groups whose ids begin with this")
	idFlag(f, &account, "account", "only groups that this account is in")
	idFlag(f, &user, "of-user", "only groups in which this user has a role")
	cmd.MarkFlagsMutuallyExclusive("prefix", "account", "of-user")
	limitFlags(cmd, &limit, "groups")
	return env.apiCommand(cmd, func(ctx context.Context, _ []string) error {
		switch {
		case account != "":
			return printPages(ctx, env, limit, env.api.AccountGroups(account).Page, noAmounts,
				printItems[client.GroupedAccount](env))
		case user != "":
			return printPages(ctx, env, limit, env.api.UserGroups(user).Page, noAmounts, printItems[client.Member](env))
		}
		return printPages(ctx, env, limit, env.api.Groups(prefix).Page, noAmounts, printItems[client.Group](env))
	})
}

// noAmounts is the assets argument of printPages for lists without amounts.
func noAmounts[T any]([]T) []string { return nil }

// groupAddCommand is `ledger group add`.
func (env *environment) groupAddCommand() *cobra.Command {
	return operation(env, client.GroupAccount, &cobra.Command{
		Use:     "add GROUP ACCOUNT",
		Long:    `add puts an account into a group, and prints all groups of the account.`,
		Example: `  ledger group add desk jane`,
	}, env.printGroupsOf)
}

// groupRemoveCommand is `ledger group remove`.
func (env *environment) groupRemoveCommand() *cobra.Command {
	return operation(env, client.UngroupAccount, &cobra.Command{
		Use:     "remove GROUP ACCOUNT",
		Long:    `remove takes an account out of a group, and prints all groups of the account.`,
		Example: `  ledger group remove desk jane`,
	}, env.printGroupsOf)
}

// printGroupsOf prints all groups of an account.
func (env *environment) printGroupsOf(ctx context.Context, r client.Reply[client.AccountGroups]) error {
	return env.print(ctx, r.Raw, nil, func() error {
		places := make([]client.GroupedAccount, len(r.Value.Groups))
		for i, group := range r.Value.Groups {
			places[i] = client.GroupedAccount{Group: group, Account: r.Value.Account}
		}
		return printItems[client.GroupedAccount](env)(places, true)
	})
}

// groupAccountsCommand is `ledger group accounts`.
func (env *environment) groupAccountsCommand() *cobra.Command {
	return pagesCommand(env, &cobra.Command{
		Use:   "accounts GROUP",
		Short: "List the accounts of a group",
		Long: `accounts prints the accounts of a group by id. The list may be about a second
behind.`,
		Example: `  ledger group accounts desk`,
	}, "accounts", (*client.Client).GroupAccounts, noAmounts, printItems[client.GroupedAccount](env))
}

// groupMembersCommand is `ledger group members`.
func (env *environment) groupMembersCommand() *cobra.Command {
	return pagesCommand(env, &cobra.Command{
		Use:   "members GROUP",
		Short: "List the members of a group",
		Long: `members prints the members of a group by id. The list may be about a second
behind.`,
		Example: `  ledger group members desk`,
	}, "members", (*client.Client).GroupMembers, noAmounts, printItems[client.Member](env))
}

// groupBalancesCommand is `ledger group balances`.
func (env *environment) groupBalancesCommand() *cobra.Command {
	return env.apiCommand(&cobra.Command{
		Use:   "balances GROUP",
		Short: "Show the total balances of the accounts of a group, by asset",
		Long: `balances adds up the balances of all accounts of a group. They are read in pages
of 100, so the totals are not a snapshot: a transfer within the group may be
counted on one side only.`,
		Example: `  ledger group balances desk`,
	}, func(ctx context.Context, args []string) error {
		sum := client.GroupTotals{Group: args[0], List: client.List[client.GroupTotal]{Data: []client.GroupTotal{}}}
		for r, err := range env.api.GroupTotalsPages(ctx, args[0]) {
			if err == nil {
				sum.Data, err = client.AddTotals(sum.Data, r.Value.Data)
			}
			if err != nil {
				return err
			}
		}
		var assets []string
		for _, t := range sum.Data {
			assets = append(assets, t.Asset)
		}
		raw, err := json.Marshal(sum)
		if err != nil {
			return err
		}
		return env.print(ctx, raw, assets, func() error { return env.printTotals(sum.Data) })
	})
}

// printTotals prints totals as a table, and pending amounts, if there are any, as a second one.
func (env *environment) printTotals(totals []client.GroupTotal) error {
	u := env.units
	t := env.newPage(true, words("ASSET"), numbers("QUANTITY"), numbers("NET EXPENDITURE"), numbers("CREDITS"),
		numbers("DEBITS"), numbers("ACCOUNTS"))
	pending := env.newTable(words("ASSET"), numbers("PENDING DEBITS"), numbers("PENDING CREDITS"))
	for _, total := range totals {
		t.row(total.Asset, u.Quantity(total.Asset, total.Quantity), u.CostCell(total.Asset, total.NetExpenditure),
			u.Quantity(total.Asset, total.Credits), u.Quantity(total.Asset, total.Debits), fmt.Sprint(total.Accounts))
		if !total.PendingDebits.IsZero() || !total.PendingCredits.IsZero() {
			pending.row(total.Asset, u.Quantity(total.Asset, total.PendingDebits),
				u.Quantity(total.Asset, total.PendingCredits))
		}
	}
	return t.flushWith(pending)
}
