package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"ledger.example/client"
)

// holdCommand is `ledger hold`.
func (env *environment) holdCommand() *cobra.Command {
	var id, status string
	var limit int
	cmd := &cobra.Command{Use: "hold [ACCOUNT]"}
	f := cmd.Flags()
	idFlag(f, &id, "id", "show the hold with this id")
	choiceFlag(f, &status, "status", "", "only holds with this status: held, captured, released or expired",
		client.StatusHeld, client.StatusCaptured, client.StatusReleased, client.StatusExpired)
	limitFlags(cmd, &limit, "holds")
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
			return env.listHolds(ctx, env.api.Holds(args[0], status), args[0], limit)
		}
		return env.listHolds(ctx, env.api.OpenHolds(), "", limit)
	})
}

// listHolds prints a list of holds with their legs on an account, or with their debits if account is "".
func (env *environment) listHolds(
	ctx context.Context, list client.Listing[client.Transaction], account string, limit int,
) error {
	return printPages(ctx, env, limit, list.Page, assetsOfAll, func(holds []client.Transaction, heading bool) error {
		return env.printHolds(holds, account, heading)
	})
}

// printHolds prints the legs that listHolds describes, one on each line.
func (env *environment) printHolds(holds []client.Transaction, account string, heading bool) error {
	third := "STATUS"
	if account == "" {
		third = "ACCOUNT"
	}
	t := env.newPage(heading, times("UNTIL (UTC)"), words("TRANSACTION"), words(third), words("ASSET"),
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
				t.row(shortTime(until), strings.TrimSpace(h.ID+" "+h.Description), cell, p.Asset,
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

// retryEnd is the advice when it is unknown whether a hold ended.
const retryEnd = "run the same command again: it is safe, because a hold ends only once"

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
		return env.post(ctx, client.Capture{Transaction: args[0], Part: p}, retryEnd)
	})
}

// releaseCommand is `ledger release`.
func (env *environment) releaseCommand() *cobra.Command {
	var description string
	cmd := &cobra.Command{Use: "release ID"}
	cmd.Flags().StringVar(&description, flagDescription, "", "why it is released")
	env.dryRunFlag(cmd)
	return env.apiCommand(cmd, func(ctx context.Context, args []string) error {
		return env.post(ctx, client.Release{Transaction: args[0], Description: description}, retryEnd)
	})
}
