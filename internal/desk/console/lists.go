package console

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ledger.example/client"
	"ledger.example/events"
)

const (
	// scanMost is the most transactions or holds that a page looks through for a filter or a search.
	scanMost = 500
	// searchShown is the most items of each kind that a search shows.
	searchShown = 10
)

// choice is a filter of a list by one of some values, "" for all.
type choice struct {
	Name, Label, Value string
	Values             []string
}

// listing is the page of a list.
type listing struct {
	Here       pageURL
	Kind       string // accounts, assets, groups, holds or transactions
	Text, Hint string // the text filter, and what it looks at
	Choices    []choice
	Days       *period // the filter by days, nil for none
	Rows       any     // a slice
	Next       *string // cursor
	Looked     string  // what was looked through, "" for all
	Error      string  // of the days
}

// listOf returns the handler for the page of a list.
func listOf(kind string) func(*visit) (page, error) {
	return func(v *visit) (page, error) {
		l := listing{Here: pageURL{v.r.URL}, Kind: kind, Text: strings.TrimSpace(v.query.Get("q"))}
		var err error
		switch kind {
		case "transactions":
			err = v.listTransactions(&l)
		case "holds":
			err = v.listHolds(&l)
		default:
			err = v.listNamed(&l)
		}
		title := strings.ToUpper(kind[:1]) + kind[1:]
		p := page{name: "list", Title: title, Data: &l}
		if v.query.Get("cursor") == "" && (kind == "transactions" || kind == "holds") {
			p.Live = Path + "live"
		}
		if l.Error != "" {
			p.status = http.StatusBadRequest
		}
		return p, err
	}
}

// choose adds a filter by one of some values to the page, and returns the chosen value.
func (v *visit) choose(l *listing, name, label string, values ...string) string {
	value := v.query.Get(name)
	if !slices.Contains(values, value) {
		value = ""
	}
	l.Choices = append(l.Choices, choice{name, label, value, values})
	return value
}

// listNamed reads a list of what has an id and a name. Without a filter, it is the list of the API. With one, it is in
// memory, and has the first directoryMost items.
func (v *visit) listNamed(l *listing) error {
	l.Hint = "part of an id or name"
	state := ""
	if l.Kind == "accounts" {
		state = v.choose(l, "state", "State", client.StateOpen, client.StateFrozen, client.StateClosed)
	}
	isFiltered := l.Text+state != ""
	var d *directory
	if isFiltered || l.Kind != "assets" && v.user != "" {
		var err error
		if d, err = v.directory(false); err != nil {
			return err
		}
		if isFiltered && d.More {
			l.Looked = "the first " + grouped(strconv.Itoa(directoryMost))
		}
	}
	switch l.Kind {
	case "accounts":
		return rows(v, l, v.api.Accounts(""), d, func(d *directory) []client.Account { return d.Accounts },
			func(a client.Account) bool {
				return (state == "" || a.State == state) && contains(l.Text, a.ID, a.Name)
			})
	case "assets":
		return rows(v, l, v.api.Assets(""), d, func(d *directory) []client.Asset { return d.Assets },
			func(a client.Asset) bool { return contains(l.Text, a.ID, a.Name, a.Description) })
	}
	return rows(v, l, v.api.Groups(""), d, func(d *directory) []client.Group { return d.Groups },
		func(g client.Group) bool { return contains(l.Text, g.ID, g.Name, g.Description) })
}

// rows reads a page of a list of the API if d is nil, otherwise of a list in it.
func rows[T any](
	v *visit, l *listing, from client.Listing[T], d *directory, known func(*directory) []T, pass func(T) bool,
) error {
	of := pagesOf(from)
	if d != nil {
		of = pagesIn(known(d))
	}
	found, _, err := scan(v.ctx, of, v.query.Get("cursor"), listLimit, directoryMost, pass)
	l.Rows, l.Next = found.Data, found.NextCursor
	return err
}

// listTransactions reads a page of the transactions, newest first.
func (v *visit) listTransactions(l *listing) error {
	l.Hint = "part of an id, name, description or asset, an amount such as 50.00, or metadata such as order=1001"
	status := v.choose(l, "status", "Status", client.StatusPosted, client.StatusHeld, client.StatusCaptured,
		client.StatusReleased, client.StatusExpired)
	kind := v.choose(l, "kind", "Kind", string(client.KindTransfer), string(client.KindTrade),
		string(client.KindTransaction), string(client.KindReversal))
	days, err := v.period()
	l.Days = &days
	if err != nil {
		l.Error = err.Error()
		return nil
	}
	search := client.TransactionsQuery{From: days.from, To: days.to}
	text := l.Text
	if key, value, ok := metadataIn(text); ok {
		search.Metadata, text = map[string]string{key: value}, ""
	}
	return v.scanTransactions(l, v.api.Transactions(search), text+status+kind != "", func(t client.Transaction) bool {
		return (status == "" || t.Status == status) && (kind == "" || t.Kind == kind) && v.mentions(t, text)
	})
}

// listHolds reads a page of the open holds, by expiry.
func (v *visit) listHolds(l *listing) error {
	l.Hint = "part of an id, name, description or asset, or an amount such as 50.00"
	due := v.choose(l, "due", "Expiry", "overdue", "later")
	return v.scanTransactions(l, v.api.OpenHolds(), l.Text+due != "", func(t client.Transaction) bool {
		isDue := due == "" || isOverdue(t) == (due == "overdue")
		return t.Status == client.StatusHeld && isDue && v.mentions(t, l.Text)
	})
}

// scanTransactions reads the rows of a page of transactions.
func (v *visit) scanTransactions(
	l *listing, from client.Listing[client.Transaction], isFiltered bool, pass func(client.Transaction) bool,
) error {
	most := scanMost
	if !isFiltered {
		most = 0 // one page
	}
	found, looked, err := scan(v.ctx, v.withUnits(from), v.query.Get("cursor"), historyLimit, most, pass)
	l.Rows, l.Next = found.Data, found.NextCursor
	if isFiltered && l.Next != nil {
		l.Looked = grouped(strconv.Itoa(looked))
	}
	return err
}

// withUnits returns the pages of transactions. It loads the units that mentions needs.
func (v *visit) withUnits(from client.Listing[client.Transaction]) pages[client.Transaction] {
	return func(ctx context.Context, cursor string, limit int) (client.List[client.Transaction], error) {
		reply, err := from.Page(ctx, cursor, limit)
		if err == nil {
			err = v.loadAll(reply.Value.Data)
		}
		return reply.Value, err
	}
}

// metadataIn returns the key and the value of a text such as order=1001.
func metadataIn(text string) (key, value string, ok bool) {
	key, value, ok = strings.Cut(text, "=")
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	return key, value, ok && key != ""
}

// amountText matches a text that is looked for among amounts.
var amountText = regexp.MustCompile(`^-?[0-9][0-9,]*(\.[0-9]+)?$`)

// mentions reports whether a text is in a transaction: a part of its id, its description, or the id or name of one of
// its accounts or assets, or an amount.
func (v *visit) mentions(t client.Transaction, text string) bool {
	if contains(text, t.ID, t.Description) {
		return true
	}
	amount := ""
	if amountText.MatchString(text) {
		amount = strings.TrimPrefix(strings.ReplaceAll(text, ",", ""), "-")
	}
	return slices.ContainsFunc(slices.Concat(t.Postings, t.Captured), func(p client.Posting) bool {
		if amount != "" {
			cost, _ := v.units.Cost(p.Asset, p.Cost.Abs())
			quantity := v.units.Quantity(p.Asset, p.Quantity.Abs())
			return amount == quantity || amount == cost && !p.Cost.IsZero() || sameAmount(amount, quantity)
		}
		return contains(text, p.Account, v.directories.name(p.Account), p.Asset)
	})
}

// sameAmount reports whether two decimal numbers differ in zeros at the end only.
func sameAmount(a, b string) bool {
	trim := func(text string) string {
		if strings.Contains(text, ".") {
			text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
		}
		return text
	}
	return trim(a) == trim(b)
}

// found is what a search found.
type found struct {
	Text                     string
	Accounts, Assets, Groups []option
	Transactions             []client.Transaction
	More                     map[string]string // links to all of a list, by its text
	Looked                   string            // "" if there were no older transactions to look through
}

// search redirects to the transaction, account, asset or group with the given id. If there is none, it lists what has
// the text in its id or name, and the newest transactions that mention it. For key=value it lists the transactions with
// that metadata. Users find only what they may see.
func (v *visit) search() (page, error) {
	f := found{Text: strings.TrimSpace(v.query.Get("q")), More: make(map[string]string)}
	p := page{name: "search", Title: "Search", Data: &f}
	transactions := v.api.Transactions(client.TransactionsQuery{})
	text := f.Text
	if key, value, ok := metadataIn(text); ok {
		transactions, text = v.api.Transactions(client.TransactionsQuery{Metadata: map[string]string{key: value}}), ""
	} else if text == "" || strings.HasPrefix(text, "=") {
		return p, nil
	}
	if events.ValidID(text) {
		if path, err := v.pathOfID(text); path != "" || err != nil {
			return page{location: path}, err
		}
	}
	for _, isFresh := range []bool{false, true} {
		d, err := v.directory(isFresh)
		if err != nil {
			return page{}, err
		}
		for list, to := range map[string]*[]option{"accounts": &f.Accounts, "assets": &f.Assets, "groups": &f.Groups} {
			var all int
			if text == "" {
				continue
			}
			if *to, all = d.find(list, text, searchShown); all > len(*to) {
				f.More[list] = fmt.Sprintf("All %s %s", grouped(strconv.Itoa(all)), list)
			}
		}
		if text == "" || len(f.Accounts)+len(f.Assets)+len(f.Groups) > 0 {
			break
		}
	}
	all, looked, err := scan(v.ctx, v.withUnits(transactions), "", client.PageLimit, scanMost,
		func(t client.Transaction) bool { return v.mentions(t, text) })
	if refusal(err).Status == http.StatusForbidden { // a user may list none
		return p, nil
	}
	shown := firstOf(all.Data, searchShown)
	if f.Transactions = shown.First; shown.More > 0 || all.NextCursor != nil && len(shown.First) > 0 {
		f.More["transactions"] = "More transactions"
	}
	if all.NextCursor != nil {
		f.Looked = grouped(strconv.Itoa(looked))
	}
	return p, err
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
