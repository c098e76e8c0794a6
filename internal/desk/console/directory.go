package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"

	"ledger.example/client"
	"ledger.example/events"
)

const (
	// directoryMost is the most items of each list that can be found by name.
	directoryMost = 10_000
	// A directory is read again when it is older than directoryFresh. Until then and while it is read again, the old
	// one is used, but none that is older than directoryStale.
	directoryFresh, directoryStale = 5 * time.Second, time.Minute
	// directoryTimeout is the timeout of reading one.
	directoryTimeout = time.Minute
	// usersMost is the most users whose directories are kept.
	usersMost = 16
	// optionsMost is the most choices of a picker in a page, and foundMost that in an error.
	optionsMost, foundMost = 100, 5
)

// directory has the first accounts, assets and groups that a caller may list, by id: those that can be found by name.
type directory struct {
	Accounts []client.Account
	Assets   []client.Asset
	Groups   []client.Group
	// Next are the cursors of the lists of the API where those here end, nil for whole lists.
	Next struct{ Accounts, Assets, Groups *string }
	read time.Time
}

// More reports whether there are more than directoryMost accounts, assets or groups.
func (d *directory) More() bool {
	return d.Next.Accounts != nil || d.Next.Assets != nil || d.Next.Groups != nil
}

// directories has the directories of users, "" for the console's own identity, and the names of accounts. It is safe
// for concurrent use.
type directories struct {
	loading singleflight.Group

	mu    sync.Mutex
	known map[string]*directory
	names map[string]string // of the accounts in the newest directory of the console's own identity
}

// name returns the name of an account, "" if it is not known.
func (d *directories) name(account string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.names[account]
}

// forget lets all directories be read again before the next use.
func (d *directories) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.known)
}

func (d *directories) of(user string) *directory {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.known[user]
}

func (d *directories) keep(user string, read *directory) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.known) >= usersMost {
		clear(d.known)
	}
	if d.known[user] = read; user == "" {
		d.names = make(map[string]string, len(read.Accounts))
		for _, a := range read.Accounts {
			d.names[a.ID] = a.Name
		}
	}
}

// directory returns what the caller can find by name: as of now if isFresh, otherwise at most directoryStale old.
// Errors: those of lists.
func (v *visit) directory(isFresh bool) (*directory, error) {
	known := v.directories.of(v.user)
	if known != nil && !isFresh && time.Since(known.read) < directoryFresh {
		return known, nil
	}
	user, running, api := v.user, v.running, v.api // the visit may end first
	loaded := v.directories.loading.DoChan(user, func() (any, error) {
		ctx, cancel := context.WithTimeout(running, directoryTimeout)
		defer cancel()
		read, err := readDirectory(ctx, api)
		if err == nil {
			v.directories.keep(user, read)
		}
		return read, err
	})
	if known != nil && !isFresh && time.Since(known.read) < directoryStale {
		return known, nil
	}
	select {
	case read := <-loaded:
		return read.Val.(*directory), read.Err
	case <-v.ctx.Done():
		return nil, v.ctx.Err()
	}
}

// readDirectory reads the lists. A user may list only assets, and the accounts and groups in which the user has a role.
func readDirectory(ctx context.Context, api *client.Client) (*directory, error) {
	d := &directory{read: time.Now()}
	me, err := api.Me(ctx)
	if err != nil {
		return d, err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		return collect(ctx, api.Assets(""), &d.Next.Assets, func(a client.Asset) { d.Assets = append(d.Assets, a) })
	})
	if user := me.Value.User; user != nil {
		g.Go(func() error {
			return collect(ctx, api.UserAccounts(*user), &d.Next.Accounts, func(r client.AccountRole) {
				d.Accounts = append(d.Accounts, client.Account{ID: r.Account})
			})
		})
		g.Go(func() error {
			return collect(ctx, api.UserGroups(*user), &d.Next.Groups, func(m client.Member) {
				d.Groups = append(d.Groups, client.Group{ID: m.Group})
			})
		})
	} else {
		g.Go(func() error {
			return collect(ctx, api.Accounts(""), &d.Next.Accounts, func(a client.Account) {
				d.Accounts = append(d.Accounts, a)
			})
		})
		g.Go(func() error {
			return collect(ctx, api.Groups(""), &d.Next.Groups, func(g client.Group) { d.Groups = append(d.Groups, g) })
		})
	}
	return d, g.Wait()
}

// collect reads up to directoryMost items of a list. It sets next to the cursor of the items that follow.
func collect[T any](ctx context.Context, from client.Listing[T], next **string, add func(T)) error {
	cursor := ""
	for n := 0; ; {
		page, err := from.Page(ctx, cursor, client.PageLimit)
		if err != nil {
			return err
		}
		for _, item := range page.Value.Data {
			add(item)
			n++
		}
		if *next = page.Value.NextCursor; *next == nil || n >= directoryMost {
			return nil
		}
		cursor = **next
	}
}

// option is a choice of a picker.
type option struct{ ID, Name string }

// find returns the accounts, assets or groups with all words of a query in their ids, names and descriptions, or in the
// metadata of accounts, at most so many, and the number of all. An item whose id or name is the text comes alone.
func (d *directory) find(list string, q query, most int) (found []option, all int) {
	var exact []option
	look := func(has bool, id, name string) {
		if !has {
			return
		}
		is := option{id, brief(name, briefChars)}
		if all++; len(found) < most {
			found = append(found, is)
		}
		if strings.EqualFold(q.text, id) || strings.EqualFold(q.text, name) {
			exact = append(exact, is)
		}
	}
	switch list {
	case "accounts":
		for _, a := range d.Accounts {
			look(q.isOf(a), a.ID, a.Name)
		}
	case "assets":
		for _, a := range d.Assets {
			look(q.isIn(a.ID, a.Name, a.Description), a.ID, a.Name)
		}
	case "groups":
		for _, g := range d.Groups {
			look(q.isIn(g.ID, g.Name, g.Description), g.ID, g.Name)
		}
	}
	for _, e := range exact {
		if e.ID == q.text || len(exact) == 1 {
			return []option{e}, 1
		}
	}
	return found, all
}

// contains reports whether one of the texts contains the part, in any case.
func contains(part string, texts ...string) bool {
	part = strings.ToLower(part)
	for _, text := range texts {
		if strings.Contains(strings.ToLower(text), part) {
			return true
		}
	}
	return false
}

// options answers with the choices of a picker that contain a text.
func (v *visit) options() (page, error) {
	d, err := v.directory(false)
	if err != nil {
		return page{}, err
	}
	found, _ := d.find(v.query.Get("of"), phrase(v.query.Get("q")), optionsMost)
	return page{name: "options", Data: found}, nil
}

// resolve replaces names in the fields of a form by the ids of what has this name. Ids stay as they are. Error: a text
// fits several items.
func (v *visit) resolve(f *form) error {
	for i := range f.Fields {
		field := &f.Fields[i]
		if field.List == "" || field.Value == "" || field.Kind == "fixed" {
			continue
		}
		d, err := v.directory(false)
		if err != nil {
			return err
		}
		found, all := d.find(field.List, phrase(field.Value), foundMost)
		if len(found) == 1 && found[0].ID == field.Value || v.exists(field.List, field.Value) {
			continue
		}
		if all == 0 {
			if d, err = v.directory(true); err != nil {
				return err
			}
			found, all = d.find(field.List, phrase(field.Value), foundMost)
		}
		switch {
		case all == 1:
			field.Value = found[0].ID
		case all > 1:
			var names []string
			for _, o := range found {
				names = append(names, strings.TrimSpace(o.ID+" "+o.Name))
			}
			if all > len(found) {
				names = append(names, "…")
			}
			least := ""
			if d.More() {
				least = "at least "
			}
			return fmt.Errorf("%s: %s%s %s contain %q: %s", field.Label, least, v.number(all), field.List, field.Value,
				strings.Join(names, ", "))
		}
	}
	return nil
}

// exists reports whether there is an account, asset or group with an id, or that the caller may not see it.
func (v *visit) exists(list, id string) bool {
	if !events.ValidID(id) {
		return false
	}
	var err error
	switch list {
	case "accounts":
		_, err = v.api.Account(v.ctx, id)
	case "assets":
		_, err = v.api.Asset(v.ctx, id)
	case "groups":
		_, err = v.api.Group(v.ctx, id)
	}
	return err == nil || refusal(err).Status == http.StatusForbidden || errors.Is(err, context.Canceled)
}
