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

	Rows        int     // of legs to enter, in forms with legs
	Main, Extra []input // the fields, and those that few need
	IsExtraOpen bool
	Lists       []pickList // the choices of the form's pickers
	Reversible  reversible // of the transaction to reverse
	Books       *booksLook // the preview of a closing of the books, nil for other forms

	target client.Transaction // the transaction to capture or reverse
	newest client.Period      // the newest closing of the books
	rows   []int              // the rows of the legs of the request
	zone                      // of the days
}

// TargetID and TargetText are the id and the description of the transaction to capture or reverse.
func (f *form) TargetID() string   { return f.target.ID }
func (f *form) TargetText() string { return f.target.Description }

// input is how a page shows a field.
type input struct {
	field
	IsWrong bool
	IsFixed bool // shown and sent, but read-only
	IsShown bool // by the preview, so it is only sent
	Leg     int  // the leg that it is about, 0 for none
}

// pickList has the choices of pickers.
type pickList struct {
	ID      string
	Options []option
	IsPart  bool // more are found by typing, or by their name in the preview
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
	return v.formPage(f, http.StatusOK), nil
}

// newForm returns the form of an action, filled in from given values.
func (v *visit) newForm(given url.Values) (*form, error) {
	a, ok := actions[v.id]
	if !ok {
		return nil, errNotFound
	}
	in, err := v.zoneOf(given)
	if err != nil {
		return nil, err
	}
	rows := 0
	if a.HasLegs {
		rows = min(max(legsLeast, rowsIn(given)), legsMost)
		a.Fields = append(legFields(rows), a.Fields...)
	}
	a.Fields = slices.Clone(a.Fields)
	for i := range a.Fields {
		if a.Fields[i].Kind == "day" {
			a.Fields[i].Hint += " in " + in.ZoneName()
		}
		if values := given[a.Fields[i].Name]; len(values) == 1 {
			a.Fields[i].Value = strings.TrimSpace(values[0])
		}
	}
	return &form{action: a, Name: v.id, User: v.user, ID: given.Get("transaction_id"), zone: in,
		Rows: rows}, nil
}

// address is the URL path and query of the filled-in form.
func (f *form) address() string {
	values := url.Values{}
	for _, field := range f.Fields {
		if field.leg == 0 || field.Value != "" {
			values.Set(field.Name, field.Value)
		}
	}
	if f.Rows > 0 {
		values.Set("rows", strconv.Itoa(f.Rows))
	}
	return pathOf("do", f.Name) + "?" + values.Encode()
}

// field returns the field with a name, nil if the form has none.
func (f *form) field(name string) *field {
	if i := slices.IndexFunc(f.Fields, func(of field) bool { return of.Name == name }); i >= 0 {
		return &f.Fields[i]
	}
	return nil
}

// value returns the value of a field, "" if the form has no such field.
func (f *form) value(name string) string {
	if of := f.field(name); of != nil {
		return of.Value
	}
	return ""
}

// formPage returns the page of a form, with the choices of its pickers.
func (v *visit) formPage(f *form, status int) page {
	for _, field := range f.Fields {
		isShown := field.List != "" || field.Kind == "amount" || field.Kind == "signed"
		in := input{field, field.Name == f.ErrorField, f.Confirm || field.Kind == "fixed", isShown && f.Preview != nil,
			field.leg}
		if !field.isExtra || f.Confirm {
			f.Main = append(f.Main, in)
		} else {
			f.Extra, f.IsExtraOpen = append(f.Extra, in), f.IsExtraOpen || in.IsWrong || field.Value != ""
		}
		isListed := slices.ContainsFunc(f.Lists, func(l pickList) bool { return l.ID == field.List })
		if field.List == "" || f.Confirm || isListed {
			continue
		}
		d, err := v.directory(false)
		if err != nil { // ids can be typed
			break
		}
		found, all := d.find(field.List, query{}, optionsMost)
		f.Lists = append(f.Lists, pickList{field.List, found, all > len(found)})
	}
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
	if err := v.loadTarget(f); err != nil {
		return v.refused(f, err), nil
	}
	again := f.address() + "&transaction_id=" + url.QueryEscape(f.ID)
	isSameUser := given.Get("acting") == v.user
	switch {
	case given.Get("change") != "":
		return page{location: again}, nil
	case given.Get("more") != "":
		f.Rows += legsLeast
		return page{location: f.address() + "&transaction_id=" + url.QueryEscape(f.ID)}, nil
	case isSameUser && given.Get("confirmed") == "":
		return page{location: again + "&" + previewParam}, nil
	}
	path := ""
	if !isSameUser {
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
	for _, field := range f.Fields {
		value, err := v.validated(f, field)
		switch {
		case err != nil:
			return nil, err
		case field.inPath:
			id = field.Value
		case field.leg > 0: // see legs and part
		case value != nil:
			member := cmp.Or(field.member, field.Name)
			if _, isGiven := members[member]; isGiven {
				return nil, errors.New(field.Label + ": must be blank if the overdraft is unlimited")
			}
			members[member] = value
		}
	}
	if f.HasID {
		id = cmp.Or(f.value(ownIDField.Name), f.ID)
		members["id"] = id
	}
	var err error
	switch {
	case f.HasLegs:
		members["postings"], err = v.legs(f)
	case f.Partial && !hasParts(f.target):
		var taken []client.Taken
		taken, err = v.taken(f)
		if _, isGiven := members[partField.Name]; !isGiven {
			members["postings"] = taken
		} else if err == nil && !isAllOf(leftOf(f.target), taken) {
			err = errors.New(partField.Label + ": must be blank if not all of a posting is taken")
		}
	}
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(members)
	switch {
	case err != nil || f.send != nil:
		return nil, err
	case f.about != nil:
		return f.about(f.value(postedField.Name), body)
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
	case of.Name == mostField.Name && text == string(client.All):
		return text, nil
	case of.Kind == "amount":
		return v.units.Parse(v.ctx, of.Label, asset, text)
	case of.Kind == "day":
		day, err := f.day(of.Label, text)
		return day.Begin(f.in), err
	case of.Name == sourcesField.Name && of.Kind == "lines":
		return v.sources(of, asset)
	case of.Name == portionsField.Name && of.Kind == "lines":
		return v.portions(of, asset)
	case of.Kind == "lines":
		return v.lines(of)
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
		defer v.directories.forget()
		return f.send(v, f)
	case f.isDry():
		t, _, err := v.api.Post(v.ctx, request)
		if err == nil && t.ExpiresAt != "" {
			awaitListed(v.ctx, v.api.Holds(t.Postings[0].Account, t.Status), func(all []client.Transaction) bool {
				return slices.ContainsFunc(all, func(h client.Transaction) bool { return h.ID == t.ID })
			})
		}
		return pathOf("transactions", t.ID), err
	}
	defer v.directories.forget()
	command := request.(client.Command)
	w, err := v.api.Send(v.ctx, command)
	switch command.Kind {
	case client.KindGroup:
		return pathOf("groups", command.ID), err
	case client.KindAsset:
		if err == nil {
			awaitListed(v.ctx, v.api.Assets(command.ID), func(all []client.Asset) bool { return len(all) > 0 })
		}
		return pathOf("assets", command.ID), err
	}
	var is client.Account
	if err == nil && json.Unmarshal(w.Raw, &is) == nil {
		awaitListed(v.ctx, v.api.Accounts(command.ID), func(all []client.Account) bool {
			return len(all) > 0 && (all[0].ID != is.ID || all[0].Version >= is.Version)
		})
	}
	return pathOf("accounts", command.ID), err
}
