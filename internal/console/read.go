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
		Here        here
		Holds       client.List[client.Transaction]
		Changes     client.List[client.Change]
		Members     members
		Groups      client.List[client.Grouped]
		Past        past
		Fault       string // why there is no history
		History     client.List[client.Posting]
		FirstOfPage bool
		Assets      []string // to choose one of
	}{Here: here{r.URL}, FirstOfPage: q.Get("cursor") == ""}
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
			err := into(ctx, &data.History, c.api.History(id, h), q.Get("cursor"), history)()
			if _, ok := errors.AsType[*client.Error](err); ok { // the account may be shown all the same
				refused = err
				return nil
			}
			return err
		})
	}
	g.Go(into(ctx, &data.Holds, c.api.Holds(id, client.StatusHeld), q.Get("holds"), few))
	g.Go(into(ctx, &data.Changes, c.api.Changes(id), q.Get("changes"), history))
	g.Go(func() (err error) {
		data.Members, err = membersOf(ctx, r, "account", c.api.Members(id))
		return err
	})
	g.Go(into(ctx, &data.Groups, c.api.AccountGroups(id), "", listed)) // it is in ten at most
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
	for _, p := range data.History.Data {
		assets = append(assets, p.Asset)
	}
	if err := c.loadAll(r.Context(), data.Holds.Data, assets...); err != nil {
		return view{}, err
	}
	v.data = data
	return v, nil
}

// into returns what reads the page of a list from a cursor on.
func into[T any](
	ctx context.Context, read *client.List[T], l client.Listing[T], cursor string, limit int,
) func() error {
	return func() error {
		page, err := l.Page(ctx, cursor, limit)
		*read = page.Value
		return err
	}
}

// asset shows one asset and who holds it. Users may not list holders.
func (c *Console) asset(r *http.Request) (view, error) {
	ctx, id := r.Context(), r.PathValue("id")
	asset, err := c.api.Asset(ctx, id)
	if err != nil {
		return view{}, err
	}
	held, err := c.api.Holders(id).Page(ctx, r.URL.Query().Get("cursor"), holders)
	isUnseen := isRefused(err, http.StatusForbidden)
	if err != nil && !isUnseen {
		return view{}, err
	}
	data := struct {
		client.Asset
		IsUnseen bool // who holds it
		Holders  client.List[client.Balance]
		Out      events.Amount // what the shown holders have together, those below zero left out
	}{Asset: asset.Value, IsUnseen: isUnseen, Holders: held.Value}
	for _, b := range data.Holders.Data {
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

// canReverse reports whether anything of a transaction may yet be taken back.
func canReverse(t client.Transaction) bool {
	if t.Status != client.StatusCaptured && t.Status != client.StatusPosted {
		return false
	}
	return !slices.EqualFunc(t.AsPosted(), t.Reversed, func(p client.Posting, back client.Leg) bool {
		return p.Quantity == back.Quantity && p.Cost == back.Cost
	})
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
