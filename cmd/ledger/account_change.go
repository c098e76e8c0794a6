package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/internal/units"
)

const flagName = "name"

// definition holds the flags for the fields of an account.
type definition struct {
	name      string
	profile   string
	overdraft []string
}

func (d *definition) flags(f *pflag.FlagSet) {
	f.StringVar(&d.name, flagName, "", "name of the account")
	f.Var(checked[string]{&d.profile, "json", func(text string) (string, error) {
		var profile map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &profile); err != nil || profile == nil {
			return "", errors.New("must be a JSON object")
		}
		return text, nil
	}}, "profile", "profile of the account, a JSON object")
	f.StringArrayVar(&d.overdraft, "overdraft", nil,
		"how far a balance may fall below zero, as `asset:amount`; may be repeated; or none; or unlimited")
}

// body returns a request with the fields whose flags are given. It reads the assets of --overdraft for their scales.
func (d *definition) body(ctx context.Context, u *units.Units, f *pflag.FlagSet) (p client.AccountPatch, err error) {
	if f.Changed(flagName) {
		p.Name = &d.name
	}
	if d.profile != "" {
		p.Profile = json.RawMessage(d.profile)
	}
	switch {
	case len(d.overdraft) == 0:
	case len(d.overdraft) == 1 && d.overdraft[0] == "unlimited":
		p.Overdraft = &client.Overdraft{Unlimited: true}
	case len(d.overdraft) == 1 && d.overdraft[0] == "none":
		p.Overdraft = &client.Overdraft{}
	default:
		limits := make(map[string]events.Amount)
		for _, text := range d.overdraft {
			i := strings.LastIndex(text, ":")
			if i < 0 || checkID(text[:i]) != nil {
				return p, usageErrorf("--overdraft: %q is not asset:amount; none and unlimited must be the only value",
					text)
			}
			asset := text[:i]
			if _, twice := limits[asset]; twice {
				return p, usageErrorf("--overdraft: %s is given twice", asset)
			}
			if limits[asset], err = u.Parse(ctx, "--overdraft", asset, text[i+1:]); err != nil {
				return p, err
			}
		}
		p.Overdraft = &client.Overdraft{Limits: limits}
	}
	return p, err
}

// accountOpenCommand is `ledger account open`.
func (env *environment) accountOpenCommand() *cobra.Command {
	var d definition
	cmd := &cobra.Command{Use: "open ACCOUNT"}
	d.flags(cmd.Flags())
	return env.apiCommand(cmd, func(ctx context.Context, args []string) error {
		p, err := d.body(ctx, env.units, cmd.Flags())
		if err != nil {
			return err
		}
		request := client.Account{ID: args[0], Name: d.name, Profile: p.Profile}
		if p.Overdraft != nil {
			request.Overdraft = *p.Overdraft
		}
		a, w, err := env.api.OpenAccount(ctx, request)
		if err != nil {
			return err
		}
		if !w.New {
			fmt.Fprintf(env.err, "account %s already exists with the same definition\n", args[0])
		}
		return env.printAccount(ctx, a, w.Raw)
	})
}

// accountChangeCommand is `ledger account change`.
func (env *environment) accountChangeCommand() *cobra.Command {
	var d definition
	var version int
	cmd := &cobra.Command{Use: "change ACCOUNT"}
	d.flags(cmd.Flags())
	versionFlag(cmd.Flags(), &version)
	cmd.MarkFlagsOneRequired(flagName, "profile", "overdraft")
	return env.apiCommand(cmd, func(ctx context.Context, args []string) error {
		p, err := d.body(ctx, env.units, cmd.Flags())
		if err != nil {
			return err
		}
		p.IfMatch = int64(version)
		return env.changeAccount(ctx, args[0], p)
	})
}

// accountStateCommand is `ledger account freeze`, `unfreeze` or `close`.
func (env *environment) accountStateCommand(name, state string) *cobra.Command {
	var version int
	cmd := &cobra.Command{Use: name + " ACCOUNT"}
	versionFlag(cmd.Flags(), &version)
	return env.apiCommand(cmd, func(ctx context.Context, args []string) error {
		return env.changeAccount(ctx, args[0], client.AccountPatch{State: state, IfMatch: int64(version)})
	})
}

func versionFlag(f *pflag.FlagSet, version *int) {
	numberFlag(f, version, "if-version", 0, 0, math.MaxInt,
		"change the account only if it has this version; 0: any version")
}

// changeAccount changes an account and prints the new version.
func (env *environment) changeAccount(ctx context.Context, account string, p client.AccountPatch) error {
	r, err := env.api.PatchAccount(ctx, account, p)
	if _, ok := errors.AsType[*client.UnknownError](err); ok {
		return fmt.Errorf("%w\nto see whether it was changed, run ledger account changes %s", err, account)
	}
	if err != nil {
		return env.units.InDecimals(ctx, err)
	}
	return env.printAccount(ctx, r.Value, r.Raw)
}
