package console

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"ledger.example/client"
	"ledger.example/events"
)

// formBytes is the most bytes of a form that is sent.
const formBytes = 64 << 10

// A field is one input of a form.
type field struct {
	Name, Label string
	Kind        string // text, amount, check, choice, or fixed: shown and sent, not changed
	Choices     []string
	Hint        string
	Value       string
	Optional    bool
}

// The fields that several forms have.
var (
	assetField       = field{Name: "asset", Label: "Asset"}
	quantityField    = field{Name: "quantity", Label: "Quantity", Kind: "amount", Hint: "such as 12.50"}
	descriptionField = field{Name: "description", Label: "Description", Optional: true}
	fromField        = field{Name: "from", Label: "From"}
	toField          = field{Name: "to", Label: "To"}
	postedField      = field{Name: "transaction", Label: "Transaction", Kind: "fixed"}
	idField          = field{Name: "id", Label: "Id", Hint: "1 to 64 letters, digits and . _ : @ -"}
)

// An action is something that people may do. Either request or send carries it out.
type action struct {
	Title, Verb string
	Fields      []field
	HasID       bool // of the transaction that it posts: it is made with the form, so that sending twice posts once
	Note        string

	// request returns what to post. What it would be answered is shown before it is sent.
	request func(ctx context.Context, c *Console, v url.Values) (client.Post, error)
	// send writes what the API has no dry run of, and returns where to go then.
	send func(ctx context.Context, c *Console, v url.Values) (path string, err error)
}

// actions are all that people may do, by the name in the path.
var actions = map[string]action{
	"transfer": {
		Title: "Transfer", Verb: "Post", HasID: true, request: transfer,
		Fields: []field{fromField, toField, assetField, quantityField, descriptionField},
	},
	"trade": {
		Title: "Trade", Verb: "Post", HasID: true, request: trade,
		Fields: []field{assetField, {Name: "buyer", Label: "Buyer"}, {Name: "seller", Label: "Seller"}, quantityField,
			{Name: "cost", Label: "Cost", Kind: "amount", Hint: "in the asset's currency; 0 for a gift"},
			{Name: "settle", Label: "Move the cash as well", Kind: "check", Optional: true},
			descriptionField, holdField},
	},
	"capture": {
		Title: "Capture a hold", Verb: "Capture", request: capture,
		Fields: []field{postedField, partField, partCostField},
		Note:   "What is not captured is given back.",
	},
	"release": {
		Title: "Release a hold", Verb: "Release", Fields: []field{postedField, descriptionField}, request: release,
		Note: "All that is held is given back.",
	},
	"reverse": {
		Title: "Reverse a transaction", Verb: "Reverse", HasID: true, request: reverse,
		Fields: []field{postedField, partField, partCostField, descriptionField},
	},
	"account": {
		Title: "Open an account", Verb: "Open", send: openAccount,
		Fields: []field{idField, {Name: "name", Label: "Name", Optional: true},
			{Name: "unlimited", Label: "May owe without limit", Kind: "check", Optional: true,
				Hint: "For issuers and the outside world. It cannot be changed later."}},
	},
	"asset": {
		Title: "Register an asset", Verb: "Register", send: registerAsset,
		Fields: []field{idField, {Name: "name", Label: "Name"},
			{Name: "scale", Label: "Decimal places", Kind: "number", Hint: "2 for most currencies", Value: "2"},
			{Name: "currency", Label: "Currency of costs", Optional: true, Hint: "another asset, for shares and goods"},
			descriptionField},
		Note: "An asset cannot be changed later.",
	},
	"state": {
		Title: "Freeze, open or close an account", Verb: "Change", send: changeState,
		Fields: []field{{Name: "account", Label: "Account", Kind: "fixed"},
			{Name: "state", Label: "State", Kind: "choice",
				Choices: []string{client.StateFrozen, client.StateOpen, client.StateClosed}}},
		Note: "A frozen account cannot pay. A closed one stays closed.",
	},
	"hold":           holdAction,
	"group":          groupAction,
	"group-add":      groupAddAction,
	"group-remove":   groupRemoveAction,
	"grant-account":  grantAccountAction,
	"grant-group":    grantGroupAction,
	"revoke-account": revokeAccountAction,
	"revoke-group":   revokeGroupAction,
}

var (
	partField     = field{Name: "quantity", Label: "Quantity", Kind: "amount", Optional: true, Hint: "empty: all of it"}
	partCostField = field{Name: "cost", Label: "Cost", Kind: "amount", Optional: true, Hint: "of a part of a trade"}
)

// formData is what the page of a form shows.
type formData struct {
	action
	Name    string
	ID      string // of the transaction to post
	Fault   string // why it was refused
	AtFault string // the field that is the reason, "" if it is none
	Unknown bool   // whether it was posted is not known
	Preview *client.Transaction
	Moves   []move
	Confirm bool // what is shown is what will be sent
}

// form shows an empty form, or one that is filled in by the link that leads to it.
func (c *Console) form(r *http.Request) (view, error) {
	f, err := newForm(r.PathValue("action"), r.URL.Query())
	if err != nil {
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
func newForm(name string, v url.Values) (*formData, error) {
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
	return &formData{action: a, Name: name}, nil
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
	v := r.PostForm
	if !c.sent(v.Get("token")) {
		return view{}, errForged
	}
	f, err := newForm(r.PathValue("action"), v)
	if err != nil {
		return view{}, err
	}
	f.ID = v.Get("transaction_id")
	for i := range f.Fields {
		v.Set(f.Fields[i].Name, f.Fields[i].Value)
	}
	if v.Get("change") != "" {
		return f.view(http.StatusOK), nil
	}
	path, err := c.carryOut(r.Context(), f, v)
	if err != nil {
		_, f.Unknown = errors.AsType[*client.UnknownError](err)
		f.Fault, f.AtFault, f.Confirm = c.explain(r.Context(), err), f.atFault(err), f.Unknown
		return f.view(http.StatusUnprocessableEntity), nil
	}
	if path != "" {
		return view{location: path}, nil
	}
	return f.view(http.StatusOK), nil
}

// carryOut sends the form if it is confirmed and returns where to go; else it finds out what would be answered.
func (c *Console) carryOut(ctx context.Context, f *formData, v url.Values) (path string, err error) {
	confirmed := v.Get("confirmed") != ""
	if f.send != nil {
		if confirmed {
			return f.send(ctx, c, v)
		}
		f.Confirm = true
		return "", nil
	}
	v.Set("id", f.ID)
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
	f.Preview, f.Moves, f.Confirm = &would.Value, moves(would.Value.Postings), true
	if would.Value.Captured != nil {
		f.Moves = moves(would.Value.Captured)
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

func capture(ctx context.Context, c *Console, v url.Values) (client.Post, error) {
	part, err := c.part(ctx, v)
	return client.Capture{Transaction: v.Get("transaction"), Part: part}, err
}

func release(_ context.Context, _ *Console, v url.Values) (client.Post, error) {
	return client.Release{Transaction: v.Get("transaction"), Description: v.Get("description")}, nil
}

func reverse(ctx context.Context, c *Console, v url.Values) (client.Post, error) {
	part, err := c.part(ctx, v)
	return client.Reversal{
		ID: v.Get("id"), Transaction: v.Get("transaction"), Description: v.Get("description"), Part: part,
	}, err
}

// part reads how much is taken of a transaction: all of it, if no quantity is given. The quantity is of its first leg's
// asset.
func (c *Console) part(ctx context.Context, v url.Values) (client.Part, error) {
	text := v.Get("quantity")
	if text == "" {
		return client.Part{}, nil
	}
	t, err := c.api.Transaction(ctx, v.Get("transaction"))
	if err != nil {
		return client.Part{}, err
	}
	asset := t.Value.Postings[0].Asset
	quantity, err := c.units.Parse(ctx, "Quantity", asset, text)
	part := client.Part{Quantity: &quantity}
	if text := v.Get("cost"); text != "" && err == nil {
		var cost events.Amount
		cost, err = c.units.ParseCost(ctx, "Cost", asset, text)
		part.Cost = &cost
	}
	return part, err
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
