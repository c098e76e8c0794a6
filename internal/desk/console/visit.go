package console

import (
	"bytes"
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"golang.org/x/sync/errgroup"

	"ledger.example/client"
	"ledger.example/events"
)

// visit is one request for a page.
type visit struct {
	*Console
	api   *client.Client // acts as the user
	user  string         // the user that requests to the API are sent as; "" for none
	ctx   context.Context
	w     http.ResponseWriter
	r     *http.Request
	query url.Values
	id    string // of the item that the page is about
}

func (c *Console) visit(w http.ResponseWriter, r *http.Request) *visit {
	return &visit{Console: c, api: c.api, user: c.address.User, ctx: r.Context(), w: w, r: r, query: r.URL.Query(),
		id: r.PathValue("id")}
}

// page is what a page shows, or a redirect. An empty page is for requests that were answered otherwise.
type page struct {
	name     string // of the template
	location string // redirects to this path unless it is ""
	status   int    // 0: 200

	Title   string
	Live    string // the path of the page's event stream, "" for none
	User    string
	IsFixed bool // the console acts as one user, which pages cannot change
	Data    any
}

// render answers with a page, a redirect, or the page of an error.
func (v *visit) render(p page, err error) {
	switch {
	case err != nil:
		status := statusOf(err)
		p = page{name: "problem", Title: http.StatusText(status), status: status, Data: v.errorText(err)}
	case p.location != "":
		http.Redirect(v.w, v.r, v.chosen().with(p.location), http.StatusSeeOther)
		return
	case p.name == "":
		return
	}
	p.User, p.IsFixed = v.user, v.address.User != ""
	if err == nil {
		_, _ = v.directory(false) // the names of accounts: without them, pages show only ids
	}
	var text bytes.Buffer
	if err := v.pages[p.name].Execute(&text, p); err != nil {
		http.Error(v.w, "the page cannot be shown: "+err.Error(), http.StatusInternalServerError)
		return
	}
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if p.status != 0 {
		v.w.WriteHeader(p.status)
	}
	_, _ = v.w.Write(v.chosen().carry(text.Bytes())) // the only error is a closed connection
}

// problem is an error of a request to the console.
type problem struct {
	status int // of HTTP
	text   string
}

func (p problem) Error() string { return p.text }

var (
	// errUser reports an invalid user id. The page then shows no data, because the caller may see more than the
	// intended user.
	errUser = problem{http.StatusBadRequest,
		"user: must be 1 to 64 letters, digits and . _ : @ -, and begin with a letter or a digit"}
	// errNotOurForm reports a form without the token of this console.
	errNotOurForm = problem{http.StatusForbidden, "this form did not come from a page of this console, or the " +
		"console was restarted: go back, reload the page and send the form again"}
	errNotFound = problem{http.StatusNotFound, "page not found"}
)

func (v *visit) notFound() (page, error) { return page{}, errNotFound }

// statusOf returns the HTTP status of the page that shows an error.
func statusOf(err error) int {
	wrong, _ := errors.AsType[problem](err)
	if errors.Is(err, client.ErrID) {
		wrong = errNotFound
	}
	return cmp.Or(refusal(err).Status, wrong.status, http.StatusBadGateway)
}

// refusal returns an error of the API, a zero one if err is no such error.
func refusal(err error) *client.Error {
	if refused, ok := errors.AsType[*client.Error](err); ok {
		return refused
	}
	return &client.Error{}
}

// errorText returns the text of an error, with amounts in decimals, and one line per invalid field. It escapes
// invisible characters, because the text may quote input such as metadata keys.
func (v *visit) errorText(err error) string {
	text := strings.Replace(v.units.InDecimals(v.ctx, err).Error(), "; see errors.", ":", 1)
	return escaped(text, func(r rune) bool { return r == '\n' || unicode.IsPrint(r) })
}

// userCookie returns the name of the cookie with the user that a browser views the ledger as. It has the port, because
// cookies are shared between the ports of a host.
func userCookie(r *http.Request) string {
	_, port, _ := net.SplitHostPort(r.Host)
	return "ledger-user-" + port
}

// setUser lets the visit act as the user in the cookie. A console that acts as a fixed user ignores the cookie. Error:
// errUser.
func (v *visit) setUser() error {
	cookie, err := v.r.Cookie(userCookie(v.r))
	if err != nil || v.address.User != "" {
		return nil
	}
	v.user = cookie.Value
	if v.api, err = v.api.WithUser(v.user); err != nil {
		return errUser
	}
	return nil
}

// chooseUser stores the user of a form in the cookie, and deletes the cookie if the user is empty.
func (v *visit) chooseUser() (page, error) {
	form, err := v.posted()
	if err != nil {
		return page{}, err
	}
	user := strings.TrimSpace(form.Get("user"))
	cookie := &http.Cookie{
		Name: userCookie(v.r), Value: user, Path: Path, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	}
	switch {
	case user == "":
		cookie.MaxAge = -1
	case !events.ValidID(user):
		return page{}, errUser
	}
	http.SetCookie(v.w, cookie)
	return page{location: Path}, nil
}

// formBytes is the size limit of a submitted form.
const formBytes = 64 << 10

// posted reads a submitted form. It must have the token of this console, which protects against cross-site request
// forgery. Error: a problem.
func (v *visit) posted() (url.Values, error) {
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, formBytes)
	if err := v.r.ParseForm(); err != nil {
		if _, isLarge := errors.AsType[*http.MaxBytesError](err); isLarge {
			return nil, problem{http.StatusRequestEntityTooLarge, err.Error()}
		}
		return nil, problem{http.StatusBadRequest, err.Error()}
	}
	if subtle.ConstantTimeCompare([]byte(v.r.PostForm.Get("token")), []byte(v.token)) != 1 {
		return nil, errNotOurForm
	}
	return v.r.PostForm, nil
}

// reading reads the parts of a page concurrently, and then the assets whose amounts the page shows.
type reading struct {
	*visit
	*errgroup.Group
	ctx context.Context
}

func (v *visit) reading() reading {
	g, ctx := errgroup.WithContext(v.ctx)
	return reading{v, g, ctx}
}

// list reads the page of a list at the cursor in a parameter of the request, "" for the first page.
func list[T any](r reading, to *client.List[T], from client.Listing[T], cursor string, limit int) {
	r.Go(func() error {
		page, err := from.Page(r.ctx, r.query.Get(cursor), limit)
		*to = page.Value
		return err
	})
}

// one reads one item.
func one[T any](r reading, to *T, read func(ctx context.Context, id string) (client.Reply[T], error)) {
	r.Go(func() error {
		reply, err := read(r.ctx, r.id)
		*to = reply.Value
		return err
	})
}

// loadAll loads the scales of the given assets and of all assets of the transactions.
func (v *visit) loadAll(all []client.Transaction, assets ...string) error {
	for _, t := range all {
		for _, p := range t.Postings {
			assets = append(assets, p.Asset)
		}
	}
	return v.units.Load(v.ctx, assets...)
}
