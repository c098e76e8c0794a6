package main

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/internal/desk/units"
)

// accountRatesCommand is `ledger account rates`.
func (env *environment) accountRatesCommand() *cobra.Command {
	cmd := list[client.UsedRate]{use: "rates ACCOUNT", items: "limits over time", print: env.printRates,
		assets: func(rates []client.UsedRate) (assets []string) {
			for _, r := range rates {
				assets = append(assets, r.Asset)
			}
			return assets
		},
		of: func(args []string) client.Listing[client.UsedRate] { return env.api.Rates(args[0]) },
	}.command(env)
	env.zoneFlag(cmd.Flags())
	return cmd
}

func (env *environment) printRates(rates []client.UsedRate, heading bool) error {
	t := env.newPage(heading, words("ASSET"), words("PER"), words("ZONE"), numbers("LIMIT"), numbers("USED"),
		numbers("AVAILABLE"), times("OPENS AT"))
	for _, r := range rates {
		amount := func(a events.Amount) string { return env.units.Quantity(r.Asset, a) }
		t.row(r.Asset, r.Per, string(r.Zone), amount(r.Quantity), amount(r.Used), amount(r.Available), r.OpensAt)
	}
	return t.flush()
}

// rateRows adds limits over time to a list. Their assets must be loaded.
func (env *environment) rateRows(t *grid, rates []client.Rate) {
	for _, r := range rates {
		t.row("Limit", env.units.RateText(r))
	}
}

// rates formats limits over time. Their assets must be loaded.
func (env *environment) rates(rates []client.Rate) string {
	var parts []string
	for _, r := range rates {
		parts = append(parts, env.units.RateText(r))
	}
	return cmp.Or(strings.Join(parts, ", "), none)
}

// none is the value of a flag that removes all that an account has.
const none = "none"

// parseRates parses the values of --rate. It reads their assets.
func parseRates(ctx context.Context, u *units.Units, given []string) ([]client.Rate, error) {
	rates := []client.Rate{}
	for _, text := range given {
		switch {
		case text != none:
		case len(given) > 1:
			return nil, usageErrorf("--rate: none must be the only value")
		default:
			return rates, nil
		}
		r, err := u.Rate(ctx, "--rate", text)
		if err != nil {
			return nil, err
		}
		rates = append(rates, r)
	}
	return rates, nil
}
