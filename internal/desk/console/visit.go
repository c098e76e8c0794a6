package console

import (
	"bytes"
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"html/template"
	"net"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/sync/errgroup"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/internal/desk/units"
)

// visit is one request for a page.
type visit struct {
	*Console
	api   *client.Client // acts as the user
	units *units.Units   // in the reader's notation
	user  string         // the user that requests to the API are sent as; "" for none
	ctx   context.Context
	w     http.ResponseWriter
	r     *http.Request
	query url.Values
	id    string // of the item that the page is about
}

func (c *Console) visit(w http.ResponseWriter, r *http.Request) *visit {
	return &visit{Console: c, api: c.api, units: c.units.In(units.Notations()[0]), user: c.address.User,
		ctx: r.Context(), w: w, r: r, query: r.URL.Query(), id: r.PathValue("id")}
}

// page is what a page shows, or a redirect. An empty page is for requests that were answered otherwise.
type page struct {
	name     string // of the template
	location string // redirects to this path unless it is ""
	status   int    // 0: 200

	Title     string
	Menu      string // the item of the menu that leads to the page, "" for none
	Live      string // the path of the page's event stream, "" for none
	User      string
	IsFixed   bool       // the console acts as one user, which pages cannot change
	Notations []notation // the choices of the notation of amounts, none where amounts are entered
	Zones     *zoneChoice
	Data      any
	// rest shows what takes time, if it is not nil: where the template of the page calls late.
	rest func(*stream) error
}

// render answers with a page, a redirect, or the page of an error.
func (v *visit) render(p page, err error) {
	switch {
	case err != nil:
		p = v.problem(err)
	case p.location != "":
		http.Redirect(v.w, v.r, with(p.location, v.carried()), http.StatusSeeOther)
		return
	case p.name == "":
		return
	}
	if err == nil {
		_, _ = v.directory(false) // the names of accounts: without them, pages show only ids
	}
	text, err := v.execute(p)
	if err != nil {
		v.fail(err)
		return
	}
	s := &stream{visit: v, page: p, status: cmp.Or(p.status, http.StatusOK)}
	before, after, _ := bytes.Cut(text, []byte(v.late()))
	s.pending.Write(before)
	if p.rest != nil {
		ctx, cancel := context.WithCancelCause(v.ctx)
		defer cancel(nil)
		defer context.AfterFunc(v.running, func() { cancel(errStopped) })()
		v.ctx = ctx
		err = p.rest(s)
	}
	switch {
	case err != nil && !s.isBegun:
		v.render(page{}, err)
		return
	case err != nil:
		s.pending.Reset()
		err = s.show("fault", v.errorText(cmp.Or(context.Cause(v.ctx), err)))
	}
	s.pending.Write(after)
	_ = cmp.Or(err, s.flush()) // the browser is gone
}

// problem returns the page of an error.
func (v *visit) problem(err error) page {
	status := statusOf(err)
	return page{name: "problem", Title: http.StatusText(status), status: status, Data: v.errorText(err)}
}

// execute returns the text of a page.
func (v *visit) execute(p page) ([]byte, error) {
	p.User, p.IsFixed, p.Notations = v.user, v.address.User != "", v.notations(p)
	p.Zones, p.Menu = v.zones(p), strings.TrimPrefix(v.r.URL.Path, Path)
	var text bytes.Buffer
	err := v.template(p.name).Execute(&text, p)
	return text.Bytes(), err
}

// template returns the template of a page in the reader's notation.
func (v *visit) template(page string) *template.Template {
	return v.pages[v.units.Notation().Name][page]
}

// fail answers that a page cannot be shown.
func (v *visit) fail(err error) {
	http.Error(v.w, "the page cannot be shown: "+err.Error(), http.StatusInternalServerError)
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
	errStopped  = problem{http.StatusServiceUnavailable, "the console was stopped: start it, and load the page again"}
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
