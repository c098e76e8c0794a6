package api

import (
	"bytes"
	_ "embed"
	"html/template"
	"net/http"
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

// home is a page for people who open the API in a browser.
func (a *api) home(*request) (reply, error) {
	page, err := template.New("home").Parse(homePage)
	if err != nil {
		return reply{}, err
	}
	type line struct{ Method, Pattern, Summary string }
	lines := make([]line, len(a.routes))
	for i, r := range a.routes {
		lines[i] = line{r.method, r.pattern, r.summary}
	}
	var b bytes.Buffer
	if err := page.Execute(&b, map[string]any{"Version": a.Version, "Routes": lines}); err != nil {
		return reply{}, err
	}
	return ok(raw{"text/html; charset=utf-8", b.Bytes()})
}
