package console

import (
	"context"
	"net/http"
	"strings"

	"ledger.example/client"
	"ledger.example/events"
)

// searchResults is the data of the search page.
type searchResults struct {
	Text         string
	ExactOnly    bool // the caller is a user, who can search by complete ids only
	Accounts     client.List[client.Account]
	Groups       client.List[client.Group]
	Transactions client.List[client.Transaction]
}

// search redirects to the transaction, account, asset or group with the given id. If there is none, it lists the
// accounts and groups whose id begins with the text. For key=value it lists the transactions with that metadata. Users
// can search by complete ids only.
func (c *Console) search(r *http.Request) (view, error) {
	ctx, q := r.Context(), r.URL.Query()
	data := searchResults{Text: strings.TrimSpace(q.Get("q"))}
	key, value, isMetadata := strings.Cut(data.Text, "=")
	var err error
	switch {
	case isMetadata:
		if key = strings.TrimSpace(key); key != "" {
			err = into(ctx, &data.Transactions, c.api.Transactions(client.Search{Key: key,
				Value: strings.TrimSpace(value)}), q.Get("transactions"), listLimit)()
		}
	case events.ValidID(data.Text):
		if !q.Has("accounts") && !q.Has("groups") {
			if path, err := c.pathOfID(ctx, data.Text); path != "" || err != nil {
				return view{location: path}, err
			}
		}
		if err = into(ctx, &data.Accounts, c.api.Accounts(data.Text), q.Get("accounts"), listLimit)(); err == nil {
			err = into(ctx, &data.Groups, c.api.Groups(data.Text), q.Get("groups"), listLimit)()
		}
	}
	if data.ExactOnly = isRefused(err, http.StatusForbidden); data.ExactOnly {
		err = nil
	}
	if err == nil {
		err = c.loadAll(ctx, data.Transactions.Data)
	}
	return view{name: "search", title: "Search", data: data}, err
}

// pathOfID returns the path of the page of an id, "" if the caller can see nothing with that id.
func (c *Console) pathOfID(ctx context.Context, id string) (path string, err error) {
	for _, lookup := range []struct {
		kind string
		read func() error
	}{
		{"transactions", func() error { _, err := c.api.Transaction(ctx, id); return err }},
		{"accounts", func() error { _, err := c.api.Account(ctx, id); return err }},
		{"assets", func() error { _, err := c.api.Asset(ctx, id); return err }},
		{"groups", func() error { _, err := c.api.Group(ctx, id); return err }},
	} {
		switch err := lookup.read(); {
		case err == nil:
			return pathOf(lookup.kind, id), nil
		case !isRefused(err, http.StatusNotFound) && !isRefused(err, http.StatusForbidden):
			return "", err
		}
	}
	return "", nil
}
