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

// loadTarget reads the transaction that the form captures or reverses. It removes the fields that cannot select a part
// of it: a transfer has a quantity, a trade also a cost, other transactions neither. Errors: those of a read.
func (c *Console) loadTarget(ctx context.Context, f *formData) error {
	if !f.Partial {
		return nil
	}
	t, err := c.api.Transaction(ctx, f.values().Get("transaction"))
	if err != nil {
		return err
	}
	f.target = t.Value
	f.Fields = slices.DeleteFunc(f.Fields, func(field field) bool {
		return field.Name == partCostField.Name && f.target.Kind != string(client.KindTrade) ||
			field.Name == partField.Name && !hasParts(f.target)
	})
	return nil
}

// hasParts reports whether one quantity can select a part of a transaction.
func hasParts(t client.Transaction) bool {
	return t.Kind == string(client.KindTransfer) || t.Kind == string(client.KindTrade)
}

var errCostAlone = errors.New(partField.Label + ": required with a cost; leave both empty for the full amount")

// part reads the part of a transaction from the form. It is empty, which means all of it, if the fields are empty.
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

// exceeded returns the text of a refusal because of too large a part, with the limit in decimals. It is "" for other
// refusals.
func (c *Console) exceeded(ctx context.Context, of client.Transaction, err error) string {
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
		b.WriteString("\n  " + f.Field + ": must not exceed " + figure)
	}
	return b.String()
}
