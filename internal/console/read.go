package console

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"ledger.example/client"
	"ledger.example/events"
)

// How many items a page shows of each list.
const (
	listed  = 50
	history = 25
	few     = 10
	holders = client.PageLimit
)

// account shows one account: what it holds, what is held, and its history.
func (c *Console) account(r *http.Request) (view, error) {
	q, id := r.URL.Query(), r.PathValue("id")
	data := struct {
		client.Page
		Holds       []client.Transaction
		Changes     []client.Change
		Members     members
		Groups      []client.Grouped
		Past        past
		Fault       string // why there is no history
		History     []client.Posting
		Older       string // where the next page of the history begins
		FirstOfPage bool
		Assets      []string // to choose one of
	}{FirstOfPage: q.Get("cursor") == ""}
	var refused error
	if data.Past, refused = pastOf(r); refused != nil {
		data.Fault = refused.Error()
	}
	g, ctx := errgroup.WithContext(r.Context())
	g.Go(func() error {
		page, err := c.api.Page(ctx, id, 0)
		if err != nil || q.Get("balances") == "" {
			data.Page = page.Value
			return err
		}
		balances, err := c.api.Balances(id, false).Page(ctx, q.Get("balances"), client.PageLimit)
		data.Page, data.Balances = page.Value, balances.Value
		return err
	})
	if refused == nil {
		g.Go(func() error {
			h := client.HistoryQuery{Asset: data.Past.Asset, From: data.Past.from, To: data.Past.to}
			entries, err := c.api.History(id, h).Page(ctx, q.Get("cursor"), history)
			data.History, data.Older = entries.Value.Data, cursor(entries.Value.NextCursor)
			if _, ok := errors.AsType[*client.Error](err); ok { // the account may be shown all the same
				refused = err
				return nil
			}
			return err
		})
	}
	g.Go(into(ctx, &data.Holds, c.api.Holds(id, client.StatusHeld), few))
	g.Go(into(ctx, &data.Changes, c.api.Changes(id), history))
	g.Go(func() (err error) {
		data.Members, err = membersOf(ctx, q, "account", id, c.api.Members(id))
		return err
	})
	g.Go(into(ctx, &data.Groups, c.api.AccountGroups(id), listed))
	if err := g.Wait(); err != nil {
		return view{}, err
	}
	v := view{name: "account", title: "Account " + id}
	if refused != nil {
		data.Fault, v.status = c.explain(r.Context(), refused), statusOf(refused)
	}
	for _, b := range data.Balances.Data {
		data.Assets = append(data.Assets, b.Asset)
	}
	assets := slices.Clone(data.Assets)
	if chosen := data.Past.Asset; chosen != "" && !slices.Contains(assets, chosen) {
		data.Assets = append(data.Assets, chosen)
	}
	for _, p := range data.History {
		assets = append(assets, p.Asset)
	}
	if err := c.loadAll(r.Context(), data.Holds, assets...); err != nil {
		return view{}, err
	}
	v.data = data
	return v, nil
}

// into returns what reads the first items of a list.
func into[T any](ctx context.Context, items *[]T, l client.Listing[T], limit int) func() error {
	return func() error {
		page, err := l.Page(ctx, "", limit)
		*items = page.Value.Data
		return err
	}
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
		JSON          string
		Commands      commands
	}{
		Transaction: t.Value, Moves: moves(t.Value.Postings), CapturedMoves: moves(t.Value.Captured),
		JSON: indented(t.Raw),
	}
	if data.Commands, err = c.commandsOf(ctx, t.Value); err != nil {
		return view{}, err
	}
	return view{name: "transaction", title: "Transaction " + id, data: data},
		c.loadAll(ctx, []client.Transaction{t.Value})
}

// search goes to the transaction, account, asset or group of an id, and else lists the accounts and groups that begin
// with it, or the transactions with a key=value of metadata.
func (c *Console) search(r *http.Request) (view, error) {
	ctx, text := r.Context(), strings.TrimSpace(r.URL.Query().Get("q"))
	data := struct {
		Text         string
		Accounts     []client.Account
		Groups       []client.Group
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
		{"groups/", func() error { _, err := c.api.Group(ctx, text); return err }},
	} {
		switch err := where.read(); {
		case err == nil:
			return view{location: Path + where.path + url.PathEscape(text)}, nil
		case !isRefused(err, http.StatusNotFound):
			return view{}, err
		}
	}
	found, err := c.api.Accounts(text).Page(ctx, "", listed)
	if isRefused(err, http.StatusForbidden) { // a user finds by whole ids alone
		return view{name: "search", title: "Search", data: data}, nil
	}
	if err != nil {
		return view{}, err
	}
	groups, err := c.api.Groups(text).Page(ctx, "", listed)
	data.Accounts, data.Groups = found.Value.Data, groups.Value.Data
	return view{name: "search", title: "Search", data: data}, err
}

// loadAll learns the scales of all assets of transactions, and of others.
func (c *Console) loadAll(ctx context.Context, all []client.Transaction, assets ...string) error {
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
