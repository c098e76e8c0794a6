package console

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"ledger.example/client"
)

const (
	// lagSample is the number of balances that the lag is measured on.
	lagSample = 4
	// healthTimeout is the timeout of the health check.
	healthTimeout = time.Second
)

// home shows an overview of the ledger or, to a user, the user's accounts and groups.
func (c *Console) home(r *http.Request) (view, error) {
	me, err := c.api.Me(r.Context())
	switch {
	case err != nil:
		return view{}, err
	case me.Value.User != nil:
		return c.userHome(r, *me.Value.User)
	}
	q := r.URL.Query()
	data := struct {
		Assets      client.List[client.Asset]
		Accounts    client.List[client.Account]
		Newest      []client.Transaction
		Open        client.List[client.Transaction]
		Groups      client.List[client.Group]
		Prefix      string
		HealthError string // "" if the API is healthy
		Lag         string
		Counts      string // the size of each list, only on its first page
	}{Prefix: q.Get("prefix")}
	g, ctx := errgroup.WithContext(r.Context())
	g.Go(into(ctx, &data.Assets, c.api.Assets(""), q.Get("assets"), historyLimit))
	g.Go(into(ctx, &data.Accounts, c.api.Accounts(data.Prefix), q.Get("cursor"), historyLimit))
	g.Go(into(ctx, &data.Open, c.api.OpenHolds(), q.Get("holds"), holdsLimit))
	g.Go(into(ctx, &data.Groups, c.api.Groups(""), "", historyLimit))
	g.Go(func() (err error) {
		if data.Newest, err = c.newestTransactions(ctx); err == nil {
			data.Lag = c.lagText(ctx, data.Newest)
		}
		return err
	})
	g.Go(func() error {
		ctx, cancel := context.WithTimeout(ctx, healthTimeout)
		defer cancel()
		if err := c.api.Ping(ctx); err != nil {
			data.HealthError = err.Error()
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		return view{}, err
	}
	if data.Prefix == "" && q.Get("cursor") == "" && q.Get("assets") == "" && q.Get("holds") == "" {
		data.Counts = counted(data.Assets, "asset", "assets") + ", " + counted(data.Accounts, "account", "accounts") +
			", " + counted(data.Open, "open hold", "open holds") + ", " + counted(data.Groups, "group", "groups")
	}
	return view{name: "home", title: "Ledger", data: data},
		c.loadAll(r.Context(), slices.Concat(data.Newest, data.Open.Data))
}

func (c *Console) userHome(r *http.Request, user string) (view, error) {
	accounts, err := c.api.UserAccounts(user).Page(r.Context(), r.URL.Query().Get("cursor"), listLimit)
	if err != nil {
		return view{}, err
	}
	groups, err := c.api.UserGroups(user).Page(r.Context(), r.URL.Query().Get("groups"), listLimit)
	return view{name: "user", title: "Accounts of " + user, data: struct {
		Accounts client.List[client.AccountRole]
		Groups   client.List[client.Member]
	}{accounts.Value, groups.Value}}, err
}

// newest returns the part of the home page that the script reloads.
func (c *Console) newest(r *http.Request) (view, error) {
	newest, err := c.newestTransactions(r.Context())
	if err != nil {
		return view{}, err
	}
	return view{name: "newest", data: newest}, c.loadAll(r.Context(), newest)
}

func (c *Console) newestTransactions(ctx context.Context) ([]client.Transaction, error) {
	page, err := c.api.Transactions(client.Search{}).Page(ctx, "", historyLimit)
	return page.Value.Data, err
}

// newestID returns the id of the newest listed transaction, "" if there is none.
func (c *Console) newestID(ctx context.Context) (string, error) {
	page, err := c.api.Transactions(client.Search{}).Page(ctx, "", 1)
	if err != nil || len(page.Value.Data) == 0 {
		return "", err
	}
	return page.Value.Data[0].ID, nil
}

// lagText describes how far the projected balances of the newest transaction are behind. It ignores backdated
// transactions, whose posted_at says nothing about the lag. If all are backdated, it gives the number of missing
// postings but no duration.
func (c *Console) lagText(ctx context.Context, newest []client.Transaction) string {
	if len(newest) == 0 {
		return "no transactions yet"
	}
	i := slices.IndexFunc(newest, func(t client.Transaction) bool { return t.PostedAt == t.RecordedAt })
	legs := slices.Clone(newest[max(i, 0)].Postings)
	order := func(a, b client.Posting) int {
		return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Asset, b.Asset))
	}
	slices.SortFunc(legs, order)
	legs = slices.CompactFunc(legs, func(a, b client.Posting) bool { return order(a, b) == 0 })
	legs = legs[:min(len(legs), lagSample)]
	all := make([]lag, len(legs))
	g, ctx := errgroup.WithContext(ctx)
	for i, leg := range legs {
		g.Go(func() (err error) {
			all[i], err = c.lagOf(ctx, leg.Account, leg.Asset)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return "balance lag is unknown: " + err.Error()
	}
	worst := slices.MaxFunc(all, func(a, b lag) int { return cmp.Compare(a.by, b.by) })
	if worst.postings == "" {
		return "balances are up to date"
	}
	if i < 0 {
		return "balances are missing " + worst.postings
	}
	by := "less than a second"
	if whole := worst.by.Truncate(time.Second); whole > 0 {
		by = whole.String()
	}
	return "balances are " + by + " behind (" + worst.postings + ")"
}

// lag is how far a projected balance is behind its postings.
type lag struct {
	by       time.Duration // age of the oldest missing posting among those read
	postings string        // the number of missing postings, "" for none
}

// lagOf finds the postings that the projected balance of an account and asset does not count yet. It reads only one
// page of the newest postings. A strong read of the balance would read all recent postings.
func (c *Console) lagOf(ctx context.Context, account, asset string) (of lag, err error) {
	shown, err := c.api.Balance(ctx, account, asset, false)
	if err != nil {
		return of, err
	}
	posted, err := c.api.History(account, client.HistoryQuery{Asset: asset, Strong: true}).Page(ctx, "", historyLimit)
	if err != nil {
		return of, err
	}
	missing := posted.Value
	isCounted := func(p client.Posting) bool { return shown.Value.AsOf != nil && p.ID <= *shown.Value.AsOf }
	if i := slices.IndexFunc(missing.Data, isCounted); i >= 0 {
		missing.Data, missing.NextCursor = missing.Data[:i], nil
	}
	if len(missing.Data) == 0 {
		return of, nil
	}
	at, err := time.Parse(time.RFC3339Nano, missing.Data[len(missing.Data)-1].PostedAt)
	return lag{max(time.Since(at), 1), counted(missing, "posting", "postings")}, err
}

// counted formats the number of items: "n or more" if the list has further pages.
func counted[T any](l client.List[T], one, many string) string {
	switch n := len(l.Data); {
	case l.NextCursor != nil:
		return strconv.Itoa(n) + " or more " + many
	case n == 1:
		return "1 " + one
	default:
		return strconv.Itoa(n) + " " + many
	}
}
