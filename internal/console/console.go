// Package console serves web pages that show a ledger, and forms that post to it. It uses only the client of the HTTP
// API, so it shows what the API's caller may see and does what the caller may do. Serve it on loopback: everybody who
// can reach it acts with the client's credentials.
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

// Path is the prefix of the paths of all pages.
const Path = "/console/"

//go:embed pages/*.html static/*
var files embed.FS

// Console is the handler of all pages. It is safe for concurrent use.
type Console struct {
	http.Handler

	api     *client.Client
	units   *units.Units
	pages   map[string]*template.Template
	token   string          // in every form, so that other sites cannot forge one
	done    <-chan struct{} // closed at shutdown: ends the event streams
	address Address
	user    string // the user that requests to the API are sent as; "" for none
}

// Address describes how to call the API, for the commands that pages show.
type Address struct {
	URL  string // of the API, without /v1
	Curl string // curl options for authentication, quoted for a shell, without secrets; may be ""
	User string // the user that the client acts as; "" for none
}

// New returns the console of the ledger that api calls. When ctx ends, so do the event streams of open pages.
func New(ctx context.Context, api *client.Client, at Address) *Console {
	c := &Console{
		api: api, units: units.New(api, false), pages: make(map[string]*template.Template), token: rand.Text(),
		done: ctx.Done(), address: at, user: at.User,
	}
	mux := http.NewServeMux()
	serve := func(pattern string, answer func(*Console, http.ResponseWriter, *http.Request)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			as, err := c.as(r)
			if err != nil {
				as.render(w, r, view{}, err)
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
		"GET " + Path:                       (*Console).notFound,
	} {
		serve(pattern, func(as *Console, w http.ResponseWriter, r *http.Request) {
			v, err := page(as, r)
			as.render(w, r, v, err)
		})
	}
	for pattern, answer := range map[string]func(*Console, http.ResponseWriter, *http.Request){
		"GET " + Path + "live":                         (*Console).streamNewest,
		"GET " + Path + "accounts/{id}/chart.svg":      (*Console).chart,
		"GET " + Path + "accounts/{id}/statement.csv":  (*Console).statementCSV,
		"GET " + Path + "accounts/{id}/statement.json": (*Console).statementJSON,
	} {
		serve(pattern, answer)
	}
	mux.HandleFunc("POST "+Path+"user", c.setUser)
	mux.Handle("GET "+Path+"static/", http.StripPrefix(Path, http.FileServerFS(files)))
	c.Handler = http.NewCrossOriginProtection().Handler(withSecurityHeaders(refuseForeignLoads(mux)))
	for _, name := range []string{"home", "search", "account", "asset", "transaction", "group", "groups", "user",
		"form", "problem"} {
		c.pages[name] = template.Must(template.New("layout.html").Funcs(c.functions()).
			ParseFS(files, "pages/layout.html", "pages/parts.html", "pages/access.html", "pages/"+name+".html"))
	}
	c.pages["newest"] = template.Must(template.New("newest").Funcs(c.functions()).
		ParseFS(files, "pages/parts.html"))
	return c
}

// view is one page, or a redirect.
type view struct {
	name     string // of the template
	title    string
	status   int // 0: 200
	data     any
	location string // redirects to this path unless it is ""
}

// functions returns the functions of the templates. Those for amounts need assets that c.units has loaded.
func (c *Console) functions() template.FuncMap {
	return template.FuncMap{
		"quantity":    c.units.Quantity,
		"cost":        c.units.CostCell,
		"available":   c.units.Available,
		"when":        when,
		"fullCapture": c.fullCapture,
		"brief":       brief,
		"legs":        func(all []client.Posting) firstN[client.Posting] { return firstOf(all, legsShown) },
		"moves":       func(all []move) firstN[move] { return firstOf(all, movesShown) },
		"token":       func() string { return c.token },
	}
}

const (
	legsShown  = 4  // legs per transaction in a list: a settled trade has four
	briefChars = 60 // characters per text in a list
	movesShown = 12 // moves on the page of a transaction
)

// firstN has the first items of a list, and the number of items that follow.
type firstN[T any] struct {
	First []T
	More  int
}

func firstOf[T any](all []T, most int) firstN[T] {
	n := min(len(all), most)
	return firstN[T]{all[:n], len(all) - n}
}

// brief shortens a text to briefChars characters.
func brief(text string) string {
	n := 0
	for i := range text {
		if n++; n > briefChars {
			return text[:i] + "…"
		}
	}
	return text
}

// when formats a time of the API in UTC, to the second.
func when(text string) string {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return text
	}
	return at.UTC().Format("2006-01-02 15:04:05")
}

// withSecurityHeaders forbids pages to load anything from other sites, and other sites to show pages in a frame.
func withSecurityHeaders(next http.Handler) http.Handler {
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

// refuseForeignLoads refuses what a page of another site or port loads: images, scripts, frames. Some pages cost many
// requests to the API. Other sites may link to a page.
func refuseForeignLoads(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		isLink := r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
		switch site := r.Header.Get("Sec-Fetch-Site"); site {
		case "", "none", "same-origin": // old browsers and curl send none
		default:
			if !isLink {
				http.Error(w, "The console does not answer pages of other sites.", http.StatusForbidden)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// render answers with a page, a redirect, or the page of an error.
func (c *Console) render(w http.ResponseWriter, r *http.Request, v view, err error) {
	switch {
	case err != nil:
		v = c.errorView(r.Context(), err)
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
	_, _ = page.WriteTo(w) // the only error is a closed connection
}

// content returns the data that the layout template needs.
func (c *Console) content(v view) any {
	return struct {
		Title, User string
		IsFixed     bool // the console acts as one user, which pages cannot change
		Data        any
	}{v.title, c.user, c.address.User != "", v.data}
}

// pathOf returns the path of the page of an item. The kind is accounts, assets, groups or transactions.
func pathOf(kind, id string) string { return Path + kind + "/" + url.PathEscape(id) }

// pageURL is the URL of the current page.
type pageURL struct{ *url.URL }

// With returns the URL with one query parameter set, or removed if value is "".
func (h pageURL) With(name, value string) template.URL {
	q := h.Query()
	if q.Set(name, value); value == "" {
		q.Del(name)
	}
	return template.URL(h.EscapedPath() + "?" + q.Encode()) // every part of it is escaped
}

var errNotFound = errors.New("page not found")

func (c *Console) notFound(*http.Request) (view, error) { return view{}, errNotFound }

// errorView returns the page that shows an error.
func (c *Console) errorView(ctx context.Context, err error) view {
	status := statusOf(err)
	return view{name: "problem", title: http.StatusText(status), status: status, data: c.errorText(ctx, err)}
}

// statusOf returns the HTTP status of the page that shows an error.
func statusOf(err error) int {
	if refused, ok := errors.AsType[*client.Error](err); ok {
		return refused.Status
	}
	_, isPast := errors.AsType[periodError](err)
	_, isEscape := errors.AsType[url.EscapeError](err)
	_, isLarge := errors.AsType[*http.MaxBytesError](err)
	switch {
	case isPast, isEscape, errors.Is(err, errUser):
		return http.StatusBadRequest
	case errors.Is(err, errNotOurForm):
		return http.StatusForbidden
	case errors.Is(err, errNotFound), errors.Is(err, client.ErrID):
		return http.StatusNotFound
	case isLarge:
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusBadGateway
}

// errorText returns the text of an error, with amounts in decimals, and one line per invalid field. It escapes
// invisible characters, because the text may quote input such as metadata keys.
func (c *Console) errorText(ctx context.Context, err error) string {
	text := strings.Replace(c.units.InDecimals(ctx, err).Error(), "; see errors.", ":", 1)
	return escaped(text, func(r rune) bool { return r == '\n' || unicode.IsPrint(r) })
}

// streamNewest sends a server-sent event whenever there is a newer transaction. It ends after a while, and
// then the browser reconnects.
func (c *Console) streamNewest(w http.ResponseWriter, r *http.Request) {
	const every, most = time.Second, 30
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w)
	_ = flush.Flush() // sends the headers; an error shows up at the next write
	newest := r.Header.Get("Last-Event-ID")
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	go func() { // a hanging request to the ledger must not delay the shutdown
		select {
		case <-c.done:
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
