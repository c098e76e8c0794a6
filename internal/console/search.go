package console

import (
	"context"
	"net/http"
	"strings"

	"ledger.example/client"
	"ledger.example/events"
)

// found is what a search shows.
type found struct {
	Text         string
	Key          string // of metadata, "" of a search by id
	WholeIDs     bool   // the caller finds by whole ids alone, as users do
	Accounts     client.List[client.Account]
	Groups       client.List[client.Group]
	Transactions client.List[client.Transaction]
}

// search goes to the transaction, account, asset or group of an id, and else lists the accounts and groups that begin
// with it, or the transactions with a key=value of metadata. A user finds by whole ids alone.
func (c *Console) search(r *http.Request) (view, error) {
	ctx, q := r.Context(), r.URL.Query()
	data := found{Text: strings.TrimSpace(q.Get("q"))}
	key, value, isMetadata := strings.Cut(data.Text, "=")
	var err error
	switch {
	case isMetadata:
		if data.Key = strings.TrimSpace(key); data.Key != "" {
			err = into(ctx, &data.Transactions, c.api.Transactions(client.Search{Key: data.Key,
				Value: strings.TrimSpace(value)}), q.Get("transactions"), listed)()
		}
	case events.ValidID(data.Text):
		if !q.Has("accounts") && !q.Has("groups") {
			if path, err := c.named(ctx, data.Text); path != "" || err != nil {
				return view{location: path}, err
			}
		}
		if err = into(ctx, &data.Accounts, c.api.Accounts(data.Text), q.Get("accounts"), listed)(); err == nil {
			err = into(ctx, &data.Groups, c.api.Groups(data.Text), q.Get("groups"), listed)()
		}
	}
	if data.WholeIDs = isRefused(err, http.StatusForbidden); data.WholeIDs {
		err = nil
	}
	if err == nil {
		err = c.loadAll(ctx, data.Transactions.Data)
	}
	return view{name: "search", title: "Search", data: data}, err
}

// named returns the path of the page of an id, "" if nothing has it, or nothing that the caller may see.
func (c *Console) named(ctx context.Context, id string) (path string, err error) {
	for _, where := range []struct {
		kind string
		read func() error
	}{
		{"transactions", func() error { _, err := c.api.Transaction(ctx, id); return err }},
		{"accounts", func() error { _, err := c.api.Account(ctx, id); return err }},
		{"assets", func() error { _, err := c.api.Asset(ctx, id); return err }},
		{"groups", func() error { _, err := c.api.Group(ctx, id); return err }},
	} {
		switch err := where.read(); {
		case err == nil:
			return pathOf(where.kind, id), nil
		case !isRefused(err, http.StatusNotFound) && !isRefused(err, http.StatusForbidden):
			return "", err
		}
	}
	return "", nil
}
