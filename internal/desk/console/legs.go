package console

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"ledger.example/client"
	"ledger.example/events"
)

// A form of legs has legsLeast to legsMost rows of them.
const legsLeast, legsMost = 4, 40

// rowsIn returns the number of rows of legs that a form has.
func rowsIn(given url.Values) int {
	rows, _ := strconv.Atoi(given.Get("rows"))
	return rows
}

// legFields returns the fields of rows of legs.
func legFields(rows int) (all []field) {
	for n := 1; n <= rows; n++ {
		of := " of leg " + strconv.Itoa(n)
		for _, f := range []field{
			{Name: "account", Label: "Account", List: "accounts"}, {Name: "asset", Label: "Asset", List: "assets"},
			{Name: "quantity", Label: "Quantity", Kind: "signed"}, {Name: "cost", Label: "Cost", Kind: "signed"},
		} {
			f.Name, f.Label, f.Optional, f.leg = f.Name+"-"+strconv.Itoa(n), f.Label+of, true, n
			all = append(all, f)
		}
	}
	return all
}

// legs returns the legs of a form. It ignores empty rows. Errors begin with the field's label.
func (v *visit) legs(f *form) (all []client.Leg, err error) {
	f.rows = nil
	for n := 1; n <= f.Rows; n++ {
		row := func(name string) string { return f.value(name + "-" + strconv.Itoa(n)) }
		of := " of leg " + strconv.Itoa(n)
		leg := client.Leg{Account: row("account"), Asset: row("asset")}
		switch {
		case leg.Account+leg.Asset+row("quantity")+row("cost") == "":
			continue
		case leg.Account == "":
			return nil, errors.New("Account" + of + ": must not be blank")
		case leg.Asset == "":
			return nil, errors.New("Asset" + of + ": must not be blank")
		}
		if leg.Quantity, err = v.units.Parse(v.ctx, "Quantity"+of, leg.Asset, row("quantity")); err != nil {
			return nil, err
		}
		if cost := row("cost"); cost != "" {
			if leg.Cost, err = v.units.ParseCost(v.ctx, "Cost"+of, leg.Asset, cost); err != nil {
				return nil, err
			}
		}
		all, f.rows = append(all, leg), append(f.rows, n)
	}
	return all, nil
}

// takenFields returns the fields that select a part of each leg of a transaction. All is taken unless they say less.
func (v *visit) takenFields(t client.Transaction, given url.Values) (all []field) {
	for i, p := range leftOf(t) {
		n := strconv.Itoa(i + 1)
		of := " of " + p.Account + " (" + p.Asset + ")"
		cost, _ := v.units.Cost(p.Asset, p.Cost)
		for _, f := range []field{
			{Name: "quantity-" + n, Label: "Quantity" + of, Value: v.units.Quantity(p.Asset, p.Quantity)},
			{Name: "cost-" + n, Label: "Cost" + of, Value: cost},
		} {
			if strings.HasPrefix(f.Name, "cost") && p.Cost.IsZero() {
				continue
			}
			f.Kind, f.leg = "signed", i+1
			if values := given[f.Name]; len(values) == 1 {
				f.Value = strings.TrimSpace(values[0])
			}
			all = append(all, f)
		}
	}
	return all
}

// taken returns the part of each leg that a form captures or reverses. It is nil, which means all that is left, if some
// legs are hidden or nothing is left.
func (v *visit) taken(f *form) (all []client.Taken, err error) {
	if f.target.Hidden > 0 || len(f.Reversible.Legs) > 0 && !f.Reversible.IsLeft() {
		return nil, nil
	}
	for i, p := range leftOf(f.target) {
		n := strconv.Itoa(i + 1)
		var t client.Taken
		if t.Quantity, err = v.units.Parse(v.ctx, "Quantity of "+p.Account+" ("+p.Asset+")", p.Asset,
			f.value("quantity-"+n)); err != nil {
			return nil, err
		}
		cost := f.value("cost-" + n)
		if cost != "" || p.Cost.IsZero() { // the form does not ask for a cost of which nothing is left
			t.Cost = new(events.Amount)
		}
		if cost != "" {
			*t.Cost, err = v.units.ParseCost(v.ctx, "Cost of "+p.Account+" ("+p.Asset+")", p.Asset, cost)
			if err != nil {
				return nil, err
			}
		}
		all = append(all, t)
	}
	return all, nil
}

// portions returns who gets what of a split: one on each line.
func (v *visit) portions(of field, asset string) (all []client.Portion, err error) {
	for line := range strings.Lines(of.Value) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		p, err := v.units.Portion(v.ctx, of.Label, asset, line)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// sources returns the accounts that a split takes from: one on each line, with what it keeps.
func (v *visit) sources(of field, asset string) (from client.From, err error) {
	from.Sources = []client.Source{}
	for line := range strings.Lines(of.Value) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		s := client.Source{Account: words[0]}
		if len(words) > 1 {
			keep, err := v.units.Parse(v.ctx, of.Label, asset, strings.Join(words[1:], " "))
			if err != nil {
				return from, err
			}
			s.Keep = &keep
		}
		from.Sources = append(from.Sources, s)
	}
	return from, nil
}

// rates returns limits over time: one on each line.
func (v *visit) rates(of field) (any, error) {
	rates := []client.Rate{}
	for line := range strings.Lines(of.Value) {
		if line = strings.TrimSpace(line); line == "" || line == "none" {
			continue
		}
		rate, err := v.units.Rate(v.ctx, of.Label, line)
		if err != nil {
			return nil, err
		}
		rates = append(rates, rate)
	}
	return rates, nil
}

// lines returns what a field has on its lines: metadata, limits over time, or limits of an overdraft.
func (v *visit) lines(of field) (any, error) {
	if of.Name == ratesField.Name {
		return v.rates(of)
	}
	metadata, limits := make(map[string]string), client.Overdraft{Limits: make(map[string]events.Amount)}
	for line := range strings.Lines(of.Value) {
		line = strings.TrimSpace(line)
		if line == "" || line == "none" {
			continue
		}
		if of.Name == metadataField.Name {
			key, value, ok := metadataIn(line)
			if _, isGiven := metadata[key]; !ok || isGiven {
				return nil, fmt.Errorf("%s: %q is not a key and a value such as order=1001", of.Label, line)
			}
			metadata[key] = value
			continue
		}
		words := strings.Fields(line)
		if len(words) != 2 {
			return nil, fmt.Errorf("%s: %q is not an amount and an asset such as 500.00 USD", of.Label, line)
		}
		limit, err := v.units.Parse(v.ctx, of.Label, words[1], words[0])
		if _, isGiven := limits.Limits[words[1]]; isGiven {
			err = fmt.Errorf("%s: %q is of an asset that has a line before", of.Label, line)
		}
		if err != nil {
			return nil, err
		}
		limits.Limits[words[1]] = limit
	}
	if of.Name == metadataField.Name {
		return metadata, nil
	}
	return limits, nil
}

// loadTarget reads the transaction that the form captures or reverses, and adds the fields that select a part of it: a
// transfer has a quantity, a trade also a cost, and any other transaction a quantity and a cost for each leg, or a
// quantity of each side if that says enough. Errors: those of a read.
func (v *visit) loadTarget(f *form) error {
	switch {
	case f.field(closingField.Name) != nil:
		return v.loadBooks(f)
	case !f.Partial:
		return nil
	}
	t, err := v.api.Transaction(v.ctx, f.value(postedField.Name))
	if err != nil {
		return err
	}
	f.target = t.Value
	f.Fields = slices.DeleteFunc(f.Fields, func(field field) bool {
		return field.Name == partCostField.Name && f.target.Kind != string(client.KindTrade) ||
			field.Name == partField.Name && !hasParts(f.target) && !hasOneAsset(f.target)
	})
	if part := f.field(partField.Name); part != nil && !hasParts(f.target) {
		part.Hint = "of each side, in proportion to what is left; or say below how much of each posting"
	}
	if err := v.loadAll([]client.Transaction{f.target}); err != nil {
		return err
	}
	given := v.given()
	if f.Name == "reverse" {
		f.Reversible = reversibleOf(f.target)
	}
	if hasParts(f.target) || len(f.target.Postings) == 0 || f.target.Hidden > 0 {
		v.fillPart(f, given)
		return nil
	}
	f.Fields = slices.Insert(f.Fields, 1, v.takenFields(f.target, given)...)
	return nil
}

// hasOneAsset reports whether a transaction has one asset and no costs, so that a quantity says how much of each side
// is taken. A user who does not see all of it cannot know.
func hasOneAsset(t client.Transaction) bool {
	return t.Hidden == 0 && !slices.ContainsFunc(t.Postings, func(p client.Posting) bool {
		return p.Asset != t.Postings[0].Asset || !p.Cost.IsZero()
	})
}

// hasParts reports whether one quantity, and the cost of a trade, are all that selects a part of a transaction.
func hasParts(t client.Transaction) bool {
	return t.Kind == string(client.KindTransfer) || t.Kind == string(client.KindTrade)
}
