package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/internal/spreadsheet"
)

// holdCommand is `ledger hold`.
func (env *environment) holdCommand() *cobra.Command {
	var id, status string
	cmd := &cobra.Command{Use: "hold [ACCOUNT]"}
	f := cmd.Flags()
	idFlag(f, &id, "id", "show the hold with this id")
	choiceFlag(cmd, &status, "status", "", "only holds with this status: held, captured, released or expired",
		client.StatusHeld, client.StatusCaptured, client.StatusReleased, client.StatusExpired)
	env.limitFlags(cmd, "holds")
	for _, other := range []string{"status", "limit", "all"} {
		cmd.MarkFlagsMutuallyExclusive("id", other)
	}
	return env.apiCommand(cmd, func(ctx context.Context, args []string) error {
		switch {
		case id != "" && len(args) > 0:
			return usageErrorf("--id and ACCOUNT cannot be used together")
		case status != "" && len(args) == 0:
			return usageErrorf("--status needs ACCOUNT: without ACCOUNT, only open holds are listed")
		case id != "":
			r, err := env.api.Transaction(ctx, id)
			if err != nil {
				return err
			}
			return env.printTransaction(ctx, r.Value, r.Raw)
		case len(args) > 0:
			return env.listHolds(ctx, env.api.Holds(args[0], status), args[0])
		}
		return env.listHolds(ctx, env.api.OpenHolds(), "")
	})
}

// listHolds prints a list of holds with their legs on an account, or with their debits if account is "".
func (env *environment) listHolds(ctx context.Context, list client.Listing[client.Transaction], account string) error {
	return printPages(ctx, env, list, assetsOfAll, func(holds []client.Transaction, heading bool) error {
		return env.printHolds(holds, account, heading)
	})
}

// printHolds prints the legs that listHolds describes, one on each line. CSV has all legs, and what was captured.
func (env *environment) printHolds(holds []client.Transaction, account string, heading bool) error {
	if env.format == formatCSV {
		return env.writeCSV(spreadsheet.Holds(holds, account, heading, env.units))
	}
	third := "STATUS"
	if account == "" {
		third = "ACCOUNT"
	}
	t := env.newPage(heading, times("UNTIL"), words("TRANSACTION"), words(third), words("ASSET"),
		numbers("QUANTITY"))
	for _, h := range holds {
		until := h.ExpiresAt
		if h.EndedAt != "" {
			until = h.EndedAt
		}
		for _, p := range h.Postings {
			cell := h.Status
			if account == "" {
				cell = p.Account
			}
			if p.Account == account || account == "" && p.Quantity.Sign() < 0 {
				t.row(until, strings.TrimSpace(h.ID+" "+h.Description), cell, p.Asset,
					env.units.Quantity(p.Asset, p.Quantity))
			}
		}
	}
	return t.flush()
}

// assetsOfAll returns the assets of all postings, with duplicates.
func assetsOfAll(transactions []client.Transaction) (assets []string) {
	for _, t := range transactions {
		assets = append(assets, assetsOf(t.Postings)...)
	}
	return assets
}

// captureCommand is `ledger capture`.
func (env *environment) captureCommand() *cobra.Command {
	var part partFlags
	cmd := &cobra.Command{Use: "capture ID [QUANTITY]"}
	part.flags(cmd)
	env.dryRunFlag(cmd)
	return env.apiCommand(cmd, func(ctx context.Context, args []string) error {
		p, err := part.read(ctx, env, args[0], args[1:])
		if err != nil {
			return err
		}
		return env.post(ctx, client.Capture{Transaction: args[0], Part: p})
	})
}

// releaseCommand is `ledger release`.
func (env *environment) releaseCommand() *cobra.Command {
	var description string
	cmd := &cobra.Command{Use: "release ID"}
	cmd.Flags().StringVar(&description, flagDescription, "", "why it is released")
	env.dryRunFlag(cmd)
	return env.apiCommand(cmd, func(ctx context.Context, args []string) error {
		return env.post(ctx, client.Release{Transaction: args[0], Description: description})
	})
}

// partFlags holds the flags for the part of a transaction that is captured or reversed. Without any, it is all of it.
type partFlags struct {
	cost     string
	postings []string
}

func (p *partFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&p.cost, "cost", "", "part of a trade's cost, with QUANTITY; 0 gives the shares away")
	f.StringArrayVar(&p.postings, "posting", nil,
		"part of a posting, as `quantity[,cost]`; one for each posting")
	cmd.MarkFlagsMutuallyExclusive("cost", "posting")
}

// read returns the part that the flags and arguments describe. It reads the transaction for the scales of its assets.
func (p *partFlags) read(ctx context.Context, env *environment, id string, quantity []string) (client.Part, error) {
	switch {
	case len(quantity) > 0 && p.postings != nil:
		return client.Part{}, usageErrorf("--posting and QUANTITY cannot be used together")
	case len(quantity) == 0 && p.cost != "":
		return client.Part{}, usageErrorf("--cost needs QUANTITY")
	case len(quantity) == 0 && p.postings == nil:
		return client.Part{}, nil
	}
	assets, err := env.assetsOfTransaction(ctx, id)
	if err != nil {
		return client.Part{}, err
	}
	env.legs = assets
	if p.postings != nil {
		return p.readPostings(ctx, env, id, assets)
	}
	var part client.Part
	q, err := env.units.Parse(ctx, "QUANTITY", assets[0], quantity[0])
	part.Quantity = &q
	if err == nil && p.cost != "" {
		cost, invalid := env.units.ParseCost(ctx, "--cost", assets[0], p.cost)
		part.Cost, err = &cost, invalid
	}
	return part, err
}

// readPostings parses each --posting.
func (p *partFlags) readPostings(
	ctx context.Context, env *environment, id string, assets []string,
) (client.Part, error) {
	if len(p.postings) != len(assets) && !env.minor {
		return client.Part{}, usageErrorf("--posting is given %s, but %s has %s",
			counted(int64(len(p.postings)), "time", "times"), id, counted(int64(len(assets)), "posting", "postings"))
	}
	taken := make([]client.Taken, len(p.postings))
	for i, text := range p.postings {
		asset := assets[min(i, len(assets)-1)]
		quantity, cost, hasCost := strings.Cut(text, ",")
		var err error
		if taken[i].Quantity, err = env.units.Parse(ctx, "--posting", asset, quantity); err == nil && hasCost {
			taken[i].Cost = new(events.Amount)
			*taken[i].Cost, err = env.units.ParseCost(ctx, "--posting", asset, cost)
		}
		if err != nil {
			return client.Part{}, err
		}
	}
	return client.Part{Postings: taken}, nil
}

// assetsOfTransaction returns the asset of each posting of a transaction, and loads their scales. With --minor, no
// scale is needed: it sends no request, and returns one asset with an empty id.
func (env *environment) assetsOfTransaction(ctx context.Context, id string) ([]string, error) {
	if env.minor {
		return []string{""}, nil
	}
	r, err := env.api.Transaction(ctx, id)
	if err != nil {
		return nil, err
	}
	assets := assetsOf(r.Value.Postings)
	return assets, env.units.Load(ctx, assets...)
}

// reverseCommand is `ledger reverse`.
func (env *environment) reverseCommand() *cobra.Command {
	var part partFlags
	var p postFlags
	cmd := &cobra.Command{Use: "reverse ID [QUANTITY]"}
	part.flags(cmd)
	return env.postingCommand(cmd, &p, func(ctx context.Context, args []string) (client.Request, error) {
		taken, err := part.read(ctx, env, args[0], args[1:])
		return client.Reversal{
			Transaction: args[0], ID: p.id, Annotation: p.Annotation,
			EffectiveAt: p.effective, Part: taken,
		}, err
	})
}
