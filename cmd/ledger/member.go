package main

import (
	"context"

	"github.com/spf13/cobra"

	"ledger.example/client"
)

// memberCommand is `ledger member` with its commands.
func (env *environment) memberCommand() *cobra.Command {
	return parent("member", env.memberChangeCommand("grant USER ROLE", (*client.Client).Grant),
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
