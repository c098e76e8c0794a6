package console

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"ledger.example/client"
	"ledger.example/internal/desk/units"
)

const (
	// newestShown is the number of transactions on the home page.
	newestShown    = 10
	attentionShown = 5 // the most items of each kind that need attention
	expiresSoon    = 24 * time.Hour
	// balancesShown is the number of balances of each account of a user.
	balancesShown = 3
	// lagSample is the number of balances that the lag is measured on.
	lagSample = 4
	// healthTimeout is the timeout of the health check.
	healthTimeout = time.Second
)

// home shows an overview of the ledger or, to a user, the user's accounts and groups.
func (v *visit) home() (page, error) {
	me, err := v.api.Me(v.ctx)
	switch {
	case err != nil:
		return page{}, err
	case me.Value.User != nil:
		return v.userHome(*me.Value.User)
	}
	data := struct {
		Names       *directory
		Newest      []client.Transaction
		Open        client.List[client.Transaction] // holds, of which the overdue ones come first
		Overdue     []client.Transaction
		MoreOverdue bool                 // there may be more of them
		Soon        []client.Transaction // holds that expire next
		Frozen      firstN[client.Account]
		Below       attention
		HealthError string // "" if the API is healthy
		Lag         string
		Counts      []count
		Books       string // through when they are closed
		States      states
		Activity    activeDays
	}{}
	r := v.reading()
	r.Go(func() (err error) {
		data.Books, err = v.books(r.ctx)
		return err
	})
	list(r, &data.Open, v.api.OpenHolds(), "", client.PageLimit)
	r.Go(func() (err error) {
		data.Names, err = v.directory(false)
		return err
	})
	r.Go(func() (err error) {
		if data.Newest, err = v.newestTransactions(r.ctx, newestShown); err == nil {
			data.Lag = v.lagText(r.ctx, data.Newest)
		}
		return err
	})
	r.Go(func() error {
		ctx, cancel := context.WithTimeout(r.ctx, healthTimeout)
		defer cancel()
		if err := v.api.Ping(ctx); err != nil {
			data.HealthError = err.Error()
		}
		return nil
	})
	if err := r.Wait(); err != nil {
		return page{}, err
	}
	d := data.Names
	data.Counts = []count{
		{counted(v, client.List[client.Asset]{Data: d.Assets, NextCursor: d.Next.Assets}, "asset"), "assets"},
		{counted(v, client.List[client.Account]{Data: d.Accounts, NextCursor: d.Next.Accounts}, "account"),
			"accounts"},
		{counted(v, data.Open, "open hold"), "holds"},
		{counted(v, client.List[client.Group]{Data: d.Groups, NextCursor: d.Next.Groups}, "group"), "groups"},
	}
	for _, t := range data.Open.Data {
		switch {
		case t.Status != client.StatusHeld:
		case isOverdue(t):
			data.Overdue = append(data.Overdue, t)
		case timeOf(t.ExpiresAt).Before(time.Now().Add(expiresSoon)) && len(data.Soon) < attentionShown:
			data.Soon = append(data.Soon, t)
		}
	}
	if n := len(data.Open.Data); data.Open.NextCursor != nil && n > 0 {
		data.MoreOverdue = isOverdue(data.Open.Data[n-1])
	}
	frozen := slices.DeleteFunc(slices.Clone(d.Accounts), func(a client.Account) bool {
		return a.State != client.StateFrozen
	})
	data.Frozen = firstOf(frozen, attentionShown)
	data.Frozen.AtLeast = d.Next.Accounts != nil
	data.Below = v.below(d)
	data.States, data.Activity = v.statesOf(d), v.activeDays()
	assets := data.Activity.Assets
	for _, b := range data.Below.Balances.First {
		assets = append(assets, b.Asset)
	}
	return page{name: "home", Title: "Ledger", Live: Path + "live", Data: data},
		v.loadAll(slices.Concat(data.Newest, data.Overdue, data.Soon), assets...)
}

// count is the size of a list, and its page.
type count struct{ Text, List string }

// attention is the balances below their limit.
type attention struct {
	Balances firstN[client.Balance]
	More     bool // there are more balances than were looked at
}

// below returns the balances that are below their limit, which can only happen when a limit is lowered.
func (v *visit) below(d *directory) attention {
	found, _ := v.limits.get(v.running, func(ctx context.Context) (attention, error) {
		return readBelow(ctx, v.Console.api, d.Assets)
	})
	return found
}

// readBelow looks at the first directoryMost balances, by asset.
func readBelow(ctx context.Context, api *client.Client, assets []client.Asset) (attention, error) {
	found, n := attention{}, 0
	var all []client.Balance
	for _, asset := range assets {
		for b, err := range api.Holders(asset.ID).All(ctx) {
			if err != nil {
				return found, err
			}
			if n == directoryMost {
				found.Balances, found.More = firstOf(all, attentionShown), true
				found.Balances.AtLeast = true
				return found, nil
			}
			if n++; b.Available != nil && b.Available.Sign() < 0 {
				all = append(all, b)
			}
		}
	}
	found.Balances = firstOf(all, attentionShown)
	return found, nil
}

// holder is an account of a user, with its first balances.
type holder struct {
	client.AccountRole
	Name     string
	Balances firstN[client.Balance]
}

func (v *visit) userHome(user string) (page, error) {
	var data struct {
		Accounts []holder
		More     *string
		Groups   client.List[client.Member]
	}
	var roles client.List[client.AccountRole]
	r := v.reading()
	list(r, &roles, v.api.UserAccounts(user), "cursor", historyLimit)
	list(r, &data.Groups, v.api.UserGroups(user), "groups", listLimit)
	if err := r.Wait(); err != nil {
		return page{}, err
	}
	data.More, data.Accounts = roles.NextCursor, make([]holder, len(roles.Data))
	g, ctx := errgroup.WithContext(v.ctx)
	g.SetLimit(units.LoadingAtOnce)
	for i, role := range roles.Data {
		g.Go(func() error {
			account, err := v.api.AccountPage(ctx, role.Account, 0)
			first := firstOf(account.Value.Balances.Data, balancesShown)
			first.AtLeast = account.Value.Balances.NextCursor != nil
			data.Accounts[i] = holder{role, account.Value.Account.Name, first}
			if refusal(err).Status != 0 { // the role may have ended meanwhile
				err = nil
			}
			return err
		})
	}
	err := g.Wait()
	var assets []string
	for _, a := range data.Accounts {
		for _, b := range a.Balances.First {
			assets = append(assets, b.Asset)
		}
	}
	return page{name: "user", Title: "Accounts of " + user, Data: &data}, cmp.Or(err, v.loadAll(nil, assets...))
}

func (v *visit) newestTransactions(ctx context.Context, limit int) ([]client.Transaction, error) {
	all, err := v.api.Transactions(client.TransactionsQuery{}).Page(ctx, "", limit)
	return all.Value.Data, err
}

// live sends a server-sent event whenever the newest transactions change, or with account, the account's balances and
// newest postings. It ends after a while, and then the browser reconnects.
func (v *visit) live() (page, error) {
	const every, most = time.Second, 30
	v.w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(v.w)
	_ = flush.Flush() // sends the headers; an error shows up at the next write
	ctx, cancel := context.WithCancel(v.ctx)
	defer cancel()
	defer context.AfterFunc(v.running, cancel)() // a hanging request to the ledger must not delay the shutdown
	tick := time.NewTicker(every)
	defer tick.Stop()
	shown := v.r.Header.Get("Last-Event-ID")
	for range most {
		if now, err := v.state(ctx, v.query.Get("account")); err == nil && now != shown {
			shown = now
			if _, err := fmt.Fprintf(v.w, "id: %s\ndata: newer\n\n", shown); err != nil || flush.Flush() != nil {
				return page{}, nil
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return page{}, nil
		}
	}
	return page{}, nil
}

// state returns a text that changes when an account, or with "" the list of the newest transactions, does.
func (v *visit) state(ctx context.Context, account string) (string, error) {
	hash := fnv.New64a()
	if account == "" {
		newest, err := v.api.Transactions(client.TransactionsQuery{}).Page(ctx, "", newestShown)
		hash.Write(newest.Raw)
		return strconv.FormatUint(hash.Sum64(), 36), err
	}
	now, err := v.api.AccountPage(ctx, account, newestShown)
	hash.Write(now.Raw)
	return strconv.FormatUint(hash.Sum64(), 36), err
}

// lagText describes how far the projected balances of the newest transaction are behind. It ignores backdated
// transactions, whose posted_at says nothing about the lag. If all are backdated, it gives the number of missing
// postings but no duration.
func (v *visit) lagText(ctx context.Context, newest []client.Transaction) string {
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
	all := make([]lag, min(len(legs), lagSample))
	g, ctx := errgroup.WithContext(ctx)
	for n := range all {
		g.Go(func() (err error) {
			all[n], err = v.lagOf(ctx, legs[n].Account, legs[n].Asset)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return "balance lag is unknown: " + err.Error()
	}
	worst := slices.MaxFunc(all, func(a, b lag) int { return cmp.Compare(a.by, b.by) })
	whole := worst.by.Truncate(time.Second)
	switch {
	case worst.postings == "":
		return "the newest balances are up to date"
	case i < 0:
		return "the newest balances are missing " + worst.postings
	case whole == 0:
		return "the newest balances are less than a second behind (" + worst.postings + ")"
	}
	return "the newest balances are " + whole.String() + " behind (" + worst.postings + ")"
}

// lag is how far a projected balance is behind its postings.
type lag struct {
	by       time.Duration // age of the oldest missing posting among those read
	postings string        // the number of missing postings, "" for none
}

// lagOf finds the postings that the projected balance of an account and asset does not count yet. It reads only one
// page of the newest postings. A strong read of the balance would read all recent postings.
func (v *visit) lagOf(ctx context.Context, account, asset string) (lag, error) {
	shown, err := v.api.Balance(ctx, account, asset, false)
	if err != nil {
		return lag{}, err
	}
	posted, err := v.api.History(account, client.HistoryQuery{Asset: asset, Strong: true}).Page(ctx, "", historyLimit)
	missing := posted.Value
	isCounted := func(p client.Posting) bool { return shown.Value.AsOf != nil && p.ID <= *shown.Value.AsOf }
	if i := slices.IndexFunc(missing.Data, isCounted); i >= 0 {
		missing.Data, missing.NextCursor = missing.Data[:i], nil
	}
	if len(missing.Data) == 0 {
		return lag{}, err
	}
	at := timeOf(missing.Data[len(missing.Data)-1].PostedAt)
	return lag{max(time.Since(at), 1), counted(v, missing, "posting")}, nil
}

// counted formats the number of items: "n or more" if the list has further pages.
func counted[T any](v *visit, l client.List[T], what string) string {
	n := v.number(len(l.Data))
	switch {
	case l.NextCursor != nil:
		return n + " or more " + what + "s"
	case len(l.Data) == 1:
		return n + " " + what
	}
	return n + " " + what + "s"
}
