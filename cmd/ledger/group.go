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
	return parent(&cobra.Command{Use: "group"}, env.groupRegisterCommand(), env.groupListCommand(), env.groupShowCommand(),
		env.groupAddCommand(), env.groupRemoveCommand(), env.groupAccountsCommand(),
		env.groupMembersCommand(), env.groupBalancesCommand())
}

// groupRegisterCommand is `ledger group register`.
func (env *environment) groupRegisterCommand() *cobra.Command {
	return operation(env, client.RegisterGroup, &cobra.Command{Use: "register GROUP"}, printFields[client.Group](env))
}

// groupShowCommand is `ledger group show`.
func (env *environment) groupShowCommand() *cobra.Command {
	return operation(env, client.GetGroup, &cobra.Command{Use: "show GROUP"}, printFields[client.Group](env))
}

// groupListCommand is `ledger group list`.
func (env *environment) groupListCommand() *cobra.Command {
	var prefix, account, user string
	var limit int
	cmd := &cobra.Command{Use: "list", Args: cobra.NoArgs}
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
	return operation(env, client.GroupAccount, &cobra.Command{Use: "add GROUP ACCOUNT"}, env.printGroupsOf)
}

// groupRemoveCommand is `ledger group remove`.
func (env *environment) groupRemoveCommand() *cobra.Command {
	return operation(env, client.UngroupAccount, &cobra.Command{Use: "remove GROUP ACCOUNT"}, env.printGroupsOf)
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
	return pagesCommand(env, &cobra.Command{Use: "accounts GROUP"}, "accounts", (*client.Client).GroupAccounts, noAmounts, printItems[client.GroupedAccount](env))
}

// groupMembersCommand is `ledger group members`.
func (env *environment) groupMembersCommand() *cobra.Command {
	return pagesCommand(env, &cobra.Command{Use: "members GROUP"}, "members", (*client.Client).GroupMembers, noAmounts, printItems[client.Member](env))
}

// groupBalancesCommand is `ledger group balances`.
func (env *environment) groupBalancesCommand() *cobra.Command {
	return env.apiCommand(&cobra.Command{Use: "balances GROUP"}, func(ctx context.Context, args []string) error {
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
