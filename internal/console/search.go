package console

import (
	"net/http"
	"strings"

	"ledger.example/client"
	"ledger.example/events"
)

// search redirects to the transaction, account, asset or group with the given id. If there is none, it lists the
// accounts and groups whose id begins with the text. For key=value it lists the transactions with that metadata. Users
// can search by complete ids only.
func (v *visit) search() (page, error) {
	data := struct {
		Text         string
		ExactOnly    bool // the caller is a user, who can search by complete ids only
		Accounts     client.List[client.Account]
		Groups       client.List[client.Group]
		Transactions client.List[client.Transaction]
	}{Text: strings.TrimSpace(v.query.Get("q"))}
	key, value, isMetadata := strings.Cut(data.Text, "=")
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	r := v.reading()
	switch {
	case isMetadata && key != "":
		found := v.api.Transactions(client.Search{Key: key, Value: value})
		list(r, &data.Transactions, found, "transactions", listLimit)
	case events.ValidID(data.Text):
		if !v.query.Has("accounts") && !v.query.Has("groups") {
			if path, err := v.pathOfID(data.Text); path != "" || err != nil {
				return page{location: path}, err
			}
		}
		list(r, &data.Accounts, v.api.Accounts(data.Text), "accounts", listLimit)
		list(r, &data.Groups, v.api.Groups(data.Text), "groups", listLimit)
	}
	err := r.Wait()
	if data.ExactOnly = refusal(err).Status == http.StatusForbidden; err != nil && !data.ExactOnly {
		return page{}, err
	}
	return page{name: "search", Title: "Search", Data: data}, v.loadAll(data.Transactions.Data)
}

// pathOfID returns the path of the page of an id, "" if the caller can see nothing with that id.
func (v *visit) pathOfID(id string) (path string, err error) {
	for _, lookup := range []struct {
		kind string
		read func() error
	}{
		{"transactions", func() error { _, err := v.api.Transaction(v.ctx, id); return err }},
		{"accounts", func() error { _, err := v.api.Account(v.ctx, id); return err }},
		{"assets", func() error { _, err := v.api.Asset(v.ctx, id); return err }},
		{"groups", func() error { _, err := v.api.Group(v.ctx, id); return err }},
	} {
		err := lookup.read()
		if err == nil {
			return pathOf(lookup.kind, id), nil
		}
		if status := refusal(err).Status; status != http.StatusNotFound && status != http.StatusForbidden {
			return "", err
		}
	}
	return "", nil
}
