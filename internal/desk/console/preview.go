package console

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/internal/desk/units"
)

// preview describes the effect of a form before it is sent.
type preview struct {
	Title     string
	ExpiresAt string // of the hold to place
	Effects   []effect
	More      int  // number of accounts and assets that are not shown
	IsPosted  bool // it was posted before, so nothing changes
}

// effect is what a request does to a balance.
type effect struct {
	Account, Asset string
	Name           string // of the account, "" if the caller may not see it
	Reserved       bool   // the amount is only reserved, or becomes available again
	Quantity, Cost events.Amount
	Now, Then      *client.Balance // nil if the caller may not see it
}

// effectsMost is the most balances that a preview shows.
const effectsMost = 24

// preview does a dry run of the form and stores the result in it.
func (v *visit) preview(f *form) error {
	if err := v.resolve(f); err != nil {
		return err
	}
	request, err := v.request(f)
	if err != nil || !f.isDry() {
		f.Confirm = err == nil
		return err
	}
	planned, err := v.api.DryRun(v.ctx, request)
	if err != nil {
		return err
	}
	t := planned.Value
	p := preview{Title: "What will be posted", IsPosted: t.RecordedAt != "" && f.HasID}
	switch {
	case t.Status == client.StatusHeld:
		p.Title = "What will be held"
	case t.Status == client.StatusReleased || t.Status == client.StatusExpired:
		p.Title = "What will be released"
	case t.Kind == string(events.KindReversal):
		p.Title = "What the reversal will post"
	}
	if hold, err := f.hold(); err == nil && hold != nil { // a dry run returns no times
		p.ExpiresAt = events.FormatTime(hold.(client.Hold).ExpiresAt)
	}
	if p.Effects, err = effects(t); err != nil {
		return err
	}
	shown := firstOf(p.Effects, effectsMost)
	p.Effects, p.More = shown.First, shown.More
	f.Preview, f.Confirm = &p, true
	if err := v.balances(p.Effects, t); err != nil {
		return err
	}
	return v.loadAll([]client.Transaction{t})
}

// effects returns what a planned transaction does to each account and asset, in the order of the postings. Error:
// events.ErrOverflow.
func effects(t client.Transaction) (all []effect, err error) {
	isHeld := t.Status == client.StatusHeld
	isFreed := t.Status == client.StatusReleased || t.Status == client.StatusExpired
	for _, p := range t.AsPosted() {
		if isFreed {
			if p.Quantity.Sign() > 0 {
				continue
			}
			p.Quantity = p.Quantity.Neg()
		}
		i := slices.IndexFunc(all, func(e effect) bool { return e.Account == p.Account && e.Asset == p.Asset })
		if i < 0 {
			i, all = len(all), append(all, effect{Account: p.Account, Asset: p.Asset, Reserved: isHeld || isFreed})
		}
		e := &all[i]
		var err1, err2 error
		e.Quantity, err1 = e.Quantity.Add(p.Quantity)
		e.Cost, err2 = e.Cost.Add(p.Cost)
		if err := cmp.Or(err1, err2); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// balances reads the balances of effects, as they are and as they will be.
func (v *visit) balances(all []effect, t client.Transaction) error {
	g, ctx := errgroup.WithContext(v.ctx)
	g.SetLimit(units.LoadingAtOnce)
	for i := range all {
		e := &all[i]
		g.Go(func() error {
			now, err := v.api.Balance(ctx, e.Account, e.Asset, true)
			switch status := refusal(err).Status; {
			case status == http.StatusNotFound || status == http.StatusForbidden: // of a user without a role on it
				return nil
			case err != nil:
				return err
			}
			e.Name = v.directories.name(e.Account)
			e.Now, e.Then = &now.Value, new(now.Value)
			return e.then(t)
		})
	}
	return g.Wait()
}

// then changes the balance of an effect as the transaction will. Error: events.ErrOverflow.
func (e *effect) then(t client.Transaction) error {
	posted, available := e.Quantity, e.Quantity
	if e.Reserved {
		if posted = (events.Amount{}); e.Quantity.Sign() > 0 && t.Status == client.StatusHeld {
			available = posted // a credit is not available before the capture
		}
	}
	for _, p := range t.Postings { // a capture uses what its hold reserved
		if t.Status == client.StatusCaptured && p.Account == e.Account && p.Asset == e.Asset && p.Quantity.Sign() < 0 {
			var err error
			if available, err = available.Sub(p.Quantity); err != nil {
				return err
			}
		}
	}
	var err error
	if e.Then.Quantity, err = e.Now.Quantity.Add(posted); err != nil || e.Now.Available == nil {
		return err
	}
	sum, err := e.Now.Available.Add(available)
	e.Then.Available = &sum
	return err
}

// fullCapture returns the form values that capture all of a held transfer or trade, nil for other transactions. The
// units must have loaded the assets.
func fullCapture(u *units.Units, t client.Transaction) url.Values {
	if len(t.Postings) == 0 || !hasParts(t) {
		return nil
	}
	first := t.Postings[0]
	v := url.Values{"quantity": {u.Quantity(first.Asset, first.Quantity.Abs())}}
	if !first.Cost.IsZero() {
		cost, _ := u.Cost(first.Asset, first.Cost.Abs())
		v.Set("cost", cost)
	}
	return v
}

// refused returns the page of a form that was refused, with the error.
func (v *visit) refused(f *form, err error) page {
	_, f.OutcomeUnknown = errors.AsType[*client.UnknownError](err)
	f.ErrorField, f.Confirm = f.fieldOf(err), f.OutcomeUnknown
	if hasField(err, "hold.expires_at") { // it counts from when the form was opened
		f.Error, f.ReopenURL = "this form has expired", f.address()
	} else {
		f.Error = f.withLabels(err, cmp.Or(v.exceeded(f.target, err), v.errorText(err)))
	}
	return v.formPage(f, http.StatusUnprocessableEntity)
}

// hasField reports whether err is an error of the API about a field.
func hasField(err error, name string) bool {
	return slices.ContainsFunc(refusal(err).Fields, func(e client.FieldError) bool { return e.Field == name })
}

// fieldOf returns the name of the first form field that an error is about, "" if there is none.
func (f *form) fieldOf(err error) string {
	code := refusal(err).Code
	for _, field := range f.Fields {
		switch {
		case field.Kind == "fixed":
		case f.hasInvalidID(field, err), strings.HasPrefix(err.Error(), field.Label+": "), // an invalid amount
			code == field.Name+"_not_found", code == client.CodeInsufficientFunds && field.Kind == "amount",
			hasField(err, field.Name):
			return field.Name
		}
	}
	return ""
}

// hasInvalidID reports whether err is client.ErrID, which does not name the field, and the field is the cause.
func (f *form) hasInvalidID(of field, err error) bool {
	ids := []string{"id", "account", "group", "user", "asset"} // the fields that become part of a URL path
	return errors.Is(err, client.ErrID) && slices.Contains(ids, of.Name) && !events.ValidID(of.Value)
}

// withLabels replaces the names of form fields in an error by their labels.
func (f *form) withLabels(err error, text string) string {
	for _, field := range f.Fields {
		if f.hasInvalidID(field, err) {
			return field.Label + ": " + text
		}
		text = strings.ReplaceAll(text, "\n  "+field.Name+": ", "\n  "+field.Label+": ")
		text = strings.ReplaceAll(text, ": must differ from "+field.Name, ": must differ from “"+field.Label+"”")
	}
	return text
}

// exceeded returns the text of a refusal because of too large a part, with the limit in decimals. It is "" for other
// refusals.
func (v *visit) exceeded(of client.Transaction, err error) string {
	refused, left := refusal(err), client.Legs(of.Postings)
	if refused.Code == client.CodeExceedsReversible {
		left = refused.Left
	} else if refused.Code != client.CodeExceedsHold {
		return ""
	}
	if len(left) == 0 || v.units.Load(v.ctx, left[0].Asset) != nil {
		return ""
	}
	most := left[0]
	text := refused.Code + ": " + refused.Detail
	for _, f := range refused.Fields {
		figure := v.units.Quantity(most.Asset, most.Quantity.Abs()) + " " + most.Asset
		if f.Field == partCostField.Name {
			figure = v.units.CostCell(most.Asset, most.Cost.Abs())
		}
		text += "\n  " + f.Field + ": must not exceed " + figure
	}
	return text
}
