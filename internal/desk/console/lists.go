package console

import (
	"context"
	"html/template"
	"net/http"
	"slices"
	"strings"

	"ledger.example/client"
)

// choice is a filter of a list by one of some values, "" for all. None says what "" means, "" for all.
type choice struct {
	Name, Label, Value, None string
	Values                   []string
}

// listing is the page of a list.
type listing struct {
	Here       pageURL
	Kind       string // accounts, assets, groups, holds or transactions
	Text, Hint string // the text filter, and what it looks at
	Choices    []choice
	Days       *period  // the filter by days, nil for none
	Sort       *sorting // of accounts, nil for others
	Error      string   // of the days
	IsPart     bool     // of a user's accounts or groups, only the first directoryMost can be looked at
	isFiltered bool
	sought
}

// sought is what was found in a list by now.
type sought struct {
	Rows any    // a slice, nil for none
	Next string // the cursor to go on at, "" at the end
	Back string // how far it was looked, "" if all was
	URLs struct{ GoOn, Stop template.URL }
	// Looked is how many items were looked at, for a report.
	Looked int
}

// listOf returns the handler for the page of a list.
func listOf(kind string) func(*visit) (page, error) {
	return func(v *visit) (page, error) {
		l := listing{Here: pageURL{v.r.URL}, Kind: kind, Text: strings.TrimSpace(v.query.Get("q"))}
		var rest func(*stream) error
		var err error
		switch kind {
		case "transactions":
			rest = v.listTransactions(&l)
		case "holds":
			rest = v.listHolds(&l)
		default:
			rest, err = v.listNamed(&l)
		}
		title := strings.ToUpper(kind[:1]) + kind[1:]
		p := page{name: "list", Title: title, Data: &l}
		if v.query.Get("cursor") == "" && (kind == "transactions" || kind == "holds") && !l.isFiltered {
			p.Live = Path + "live"
		}
		p.rest = func(s *stream) error {
			if l.Error == "" && !v.query.Has(stopParam) {
				if err := rest(s); err != nil {
					return err
				}
			}
			if v.query.Has(stopParam) {
				l.Back, l.URLs.GoOn = stoppedText, l.Here.With(stopParam, "")
			}
			l.sort(v.query.Get("cursor") == "")
			return s.show("rows", &l)
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
	l.Choices = append(l.Choices, choice{Name: name, Label: label, Value: value, Values: values})
	l.isFiltered = l.isFiltered || value != ""
	return value
}

// listNamed reads a list of what has an id and a name. Without a filter, it is the list of the API. With one, its first
// items are in memory.
func (v *visit) listNamed(l *listing) (func(*stream) error, error) {
	l.Hint = "parts of an id, a name or a description"
	q := v.lookFor(l.Text)
	l.isFiltered = !q.isEmpty()
	if l.Kind == "accounts" {
		return v.listAccounts(l, q)
	}
	var d *directory
	if l.isFiltered || l.Kind != "assets" && v.user != "" {
		var err error
		if d, err = v.directory(false); err != nil {
			return nil, err
		}
	}
	if l.Kind == "assets" {
		return named(v, l, v.api.Assets(""), d,
			func(d *directory) ([]client.Asset, *string) { return d.Assets, d.Next.Assets },
			func(a client.Asset) bool { return q.isIn(a.ID, a.Name, a.Description) },
			func(a client.Asset) string { return upTo(l.Kind, a.ID) }), nil
	}
	return named(v, l, v.api.Groups(""), d,
		func(d *directory) ([]client.Group, *string) { return d.Groups, d.Next.Groups },
		func(g client.Group) bool { return q.isIn(g.ID, g.Name, g.Description) },
		func(g client.Group) string { return upTo(l.Kind, g.ID) }), nil
}

// named returns the function that reads the rows of a list of the API if d is nil. Otherwise it begins with the items
// in d, and goes on with those that follow in the API. Of a user's accounts and groups, it has only those in d.
func named[T any](
	v *visit, l *listing, from client.Listing[T], d *directory, known func(*directory) ([]T, *string),
	pass func(T) bool, back func(T) string,
) func(*stream) error {
	of := looking[T]{pages: pagesOf(from), limit: listLimit, pass: pass, back: back, isFiltered: l.isFiltered}
	if d != nil {
		first, next := known(d)
		switch l.IsPart = next != nil && v.user != "" && l.Kind != "assets"; {
		case next == nil || l.IsPart:
			of.pages, of.isKnown = pagesIn(first), true
		default:
			of.pages = pagesAfter(client.List[T]{Data: first, NextCursor: next}, of.pages)
		}
	}
	return func(s *stream) error { return look(s, of, &l.sought) }
}

// listTransactions returns the function that reads a page of the transactions, newest first.
func (v *visit) listTransactions(l *listing) func(*stream) error {
	l.Hint = "words of an id, a name, a description or an asset, amounts such as " + v.units.Notation().Print("50.00") +
		", and metadata such as order=1001. All of them must be in a transaction"
	q := v.lookFor(l.Text)
	l.isFiltered = !q.isEmpty()
	status := v.choose(l, "status", "Status", client.StatusPosted, client.StatusHeld, client.StatusCaptured,
		client.StatusReleased, client.StatusExpired)
	kind := v.choose(l, "kind", "Kind", string(client.KindTransfer), string(client.KindTrade),
		string(client.KindTransaction), string(client.KindReversal))
	dated := v.choose(l, "dated", "Dated", backdated)
	days, err := v.period()
	if l.Days = &days; err != nil {
		l.Error = err.Error()
	}
	return func(s *stream) error {
		return look(s, looking[client.Transaction]{
			pages: v.transactionsOf(days, q), limit: historyLimit, isFiltered: l.isFiltered, back: v.backTo,
			pass: func(t client.Transaction) bool {
				return (status == "" || t.Status == status) && (kind == "" || t.Kind == kind) &&
					(dated == "" || isBackdated(t)) && q.mentions(t)
			},
		}, &l.sought)
	}
}

// listHolds returns the function that reads a page of the open holds, by expiry.
func (v *visit) listHolds(l *listing) func(*stream) error {
	l.Hint = "words of an id, a name, a description or an asset, and amounts such as " +
		v.units.Notation().Print("50.00") + ". All of them must be in a hold"
	q := v.lookFor(l.Text)
	l.isFiltered = !q.isEmpty()
	due := v.choose(l, "due", "Expiry", "overdue", "later")
	return func(s *stream) error {
		return look(s, looking[client.Transaction]{
			pages: v.withUnits(v.api.OpenHolds()), limit: historyLimit, isFiltered: l.isFiltered,
			pass: func(t client.Transaction) bool {
				isDue := due == "" || isOverdue(t) == (due == "overdue")
				return t.Status == client.StatusHeld && isDue && q.mentions(t)
			},
			back: func(t client.Transaction) string {
				return "Looked through the holds until " + v.dayOf(t.ExpiresAt)
			},
		}, &l.sought)
	}
}

// withUnits returns the pages of transactions. It loads the units of their assets.
func (v *visit) withUnits(from client.Listing[client.Transaction]) pages[client.Transaction] {
	return func(ctx context.Context, cursor string, limit int) (client.List[client.Transaction], error) {
		reply, err := from.Page(ctx, cursor, limit)
		if err == nil {
			err = v.loadAll(reply.Value.Data)
		}
		return reply.Value, err
	}
}

// transactionsOf returns the pages of the transactions of some days, and only of those with the metadata of the query
// if its key is indexed.
func (v *visit) transactionsOf(days period, q query) pages[client.Transaction] {
	return narrowed(q.metadata(), func(of map[string]string) pages[client.Transaction] {
		return v.withUnits(v.api.Transactions(client.TransactionsQuery{From: days.from, To: days.to, Metadata: of}))
	})
}

// narrowed returns the pages of a list with some metadata. If its key is not indexed, they are those of the whole list.
func narrowed[T any](metadata map[string]string, list func(metadata map[string]string) pages[T]) pages[T] {
	return func(ctx context.Context, cursor string, limit int) (client.List[T], error) {
		page, err := list(metadata)(ctx, cursor, limit)
		for key := range metadata {
			if hasField(err, "metadata."+key) {
				metadata = nil
				return list(nil)(ctx, cursor, limit)
			}
		}
		return page, err
	}
}

// backTo says how far the transactions were looked through.
func (v *visit) backTo(t client.Transaction) string { return "Searched back to " + v.dayOf(t.PostedAt) }

// dayOf returns the day of a time of the API in the zone of the visit.
func (v *visit) dayOf(text string) string {
	return timeOf(text).In(v.chosen().in).Format("2 January 2006")
}
