package console

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/internal/desk/refusals"
)

// stopParam is the query parameter of a search that does not go on by itself.
const stopParam = "stopped"

const stoppedText = "The search was stopped"

// progressEvery is the time between two reports of a page that is still being read.
const progressEvery = time.Second

// looking is a list to look through, for a page.
type looking[T any] struct {
	pages      pages[T]
	limit      int
	pass       func(T) bool
	back       func(T) string // says how far it was looked, by the last item
	isFiltered bool           // otherwise it is one page of the list
	isKnown    bool           // the list is in memory
}

// look looks through a list. Once it takes longer, the page shows how far it is, and how to stop.
func look[T any](s *stream, l looking[T], to *sought) error {
	here := pageURL{s.r.URL}
	now := func(all found[T]) {
		if all.NextCursor != nil {
			to.Next = *all.NextCursor
			to.URLs.GoOn = here.With("cursor", to.Next)
			to.URLs.Stop = here.With("cursor", to.Next, stopParam, "yes")
		}
		if all.Last != nil && l.isFiltered && !l.isKnown && all.NextCursor != nil {
			to.Back = l.back(*all.Last)
		}
		if len(all.Data) > 0 {
			to.Rows = all.Data
		}
	}
	if !l.isFiltered {
		list, err := l.pages(s.ctx, s.query.Get("cursor"), l.limit)
		now(found[T]{List: list})
		return err
	}
	var shown time.Time
	scan := scan[T]{of: l.pages, cursor: s.query.Get("cursor"), limit: l.limit, pass: l.pass, pace: &s.Console.pace,
		step: func(all found[T]) error {
			if time.Since(shown) < progressEvery {
				return nil
			}
			now(all)
			shown, to.Looked = time.Now(), all.Looked
			if err := s.show("progress", to); err != nil {
				return err
			}
			return s.flush()
		}}
	if l.isKnown {
		scan.pace = nil
	}
	all, err := scan.run(s.ctx)
	*to = sought{}
	now(all)
	return err
}

// searched is the page of a search.
type searched struct {
	Text                     string
	Days                     period
	Error                    string // of the days
	Accounts, Assets, Groups []option
	Refused                  []refusedWrite // of a transaction with the text as its id
	User                     userRoles
	More                     map[string]string // links to all of a list, by its text
	IsPart                   bool              // of the named, only the first directoryMost were looked at
	Unread                   []unread
	sought
}

// unread is a word that is an amount in another notation.
type unread struct {
	Word string
	notation
}

// search redirects to the transaction, account, asset or group with the given id. If there is none, it lists what has
// all words of the text, and looks through the transactions, the newest first, until it finds some or is at the end.
// Users find only what they may see.
func (v *visit) search() (page, error) {
	f := searched{Text: strings.TrimSpace(v.query.Get("q")), More: make(map[string]string)}
	p := page{name: "search", Title: "Search", Data: &f}
	q := v.lookFor(f.Text)
	var err error
	if f.Days, err = v.period(); err != nil {
		f.Error, p.status = err.Error(), http.StatusBadRequest
	}
	p.rest = func(s *stream) error { return s.show("found", &f) }
	if q.isEmpty() || q.isNothing() || f.Error != "" {
		return p, nil
	}
	isFirst := v.query.Get("cursor") == "" && f.Days.From+f.Days.To == ""
	if events.ValidID(f.Text) && isFirst {
		if path, err := v.pathOfID(f.Text); path != "" || err != nil {
			return page{location: path}, err
		}
		if err := v.findElsewhere(f.Text, &f); err != nil {
			return page{}, err
		}
	}
	if isFirst {
		if err := v.findNamed(q, &f); err != nil {
			return page{}, err
		}
	}
	words := q.unread()
	for _, name := range slices.Sorted(maps.Keys(words)) {
		url := pageURL{v.r.URL}.With(notationParam, name, "cursor", "")
		f.Unread = append(f.Unread, unread{words[name], notation{Name: name, URL: url}})
	}
	p.rest = func(s *stream) error {
		if v.query.Has(stopParam) {
			f.Back, f.URLs.GoOn = stoppedText, pageURL{v.r.URL}.With(stopParam, "")
			return s.show("found", &f)
		}
		err := look(s, looking[client.Transaction]{
			pages: v.transactionsOf(f.Days, q), limit: historyLimit, pass: q.mentions, back: v.backTo, isFiltered: true,
		}, &f.sought)
		if err != nil && refusal(err).Status != http.StatusForbidden { // a user may list none
			return err
		}
		return s.show("found", &f)
	}
	return p, nil
}

// findNamed finds accounts, assets and groups. If there are none, they may be new, so it reads them again.
func (v *visit) findNamed(q query, f *searched) error {
	for _, isFresh := range []bool{false, true} {
		d, err := v.directory(isFresh)
		if err != nil {
			return err
		}
		f.IsPart = d.More()
		for list, to := range map[string]*[]option{"accounts": &f.Accounts, "assets": &f.Assets, "groups": &f.Groups} {
			var all int
			if *to, all = d.find(list, q, searchShown); all > len(*to) {
				f.More[list] = fmt.Sprintf("All %s %s", v.number(all), list)
				if d.More() {
					f.More[list] = "More " + list
				}
			}
		}
		if len(f.Accounts)+len(f.Assets)+len(f.Groups) > 0 {
			break
		}
	}
	return nil
}

// userRoles are the accounts and groups in which a user has a role, the first ones.
type userRoles struct {
	Accounts []client.AccountRole
	Groups   []client.Member
	More     bool
}

// findElsewhere finds what has no page of its own: the refusals of a transaction, and the roles of a user, which only
// administrators may see.
func (v *visit) findElsewhere(id string, f *searched) (err error) {
	of := refusals.Query{ID: id, User: v.user}
	if f.Refused, _, err = v.refusedWrites(of); err != nil || v.user != "" {
		return err
	}
	f.Refused = f.Refused[:min(len(f.Refused), searchShown)]
	accounts, err := v.api.UserAccounts(id).Page(v.ctx, "", searchShown)
	switch {
	case refusal(err).Status == http.StatusForbidden: // the console's caller is a user itself
		return nil
	case err != nil:
		return err
	}
	groups, err := v.api.UserGroups(id).Page(v.ctx, "", searchShown)
	f.User = userRoles{accounts.Value.Data, groups.Value.Data,
		accounts.Value.NextCursor != nil || err == nil && groups.Value.NextCursor != nil}
	return err
}

// searchShown is the most accounts, assets and groups that a search shows.
const searchShown = 10

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
