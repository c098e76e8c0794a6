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

// form shows an empty form, or one that is filled in by the link that leads to it.
func (c *Console) form(r *http.Request) (view, error) {
	f, err := c.newForm(r.PathValue("action"), r.URL.Query())
	if err != nil {
		return view{}, err
	}
	if err := c.fit(r.Context(), f); err != nil {
		return view{}, err
	}
	if f.HasID {
		minted, _, err := events.NewMinter(nil, nil).Mint(1)
		if err != nil {
			return view{}, err
		}
		f.ID = string(minted[0])
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
	return &formData{action: a, Name: name, User: c.user}, nil
}

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
		if field.Value == "" && !field.Optional {
			return errors.New(field.Label + ": must not be blank")
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

// act shows what a form would do, and does it once that was confirmed. A refusal shows the form again, with the same
// id.
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
	f.ID = v.Get("transaction_id")
	path := ""
	switch err = c.fit(ctx, f); {
	case err != nil:
	case v.Get("change") != "":
	case v.Get("acting") != c.user:
		err = fmt.Errorf("this form was opened as %s, and would now be sent as %s: look at it again",
			acting(v.Get("acting")), acting(c.user))
	default:
		path, err = c.carryOut(ctx, f, v.Get("confirmed") != "")
	}
	switch {
	case err != nil:
		c.refuse(ctx, f, err)
		return f.view(http.StatusUnprocessableEntity), nil
	case path != "":
		return view{location: path}, nil
	}
	return f.view(http.StatusOK), nil
}

// acting names as whom a form is sent.
func acting(user string) string {
	if user == "" {
		return "the caller alone"
	}
	return "the user " + user
}

// carryOut sends the form if it is confirmed and returns where to go; else it finds out what would be answered.
func (c *Console) carryOut(ctx context.Context, f *formData, confirmed bool) (path string, err error) {
	if err := f.broken(); err != nil {
		return "", err
	}
	v := f.values()
	if f.send != nil {
		if confirmed {
			return f.send(ctx, c, v)
		}
		f.Confirm = true
		return "", nil
	}
	v.Set("id", f.ID)
	if len(f.of.Postings) > 0 {
		v.Set("asset", f.of.Postings[0].Asset)
	}
	request, err := f.request(ctx, c, v)
	if err != nil {
		return "", err
	}
	if confirmed {
		t, _, err := c.api.Post(ctx, request)
		return Path + "transactions/" + url.PathEscape(t.ID), err
	}
	would, err := c.api.DryRun(ctx, request)
	if err != nil {
		return "", err
	}
	f.Preview, f.Confirm = previewOf(would.Value), true
	if hold, err := holdOf(v); err == nil && hold != nil { // a dry run has no times
		f.Preview.ExpiresAt = events.FormatTime(hold.ExpiresAt)
	}
	return "", c.loadAll(ctx, []client.Transaction{would.Value})
}

func transfer(ctx context.Context, c *Console, v url.Values) (client.Post, error) {
	return c.transferOf(ctx, v)
}

func (c *Console) transferOf(ctx context.Context, v url.Values) (client.Transfer, error) {
	quantity, err := c.units.Parse(ctx, "Quantity", v.Get("asset"), v.Get("quantity"))
	return client.Transfer{
		ID: v.Get("id"), Description: v.Get("description"), From: v.Get("from"), To: v.Get("to"), Asset: v.Get("asset"),
		Quantity: quantity,
	}, err
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
	body := map[string]any{"name": v.Get("name")}
	if v.Get("unlimited") != "" {
		body["overdraft"] = "unlimited"
	}
	return c.define(ctx, client.KindAccount, "accounts/", v.Get("id"), body)
}

func registerAsset(ctx context.Context, c *Console, v url.Values) (string, error) {
	body := map[string]any{"name": v.Get("name"), "scale": json.Number(v.Get("scale"))}
	for _, name := range []string{"currency", "description"} {
		if value := v.Get(name); value != "" {
			body[name] = value
		}
	}
	return c.define(ctx, client.KindAsset, "assets/", v.Get("id"), body)
}

// define sends a definition, and returns the path of its page.
func (c *Console) define(ctx context.Context, kind client.Kind, path, id string, body any) (string, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return "", err
	}
	_, err = c.api.Send(ctx, client.Command{Kind: kind, ID: id, Body: text})
	return Path + path + url.PathEscape(id), err
}

func changeState(ctx context.Context, c *Console, v url.Values) (string, error) {
	id := v.Get("account")
	_, err := c.api.PatchAccount(ctx, id, client.AccountPatch{State: v.Get("state")})
	return Path + "accounts/" + url.PathEscape(id), err
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
