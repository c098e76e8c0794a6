package console

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"golang.org/x/sync/errgroup"

	"ledger.example/client"
	"ledger.example/events"
)

// The number of items per page of each list.
const (
	listLimit    = 50
	historyLimit = 25
	holdsLimit   = 10
	holdersLimit = client.PageLimit
)

// account shows one account: balances, open holds, history, members and changes.
func (c *Console) account(r *http.Request) (view, error) {
	q, id := r.URL.Query(), r.PathValue("id")
	data := struct {
		client.AccountPage
		Here         pageURL
		Holds        client.List[client.Transaction]
		Changes      client.List[client.Change]
		Members      members
		Groups       client.List[client.GroupedAccount]
		Period       period
		HistoryError string
		History      client.List[client.Posting]
		FirstOfPage  bool
		Assets       []string // choices of the filter
	}{Here: pageURL{r.URL}, FirstOfPage: q.Get("cursor") == ""}
	var refused error
	if data.Period, refused = periodOf(r); refused != nil {
		data.HistoryError = refused.Error()
	}
	g, ctx := errgroup.WithContext(r.Context())
	g.Go(func() error {
		page, err := c.api.AccountPage(ctx, id, 0)
		if err != nil || q.Get("balances") == "" {
			data.AccountPage = page.Value
			return err
		}
		balances, err := c.api.Balances(id, false).Page(ctx, q.Get("balances"), client.PageLimit)
		data.AccountPage, data.Balances = page.Value, balances.Value
		return err
	})
	if refused == nil {
		g.Go(func() error {
			h := client.HistoryQuery{Asset: data.Period.Asset, From: data.Period.from, To: data.Period.to}
			err := into(ctx, &data.History, c.api.History(id, h), q.Get("cursor"), historyLimit)()
			if _, ok := errors.AsType[*client.Error](err); ok { // show the account without its history
				refused = err
				return nil
			}
			return err
		})
	}
	g.Go(into(ctx, &data.Holds, c.api.Holds(id, client.StatusHeld), q.Get("holds"), holdsLimit))
	g.Go(into(ctx, &data.Changes, c.api.Changes(id), q.Get("changes"), historyLimit))
	g.Go(func() (err error) {
		data.Members, err = memberPage(ctx, r, "account", c.api.Members(id))
		return err
	})
	g.Go(into(ctx, &data.Groups, c.api.AccountGroups(id), "", listLimit)) // an account is in at most ten groups
	if err := g.Wait(); err != nil {
		return view{}, err
	}
	v := view{name: "account", title: "Account " + id}
	if refused != nil {
		data.HistoryError, v.status = c.errorText(r.Context(), refused), statusOf(refused)
	}
	for _, b := range data.Balances.Data {
		data.Assets = append(data.Assets, b.Asset)
	}
	assets := slices.Clone(data.Assets)
	if chosen := data.Period.Asset; chosen != "" && !slices.Contains(assets, chosen) {
		data.Assets = append(data.Assets, chosen)
	}
	for _, p := range data.History.Data {
		assets = append(assets, p.Asset)
	}
	if err := c.loadAll(r.Context(), data.Holds.Data, assets...); err != nil {
		return view{}, err
	}
	v.data = data
	return v, nil
}

// into returns a function that reads the page of a list at a cursor into read.
func into[T any](
	ctx context.Context, read *client.List[T], l client.Listing[T], cursor string, limit int,
) func() error {
	return func() error {
		page, err := l.Page(ctx, cursor, limit)
		*read = page.Value
		return err
	}
}

// asset shows one asset and its holders, which users may not list.
func (c *Console) asset(r *http.Request) (view, error) {
	ctx, id := r.Context(), r.PathValue("id")
	asset, err := c.api.Asset(ctx, id)
	if err != nil {
		return view{}, err
	}
	held, err := c.api.Holders(id).Page(ctx, r.URL.Query().Get("cursor"), holdersLimit)
	isHidden := isRefused(err, http.StatusForbidden)
	if err != nil && !isHidden {
		return view{}, err
	}
	data := struct {
		client.Asset
		HoldersHidden bool
		Holders       client.List[client.Balance]
		Total         events.Amount // sum of the positive balances on this page
	}{Asset: asset.Value, HoldersHidden: isHidden, Holders: held.Value}
	for _, b := range data.Holders.Data {
		if b.Quantity.Sign() > 0 {
			if data.Total, err = data.Total.Add(b.Quantity); err != nil {
				return view{}, err
			}
		}
	}
	return view{name: "asset", title: "Asset " + id, data: data}, c.units.Load(ctx, id)
}

// transaction shows one transaction, and how it ended or was reversed.
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
		CanReverse    bool
		Commands      commands
	}{
		Transaction: t.Value, Moves: moves(t.Value.Postings), CapturedMoves: moves(t.Value.Captured),
		JSON: ascii(indented(t.Raw)), CanReverse: canReverse(t.Value),
	}
	if data.Commands, err = c.commandsOf(ctx, t.Value); err != nil {
		return view{}, err
	}
	return view{name: "transaction", title: "Transaction " + id, data: data},
		c.loadAll(ctx, []client.Transaction{t.Value})
}

// canReverse reports whether anything of a transaction is left to reverse.
func canReverse(t client.Transaction) bool {
	if t.Status != client.StatusCaptured && t.Status != client.StatusPosted {
		return false
	}
	return !slices.EqualFunc(t.AsPosted(), t.Reversed, func(p client.Posting, back client.Leg) bool {
		return p.Quantity == back.Quantity && p.Cost == back.Cost
	})
}

// loadAll loads the scales of the given assets and of all assets of the transactions.
func (c *Console) loadAll(ctx context.Context, all []client.Transaction, assets ...string) error {
	for _, t := range all {
		for _, p := range t.Postings {
			assets = append(assets, p.Asset)
		}
	}
	return c.units.Load(ctx, assets...)
}
