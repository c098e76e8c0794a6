// Package console serves web pages that show a ledger, and forms that post to it. It uses only the client of the HTTP
// API, so it shows what the API's caller may see and does what the caller may do. Serve it on loopback: everybody who
// can reach it acts with the client's credentials.
package console

import (
	"cmp"
	"context"
	"crypto/rand"
	"embed"
	"html"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"ledger.example/client"
	"ledger.example/internal/desk/refusals"
	"ledger.example/internal/desk/units"
)

// Path is the prefix of the paths of all pages.
const Path = "/console/"

//go:embed pages/*.html static/*
var files embed.FS

// Console is the handler of all pages. It is safe for concurrent use.
type Console struct {
	http.Handler

	api     *client.Client
	units   *units.Units       // plain, for programs and drawings: pages have those of the visit
	pages   map[string]pageSet // by the name of the notation of amounts
	token   string             // in every form, so that other sites cannot forge one
	running context.Context    // ends at shutdown, and with it the event streams
	address Address

	directories        directories
	transactionParties transactionParties
	limits             background[attention]
	activity           background[activity]
	trials             trials
	pace               pace // of all searches that go on
}

// Address describes how to call the API, for the commands that pages show, and the zone of its days.
type Address struct {
	URL  string         // of the API, without /v1
	Curl string         // curl options for authentication, quoted for a shell, without secrets; may be ""
	User string         // the user that the client acts as; "" for none
	Zone *time.Location // of days, until a reader chooses another one; nil is UTC

	Refusals refusals.Log // nil where the log is elsewhere
}

// New returns the console of the ledger that api calls. When ctx ends, so do the event streams of open pages.
func New(ctx context.Context, api *client.Client, at Address) *Console {
	c := &Console{
		api: api, units: units.New(api, false), pages: make(map[string]pageSet), token: rand.Text(),
		running: ctx, address: at,
		directories:        directories{known: make(map[string]*directory)},
		transactionParties: transactionParties{known: make(map[[2]string][]client.Posting)},
	}
	mux := http.NewServeMux()
	for pattern, answer := range map[string]func(*visit) (page, error){
		"GET " + Path + "{$}":                          (*visit).home,
		"GET " + Path + "live":                         (*visit).live,
		"GET " + Path + "search":                       (*visit).search,
		"GET " + Path + "options":                      (*visit).options,
		"GET " + Path + "transactions":                 listOf("transactions"),
		"GET " + Path + "accounts":                     listOf("accounts"),
		"GET " + Path + "assets":                       listOf("assets"),
		"GET " + Path + "holds":                        listOf("holds"),
		"GET " + Path + "groups":                       listOf("groups"),
		"GET " + Path + "trial-balance":                (*visit).trialBalance,
		"GET " + Path + "trial-balance.csv":            (*visit).trialCSV,
		"GET " + Path + "periods":                      (*visit).periods,
		"GET " + Path + "audit":                        (*visit).audit,
		"GET " + Path + "refusals":                     (*visit).refusals,
		"GET " + Path + "refusals.json":                (*visit).refusalsJSON,
		"GET " + Path + "accounts/{id}":                (*visit).account,
		"GET " + Path + "accounts/{id}/chart.svg":      (*visit).chart,
		"GET " + Path + "accounts/{id}/statement":      (*visit).statementPage,
		"GET " + Path + "accounts/{id}/statement.csv":  (*visit).statementCSV,
		"GET " + Path + "accounts/{id}/statement.json": (*visit).statementJSON,
		"GET " + Path + "assets/{id}":                  (*visit).asset,
		"GET " + Path + "transactions/{id}":            (*visit).transaction,
		"GET " + Path + "groups/{id}":                  (*visit).group,
		"GET " + Path + "do/{id}":                      (*visit).showForm,
		"POST " + Path + "do/{id}":                     (*visit).act,
		"GET " + Path:                                  (*visit).notFound,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			v := c.visit(w, r)
			if err := cmp.Or(v.setUser(), v.setNotation()); err != nil {
				v.render(page{}, err)
				return
			}
			v.render(answer(v))
		})
	}
	mux.HandleFunc("POST "+Path+"user", func(w http.ResponseWriter, r *http.Request) {
		v := c.visit(w, r)
		v.render(v.chooseUser())
	})
	mux.Handle("GET "+Path+"static/", http.StripPrefix(Path, http.FileServerFS(files)))
	c.Handler = http.NewCrossOriginProtection().Handler(protect(mux))
	for _, n := range units.Notations() {
		c.pages[n.Name] = c.parse(c.units.In(n))
	}
	return c
}

// pageSet has the templates of all pages by name.
type pageSet map[string]*template.Template

// parse parses the pages that show amounts in a notation.
func (c *Console) parse(of *units.Units) pageSet {
	all := make(pageSet)
	layout := template.Must(template.New("layout.html").Funcs(c.functions(of)).
		ParseFS(files, "pages/layout.html", "pages/parts.html", "pages/access.html"))
	for _, name := range []string{"home", "list", "search", "account", "asset", "transaction", "group", "user", "form",
		"trial", "problem", "statement", "periods", "audit", "refusals"} {
		all[name] = template.Must(template.Must(layout.Clone()).ParseFS(files, "pages/"+name+".html"))
	}
	all["options"] = layout.Lookup("options")
	return all
}

// menuItem is a link at the top of each page.
type menuItem struct{ Path, Label string }

// menu fits into one row of a desktop's window.
var menu = []menuItem{
	{"transactions", "Transactions"}, {"accounts", "Accounts"}, {"assets", "Assets"}, {"holds", "Holds"},
	{"groups", "Groups"}, {"trial-balance", "Trial balance"}, {"periods", "Periods"}, {"audit", "Audit"},
	{"refusals", "Refusals"},
}

// functions returns the functions of the templates. Those for amounts need assets that of has loaded.
func (c *Console) functions(of *units.Units) template.FuncMap {
	return template.FuncMap{
		"quantity":    of.Quantity,
		"cost":        of.CostCell,
		"available":   of.Available,
		"moved":       func(asset string, in volume) string { return of.Quantity(asset, in.Moved[asset]) },
		"number":      func(n int) string { return of.Notation().Print(strconv.Itoa(n)) },
		"example":     func() string { return of.Notation().Print("50.00") },
		"id":          breakable,
		"name":        func(account string) string { return brief(c.directories.name(account), nameChars) },
		"overdue":     isOverdue,
		"changed":     func(change client.Change) []changedField { return changed(of, change) },
		"texts":       texts,
		"percent":     percentUsed,
		"opens":       func(r client.UsedRate) string { return r.Zone.Text(timeOf(r.OpensAt)) },
		"when":        func(text string) string { return timeOf(text).Format("2006-01-02 15:04:05") },
		"fullCapture": func(t client.Transaction) url.Values { return fullCapture(of, t) },
		"brief":       func(text string) string { return brief(text, briefChars) },
		"legs":        func(all []client.Posting) firstN[client.Posting] { return firstOf(all, legsShown) },
		"moves":       func(legs []client.Posting) firstN[move] { return firstOf(moves(legs), movesShown) },
		"first": func(all []client.Transaction) []client.Transaction {
			return firstOf(all, attentionShown).First
		},
		"menu":  func() []menuItem { return menu },
		"token": func() string { return c.token },
		"late":  func() template.HTML { return template.HTML(c.late()) },
	}
}

const (
	legsShown  = 4  // legs per transaction in a list: a settled trade has four
	briefChars = 60 // characters per text in a list
	nameChars  = 30 // characters of a name beside an id
	movesShown = 10 // moves on the page of a transaction
)

// firstN has the first items of a list, and the number of items that follow.
type firstN[T any] struct {
	First   []T
	More    int
	AtLeast bool // there may be more than that
}

func firstOf[T any](all []T, most int) firstN[T] {
	n := min(len(all), most)
	return firstN[T]{First: all[:n], More: len(all) - n}
}

// breakable returns an id in HTML. Lines break after its colons.
func breakable(id string) template.HTML {
	return template.HTML(strings.TrimSuffix(strings.ReplaceAll(html.EscapeString(id), ":", ":<wbr>"), "<wbr>"))
}

// brief shortens a text to most characters.
func brief(text string, most int) string {
	n := 0
	for i := range text {
		if n++; n > most {
			return text[:i] + "…"
		}
	}
	return text
}

// timeOf returns a time of the API in UTC, the zero time if the text is none.
func timeOf(text string) time.Time {
	at, _ := time.Parse(time.RFC3339Nano, text)
	return at.UTC()
}

// pathOf returns the path of the page of an item. The kind is accounts, assets, groups or transactions.
func pathOf(kind, id string) string { return Path + kind + "/" + url.PathEscape(id) }

// pageURL is the URL of the current page.
type pageURL struct{ *url.URL }

// With returns the URL with query parameters set, given as pairs of name and value, or removed if their value is "".
func (h pageURL) With(pairs ...string) template.URL {
	q := h.Query()
	for pair := range slices.Chunk(pairs, 2) {
		if q.Set(pair[0], pair[1]); pair[1] == "" {
			q.Del(pair[0])
		}
	}
	return template.URL(h.EscapedPath() + "?" + q.Encode()) // every part of it is escaped
}

// protect forbids pages to load anything from other sites, and other sites to show pages in a frame. It refuses what a
// page of another site or port loads: images, scripts, frames. Some pages cost many requests to the API. Other sites
// may link to a page.
func protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; "+
			"connect-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		isLink := r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
		switch site := r.Header.Get("Sec-Fetch-Site"); {
		case site == "", site == "none", site == "same-origin", isLink: // old browsers and curl send none
			next.ServeHTTP(w, r)
		default:
			http.Error(w, "The console does not answer pages of other sites.", http.StatusForbidden)
		}
	})
}
