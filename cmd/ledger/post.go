package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
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
		err := env.howMuch(ctx, t.Asset, args[2], atLeast, keep != "", &t.Quantity, &t.UpTo, &t.AtLeast)
		if err == nil && keep != "" {
			t.Keep, err = env.amount(ctx, "--keep", t.Asset, keep)
		}
		return t, err
	})
}

// amount parses a quantity that may be absent.
func (env *environment) amount(ctx context.Context, what, asset, text string) (*events.Amount, error) {
	quantity, err := env.units.Parse(ctx, what, asset, text)
	return &quantity, err
}

// howMuch parses the QUANTITY of a request, which may be "all". With --at-least, and if isMost, it is the most.
func (env *environment) howMuch(ctx context.Context, asset, text, atLeast string, isMost bool,
	quantity *events.Amount, most *client.UpTo, least **events.Amount) (err error) {
	if *most = client.All; text != string(client.All) {
		if *quantity, err = env.units.Parse(ctx, "QUANTITY", asset, text); err != nil {
			return err
		}
		if quantity.IsZero() { // the request would leave it out
			return usageErrorf("QUANTITY: must be above zero")
		}
		if *most = ""; isMost || atLeast != "" {
			*most, *quantity = client.UpTo(quantity.String()), events.Amount{}
		}
	}
	if atLeast != "" {
		*least, err = env.amount(ctx, "--at-least", asset, atLeast)
	}
	return err
}

// splitCommand is `ledger split`. With the QUANTITY "all", several accounts, --keep or --at-least, it divides as much
// as fits.
func (env *environment) splitCommand() *cobra.Command {
	var p postFlags
	var keep []string
	var atLeast string
	cmd := &cobra.Command{Use: "split FROM,... QUANTITY ASSET ACCOUNT=PART..."}
	cmd.Flags().StringArrayVar(&keep, "keep", nil,
		"`quantity` that stays in FROM; of one of several, FROM=quantity; QUANTITY is then the most")
	cmd.Flags().StringVar(&atLeast, "at-least", "", "least `quantity`; QUANTITY is then the most")
	p.holdFlags(env, cmd.Flags())
	return env.postingCommand(cmd, &p, func(ctx context.Context, args []string) (client.Request, error) {
		split := client.Split{
			ID: p.id, Annotation: p.Annotation, From: client.From{Account: args[0]}, Asset: args[2], Hold: p.hold,
			EffectiveAt: p.effective,
		}
		env.legs = []string{split.Asset}
		isList := strings.Contains(args[0], ",")
		if isList {
			split.From = client.From{}
			for account := range strings.SplitSeq(args[0], ",") {
				split.From.Sources = append(split.From.Sources, client.Source{Account: account})
			}
		}
		err := env.howMuch(ctx, split.Asset, args[1], atLeast, isList || keep != nil,
			&split.Quantity, &split.UpTo, &split.AtLeast)
		if err == nil {
			err = env.keep(ctx, &split, keep)
		}
		if err != nil {
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

// keep sets what the accounts of a split keep.
func (env *environment) keep(ctx context.Context, split *client.Split, texts []string) error {
	for _, text := range texts {
		account, quantity, isOfOne := strings.Cut(text, "=")
		into := &split.Keep
		if isOfOne || split.From.IsList() {
			i := slices.IndexFunc(split.From.Sources, func(s client.Source) bool {
				return isOfOne && s.Account == account
			})
			if i < 0 {
				return fmt.Errorf("--keep %s: with several accounts, name one of FROM: --keep ACCOUNT=QUANTITY", text)
			}
			into = &split.From.Sources[i].Keep
		} else {
			quantity = text
		}
		if *into != nil {
			return fmt.Errorf("--keep %s: is given twice", text)
		}
		var err error
		if *into, err = env.amount(ctx, "--keep", split.Asset, quantity); err != nil {
			return err
		}
	}
	return nil
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
