// Package console serves web pages of a ledger for people: what is in it, and forms that post. It knows the ledger only
// by the client of its HTTP API, so that it shows what the API's caller may see and does what the caller may do. Serve
// it on loopback: whoever reaches it acts with the client's credentials.
package console

import (
	"bytes"
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"ledger.example/client"
	"ledger.example/internal/units"
)

// Path is below which all pages are.
const Path = "/console/"

//go:embed pages/*.html static/*
var files embed.FS

// Console is the handler of all pages. It is safe for concurrent use.
type Console struct {
	http.Handler

	api   *client.Client
	units *units.Units
	pages map[string]*template.Template
	token string          // stands in every form, and nowhere that another site could read
	ended <-chan struct{} // when it is closed, no page is kept up to date any more
	at    Address
	user  string // as whom the API is asked; "" for the caller alone
}

// Address says how the API is called, for the commands that pages show.
type Address struct {
	URL  string // of the API without /v1
	Curl string // what curl needs to be let in, as words for a shell: without a secret; "" for nothing
	User string // as whom the client asks; "" for the caller alone
}

// New returns the console of the ledger that api calls. Pages are kept up to date until ctx ends.
func New(ctx context.Context, api *client.Client, at Address) *Console {
	c := &Console{
		api: api, units: units.New(api, false), pages: make(map[string]*template.Template), token: rand.Text(),
		ended: ctx.Done(), at: at, user: at.User,
	}
	mux := http.NewServeMux()
	serve := func(pattern string, answer func(*Console, http.ResponseWriter, *http.Request)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			as, err := c.as(r)
			if err != nil {
				as.show(w, r, view{}, err)
				return
			}
			answer(as, w, r)
		})
	}
	for pattern, page := range map[string]func(*Console, *http.Request) (view, error){
		"GET " + Path + "{$}":               (*Console).home,
		"GET " + Path + "newest":            (*Console).newest,
		"GET " + Path + "search":            (*Console).search,
		"GET " + Path + "accounts/{id}":     (*Console).account,
		"GET " + Path + "assets/{id}":       (*Console).asset,
		"GET " + Path + "transactions/{id}": (*Console).transaction,
		"GET " + Path + "groups":            (*Console).groups,
		"GET " + Path + "groups/{id}":       (*Console).group,
		"GET " + Path + "do/{action}":       (*Console).form,
		"POST " + Path + "do/{action}":      (*Console).act,
		"GET " + Path:                       (*Console).nowhere,
	} {
		serve(pattern, func(as *Console, w http.ResponseWriter, r *http.Request) {
			v, err := page(as, r)
			as.show(w, r, v, err)
		})
	}
	for pattern, answer := range map[string]func(*Console, http.ResponseWriter, *http.Request){
		"GET " + Path + "live":                         (*Console).live,
		"GET " + Path + "accounts/{id}/chart.svg":      (*Console).chart,
		"GET " + Path + "accounts/{id}/statement.csv":  (*Console).statementCSV,
		"GET " + Path + "accounts/{id}/statement.json": (*Console).statementJSON,
	} {
		serve(pattern, answer)
	}
	mux.HandleFunc("POST "+Path+"user", c.setUser)
	mux.Handle("GET "+Path+"static/", http.StripPrefix(Path, http.FileServerFS(files)))
	c.Handler = http.NewCrossOriginProtection().Handler(secured(mux))
	for _, name := range []string{"home", "search", "account", "asset", "transaction", "group", "groups", "user",
		"form", "problem"} {
		c.pages[name] = template.Must(template.New("layout.html").Funcs(c.functions()).
			ParseFS(files, "pages/layout.html", "pages/parts.html", "pages/access.html", "pages/"+name+".html"))
	}
	c.pages["newest"] = template.Must(template.New("newest").Funcs(c.functions()).
		ParseFS(files, "pages/parts.html"))
	return c
}

// view is what a page shows.
type view struct {
	name     string // of the page
	title    string
	status   int // 0: 200
	data     any
	location string // where to go instead, "" for nowhere
}

// functions are what pages may call. Amounts are of assets that were loaded before.
func (c *Console) functions() template.FuncMap {
	return template.FuncMap{
		"quantity":  c.units.Quantity,
		"cost":      c.units.CostCell,
		"available": c.units.Available,
		"when":      when,
		"whole":     c.whole,
		"brief":     brief,
		"legs":      func(of []client.Posting) some[client.Posting] { return someOf(of, fewLegs) },
		"moves":     func(of []move) some[move] { return someOf(of, fewMoves) },
		"token":     func() string { return c.token },
	}
}

// In lists, a transaction shows so many of its legs, the four of a trade, and a text so many characters. On its own
// page it shows all. The picture of a transaction shows so many moves.
const fewLegs, briefChars, fewMoves = 4, 60, 12

// some are the first of a list, and how many others there are.
type some[T any] struct {
	First  []T
	Others int
}

func someOf[T any](all []T, most int) some[T] {
	n := min(len(all), most)
	return some[T]{all[:n], len(all) - n}
}

// brief is the beginning of a text.
func brief(text string) string {
	n := 0
	for i := range text {
		if n++; n > briefChars {
			return text[:i] + "…"
		}
	}
	return text
}

// when shows a time of the API for people: in UTC, to the second.
func when(text string) string {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return text
	}
	return at.UTC().Format("2006-01-02 15:04:05")
}

// secured adds the headers that keep pages to themselves. Nothing is loaded from elsewhere, and no other page may show
// one of these in a frame.
func secured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; "+
			"connect-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// show answers with a page, or with the page of an error.
func (c *Console) show(w http.ResponseWriter, r *http.Request, v view, err error) {
	switch {
	case err != nil:
		v = c.problem(r.Context(), err)
	case v.location != "":
		http.Redirect(w, r, v.location, http.StatusSeeOther)
		return
	}
	var page bytes.Buffer
	if err := c.pages[v.name].Execute(&page, c.content(v)); err != nil {
		http.Error(w, "the page cannot be shown: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if v.status != 0 {
		w.WriteHeader(v.status)
	}
	_, _ = page.WriteTo(w) // an error is that of a reader who left
}

// content is what a template gets.
func (c *Console) content(v view) any {
	return struct {
		Title, User string
		IsOwn       bool // the console shows what its own user sees, and nothing else
		Data        any
	}{v.title, c.user, c.at.User != "", v.data}
}

// pathOf is the path of the page of one of the accounts, assets, groups or transactions.
func pathOf(kind, id string) string { return Path + kind + "/" + url.PathEscape(id) }

// here is the address of a page.
type here struct{ *url.URL }

// With is where the page is with another value in its query, "" for none. All else that was chosen stays.
func (h here) With(name, value string) template.URL {
	q := h.Query()
	if q.Set(name, value); value == "" {
		q.Del(name)
	}
	return template.URL(h.EscapedPath() + "?" + q.Encode()) // every part of it is escaped
}

// errNowhere is of a path that leads nowhere.
var errNowhere = errors.New("there is no such page")

func (c *Console) nowhere(*http.Request) (view, error) { return view{}, errNowhere }

// problem shows an error in the API's words.
func (c *Console) problem(ctx context.Context, err error) view {
	status := statusOf(err)
	return view{name: "problem", title: http.StatusText(status), status: status, data: c.explain(ctx, err)}
}

// statusOf returns the status of the page of an error.
func statusOf(err error) int {
	if refused, ok := errors.AsType[*client.Error](err); ok {
		return refused.Status
	}
	_, isPast := errors.AsType[pastError](err)
	_, isEscape := errors.AsType[url.EscapeError](err)
	_, isLarge := errors.AsType[*http.MaxBytesError](err)
	switch {
	case isPast, isEscape, errors.Is(err, errUser):
		return http.StatusBadRequest
	case errors.Is(err, errForged):
		return http.StatusForbidden
	case errors.Is(err, errNowhere), errors.Is(err, client.ErrID):
		return http.StatusNotFound
	case isLarge:
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusBadGateway
}

// explain returns the text of an error, with amounts in decimals. What the API calls its errors stands in the lines
// below. Texts of others in it, such as keys of metadata, do not turn lines around: what cannot be seen is escaped.
func (c *Console) explain(ctx context.Context, err error) string {
	text := strings.Replace(c.units.InDecimals(ctx, err).Error(), "; see errors.", ":", 1)
	return escaped(text, func(r rune) bool { return r == '\n' || unicode.IsPrint(r) })
}

// live tells a page, by an event, whenever there is a newer transaction than before. It ends after a while, and the
// browser asks again.
func (c *Console) live(w http.ResponseWriter, r *http.Request) {
	const every, most = time.Second, 30
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w)
	_ = flush.Flush() // the browser learns that it is heard; an error comes again
	newest := r.Header.Get("Last-Event-ID")
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	go func() { // a request to a ledger that does not answer must not hold up the end
		select {
		case <-c.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for range most {
		if id, err := c.newestID(ctx); err == nil && id != newest {
			newest = id
			if _, err := fmt.Fprintf(w, "id: %s\ndata: newer\n\n", id); err != nil || flush.Flush() != nil {
				return
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
