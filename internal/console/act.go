package console

import (
	"context"
	"crypto/subtle"
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

// formBytes is the size limit of a submitted form.
const formBytes = 64 << 10

// previewParam is the query parameter that requests the preview of a form.
const previewParam = "look"

// formData is the data of a form's page.
type formData struct {
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

// form shows an empty form, a form filled in from the query, or the preview of a form.
func (c *Console) form(r *http.Request) (view, error) {
	ctx, q := r.Context(), r.URL.Query()
	f, err := c.newForm(r.PathValue("action"), q)
	if err != nil {
		return view{}, err
	}
	if err := c.loadTarget(ctx, f); err != nil {
		return view{}, err
	}
	if f.HasID && f.ID == "" {
		minted, _, err := events.NewMinter(nil, nil).Mint(1)
		if err != nil {
			return view{}, err
		}
		f.ID = string(minted[0])
	}
	if q.Has(previewParam) {
		if err := c.preview(ctx, f); err != nil {
			return c.refused(ctx, f, err), nil
		}
	}
	return f.view(http.StatusOK), nil
}

// newForm returns the form of an action, filled in from v.
func (c *Console) newForm(name string, v url.Values) (*formData, error) {
	a, ok := actions[name]
	if !ok {
		return nil, errNotFound
	}
	a.Fields = slices.Clone(a.Fields)
	for i := range a.Fields {
		if given, ok := v[a.Fields[i].Name]; ok && len(given) == 1 {
			a.Fields[i].Value = strings.TrimSpace(given[0])
		}
	}
	return &formData{action: a, Name: name, User: c.user, ID: v.Get("transaction_id")}, nil
}

// address is the URL path and query of the filled-in form.
func (f *formData) address() string { return pathOf("do", f.Name) + "?" + f.values().Encode() }

// values returns the values of all fields.
func (f *formData) values() url.Values {
	v := url.Values{}
	for _, field := range f.Fields {
		v.Set(field.Name, field.Value)
	}
	return v
}

// validate checks the fields. The error begins with the label of the first invalid one.
func (f *formData) validate() error {
	for _, field := range f.Fields {
		switch {
		case field.Value == "" && !field.Optional:
			return errors.New(field.Label + ": must not be blank")
		case field.Kind == "choice" && !slices.Contains(field.Choices, field.Value):
			return errors.New(field.Label + ": must be one of " + strings.Join(field.Choices, ", "))
		}
		n, err := strconv.Atoi(field.Value)
		if field.Kind == "number" && (err != nil || n < 0 || n > field.Most || strconv.Itoa(n) != field.Value) {
			return fmt.Errorf("%s: must be a whole number from 0 to %d", field.Label, field.Most)
		}
	}
	return nil
}

func (f *formData) view(status int) view {
	return view{name: "form", title: f.Title, status: status, data: f}
}

// errNotOurForm reports a form without the token of this console.
var errNotOurForm = errors.New("this form did not come from a page of this console, or the console was restarted: " +
	"go back, reload the page and send the form again")

// validToken reports whether a form has the token of this console. It protects against cross-site request forgery.
func (c *Console) validToken(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(c.token)) == 1
}

// act handles a submitted form. The first submission redirects to the preview, and the confirmed one is sent to the
// API. The preview has its own URL, so the browser's Back button never submits a form again. If the request is refused,
// the form is shown again with the same transaction id.
func (c *Console) act(r *http.Request) (view, error) {
	r.Body = http.MaxBytesReader(nil, r.Body, formBytes)
	if err := r.ParseForm(); err != nil {
		return view{}, err
	}
	v, ctx := r.PostForm, r.Context()
	if !c.validToken(v.Get("token")) {
		return view{}, errNotOurForm
	}
	f, err := c.newForm(r.PathValue("action"), v)
	if err != nil {
		return view{}, err
	}
	sameID := "&transaction_id=" + url.QueryEscape(f.ID)
	isSameUser := v.Get("acting") == c.user
	switch {
	case v.Get("change") != "":
		return view{location: f.address() + sameID}, nil
	case isSameUser && v.Get("confirmed") == "":
		return view{location: f.address() + sameID + "&" + previewParam}, nil
	}
	path := ""
	if err = c.loadTarget(ctx, f); err == nil && !isSameUser {
		err = fmt.Errorf("this form was opened as %s, but would now be sent as %s: preview it again",
			identity(v.Get("acting")), identity(c.user))
	}
	if err == nil {
		path, err = c.submit(ctx, f)
	}
	if err != nil {
		return c.refused(ctx, f, err), nil
	}
	return view{location: path}, nil
}

// identity describes a user in an error; "" is the console's own identity.
func identity(user string) string {
	if user == "" {
		return "the console itself"
	}
	return "user " + user
}

// postOf returns the values of the form and the request that it posts. The request is nil if the action has no dry run.
func (c *Console) postOf(ctx context.Context, f *formData) (v url.Values, request client.Post, err error) {
	v = f.values()
	if err := f.validate(); err != nil || f.request == nil {
		return v, nil, err
	}
	v.Set("id", f.ID)
	if len(f.target.Postings) > 0 {
		v.Set("asset", f.target.Postings[0].Asset)
	}
	request, err = f.request(ctx, c, v)
	return v, request, err
}

// submit sends the form to the API and returns the path of the page to show next.
func (c *Console) submit(ctx context.Context, f *formData) (path string, err error) {
	v, request, err := c.postOf(ctx, f)
	switch {
	case err != nil:
		return "", err
	case request == nil:
		return f.send(ctx, c, v)
	}
	t, _, err := c.api.Post(ctx, request)
	return pathOf("transactions", t.ID), err
}

// preview does a dry run of the form and stores the result in it.
func (c *Console) preview(ctx context.Context, f *formData) error {
	v, request, err := c.postOf(ctx, f)
	if err != nil || request == nil {
		f.Confirm = err == nil
		return err
	}
	planned, err := c.api.DryRun(ctx, request)
	if err != nil {
		return err
	}
	f.Preview, f.Confirm = previewOf(planned.Value), true
	if hold, err := holdOf(v); err == nil && hold != nil { // a dry run returns no times
		f.Preview.ExpiresAt = events.FormatTime(hold.ExpiresAt)
	}
	return c.loadAll(ctx, []client.Transaction{planned.Value})
}

func transfer(ctx context.Context, c *Console, v url.Values) (client.Post, error) {
	quantity, err := c.units.Parse(ctx, "Quantity", v.Get("asset"), v.Get("quantity"))
	hold, invalid := holdOf(v)
	return client.Transfer{
		ID: v.Get("id"), Description: v.Get("description"), From: v.Get("from"), To: v.Get("to"), Asset: v.Get("asset"),
		Quantity: quantity, Hold: hold,
	}, errors.Join(err, invalid)
}

func trade(ctx context.Context, c *Console, v url.Values) (client.Post, error) {
	quantity, err := c.units.Parse(ctx, "Quantity", v.Get("asset"), v.Get("quantity"))
	if err != nil {
		return nil, err
	}
	hold, invalid := holdOf(v)
	cost, err := c.units.ParseCost(ctx, "Cost", v.Get("asset"), v.Get("cost"))
	return client.Trade{
		ID: v.Get("id"), Description: v.Get("description"), Asset: v.Get("asset"), Buyer: v.Get("buyer"),
		Seller: v.Get("seller"), Quantity: quantity, Cost: cost, Settle: v.Get("settle") != "", Hold: hold,
	}, errors.Join(err, invalid)
}

func openAccount(ctx context.Context, c *Console, v url.Values) (string, error) {
	a, _, err := c.api.OpenAccount(ctx, client.AccountRequest{
		ID: v.Get("id"), Name: v.Get("name"), Overdraft: client.Overdraft{Unlimited: v.Get("unlimited") != ""},
	})
	return pathOf("accounts", a.ID), err
}

func registerAsset(ctx context.Context, c *Console, v url.Values) (string, error) {
	scale, err := strconv.Atoi(v.Get("scale"))
	if err != nil {
		return "", err
	}
	a, _, err := c.api.RegisterAsset(ctx, client.AssetRequest{
		ID: v.Get("id"), Name: v.Get("name"), Description: v.Get("description"), Scale: scale,
		Currency: v.Get("currency"),
	})
	return pathOf("assets", a.ID), err
}

func changeState(ctx context.Context, c *Console, v url.Values) (string, error) {
	id := v.Get("account")
	_, err := c.api.PatchAccount(ctx, id, client.AccountPatch{State: v.Get("state")})
	return pathOf("accounts", id), err
}

// isRefused reports whether err is an error of the API with the given status.
func isRefused(err error, status int) bool {
	refused, ok := errors.AsType[*client.Error](err)
	return ok && refused.Status == status
}

// indented returns JSON with line breaks and indentation.
func indented(raw []byte) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if e.Encode(json.RawMessage(raw)) != nil {
		return string(raw)
	}
	return b.String()
}
