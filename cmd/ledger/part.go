package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"ledger.example/client"
)

// partFlags holds the flags for the part of a transaction that is captured or reversed. Without any, it is all of it.
type partFlags struct {
	cost     string
	postings []string
}

func (p *partFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&p.cost, "cost", "", "part of a trade's cost, with QUANTITY (default: 0)")
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
			taken[i].Cost, err = env.units.ParseCost(ctx, "--posting", asset, cost)
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
			Transaction: args[0], ID: p.id, Description: p.description, Metadata: p.metadata,
			EffectiveAt: p.effective, Part: taken,
		}, err
	})
}
