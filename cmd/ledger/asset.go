package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"ledger.example/client"
)

// assetCommand is `ledger asset` with its commands.
func (env *environment) assetCommand() *cobra.Command {
	return parent(&cobra.Command{Use: "asset"}, env.assetAddCommand(), env.assetListCommand())
}

// assetAddCommand is `ledger asset add`.
func (env *environment) assetAddCommand() *cobra.Command {
	return operation(env, client.RegisterAsset, &cobra.Command{Use: "add ASSET"}, func(ctx context.Context, r client.Reply[client.Asset]) error {
		if !r.New {
			fmt.Fprintf(env.err, "asset %s already exists with the same definition\n", r.Value.ID)
		}
		return env.print(ctx, r.Raw, nil, func() error { return env.printAssets([]client.Asset{r.Value}, true) })
	})
}

func (env *environment) assetListCommand() *cobra.Command {
	return listCommand(env, "asset", "assets", "stocks:", (*client.Client).Assets, env.printAssets)
}

func (env *environment) printAssets(assets []client.Asset, heading bool) error {
	t := env.newPage(heading, words("ASSET"), words("NAME"), numbers("SCALE"), words("CURRENCY"),
		words("DESCRIPTION"))
	for _, a := range assets {
		t.row(a.ID, a.Name, fmt.Sprint(a.Scale), cmp.Or(a.Currency, "-"), a.Description)
	}
	return t.flush()
}
