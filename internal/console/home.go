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
	// trailing is of how many balances the first page says by how much they trail.
	trailing = 4
	// healthWait is how long the first page waits for a sign of life.
	healthWait = time.Second
)

// home shows what is in the ledger; to a user, the accounts and groups of the user.
func (c *Console) home(r *http.Request) (view, error) {
	me, err := c.api.Me(r.Context())
	switch {
	case err != nil:
		return view{}, err
	case me.Value.User != nil:
		return c.homeOfUser(r, *me.Value.User)
	}
	q := r.URL.Query()
	data := struct {
		Assets   client.List[client.Asset]
		Accounts client.List[client.Account]
		Newest   []client.Transaction
		Open     client.List[client.Transaction]
		Groups   client.List[client.Group]
		Prefix   string
		Sick     string // what is wrong with the API, "" for nothing
		Trails   string
		Counts   string // of the first page of the lists: what is in the ledger
	}{Prefix: q.Get("prefix")}
	g, ctx := errgroup.WithContext(r.Context())
	g.Go(into(ctx, &data.Assets, c.api.Assets(""), q.Get("assets"), history))
	g.Go(into(ctx, &data.Accounts, c.api.Accounts(data.Prefix), q.Get("cursor"), history))
	g.Go(into(ctx, &data.Open, c.api.OpenHolds(), q.Get("holds"), few))
	g.Go(into(ctx, &data.Groups, c.api.Groups(""), "", history))
	g.Go(func() (err error) {
		if data.Newest, err = c.newestTransactions(ctx); err == nil {
			data.Trails = c.trails(ctx, data.Newest)
		}
		return err
	})
	g.Go(func() error {
		ctx, cancel := context.WithTimeout(ctx, healthWait)
		defer cancel()
		if err := c.api.Ping(ctx); err != nil {
			data.Sick = err.Error()
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

func (c *Console) homeOfUser(r *http.Request, user string) (view, error) {
	accounts, err := c.api.UserAccounts(user).Page(r.Context(), r.URL.Query().Get("cursor"), listed)
	if err != nil {
		return view{}, err
	}
	groups, err := c.api.UserGroups(user).Page(r.Context(), r.URL.Query().Get("groups"), listed)
	return view{name: "user", title: "Accounts of " + user, data: struct {
		Accounts client.List[client.Reach]
		Groups   client.List[client.Member]
	}{accounts.Value, groups.Value}}, err
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

// newestID is the id of the newest transaction that is listed, "" if there is none.
func (c *Console) newestID(ctx context.Context) (string, error) {
	page, err := c.api.Transactions(client.Search{}).Page(ctx, "", 1)
	if err != nil || len(page.Value.Data) == 0 {
		return "", err
	}
	return page.Value.Data[0].ID, nil
}

// trails says by how much projections trail: what the newest transaction's balances, as they are shown, leave out of
// what is posted. If all were posted for an earlier time, it does not say since when.
func (c *Console) trails(ctx context.Context, newest []client.Transaction) string {
	if len(newest) == 0 {
		return "no transaction is listed yet"
	}
	i := slices.IndexFunc(newest, func(t client.Transaction) bool { return t.PostedAt == t.RecordedAt })
	legs := slices.Clone(newest[max(i, 0)].Postings)
	order := func(a, b client.Posting) int {
		return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Asset, b.Asset))
	}
	slices.SortFunc(legs, order)
	legs = slices.CompactFunc(legs, func(a, b client.Posting) bool { return order(a, b) == 0 })
	legs = legs[:min(len(legs), trailing)]
	all := make([]lag, len(legs))
	g, ctx := errgroup.WithContext(ctx)
	for i, leg := range legs {
		g.Go(func() (err error) {
			all[i], err = c.lagOf(ctx, leg.Account, leg.Asset)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return "by how much balances trail is not known: " + err.Error()
	}
	worst := slices.MaxFunc(all, func(a, b lag) int { return cmp.Compare(a.by, b.by) })
	if worst.postings == "" {
		return "balances are up to date"
	}
	if i < 0 {
		return "balances leave out " + worst.postings
	}
	by := "less than a second"
	if whole := worst.by.Truncate(time.Second); whole > 0 {
		by = whole.String()
	}
	return "balances trail by " + by + " (" + worst.postings + ")"
}

// lag is what a balance, as it is shown, leaves out.
type lag struct {
	by       time.Duration // since the oldest of the postings, of those that were read
	postings string        // how many, "" for none
}

// lagOf looks for the postings of a pair that are newer than the newest that its balance, as it is shown, counts. It
// reads the newest alone, strongly: a strong balance would read all that were posted lately.
func (c *Console) lagOf(ctx context.Context, account, asset string) (of lag, err error) {
	shown, err := c.api.Balance(ctx, account, asset, false)
	if err != nil {
		return of, err
	}
	posted, err := c.api.History(account, client.HistoryQuery{Asset: asset, Strong: true}).Page(ctx, "", history)
	if err != nil {
		return of, err
	}
	left := posted.Value
	counts := func(p client.Posting) bool { return shown.Value.AsOf != nil && p.ID <= *shown.Value.AsOf }
	if i := slices.IndexFunc(left.Data, counts); i >= 0 {
		left.Data, left.NextCursor = left.Data[:i], nil
	}
	if len(left.Data) == 0 {
		return of, nil
	}
	at, err := time.Parse(time.RFC3339Nano, left.Data[len(left.Data)-1].PostedAt)
	return lag{max(time.Since(at), 1), counted(left, "posting", "postings")}, err
}

// counted says how many items there are. A list that goes on has as many or more.
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
