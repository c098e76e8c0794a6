package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ledger.example/client"
)

// accountCommand is `ledger account` with its commands.
func (env *environment) accountCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "account"}
	parent(cmd, env.accountOpenCommand(), env.accountListCommand(), env.accountShowCommand(),
		env.accountChangeCommand(), env.accountChangesCommand())
	for name, state := range map[string]string{
		"freeze": client.StateFrozen, "unfreeze": client.StateOpen, "close": client.StateClosed,
	} {
		cmd.AddCommand(env.accountStateCommand(name, state))
	}
	return cmd
}

func (env *environment) accountListCommand() *cobra.Command {
	return listCommand(env, "account", "accounts", "users:", (*client.Client).Accounts, env.printAccounts)
}

func (env *environment) printAccounts(accounts []client.Account, heading bool) error {
	t := env.newPage(heading, words("ACCOUNT"), words("NAME"), words("STATE"), words("OVERDRAFT"),
		times("OPENED (UTC)"))
	for _, a := range accounts {
		overdraft := "none"
		if a.Overdraft.Unlimited {
			overdraft = "unlimited"
		} else if limits := a.Overdraft.Limits; len(limits) > 0 {
			overdraft = counted(int64(len(limits)), "asset", "assets")
		}
		t.row(a.ID, a.Name, a.State, overdraft, shortTime(a.CreatedAt))
	}
	return t.flush()
}

// accountShowCommand is `ledger account show`.
func (env *environment) accountShowCommand() *cobra.Command {
	return operation(env, client.GetAccount, &cobra.Command{Use: "show ACCOUNT"}, func(ctx context.Context, r client.Reply[client.Account]) error {
		return env.printAccount(ctx, r.Value, r.Raw)
	})
}

// printAccount prints an account: raw, the JSON of the API, with --json, else a list for people.
func (env *environment) printAccount(ctx context.Context, a client.Account, raw []byte) error {
	return env.print(ctx, raw, slices.Collect(maps.Keys(a.Overdraft.Limits)), func() error {
		t := env.newList()
		env.accountRows(t, a)
		return t.flush()
	})
}

// accountRows adds the fields of an account to a list. The scales of the assets in its limits must be loaded.
func (env *environment) accountRows(t *grid, a client.Account) {
	t.row("Account", a.ID)
	t.row("Name", a.Name)
	t.row("Overdraft", env.overdraft(a.Overdraft))
	if a.Version > 0 {
		t.row("State", a.State)
		t.row("Version", fmt.Sprint(a.Version))
	}
	t.row("Opened", a.CreatedAt)
	if profile := string(a.Profile); profile != "" && profile != "{}" {
		t.row("Profile", profile)
	}
}

// accountChangesCommand is `ledger account changes`.
func (env *environment) accountChangesCommand() *cobra.Command {
	return pagesCommand(env, &cobra.Command{Use: "changes ACCOUNT"}, "changes", (*client.Client).Changes, assetsOfChanges, env.printChanges)
}

// assetsOfChanges returns the assets for which changes set a limit.
func assetsOfChanges(changes []client.Change) (assets []string) {
	for _, c := range changes {
		if to := c.Changed.Overdraft; to != nil {
			assets = slices.AppendSeq(assets, maps.Keys(to.Limits))
		}
	}
	return assets
}

func (env *environment) printChanges(changes []client.Change, heading bool) error {
	t := env.newPage(heading, numbers("VERSION"), times("AT (UTC)"), words("BY"), words("SET"))
	for _, c := range changes {
		var parts []string
		to := c.Changed
		if to.Name != nil {
			parts = append(parts, fmt.Sprintf("name %q", *to.Name))
		}
		if to.State != "" {
			parts = append(parts, "state "+to.State)
		}
		if to.Overdraft != nil {
			parts = append(parts, "overdraft "+env.overdraft(*to.Overdraft))
		}
		if to.Profile != nil {
			parts = append(parts, "profile "+string(to.Profile))
		}
		t.row(fmt.Sprint(c.Version), shortTime(c.At), c.Actor, strings.Join(parts, ", "))
	}
	return t.flush()
}

// overdraft formats an overdraft policy. The scales of its assets must be loaded.
func (env *environment) overdraft(o client.Overdraft) string {
	if o.Unlimited {
		return "unlimited"
	}
	var parts []string
	for asset, limit := range o.Limits {
		parts = append(parts, env.units.Quantity(asset, limit)+" "+asset)
	}
	slices.Sort(parts)
	return cmp.Or(strings.Join(parts, ", "), "none")
}
