package console

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"ledger.example/client"
	"ledger.example/events"
)

// How many items a page shows of each list.
const (
	listed  = 50
	history = 25
	holders = client.PageLimit
)

// home shows what is in the ledger; to a user, the accounts and groups of the user.
func (c *Console) home(r *http.Request) (view, error) {
	if c.user != "" {
		return c.homeOfUser(r)
	}
	ctx, q := r.Context(), r.URL.Query()
	data := struct {
		Assets       []client.Asset
		Accounts     []client.Account
		MoreAccounts string // where the next page begins
		Newest       []client.Transaction
		Open         []client.Transaction
		Prefix       string
		Trails       string
	}{Prefix: q.Get("prefix")}
	assets, err := c.api.Assets("").Page(ctx, "", listed)
	if err != nil {
		return view{}, err
	}
	data.Assets = assets.Value.Data
	accounts, err := c.api.Accounts(data.Prefix).Page(ctx, q.Get("cursor"), listed)
	if err != nil {
		return view{}, err
	}
	data.Accounts, data.MoreAccounts = accounts.Value.Data, cursor(accounts.Value.NextCursor)
	open, err := c.api.OpenHolds().Page(ctx, "", history)
	if err != nil {
		return view{}, err
	}
	data.Open = open.Value.Data
	if data.Newest, err = c.newestTransactions(ctx); err != nil {
		return view{}, err
	}
	if data.Trails, err = c.trails(ctx, data.Newest); err != nil {
		return view{}, err
	}
	return view{name: "home", title: "Ledger", data: data}, c.loadAll(ctx, append(data.Newest, data.Open...))
}

func (c *Console) homeOfUser(r *http.Request) (view, error) {
	accounts, err := c.api.UserAccounts(c.user).Page(r.Context(), r.URL.Query().Get("cursor"), listed)
	if err != nil {
		return view{}, err
	}
	groups, err := c.api.UserGroups(c.user).Page(r.Context(), "", listed)
	return view{name: "user", title: "Accounts of " + c.user, data: struct {
		Accounts []client.Reach
		More     string
		Groups   []client.Member
	}{accounts.Value.Data, cursor(accounts.Value.NextCursor), groups.Value.Data}}, err
}

// newest is the part of home that is kept up to date.
func (c *Console) newest(r *http.Request) (view, error) {
	newest, err := c.newestTransactions(r.Context())
	if err != nil {
		return view{}, err
	}
	return view{name: "newest", data: newest}, c.loadAll(r.Context(), newest)
}

func (c *Console) newestTransactions(ctx context.Context) ([]client.Transaction, error) {
	page, err := c.api.Transactions(client.Search{}).Page(ctx, "", history)
	return page.Value.Data, err
}

// newestID is the id of the newest transaction that is listed, "" if there is none or it cannot be read.
func (c *Console) newestID(ctx context.Context) string {
	page, err := c.api.Transactions(client.Search{}).Page(ctx, "", 1)
	if err != nil || len(page.Value.Data) == 0 {
		return ""
	}
	return page.Value.Data[0].ID
}

// trails says by how much projections trail: whether the balance of the newest transaction's first leg counts it.
func (c *Console) trails(ctx context.Context, newest []client.Transaction) (string, error) {
	if len(newest) == 0 || len(newest[0].Postings) == 0 {
		return "nothing to project yet", nil
	}
	leg := newest[0].Postings[0]
	b, err := c.api.Balance(ctx, leg.Account, leg.Asset, false)
	if err != nil {
		return "", err
	}
	if b.Value.AsOf != nil && *b.Value.AsOf >= leg.ID {
		return "balances are up to date", nil
	}
	at, err := time.Parse(time.RFC3339Nano, newest[0].PostedAt)
	if err != nil {
		return "", err
	}
	return "balances trail by " + time.Since(at).Truncate(time.Second).String(), nil
}

// account shows one account: what it holds, what is held, and its history.
func (c *Console) account(r *http.Request) (view, error) {
	ctx, q, id := r.Context(), r.URL.Query(), r.PathValue("id")
	page, err := c.api.Page(ctx, id, 0)
	if err != nil {
		return view{}, err
	}
	data := struct {
		client.Page
		Holds       []client.Transaction
		Changes     []client.Change
		Members     []client.Member
		Groups      []client.Grouped
		History     []client.Posting
		Older       string // where the next page of the history begins
		Asset       string // of the history, "" for all
		FirstOfPage bool
	}{Page: page.Value, Asset: q.Get("asset"), FirstOfPage: q.Get("cursor") == ""}
	entries, err := c.api.History(ctx, id, client.HistoryQuery{Asset: data.Asset}, q.Get("cursor"), history)
	if err != nil {
		return view{}, err
	}
	data.History, data.Older = entries.Value.Data, cursor(entries.Value.NextCursor)
	open, err := c.api.Holds(id, client.StatusHeld).Page(ctx, "", history)
	if err != nil {
		return view{}, err
	}
	data.Holds = open.Value.Data
	changes, err := c.api.Changes(id).Page(ctx, "", history)
	if err != nil {
		return view{}, err
	}
	data.Changes = changes.Value.Data
	members, err := c.api.Members(id).Page(ctx, "", listed)
	if err != nil {
		return view{}, err
	}
	data.Members = members.Value.Data
	groups, err := c.api.AccountGroups(id).Page(ctx, "", listed)
	if err != nil {
		return view{}, err
	}
	data.Groups = groups.Value.Data
	var assets []string
	for _, b := range page.Value.Balances.Data {
		assets = append(assets, b.Asset)
	}
	for _, p := range data.History {
		assets = append(assets, p.Asset)
	}
	if err := c.loadAll(ctx, data.Holds); err != nil {
		return view{}, err
	}
	return view{name: "account", title: "Account " + id, data: data}, c.units.Load(ctx, assets...)
}

// asset shows one asset and who holds it.
func (c *Console) asset(r *http.Request) (view, error) {
	ctx, id := r.Context(), r.PathValue("id")
	asset, err := c.api.Asset(ctx, id)
	if err != nil {
		return view{}, err
	}
	held, err := c.api.Holders(id).Page(ctx, r.URL.Query().Get("cursor"), holders)
	if err != nil {
		return view{}, err
	}
	data := struct {
		client.Asset
		Holders []client.Balance
		More    string
		Out     events.Amount // what the shown holders have together, those below zero left out
	}{Asset: asset.Value, Holders: held.Value.Data, More: cursor(held.Value.NextCursor)}
	for _, b := range data.Holders {
		if b.Quantity.Sign() > 0 {
			if data.Out, err = data.Out.Add(b.Quantity); err != nil {
				return view{}, err
			}
		}
	}
	return view{name: "asset", title: "Asset " + id, data: data}, c.units.Load(ctx, id)
}

// transaction shows one transaction and what became of it.
func (c *Console) transaction(r *http.Request) (view, error) {
	ctx, id := r.Context(), r.PathValue("id")
	t, err := c.api.Transaction(ctx, id)
	if err != nil {
		return view{}, err
	}
	data := struct {
		client.Transaction
		Moves         []move
		CapturedMoves []move
		JSON, Curl    string
	}{
		Transaction: t.Value, Moves: moves(t.Value.Postings), CapturedMoves: moves(t.Value.Captured),
		JSON: indented(t.Raw),
	}
	data.Curl = fmt.Sprintf("curl %s/v1/transactions/%s", c.url, url.PathEscape(id))
	return view{name: "transaction", title: "Transaction " + id, data: data},
		c.loadAll(ctx, []client.Transaction{t.Value})
}

// search goes to the transaction or the account of an id, and else lists the accounts that begin with it, or the
// transactions with a key=value of metadata.
func (c *Console) search(r *http.Request) (view, error) {
	ctx, text := r.Context(), strings.TrimSpace(r.URL.Query().Get("q"))
	data := struct {
		Text         string
		Accounts     []client.Account
		Transactions []client.Transaction
	}{Text: text}
	if key, value, ok := strings.Cut(text, "="); ok {
		found, err := c.api.Transactions(client.Search{Key: key, Value: value}).Page(ctx, "", listed)
		if err != nil {
			return view{}, err
		}
		data.Transactions = found.Value.Data
		return view{name: "search", title: "Search", data: data}, c.loadAll(ctx, data.Transactions)
	}
	if text == "" || !events.ValidID(text) {
		return view{name: "search", title: "Search", data: data}, nil
	}
	for _, where := range []struct {
		path string
		read func() error
	}{
		{"transactions/", func() error { _, err := c.api.Transaction(ctx, text); return err }},
		{"accounts/", func() error { _, err := c.api.Account(ctx, text); return err }},
		{"assets/", func() error { _, err := c.api.Asset(ctx, text); return err }},
	} {
		switch err := where.read(); {
		case err == nil:
			return view{location: Path + where.path + url.PathEscape(text)}, nil
		case !isNotFound(err):
			return view{}, err
		}
	}
	found, err := c.api.Accounts(text).Page(ctx, "", listed)
	if err != nil {
		return view{}, err
	}
	data.Accounts = found.Value.Data
	return view{name: "search", title: "Search", data: data}, nil
}

// loadAll learns the scales of all assets of transactions.
func (c *Console) loadAll(ctx context.Context, all []client.Transaction) error {
	var assets []string
	for _, t := range all {
		for _, p := range t.Postings {
			assets = append(assets, p.Asset)
		}
	}
	return c.units.Load(ctx, assets...)
}

// cursor is where the next page begins, "" at the end.
func cursor(next *string) string {
	if next == nil {
		return ""
	}
	return *next
}
