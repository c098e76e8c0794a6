package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/internal/desk/units"
)

// Query parameters of the list of accounts: the asset of the balances, and what a page is sorted by.
const assetParam, sortParam = "asset", "sort"

// What a page of accounts can be sorted by. A list is sorted by id.
const byID, byName, byBalance = "", "name", "balance"

// held is an account with its balance in the chosen asset, if there is one.
type held struct {
	client.Account
	Balance *client.Balance
}

// sorting is the choice of how the accounts of a page are sorted.
type sorting struct {
	Asset  string // of the balances, "" for none
	By     string
	Here   pageURL
	IsPart bool // the page has not all of the list
}

// header is the heading of a column that a page can be sorted by.
type header struct {
	Label    string
	URL      template.URL
	IsNumber bool
	Sort     string // of aria-sort, "" for none
}

// Header returns the heading of a column that the page can be sorted by.
func (s sorting) Header(label, by string) header {
	h := header{Label: label, URL: s.Here.With(sortParam, by), IsNumber: by == byBalance}
	if s.By == by {
		if h.Sort = "ascending"; by == byBalance {
			h.Sort = "descending"
		}
	}
	return h
}

// chooseSort adds the choices of an asset and of the order to a page of accounts. Error: a problem.
func (v *visit) chooseSort(l *listing, d *directory) error {
	s := &sorting{Asset: strings.TrimSpace(v.query.Get(assetParam)), Here: pageURL{v.r.URL}}
	l.Sort = s
	if v.user != "" { // a user may not list who holds an asset
		s.Asset = ""
	}
	if by := v.query.Get(sortParam); by == byName || by == byBalance && s.Asset != "" {
		s.By = by
	}
	if v.user != "" {
		return nil
	}
	all := choice{Name: assetParam, Label: "Balance in", None: "no asset", Value: s.Asset}
	for _, a := range d.Assets[:min(len(d.Assets), optionsMost)] {
		all.Values = append(all.Values, a.ID)
	}
	if s.Asset != "" && !slices.Contains(all.Values, s.Asset) {
		if !events.ValidID(s.Asset) {
			return problem{http.StatusBadRequest, fmt.Sprintf("Balance in: %q is not the id of an asset", s.Asset)}
		}
		if _, err := v.units.Asset(v.ctx, s.Asset); err != nil {
			return err
		}
		all.Values = append(all.Values, s.Asset)
	}
	if l.Choices = append(l.Choices, all); s.Asset == "" {
		return nil
	}
	return v.units.Load(v.ctx, s.Asset)
}

// listAccounts returns the function that reads a page of accounts: of those with a balance in an asset, if one is
// chosen.
func (v *visit) listAccounts(l *listing, q query) (func(*stream) error, error) {
	l.Hint = "parts of an id or a name, and metadata such as tier=gold"
	state := v.choose(l, "state", "State", client.StateOpen, client.StateFrozen, client.StateClosed)
	pass := func(a client.Account) bool { return (state == "" || a.State == state) && q.isOf(a) }
	d, err := v.directory(false)
	if err == nil {
		err = v.chooseSort(l, d)
	}
	if wrong, ok := errors.AsType[problem](err); ok {
		l.Error = wrong.text
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if l.Sort.Asset != "" {
		return v.listHolders(l, d, pass), nil
	}
	if of := q.metadata(); of != nil && v.user == "" {
		all := looking[client.Account]{
			pages: narrowed(of, func(of map[string]string) pages[client.Account] {
				return pagesOf(v.api.TaggedAccounts(client.AccountsQuery{Metadata: of}))
			}),
			limit: listLimit, pass: pass, isFiltered: true,
			back: func(a client.Account) string { return upTo("accounts", a.ID) },
		}
		return func(s *stream) error { return look(s, all, &l.sought) }, nil
	}
	if !l.isFiltered && v.user == "" {
		d = nil
	}
	return named(v, l, v.api.Accounts(""), d,
		func(d *directory) ([]client.Account, *string) { return d.Accounts, d.Next.Accounts }, pass,
		func(a client.Account) string { return upTo("accounts", a.ID) }), nil
}

// upTo says how far a list was looked through.
func upTo(list, id string) string { return "Looked through the " + list + " up to " + id }

// listHolders returns the function that reads a page of the accounts that have a balance in an asset. One request has
// the balances of a page. Names and states are those of the directory. Each account that it does not have takes a
// request, unless there is a filter: then it is found by its id only.
func (v *visit) listHolders(l *listing, d *directory, pass func(client.Account) bool) func(*stream) error {
	known := make(map[string]client.Account, len(d.Accounts))
	for _, a := range d.Accounts {
		known[a.ID] = a
	}
	l.IsPart = l.isFiltered && d.Next.Accounts != nil
	return func(s *stream) error {
		return look(s, looking[held]{
			pages: v.holdersOf(l.Sort.Asset, known, !l.isFiltered), limit: client.PageLimit, isFiltered: l.isFiltered,
			pass: func(h held) bool { return pass(h.Account) },
			back: func(h held) string { return upTo("accounts", h.ID) },
		}, &l.sought)
	}
}

// holdersOf returns the pages of the accounts with a balance in an asset. If readsOthers, it reads those that are not
// known.
func (v *visit) holdersOf(asset string, known map[string]client.Account, readsOthers bool) pages[held] {
	return func(ctx context.Context, cursor string, limit int) (list client.List[held], err error) {
		reply, err := v.api.Holders(asset).Page(ctx, cursor, limit)
		if err != nil {
			return list, err
		}
		list.NextCursor, list.Data = reply.Value.NextCursor, make([]held, len(reply.Value.Data))
		g, ctx := errgroup.WithContext(ctx)
		g.SetLimit(units.LoadingAtOnce)
		for i, b := range reply.Value.Data {
			account, ok := known[b.Account]
			if !ok {
				account.ID = b.Account
			}
			if list.Data[i] = (held{account, &reply.Value.Data[i]}); ok || !readsOthers {
				continue
			}
			g.Go(func() error {
				account, err := v.api.Account(ctx, b.Account)
				list.Data[i].Account = account.Value
				return err
			})
		}
		return list, g.Wait()
	}
}

// sort makes the rows of a page of accounts ready to be shown, in the chosen order.
func (l *listing) sort(isFirst bool) {
	rows, ok := l.Rows.([]held)
	if accounts, isPlain := l.Rows.([]client.Account); isPlain {
		for _, a := range accounts {
			rows = append(rows, held{Account: a})
		}
		ok = true
	}
	if !ok {
		return
	}
	l.Sort.IsPart = l.Next != "" || !isFirst
	slices.SortStableFunc(rows, func(a, b held) int {
		switch l.Sort.By {
		case byName:
			return cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
		case byBalance:
			return b.Balance.Quantity.Cmp(a.Balance.Quantity)
		}
		return 0
	})
	l.Rows = rows
}
