package api

import (
	_ "embed"
	"fmt"
	"html"
	"strconv"
	"strings"

	"ledger.example/ledger"
)

// The pages for people use string replacement. With html/template, which calls methods by name, the linker would keep
// every method of the SDK.
var (
	//go:embed page.html
	emptyPage string
	//go:embed home.html
	homePage string
	//go:embed problems.html
	problemsPage string
	//go:embed problem.html
	problemPage string
)

//go:embed openapi.json
var openAPI []byte

// OpenAPI returns the OpenAPI document. It must not be changed.
func OpenAPI() []byte { return openAPI }

// health is the answer to a health check.
type health struct {
	Status  string `json:"status"`
	Version string `json:"version"`
}

// health answers with the version of the program. It does not read the table.
func (a *api) health(*request) (reply, error) { return ok(health{"ok", a.config.Version}) }

// openapi answers with the OpenAPI document.
func (a *api) openapi(*request) (reply, error) {
	return ok(raw{mediaType: jsonType, text: openAPI})
}

// home answers with a page for people who open the API in a browser.
func (a *api) home(r *request) (reply, error) {
	var rows strings.Builder
	for _, known := range a.routes {
		fmt.Fprintf(&rows, "<tr><td><code>%s</code></td><td><code>%s</code></td><td>%s</td></tr>\n",
			html.EscapeString(known.Method), html.EscapeString(known.Path), html.EscapeString(known.Summary))
	}
	scheme := "http"
	if r.http.Header.Get("X-Forwarded-Proto") == "https" {
		scheme = "https"
	}
	content := strings.Replace(homePage, "{{routes}}", rows.String(), 1)
	console := ""
	if a.config.Console != "" {
		console = "<p><a href=\"" + html.EscapeString(a.config.Console) + "\">Open the console</a>, which shows this " +
			"ledger and posts to it.</p>\n"
	}
	content = strings.Replace(content, "{{console}}", console, 1)
	return ok(showPage("Ledger", fill(content, "version", a.config.Version, "base", scheme+"://"+r.http.Host)))
}

// problemsPath is the prefix of the type of a problem. The code follows.
const problemsPath = "/problems/"

// problems answers with a page that lists all problems.
func (a *api) problems(*request) (reply, error) {
	var rows strings.Builder
	for _, k := range kinds() {
		code := html.EscapeString(string(k.Code))
		fmt.Fprintf(&rows, "<tr><td>%d</td><td><a href=\"problems/%s\"><code>%s</code></a></td><td>%s</td></tr>\n",
			k.Status, code, code, html.EscapeString(k.Title))
	}
	return ok(showPage("Problems", strings.Replace(problemsPage, "{{rows}}", rows.String(), 1)))
}

// problem answers with a page about one problem. Its path is the type of the problem.
func (a *api) problem(r *request) (reply, error) {
	k := kindOf(ledger.Code(r.ids["code"]))
	if string(k.Code) != r.ids["code"] {
		return reply{}, newProblem(codeNotFound, "This problem does not exist; GET /problems lists all.")
	}
	return ok(showPage(k.Title, fill(problemPage, "code", string(k.Code), "status", strconv.Itoa(k.Status),
		"title", k.Title, "meaning", k.Meaning, "advice", k.Advice)))
}

// showPage returns a page. content is HTML; title is escaped.
func showPage(title, content string) raw {
	page := strings.Replace(fill(emptyPage, "title", title), "{{content}}", content, 1)
	return raw{mediaType: "text/html; charset=utf-8", text: []byte(page)}
}

// fill replaces names in double braces by escaped texts. pairs alternates names and texts.
func fill(page string, pairs ...string) string {
	for i := 0; i+1 < len(pairs); i += 2 {
		page = strings.ReplaceAll(page, "{{"+pairs[i]+"}}", html.EscapeString(pairs[i+1]))
	}
	return page
}
