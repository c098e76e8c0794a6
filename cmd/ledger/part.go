package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"ledger.example/client"
)

// partFlags hold what a capture or a reversal takes of a transaction. When nothing is named, that is all there is.
type partFlags struct {
	cost     string
	postings []string
}

// partHelp is the help of commands that take a part.
const partHelp = `

Without QUANTITY, it takes all that there is. Of a transfer, QUANTITY takes a
part; of a trade, QUANTITY and --cost do, and the cash of a settled trade
follows the cost. Of any other transaction, one --posting for each posting
names QUANTITY or QUANTITY,COST, in the order of the postings and with their
signs; 0 takes nothing of it.`

// flags adds the flags.
func (p *partFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&p.cost, "cost", "", "the part of a trade's cost, with QUANTITY (default: 0)")
	f.StringArrayVar(&p.postings, "posting", nil,
		"`quantity[,cost]` to take of a posting; one for each posting")
	cmd.MarkFlagsMutuallyExclusive("cost", "posting")
}

// read returns the part that flags and arguments name of a transaction, which it reads for the scales of its assets.
func (p *partFlags) read(ctx context.Context, env *environment, id string, quantity []string) (client.Part, error) {
	switch {
	case len(quantity) > 0 && p.postings != nil:
		return client.Part{}, wrongUse("--posting and QUANTITY exclude each other")
	case len(quantity) == 0 && p.cost != "":
		return client.Part{}, wrongUse("--cost needs QUANTITY")
	case len(quantity) == 0 && p.postings == nil:
		return client.Part{}, nil
	}
	assets, err := env.assetsOfTransaction(ctx, id)
	if err != nil {
		return client.Part{}, err
	}
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

// readPostings reads what each --posting takes.
func (p *partFlags) readPostings(
	ctx context.Context, env *environment, id string, assets []string,
) (client.Part, error) {
	if len(p.postings) != len(assets) && !env.minor {
		return client.Part{}, wrongUse("--posting is given %s, and %s has %s",
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

// assetsOfTransaction returns the asset of each posting of a transaction. In minor units no scale is needed: nothing is
// asked, and there is one asset, without a name.
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
