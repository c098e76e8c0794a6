package console

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"ledger.example/client"
	"ledger.example/events"
)

func capture(ctx context.Context, c *Console, v url.Values) (client.Post, error) {
	part, err := c.part(ctx, v)
	return client.Capture{Transaction: v.Get("transaction"), Part: part}, err
}

func release(_ context.Context, _ *Console, v url.Values) (client.Post, error) {
	return client.Release{Transaction: v.Get("transaction"), Description: v.Get("description")}, nil
}

func reverse(ctx context.Context, c *Console, v url.Values) (client.Post, error) {
	part, err := c.part(ctx, v)
	return client.Reversal{
		ID: v.Get("id"), Transaction: v.Get("transaction"), Description: v.Get("description"), Part: part,
	}, err
}

// fit leaves those fields of a part by which the ledger names one of the transaction in the form: of a transfer a
// quantity, of a trade a cost too, of others none. Errors: those of a read.
func (c *Console) fit(ctx context.Context, f *formData) error {
	if !f.Partial {
		return nil
	}
	t, err := c.api.Transaction(ctx, f.values().Get("transaction"))
	if err != nil {
		return err
	}
	f.of = t.Value
	f.Fields = slices.DeleteFunc(f.Fields, func(field field) bool {
		return field.Name == partCostField.Name && f.of.Kind != string(client.KindTrade) ||
			field.Name == partField.Name && !hasParts(f.of)
	})
	return nil
}

// hasParts reports whether one quantity names a part of a transaction.
func hasParts(t client.Transaction) bool {
	return t.Kind == string(client.KindTransfer) || t.Kind == string(client.KindTrade)
}

var errCostAlone = errors.New(partField.Label + ": must be given with a cost; for all of it leave both empty")

// part reads how much is taken of a transaction: all of it, if nothing is given. The asset is that of its first leg.
func (c *Console) part(ctx context.Context, v url.Values) (part client.Part, err error) {
	asset, costs := v.Get("asset"), v.Get("cost")
	if v.Get("quantity") == "" {
		if costs != "" {
			err = errCostAlone
		}
		return part, err
	}
	quantity, err := c.units.Parse(ctx, "Quantity", asset, v.Get("quantity"))
	part.Quantity = &quantity
	if costs != "" && err == nil {
		var cost events.Amount
		cost, err = c.units.ParseCost(ctx, "Cost", asset, costs)
		part.Cost = &cost
	}
	return part, err
}

// beyond says in decimals of what a form asks for more than there is. "" of other refusals.
func (c *Console) beyond(ctx context.Context, of client.Transaction, err error) string {
	refused, _ := errors.AsType[*client.Error](err)
	if refused == nil || len(of.Postings) == 0 {
		return ""
	}
	first := of.Postings[0]
	most := client.Leg{Asset: first.Asset, Quantity: first.Quantity, Cost: first.Cost}
	switch {
	case refused.Code == client.CodeExceedsReversible && len(refused.Left) > 0:
		most = refused.Left[0]
	case refused.Code != client.CodeExceedsHold:
		return ""
	}
	if c.units.Load(ctx, most.Asset) != nil {
		return ""
	}
	var b strings.Builder
	b.WriteString(refused.Code + ": " + refused.Detail)
	for _, f := range refused.Fields {
		figure := c.units.Quantity(most.Asset, most.Quantity.Abs()) + " " + most.Asset
		if f.Field == partCostField.Name {
			figure = c.units.CostCell(most.Asset, most.Cost.Abs())
		}
		b.WriteString("\n  " + f.Field + ": must not be beyond " + figure)
	}
	return b.String()
}
