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

// formBytes is the most bytes of a form that is sent.
const formBytes = 64 << 10

// lookParam is in the query of the page that shows what a form would do.
const lookParam = "look"

// formData is what the page of a form shows.
type formData struct {
	action
	Name    string
	User    string // as whom it is sent; "" for the caller alone
	ID      string // of the transaction to post
	Fault   string // why it was refused
	AtFault string // the field that is the reason, "" if it is none
	Again   string // where the form can be opened anew, if it is too old
	Unknown bool   // whether it was posted is not known
	Preview *preview
	Confirm bool // what is shown is what will be sent

	of client.Transaction // of which a part may be taken
}

// form shows an empty form, one that is filled in by the link that leads to it, or what a form would do.
func (c *Console) form(r *http.Request) (view, error) {
	ctx, q := r.Context(), r.URL.Query()
	f, err := c.newForm(r.PathValue("action"), q)
	if err != nil {
		return view{}, err
	}
	if err := c.fit(ctx, f); err != nil {
		return view{}, err
	}
	if f.HasID && f.ID == "" {
		minted, _, err := events.NewMinter(nil, nil).Mint(1)
		if err != nil {
			return view{}, err
		}
		f.ID = string(minted[0])
	}
	if q.Has(lookParam) {
		if err := c.look(ctx, f); err != nil {
			return c.refused(ctx, f, err), nil
		}
	}
	return f.view(http.StatusOK), nil
}

// newForm returns the form of an action with the given values.
func (c *Console) newForm(name string, v url.Values) (*formData, error) {
	a, ok := actions[name]
	if !ok {
		return nil, errNowhere
	}
	a.Fields = slices.Clone(a.Fields)
	for i := range a.Fields {
		if given, ok := v[a.Fields[i].Name]; ok && len(given) == 1 {
			a.Fields[i].Value = strings.TrimSpace(given[0])
		}
	}
	return &formData{action: a, Name: name, User: c.user, ID: v.Get("transaction_id")}, nil
}

// address is where the form is shown with what is filled in.
func (f *formData) address() string { return pathOf("do", f.Name) + "?" + f.values().Encode() }

// values are those of all fields.
func (f *formData) values() url.Values {
	v := url.Values{}
	for _, field := range f.Fields {
		v.Set(field.Name, field.Value)
	}
	return v
}

// broken returns an error that begins with the label of the first field that cannot be as it is.
func (f *formData) broken() error {
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

// errForged is of a form that no page of this console sent.
var errForged = errors.New("this form was not sent by a page of this console, or the console was restarted: go back, " +
	"load the page again, and send it again")

// sent reports whether a form came with the token that every form of this console has.
func (c *Console) sent(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(c.token)) == 1
}

// act does what a form says, once that was looked at and confirmed. What a form would do is a page of its own, so that
// a browser that goes back to it need not send the form again. A refusal shows the form again, with the same id.
func (c *Console) act(r *http.Request) (view, error) {
	r.Body = http.MaxBytesReader(nil, r.Body, formBytes)
	if err := r.ParseForm(); err != nil {
		return view{}, err
	}
	v, ctx := r.PostForm, r.Context()
	if !c.sent(v.Get("token")) {
		return view{}, errForged
	}
	f, err := c.newForm(r.PathValue("action"), v)
	if err != nil {
		return view{}, err
	}
	same := "&transaction_id=" + url.QueryEscape(f.ID)
	isOwn := v.Get("acting") == c.user
	switch {
	case v.Get("change") != "":
		return view{location: f.address() + same}, nil
	case isOwn && v.Get("confirmed") == "":
		return view{location: f.address() + same + "&" + lookParam}, nil
	}
	path := ""
	if err = c.fit(ctx, f); err == nil && !isOwn {
		err = fmt.Errorf("this form was opened as %s, and would now be sent as %s: look at it again",
			acting(v.Get("acting")), acting(c.user))
	}
	if err == nil {
		path, err = c.carryOut(ctx, f)
	}
	if err != nil {
		return c.refused(ctx, f, err), nil
	}
	return view{location: path}, nil
}

// acting names as whom a form is sent.
func acting(user string) string {
	if user == "" {
		return "the caller alone"
	}
	return "the user " + user
}

// asked returns the values of the form and, unless it is sent without a dry run, what it asks to post.
func (c *Console) asked(ctx context.Context, f *formData) (v url.Values, request client.Post, err error) {
	v = f.values()
	if err := f.broken(); err != nil || f.request == nil {
		return v, nil, err
	}
	v.Set("id", f.ID)
	if len(f.of.Postings) > 0 {
		v.Set("asset", f.of.Postings[0].Asset)
	}
	request, err = f.request(ctx, c, v)
	return v, request, err
}

// carryOut sends the form and returns where to go.
func (c *Console) carryOut(ctx context.Context, f *formData) (path string, err error) {
	v, request, err := c.asked(ctx, f)
	switch {
	case err != nil:
		return "", err
	case request == nil:
		return f.send(ctx, c, v)
	}
	t, _, err := c.api.Post(ctx, request)
	return pathOf("transactions", t.ID), err
}

// look finds out what the form would do, and has the form show it.
func (c *Console) look(ctx context.Context, f *formData) error {
	v, request, err := c.asked(ctx, f)
	if err != nil || request == nil {
		f.Confirm = err == nil
		return err
	}
	would, err := c.api.DryRun(ctx, request)
	if err != nil {
		return err
	}
	f.Preview, f.Confirm = previewOf(would.Value), true
	if hold, err := holdOf(v); err == nil && hold != nil { // a dry run has no times
		f.Preview.ExpiresAt = events.FormatTime(hold.ExpiresAt)
	}
	return c.loadAll(ctx, []client.Transaction{would.Value})
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

// isRefused reports whether the API refused with a status.
func isRefused(err error, status int) bool {
	refused, ok := errors.AsType[*client.Error](err)
	return ok && refused.Status == status
}

// indented shows JSON for people.
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
