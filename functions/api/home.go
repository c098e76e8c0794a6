package api

import (
	_ "embed"
	"fmt"
	"html"
	"net/http"
	"strings"
)

//go:embed home.html
var homePage string

//go:embed openapi.json
var openAPI []byte

// health tells that the process answers, and which program it is. It asks nothing of the table.
func (a *api) health(*request) (reply, error) { return ok(health{"ok", a.Version}) }

func (a *api) openapi(*request) (reply, error) {
	return reply{status: http.StatusOK, body: raw{jsonType, openAPI}, fixed: true}, nil
}

// home is a page for people who open the API in a browser. It is filled in by hand: the template packages find methods
// by name, which makes the linker keep every method of the SDK.
func (a *api) home(r *request) (reply, error) {
	var lines strings.Builder
	for _, known := range a.routes {
		fmt.Fprintf(&lines, "<tr><td><code>%s</code></td><td><code>%s</code></td><td>%s</td></tr>\n",
			html.EscapeString(known.method), html.EscapeString(known.pattern), html.EscapeString(known.summary))
	}
	scheme := "http"
	if r.Header.Get("X-Forwarded-Proto") == "https" {
		scheme = "https"
	}
	page := strings.NewReplacer(
		"{{version}}", html.EscapeString(a.Version),
		"{{base}}", html.EscapeString(scheme+"://"+r.Host),
		"{{routes}}", lines.String(),
	).Replace(homePage)
	return ok(raw{"text/html; charset=utf-8", []byte(page)})
}
