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
	accounts := list[client.GroupedAccount]{use: "accounts GROUP", items: "accounts",
		print: printItems[client.GroupedAccount](env),
		of:    func(args []string) client.Listing[client.GroupedAccount] { return env.api.GroupAccounts(args[0]) },
	}
	members := list[client.Member]{use: "members GROUP", items: "members", print: printItems[client.Member](env),
		of: func(args []string) client.Listing[client.Member] { return env.api.GroupMembers(args[0]) },
	}
	return parent("group", operation(env, client.RegisterGroup, "register GROUP", printFields[client.Group](env)),
		env.groupListCommand(), operation(env, client.GetGroup, "show GROUP", printFields[client.Group](env)),
		operation(env, client.GroupAccount, "add GROUP ACCOUNT", env.printGroupsOf),
		operation(env, client.UngroupAccount, "remove GROUP ACCOUNT", env.printGroupsOf),
		accounts.command(env), members.command(env), env.groupBalancesCommand())
}

// groupListCommand is `ledger group list`.
func (env *environment) groupListCommand() *cobra.Command {
	var prefix, account, user string
	cmd := &cobra.Command{Use: "list", Args: cobra.NoArgs}
	f := cmd.Flags()
	f.StringVar(&prefix, "prefix", "", "only groups whose ids begin with this")
	idFlag(f, &account, "account", "only groups that this account is in")
	idFlag(f, &user, "of-user", "only groups in which this user has a role")
	cmd.MarkFlagsMutuallyExclusive("prefix", "account", "of-user")
	env.limitFlags(cmd, "groups")
	return env.apiCommand(cmd, func(ctx context.Context, _ []string) error {
		switch {
		case account != "":
			return printList(ctx, env, env.api.AccountGroups(account))
		case user != "":
			return printList(ctx, env, env.api.UserGroups(user))
		}
		return printList(ctx, env, env.api.Groups(prefix))
	})
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
		var lines []sums
		var assets []string
		for _, t := range sum.Data {
			lines = append(lines, sums{t.Asset, t.Sums, []string{fmt.Sprint(t.Accounts)}})
			assets = append(assets, t.Asset)
		}
		raw, err := json.Marshal(sum)
		if err != nil {
			return err
		}
		return env.print(ctx, raw, assets, func() error { return env.printSums(lines, numbers("ACCOUNTS")) })
	})
}
