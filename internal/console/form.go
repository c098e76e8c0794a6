package console

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"ledger.example/client"
	"ledger.example/events"
)

// previewParam is the query parameter that requests the preview of a form.
const previewParam = "look"

// form is the data of a form's page.
type form struct {
	action
	Name           string
	User           string // the user that the form is sent as; "" for the console's own identity
	ID             string // of the transaction to post
	Error          string // why the form was refused
	ErrorField     string // the field that caused the refusal, "" if no field did
	ReopenURL      string // opens a new form with the same values, if this form has expired
	OutcomeUnknown bool
	Preview        *preview
	Confirm        bool // the next submission is sent to the API

	target client.Transaction // the transaction to capture or reverse
}

// showForm shows an empty form, a form filled in from the query, or the preview of a form.
func (v *visit) showForm() (page, error) {
	f, err := v.newForm(v.query)
	if err != nil {
		return page{}, err
	}
	if err := v.loadTarget(f); err != nil {
		return page{}, err
	}
	if f.HasID && f.ID == "" {
		minted, _, err := events.NewMinter(nil, nil).Mint(1)
		if err != nil {
			return page{}, err
		}
		f.ID = string(minted[0])
	}
	if v.query.Has(previewParam) {
		if err := v.preview(f); err != nil {
			return v.refused(f, err), nil
		}
	}
	return f.page(http.StatusOK), nil
}

// newForm returns the form of an action, filled in from given values.
func (v *visit) newForm(given url.Values) (*form, error) {
	a, ok := actions[v.id]
	if !ok {
		return nil, errNotFound
	}
	a.Fields = slices.Clone(a.Fields)
	for i := range a.Fields {
		if values := given[a.Fields[i].Name]; len(values) == 1 {
			a.Fields[i].Value = strings.TrimSpace(values[0])
		}
	}
	return &form{action: a, Name: v.id, User: v.user, ID: given.Get("transaction_id")}, nil
}

// address is the URL path and query of the filled-in form.
func (f *form) address() string {
	values := url.Values{}
	for _, field := range f.Fields {
		values.Set(field.Name, field.Value)
	}
	return pathOf("do", f.Name) + "?" + values.Encode()
}

// value returns the value of a field, "" if the form has no such field.
func (f *form) value(name string) string {
	for _, field := range f.Fields {
		if field.Name == name {
			return field.Value
		}
	}
	return ""
}

func (f *form) page(status int) page {
	return page{name: "form", Title: f.Title, status: status, Data: f}
}

// act handles a submitted form. The first submission redirects to the preview, and the confirmed one is sent to the
// API. The preview has its own URL, so the browser's Back button never submits a form again. If the request is refused,
// the form is shown again with the same transaction id.
func (v *visit) act() (page, error) {
	given, err := v.posted()
	if err != nil {
		return page{}, err
	}
	f, err := v.newForm(given)
	if err != nil {
		return page{}, err
	}
	again := f.address() + "&transaction_id=" + url.QueryEscape(f.ID)
	isSameUser := given.Get("acting") == v.user
	switch {
	case given.Get("change") != "":
		return page{location: again}, nil
	case isSameUser && given.Get("confirmed") == "":
		return page{location: again + "&" + previewParam}, nil
	}
	path := ""
	if err = v.loadTarget(f); err == nil && !isSameUser {
		err = fmt.Errorf("this form was opened as %s, but would now be sent as %s: preview it again",
			identity(given.Get("acting")), identity(v.user))
	}
	if err == nil {
		path, err = v.submit(f)
	}
	if err != nil {
		return v.refused(f, err), nil
	}
	return page{location: path}, nil
}

// identity describes a user in an error; "" is the console's own identity.
func identity(user string) string {
	if user == "" {
		return "the console itself"
	}
	return "user " + user
}

// request returns the request that the form posts, nil if the action has its own way to send it.
func (v *visit) request(f *form) (client.Request, error) {
	members, id := make(map[string]any), f.ID
	if f.HasID {
		members["id"] = f.ID
	}
	for _, field := range f.Fields {
		value, err := v.validated(f, field)
		switch {
		case err != nil:
			return nil, err
		case field.inPath:
			id = field.Value
		case value != nil:
			members[cmp.Or(field.member, field.Name)] = value
		}
	}
	body, err := json.Marshal(members)
	switch {
	case err != nil || f.send != nil:
		return nil, err
	case f.about != nil:
		return f.about(id, body)
	}
	return client.Command{Kind: f.command, ID: id, Body: body}, nil
}

// validated returns the value of a field as the API takes it, nil for none. The error begins with the field's label.
func (v *visit) validated(f *form, of field) (any, error) {
	text := of.Value
	asset := f.value(assetField.Name)
	if len(f.target.Postings) > 0 {
		asset = f.target.Postings[0].Asset
	}
	switch {
	case text == "" && !of.Optional:
		return nil, errors.New(of.Label + ": must not be blank")
	case text == "" && of.Name == partField.Name && f.value(partCostField.Name) != "":
		return nil, errors.New(of.Label + ": required with a cost; leave both empty for the full amount")
	case text == "":
		return nil, nil //nolint:nilnil // an optional field
	case of.Kind == "choice" && !slices.Contains(of.Choices, text):
		return nil, errors.New(of.Label + ": must be one of " + strings.Join(of.Choices, ", "))
	case of.Kind == "number":
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > of.Most || strconv.Itoa(n) != text {
			return nil, fmt.Errorf("%s: must be a whole number from 0 to %d", of.Label, of.Most)
		}
		return n, nil
	case of.Name == "cost":
		return v.units.ParseCost(v.ctx, of.Label, asset, text)
	case of.Kind == "amount":
		return v.units.Parse(v.ctx, of.Label, asset, text)
	case of.Kind == "check":
		return of.checked, nil
	case of.Name == holdField.Name:
		return f.hold()
	}
	return text, nil
}

// hold returns the hold that the form requests, nil for none. Its term starts at the time in the form's transaction id,
// so that a form that is sent again makes the same request.
func (f *form) hold() (any, error) {
	term, ok := terms[f.value(holdField.Name)]
	if !ok {
		return nil, nil //nolint:nilnil // the form has no hold field, or noHold is chosen
	}
	id, err := events.ParseKSUID(f.ID)
	return client.Hold{ExpiresAt: id.Time().Add(term)}, err
}

// submit sends the form to the API and returns the path of the page to show next.
func (v *visit) submit(f *form) (path string, err error) {
	request, err := v.request(f)
	switch {
	case err != nil:
		return "", err
	case f.send != nil:
		return f.send(v, f)
	case f.isDry():
		t, _, err := v.api.Post(v.ctx, request)
		return pathOf("transactions", t.ID), err
	}
	command := request.(client.Command)
	kind := "accounts"
	if command.Kind == client.KindAsset {
		kind = "assets"
	}
	_, err = v.api.Send(v.ctx, command)
	return pathOf(kind, command.ID), err
}

// loadTarget reads the transaction that the form captures or reverses. It removes the fields that cannot select a part
// of it: a transfer has a quantity, a trade also a cost, other transactions neither. Errors: those of a read.
func (v *visit) loadTarget(f *form) error {
	if !f.Partial {
		return nil
	}
	t, err := v.api.Transaction(v.ctx, f.value(postedField.Name))
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
