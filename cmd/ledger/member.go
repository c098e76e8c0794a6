package main

import (
	"context"

	"github.com/spf13/cobra"

	"ledger.example/client"
)

// memberCommand is `ledger member` with its commands.
func (env *environment) memberCommand() *cobra.Command {
	return parent(&cobra.Command{Use: "member"}, env.memberGrantCommand(), env.memberRevokeCommand(), env.memberListCommand())
}

// ownerFlags adds --account and --group, of which one is required.
func ownerFlags(cmd *cobra.Command, m *client.Member) {
	idFlag(cmd.Flags(), &m.Account, "account", "account on which the role is")
	idFlag(cmd.Flags(), &m.Group, "group", "group in which the role is")
	cmd.MarkFlagsMutuallyExclusive("account", "group")
	cmd.MarkFlagsOneRequired("account", "group")
}

// memberGrantCommand is `ledger member grant`.
func (env *environment) memberGrantCommand() *cobra.Command {
	var m client.Member
	cmd := &cobra.Command{Use: "grant USER ROLE"}
	ownerFlags(cmd, &m)
	return env.apiCommand(cmd, func(ctx context.Context, args []string) error {
		m.User, m.Role = args[0], args[1]
		return env.printMember(ctx, m, env.api.Grant)
	})
}

// memberRevokeCommand is `ledger member revoke`.
func (env *environment) memberRevokeCommand() *cobra.Command {
	var m client.Member
	cmd := &cobra.Command{Use: "revoke USER"}
	ownerFlags(cmd, &m)
	return env.apiCommand(cmd, func(ctx context.Context, args []string) error {
		m.User = args[0]
		return env.printMember(ctx, m, env.api.Revoke)
	})
}

func (env *environment) printMember(ctx context.Context, m client.Member,
	change func(context.Context, client.Member) (client.Member, client.Written, error),
) error {
	changed, w, err := change(ctx, m)
	if err != nil {
		return err
	}
	return env.print(ctx, w.Raw, nil, func() error {
		return printItems[client.Member](env)([]client.Member{changed}, true)
	})
}

// memberListCommand is `ledger member list`.
func (env *environment) memberListCommand() *cobra.Command {
	var m client.Member
	var limit int
	cmd := &cobra.Command{Use: "list", Args: cobra.NoArgs}
	f := cmd.Flags()
	idFlag(f, &m.Account, "account", "members of this account")
	idFlag(f, &m.Group, "group", "members of this group")
	idFlag(f, &m.User, "of-user", "accounts of this user")
	cmd.MarkFlagsMutuallyExclusive("account", "group", "of-user")
	cmd.MarkFlagsOneRequired("account", "group", "of-user")
	limitFlags(cmd, &limit, "members")
	return env.apiCommand(cmd, func(ctx context.Context, _ []string) error {
		print := printItems[client.Member](env)
		switch {
		case m.User != "":
			return printPages(ctx, env, limit, env.api.UserAccounts(m.User).Page, noAmounts,
				printItems[client.AccountRole](env))
		case m.Group != "":
			return printPages(ctx, env, limit, env.api.GroupMembers(m.Group).Page, noAmounts, print)
		}
		return printPages(ctx, env, limit, env.api.Members(m.Account).Page, noAmounts, print)
	})
}

// meCommand is `ledger me`.
func (env *environment) meCommand() *cobra.Command {
	return operation(env, client.GetMe, &cobra.Command{Use: "me"}, printFields[client.Me](env))
}
