package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/internal/desk/units"
)

// assetCommand is `ledger asset` with its commands.
func (env *environment) assetCommand() *cobra.Command {
	print := func(ctx context.Context, r client.Reply[client.Asset]) error {
		if !r.New {
			fmt.Fprintf(env.err, "asset %s already exists with the same definition\n", r.Value.ID)
		}
		return env.print(ctx, r.Raw, nil, func() error { return env.printAssets([]client.Asset{r.Value}, true) })
	}
	return parent("asset", operation(env, client.RegisterAsset, "add ASSET", print),
		listByPrefix(env, "assets", (*client.Client).Assets, env.printAssets))
}

func (env *environment) printAssets(assets []client.Asset, heading bool) error {
	t := env.newPage(heading, words("ASSET"), words("NAME"), numbers("SCALE"), words("CURRENCY"),
		words("DESCRIPTION"))
	for _, a := range assets {
		t.row(a.ID, a.Name, fmt.Sprint(a.Scale), cmp.Or(a.Currency, absent), a.Description)
	}
	return t.flush()
}

// accountCommand is `ledger account` with its commands.
func (env *environment) accountCommand() *cobra.Command {
	changes := list[client.Change]{use: "changes ACCOUNT", items: "changes", assets: assetsOfChanges,
		print: env.printChanges,
		of:    func(args []string) client.Listing[client.Change] { return env.api.Changes(args[0]) },
	}
	return parent("account", env.accountOpenCommand(), env.accountChangeCommand("change", ""), changes.command(env),
		env.accountListCommand(),
		env.accountRatesCommand(),
		operation(env, client.GetAccount, "show ACCOUNT", env.printAccount),
		env.accountChangeCommand("freeze", client.StateFrozen), env.accountChangeCommand("unfreeze", client.StateOpen),
		env.accountChangeCommand("close", client.StateClosed))
}

// accountListCommand is `ledger account list`.
func (env *environment) accountListCommand() *cobra.Command {
	var state string
	cmd := &cobra.Command{Use: "list", Args: cobra.NoArgs}
	var by client.AccountsQuery
	cmd.Flags().StringVar(&by.Prefix, "prefix", "", "only accounts whose ids begin with this")
	pairFlag(cmd.Flags(), &by.Metadata, "only accounts with this metadata, KEY=VALUE")
	choiceFlag(cmd, &state, "state", "", "only accounts that are open, frozen or closed: looks through all",
		client.StateOpen, client.StateFrozen, client.StateClosed)
	env.limitFlags(cmd, "accounts")
	return env.apiCommand(cmd, func(ctx context.Context, _ []string) error {
		var list pager[client.Account] = env.api.TaggedAccounts(by)
		if state != "" {
			list = filtered[client.Account]{list, func(a client.Account) bool { return a.State == state }}
		}
		return printPages(ctx, env, list, nil, env.printAccounts)
	})
}

func (env *environment) printAccounts(accounts []client.Account, heading bool) error {
	t := env.newPage(heading, words("ACCOUNT"), words("NAME"), words("STATE"), words("OVERDRAFT"),
		times("OPENED"))
	for _, a := range accounts {
		overdraft := "none"
		if a.Overdraft.Unlimited {
			overdraft = "unlimited"
		} else if limits := a.Overdraft.Limits; len(limits) > 0 {
			overdraft = counted(int64(len(limits)), "asset", "assets")
		}
		t.row(a.ID, a.Name, a.State, overdraft, a.CreatedAt)
	}
	return t.flush()
}

// printAccount prints an account as a list, or the JSON of the API.
func (env *environment) printAccount(ctx context.Context, r client.Reply[client.Account]) error {
	return env.print(ctx, r.Raw, assetsOfAccount(r.Value), func() error {
		t := env.newList()
		env.accountRows(t, r.Value)
		return t.flush()
	})
}

// assetsOfAccount returns the assets in the limits of an account.
func assetsOfAccount(a client.Account) []string {
	return slices.AppendSeq(units.AssetsOf(a.Rates), maps.Keys(a.Overdraft.Limits))
}

// accountRows adds the fields of an account to a list. The scales of the assets in its limits must be loaded.
func (env *environment) accountRows(t *grid, a client.Account) {
	t.row("Account", a.ID)
	t.row("Name", a.Name)
	t.row("Overdraft", env.overdraft(a.Overdraft))
	env.rateRows(t, a.Rates)
	if a.Version > 0 {
		t.row("State", a.State)
		t.row("Version", fmt.Sprint(a.Version))
	}
	t.row("Opened", a.CreatedAt)
	metadataRows(t, a.Metadata)
	if profile := string(a.Profile); profile != "" && profile != "{}" {
		t.row("Profile", profile)
	}
}

// assetsOfChanges returns the assets for which changes set a limit.
func assetsOfChanges(changes []client.Change) (assets []string) {
	for _, c := range changes {
		if to := c.Changed.Overdraft; to != nil {
			assets = slices.AppendSeq(assets, maps.Keys(to.Limits))
		}
		assets = append(assets, units.AssetsOf(c.Changed.Rates)...)
	}
	return assets
}

func (env *environment) printChanges(changes []client.Change, heading bool) error {
	t := env.newPage(heading, numbers("VERSION"), times("AT"), words("BY"), words("SET"))
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
		if to.Rates != nil {
			parts = append(parts, "limits over time "+env.rates(to.Rates))
		}
		if to.Profile != nil {
			parts = append(parts, "profile "+string(to.Profile))
		}
		if to.Metadata != nil {
			parts = append(parts, "metadata "+metadataText(to.Metadata))
		}
		t.row(fmt.Sprint(c.Version), c.At, c.Actor, strings.Join(parts, ", "))
	}
	return t.flush()
}

// metadataText formats metadata as pairs in the order of their keys.
func metadataText(metadata map[string]string) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		parts = append(parts, fmt.Sprintf("%s=%q", key, metadata[key]))
	}
	return cmp.Or(strings.Join(parts, " "), "none")
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

// definition holds the flags for the fields of an account.
type definition struct {
	name      string
	profile   string
	overdraft []string
	metadata  map[string]string
	rates     []string
}

func (d *definition) flags(f *pflag.FlagSet) {
	f.StringVar(&d.name, "name", "", "name of the account")
	f.Var(checked[string]{&d.profile, "json", func(text string) (string, error) {
		var profile map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &profile); err != nil || profile == nil {
			return "", errors.New("must be a JSON object")
		}
		return text, nil
	}}, "profile", "profile of the account, a JSON object")
	f.StringArrayVar(&d.overdraft, "overdraft", nil,
		"how far a balance may fall below zero, as `asset:amount`; may be repeated; or none; or unlimited")
	f.StringArrayVar(&d.rates, "rate", nil,
		"the most that may be debited, as `asset:amount/day`, or week or month; @zone may follow; may be repeated; "+
			"or none")
	add, isNone := addPair(&d.metadata), false
	f.Func(metadataFlag, "`key=value` of the account; may be repeated; or none", func(pair string) error {
		if isNone || pair == "none" && d.metadata != nil {
			return errors.New("none must be the only value")
		}
		if isNone = pair == "none"; isNone {
			d.metadata = map[string]string{}
			return nil
		}
		return add(pair)
	})
}

// body returns a request with the fields whose flags are given. It reads the assets of --overdraft and --rate.
func (d *definition) body(ctx context.Context, u *units.Units, f *pflag.FlagSet) (p client.AccountPatch, err error) {
	if f.Changed("name") {
		p.Name = &d.name
	}
	if d.profile != "" {
		p.Profile = json.RawMessage(d.profile)
	}
	p.Metadata = d.metadata
	if len(d.rates) > 0 {
		if p.Rates, err = parseRates(ctx, u, d.rates); err != nil {
			return p, err
		}
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
	env.absentFlag(cmd)
	return env.apiCommand(cmd, func(ctx context.Context, args []string) error {
		p, err := d.body(ctx, env.units, cmd.Flags())
		if err != nil {
			return err
		}
		request := client.Account{ID: args[0], Name: d.name, Profile: p.Profile, Metadata: p.Metadata, Rates: p.Rates}
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
		return env.printAccount(ctx, client.Reply[client.Account]{Value: a, Raw: w.Raw})
	})
}

// accountChangeCommand is `ledger account change`, and the commands that only change the state of an account.
func (env *environment) accountChangeCommand(name, state string) *cobra.Command {
	var d definition
	var version int
	cmd := &cobra.Command{Use: name + " ACCOUNT"}
	f := cmd.Flags()
	if state == "" {
		d.flags(f)
		cmd.MarkFlagsOneRequired("name", "profile", "overdraft", metadataFlag, "rate")
	}
	numberFlag(f, &version, "if-version", 0, 0, math.MaxInt,
		"change the account only if it has this version; 0: any version")
	return env.apiCommand(cmd, func(ctx context.Context, args []string) error {
		p, err := d.body(ctx, env.units, f)
		if err != nil {
			return err
		}
		p.State, p.IfMatch = state, int64(version)
		r, err := env.api.PatchAccount(ctx, args[0], p)
		if _, ok := errors.AsType[*client.UnknownError](err); ok {
			return fmt.Errorf("%w\nto see whether it was changed, run ledger account changes %s", err, args[0])
		}
		if err != nil {
			return env.units.InDecimals(ctx, err)
		}
		return env.printAccount(ctx, r)
	})
}
