package console

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"ledger.example/client"
	"ledger.example/events"
)

// refused shows the form, which says why it was refused.
func (c *Console) refused(ctx context.Context, f *formData, err error) view {
	_, f.Unknown = errors.AsType[*client.UnknownError](err)
	f.AtFault, f.Confirm = f.atFault(err), f.Unknown
	refused, _ := errors.AsType[*client.Error](err)
	if refused != nil && slices.ContainsFunc(refused.Fields, func(e client.FieldError) bool {
		return e.Field == "hold.expires_at" // which is counted from when the form was opened
	}) {
		f.Fault, f.Again = "this form is too old", f.address()
	} else if f.Fault = c.beyond(ctx, f.of, err); f.Fault == "" {
		f.Fault = f.labelled(err, c.explain(ctx, err))
	}
	return f.view(http.StatusUnprocessableEntity)
}

// atFault is the name of the first field of the form that an error is about, "" if it is about none of them.
func (f *formData) atFault(err error) string {
	refused, _ := errors.AsType[*client.Error](err)
	for _, field := range f.Fields {
		switch {
		case field.Kind == "fixed":
		case f.isNoID(field, err), strings.HasPrefix(err.Error(), field.Label+": "), // an amount that cannot be read
			refused != nil && (refused.Code == field.Name+"_not_found" ||
				refused.Code == client.CodeInsufficientFunds && field.Kind == "amount" ||
				slices.ContainsFunc(refused.Fields, func(e client.FieldError) bool { return e.Field == field.Name })):
			return field.Name
		}
	}
	return ""
}

// isNoID reports whether an error says of a field, without its name, that it is no id.
func (f *formData) isNoID(of field, err error) bool {
	ids := []string{"id", "account", "group", "user", "asset"} // what stands in a path
	return errors.Is(err, client.ErrID) && slices.Contains(ids, of.Name) && !events.ValidID(of.Value)
}

// labelled returns the text of an error with the fields of the form named as people see them.
func (f *formData) labelled(err error, text string) string {
	for _, field := range f.Fields {
		if f.isNoID(field, err) {
			return field.Label + ": " + text
		}
		text = strings.ReplaceAll(text, "\n  "+field.Name+": ", "\n  "+field.Label+": ")
		text = strings.ReplaceAll(text, ": must differ from "+field.Name, ": must differ from “"+field.Label+"”")
	}
	return text
}
