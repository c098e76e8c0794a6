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
	members := list[client.GrantedMember]{use: "members GROUP", items: "members",
		print: printItems[client.GrantedMember](env),
		of:    func(args []string) client.Listing[client.GrantedMember] { return env.api.GroupMembers(args[0]) },
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

// memberCommand is `ledger member` with its commands.
func (env *environment) memberCommand() *cobra.Command {
	grant := env.memberChangeCommand("grant USER ROLE", (*client.Client).Grant)
	env.absentFlag(grant)
	return parent("member", grant,
		env.memberChangeCommand("revoke USER", (*client.Client).Revoke), env.memberListCommand())
}

// memberChangeCommand is `ledger member grant` or `revoke`.
func (env *environment) memberChangeCommand(
	use string, change func(*client.Client, context.Context, client.Member) (client.Member, client.Written, error),
) *cobra.Command {
	var m client.Member
	cmd := &cobra.Command{Use: use}
	idFlag(cmd.Flags(), &m.Account, "account", "account on which the role is")
	idFlag(cmd.Flags(), &m.Group, "group", "group in which the role is")
	cmd.MarkFlagsMutuallyExclusive("account", "group")
	cmd.MarkFlagsOneRequired("account", "group")
	return env.apiCommand(cmd, func(ctx context.Context, args []string) error {
		if m.User = args[0]; len(args) > 1 {
			m.Role = args[1]
		}
		changed, w, err := change(env.api, ctx, m)
		if err != nil {
			return err
		}
		return env.print(ctx, w.Raw, nil, func() error {
			return printItems[client.Member](env)([]client.Member{changed}, true)
		})
	})
}

// memberListCommand is `ledger member list`.
func (env *environment) memberListCommand() *cobra.Command {
	var m client.Member
	cmd := &cobra.Command{Use: "list", Args: cobra.NoArgs}
	f := cmd.Flags()
	idFlag(f, &m.Account, "account", "members of this account")
	idFlag(f, &m.Group, "group", "members of this group")
	idFlag(f, &m.User, "of-user", "accounts of this user")
	cmd.MarkFlagsMutuallyExclusive("account", "group", "of-user")
	cmd.MarkFlagsOneRequired("account", "group", "of-user")
	env.limitFlags(cmd, "members")
	return env.apiCommand(cmd, func(ctx context.Context, _ []string) error {
		switch {
		case m.User != "":
			return printList(ctx, env, env.api.UserAccounts(m.User))
		case m.Group != "":
			return printList(ctx, env, env.api.GroupMembers(m.Group))
		}
		return printList(ctx, env, env.api.Members(m.Account))
	})
}

// meCommand is `ledger me`.
func (env *environment) meCommand() *cobra.Command {
	return operation(env, client.GetMe, "me", printFields[client.Me](env))
}
