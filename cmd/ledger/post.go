package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"ledger.example/client"
	"ledger.example/events"
)

// transferCommand is `ledger transfer`. Unless --minor is given, it reads the asset first, for its scale. With the
// QUANTITY "all", --keep or --at-least, the transfer moves as much as fits.
func (env *environment) transferCommand() *cobra.Command {
	var p postFlags
	var keep, atLeast string
	cmd := &cobra.Command{Use: "transfer FROM TO QUANTITY ASSET"}
	cmd.Flags().StringVar(&keep, "keep", "", "`quantity` that stays in FROM; QUANTITY is then the most")
	cmd.Flags().StringVar(&atLeast, "at-least", "", "least `quantity`; QUANTITY is then the most")
	p.holdFlags(env, cmd.Flags())
	return env.postingCommand(cmd, &p, func(ctx context.Context, args []string) (client.Request, error) {
		t := client.Transfer{
			ID: p.id, Annotation: p.Annotation, From: args[0], To: args[1], Asset: args[3], Hold: p.hold,
			EffectiveAt: p.effective,
		}
		parse := func(what, text string, into **events.Amount) error {
			if text == "" {
				return nil
			}
			quantity, err := env.units.Parse(ctx, what, t.Asset, text)
			*into = &quantity
			return err
		}
		most := new(events.Amount)
		if args[2] == string(client.All) {
			t.UpTo = client.All
		} else if err := parse("QUANTITY", args[2], &most); err != nil {
			return t, err
		}
		if err := parse("--keep", keep, &t.Keep); err != nil {
			return t, err
		}
		if err := parse("--at-least", atLeast, &t.AtLeast); err != nil {
			return t, err
		}
		switch {
		case t.UpTo != "":
		case t.Keep != nil || t.AtLeast != nil:
			t.UpTo = client.UpTo(most.String())
		default:
			t.Quantity = *most
		}
		return t, nil
	})
}

// splitCommand is `ledger split`.
func (env *environment) splitCommand() *cobra.Command {
	var p postFlags
	cmd := &cobra.Command{Use: "split FROM QUANTITY ASSET ACCOUNT=PART..."}
	p.holdFlags(env, cmd.Flags())
	return env.postingCommand(cmd, &p, func(ctx context.Context, args []string) (client.Request, error) {
		split := client.Split{
			ID: p.id, Annotation: p.Annotation, From: args[0], Asset: args[2], Hold: p.hold, EffectiveAt: p.effective,
		}
		env.legs = []string{split.Asset}
		var err error
		if split.Quantity, err = env.units.Parse(ctx, "QUANTITY", split.Asset, args[1]); err != nil {
			return nil, err
		}
		for _, text := range args[3:] {
			portion, err := env.units.Portion(ctx, "ACCOUNT=PART", split.Asset, text)
			if err != nil {
				return nil, err
			}
			split.To = append(split.To, portion)
		}
		return split, nil
	})
}

// tradeCommand is `ledger trade`. --cost has no default, because a trade that was posted without it could not be
// changed.
func (env *environment) tradeCommand() *cobra.Command {
	var t client.Trade
	var quantity, cost string
	var p postFlags
	names := []string{"buyer", "seller", "quantity", "asset", "cost"}
	cmd := &cobra.Command{
		Use: "trade [BUYER SELLER QUANTITY ASSET COST]",
		Args: func(cmd *cobra.Command, args []string) error {
			given := 0
			for _, name := range names {
				if cmd.Flags().Changed(name) {
					given++
				}
			}
			if len(args) == 0 && given == len(names) || len(args) == len(names) && given == 0 {
				return argsOfUse(cmd, args)
			}
			return errors.New("give BUYER SELLER QUANTITY ASSET COST, or each of " +
				"--buyer, --seller, --quantity, --asset and --cost")
		},
	}
	f := cmd.Flags()
	idFlag(f, &t.Asset, "asset", "asset that is traded")
	idFlag(f, &t.Buyer, "buyer", "account that receives the asset")
	idFlag(f, &t.Seller, "seller", "account that gives the asset")
	f.StringVar(&quantity, "quantity", "", "quantity of the asset")
	f.StringVar(&cost, "cost", "", "price of the whole quantity, in the currency of the asset; 0 if it is free")
	f.BoolVar(&t.Settle, "settle", false, "move the cash as well")
	p.holdFlags(env, f)
	return env.postingCommand(cmd, &p, func(ctx context.Context, args []string) (_ client.Request, err error) {
		if len(args) > 0 {
			t.Buyer, t.Seller, quantity, t.Asset, cost = args[0], args[1], args[2], args[3], args[4]
		}
		t.ID, t.Annotation, t.Hold, t.EffectiveAt = p.id, p.Annotation, p.hold, p.effective
		if t.Quantity, err = env.units.Parse(ctx, "QUANTITY", t.Asset, quantity); err == nil {
			t.Cost, err = env.units.ParseCost(ctx, "COST", t.Asset, cost)
		}
		return t, err
	})
}

// postCommand is `ledger post`.
func (env *environment) postCommand() *cobra.Command {
	var p postFlags
	var legs []legFlag
	cmd := &cobra.Command{Use: "post [FILE]", Args: cobra.MaximumNArgs(1)}
	f := cmd.Flags()
	legFlags := func(name, sign, usage string) {
		f.Func(name, usage+"; may be repeated", func(text string) error {
			leg, err := parseLeg(text)
			leg.sign = sign
			legs = append(legs, leg)
			return err
		})
	}
	legFlags("debit", "-", "`account:asset:quantity` to take from the account")
	legFlags("credit", "", "`account:asset:quantity` to add to the account")
	p.holdFlags(env, f)
	return env.postingCommand(cmd, &p, func(ctx context.Context, args []string) (client.Request, error) {
		if (len(args) == 1) == (len(legs) > 0) {
			return nil, usageErrorf("give either a FILE, or each posting as --debit or --credit")
		}
		if len(args) == 1 {
			for _, name := range append(annotationFlags(), "id", "hold", "expires", "effective-at") {
				if f.Changed(name) {
					return nil, usageErrorf("--%s cannot be used with FILE, which has this field", name)
				}
			}
			p.id = "" // the id is in the file
			return env.transactionFrom(ctx, args[0])
		}
		t := client.TransactionRequest{
			ID: p.id, Annotation: p.Annotation, Hold: p.hold, EffectiveAt: p.effective,
		}
		for _, l := range legs {
			quantity, err := env.units.Parse(ctx, "quantity", l.asset, l.sign+l.quantity)
			if err != nil {
				return nil, err
			}
			t.Postings = append(t.Postings, client.Leg{Account: l.account, Asset: l.asset, Quantity: quantity})
		}
		return t, nil
	})
}

// legFlag is the value of --debit or --credit.
type legFlag struct{ sign, account, asset, quantity string }

// parseLeg parses account:asset:quantity. The account's id may have colons. An asset whose id has colons needs FILE.
func parseLeg(text string) (l legFlag, err error) {
	end := strings.LastIndex(text, ":")
	middle := strings.LastIndex(text[:max(end, 0)], ":")
	if middle < 0 {
		return l, fmt.Errorf("%q is not account:asset:quantity", text)
	}
	l = legFlag{account: text[:middle], asset: text[middle+1 : end], quantity: text[end+1:]}
	if strings.HasPrefix(l.quantity, "-") {
		return l, errors.New("a quantity must be above zero: --debit takes it, --credit adds it")
	}
	for _, id := range []string{l.account, l.asset} {
		if !events.ValidID(id) {
			return l, fmt.Errorf("%q: %w", id, client.ErrID)
		}
	}
	return l, nil
}

// transactionBytes bounds the file of a transaction, as the API does.
const transactionBytes = 256 << 10

// transactionFrom reads a transaction from a file, or from standard input for "-".
func (env *environment) transactionFrom(ctx context.Context, name string) (t client.TransactionRequest, err error) {
	file, _, err := env.openInput(ctx, name)
	if err != nil {
		return t, err
	}
	defer file.Close()
	if name == "-" {
		name = "standard input"
	}
	d := json.NewDecoder(io.LimitReader(file, transactionBytes))
	d.DisallowUnknownFields()
	if err := d.Decode(&t); err != nil {
		return t, fmt.Errorf("%s is not a transaction: %w", name, err)
	}
	if d.More() {
		return t, fmt.Errorf("%s has data after the transaction", name)
	}
	if t.ID == "" {
		return t, fmt.Errorf("%s: id is missing; only a request with an id can be retried safely", name)
	}
	return t, nil
}
