package console

import (
	"cmp"
	"context"
	"fmt"
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
func (v *visit) home() (page, error) {
	me, err := v.api.Me(v.ctx)
	switch {
	case err != nil:
		return page{}, err
	case me.Value.User != nil:
		return v.userHome(*me.Value.User)
	}
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
	}{Prefix: v.query.Get("prefix")}
	r := v.reading()
	list(r, &data.Assets, v.api.Assets(""), "assets", historyLimit)
	list(r, &data.Accounts, v.api.Accounts(data.Prefix), "cursor", historyLimit)
	list(r, &data.Open, v.api.OpenHolds(), "holds", holdsLimit)
	list(r, &data.Groups, v.api.Groups(""), "", historyLimit)
	r.Go(func() (err error) {
		if data.Newest, err = v.newestTransactions(r.ctx, historyLimit); err == nil {
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
	if cmp.Or(data.Prefix, v.query.Get("cursor"), v.query.Get("assets"), v.query.Get("holds")) == "" {
		data.Counts = counted(data.Assets, "asset") + ", " + counted(data.Accounts, "account") + ", " +
			counted(data.Open, "open hold") + ", " + counted(data.Groups, "group")
	}
	return page{name: "home", Title: "Ledger", Data: data}, v.loadAll(slices.Concat(data.Newest, data.Open.Data))
}

func (v *visit) userHome(user string) (page, error) {
	var data struct {
		Accounts client.List[client.AccountRole]
		Groups   client.List[client.Member]
	}
	r := v.reading()
	list(r, &data.Accounts, v.api.UserAccounts(user), "cursor", listLimit)
	list(r, &data.Groups, v.api.UserGroups(user), "groups", listLimit)
	return page{name: "user", Title: "Accounts of " + user, Data: &data}, r.Wait()
}

// newest returns the part of the home page that the script reloads.
func (v *visit) newest() (page, error) {
	newest, err := v.newestTransactions(v.ctx, historyLimit)
	if err != nil {
		return page{}, err
	}
	return page{name: "newest", Data: newest}, v.loadAll(newest)
}

func (v *visit) newestTransactions(ctx context.Context, limit int) ([]client.Transaction, error) {
	all, err := v.api.Transactions(client.Search{}).Page(ctx, "", limit)
	return all.Value.Data, err
}

// streamNewest sends a server-sent event whenever there is a newer transaction. It ends after a while, and
// then the browser reconnects.
func (v *visit) streamNewest() (page, error) {
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
		newest, err := v.newestTransactions(ctx, 1)
		if err == nil && len(newest) > 0 && newest[0].ID != shown {
			shown = newest[0].ID
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
		return "balances are up to date"
	case i < 0:
		return "balances are missing " + worst.postings
	case whole == 0:
		return "balances are less than a second behind (" + worst.postings + ")"
	}
	return "balances are " + whole.String() + " behind (" + worst.postings + ")"
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
	return lag{max(time.Since(at), 1), counted(missing, "posting")}, nil
}

// counted formats the number of items: "n or more" if the list has further pages.
func counted[T any](l client.List[T], what string) string {
	n := strconv.Itoa(len(l.Data))
	switch {
	case l.NextCursor != nil:
		return n + " or more " + what + "s"
	case len(l.Data) == 1:
		return n + " " + what
	}
	return n + " " + what + "s"
}
