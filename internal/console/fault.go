package console

import (
	"errors"
	"slices"
	"strings"

	"ledger.example/client"
)

// atFault is the name of the first field of the form that an error is about, "" if it is about none of them.
func (f *formData) atFault(err error) string {
	refused, _ := errors.AsType[*client.Error](err)
	for _, field := range f.Fields {
		switch {
		case field.Kind == "fixed":
		case strings.HasPrefix(err.Error(), field.Label+": "), // an amount that cannot be read
			refused != nil && (refused.Code == field.Name+"_not_found" ||
				refused.Code == client.CodeInsufficientFunds && field.Kind == "amount" ||
				slices.ContainsFunc(refused.Fields, func(e client.FieldError) bool { return e.Field == field.Name })):
			return field.Name
		}
	}
	return ""
}
