package console

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"ledger.example/client"
	"ledger.example/events"
)

// preview describes the effect of a form before it is sent.
type preview struct {
	Title     string
	ExpiresAt string           // of the hold to place
	Reserved  []client.Posting // amounts that a hold reserves or gives back, unsigned
	Legs      []client.Posting // postings; of a hold, those of a full capture
}

// preview does a dry run of the form and stores the result in it.
func (v *visit) preview(f *form) error {
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
	p := preview{Title: "What will be posted", Legs: t.AsPosted()}
	switch {
	case t.Status == client.StatusHeld:
		p.Title, p.Reserved = "What will be held", reserved(t.Postings)
	case t.Status == client.StatusReleased || t.Status == client.StatusExpired:
		p.Title, p.Reserved, p.Legs = "What will be released", reserved(t.Postings), nil
	case t.Kind == string(events.KindReversal):
		p.Title = "What the reversal will post"
	}
	if hold, err := f.hold(); err == nil && hold != nil { // a dry run returns no times
		p.ExpiresAt = events.FormatTime(hold.(client.Hold).ExpiresAt)
	}
	f.Preview, f.Confirm = &p, true
	return v.loadAll([]client.Transaction{t})
}

// reserved returns the debits among the planned postings, unsigned.
func reserved(planned []client.Posting) (all []client.Posting) {
	for _, p := range planned {
		if p.Quantity.Sign() < 0 {
			p.Quantity, p.Cost = p.Quantity.Abs(), p.Cost.Abs()
			all = append(all, p)
		}
	}
	return all
}

// fullCapture returns the form values that capture all of a held transfer or trade, nil for other transactions. c.units
// must have loaded the assets.
func (c *Console) fullCapture(t client.Transaction) url.Values {
	if len(t.Postings) == 0 || !hasParts(t) {
		return nil
	}
	first := t.Postings[0]
	v := url.Values{"quantity": {c.units.Quantity(first.Asset, first.Quantity.Abs())}}
	if !first.Cost.IsZero() {
		cost, _ := c.units.Cost(first.Asset, first.Cost.Abs())
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
	return f.page(http.StatusUnprocessableEntity)
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
