package console

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"ledger.example/client"
	"ledger.example/events"
)

// refused returns the page of a form that was refused, with the error.
func (c *Console) refused(ctx context.Context, f *formData, err error) view {
	_, f.OutcomeUnknown = errors.AsType[*client.UnknownError](err)
	f.ErrorField, f.Confirm = f.fieldOf(err), f.OutcomeUnknown
	refused, _ := errors.AsType[*client.Error](err)
	if refused != nil && slices.ContainsFunc(refused.Fields, func(e client.FieldError) bool {
		return e.Field == "hold.expires_at" // it counts from when the form was opened
	}) {
		f.Error, f.ReopenURL = "this form has expired", f.address()
	} else {
		f.Error = f.withLabels(err, cmp.Or(c.exceeded(ctx, f.target, err), c.errorText(ctx, err)))
	}
	return f.view(http.StatusUnprocessableEntity)
}

// fieldOf returns the name of the first form field that an error is about, "" if there is none.
func (f *formData) fieldOf(err error) string {
	refused, _ := errors.AsType[*client.Error](err)
	for _, field := range f.Fields {
		switch {
		case field.Kind == "fixed":
		case f.hasInvalidID(field, err), strings.HasPrefix(err.Error(), field.Label+": "), // an invalid amount
			refused != nil && (refused.Code == field.Name+"_not_found" ||
				refused.Code == client.CodeInsufficientFunds && field.Kind == "amount" ||
				slices.ContainsFunc(refused.Fields, func(e client.FieldError) bool { return e.Field == field.Name })):
			return field.Name
		}
	}
	return ""
}

// hasInvalidID reports whether err is client.ErrID, which does not name the field, and the field is the cause.
func (f *formData) hasInvalidID(of field, err error) bool {
	ids := []string{"id", "account", "group", "user", "asset"} // the fields that become part of a URL path
	return errors.Is(err, client.ErrID) && slices.Contains(ids, of.Name) && !events.ValidID(of.Value)
}

// withLabels replaces the names of form fields in an error by their labels.
func (f *formData) withLabels(err error, text string) string {
	for _, field := range f.Fields {
		if f.hasInvalidID(field, err) {
			return field.Label + ": " + text
		}
		text = strings.ReplaceAll(text, "\n  "+field.Name+": ", "\n  "+field.Label+": ")
		text = strings.ReplaceAll(text, ": must differ from "+field.Name, ": must differ from “"+field.Label+"”")
	}
	return text
}
