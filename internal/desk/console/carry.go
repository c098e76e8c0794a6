package console

import (
	"html"
	"html/template"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ledger.example/internal/desk/units"
)

// notationParam is the query parameter with the name of the notation of amounts. A form has it too, so that its amounts
// are read as its page has printed them.
const notationParam = "amounts"

// given returns the fields of a submitted form, otherwise the query.
func (v *visit) given() url.Values {
	if v.r.PostForm != nil {
		return v.r.PostForm
	}
	return v.query
}

// setNotation takes the notation of amounts from the query or the form. Error: a problem.
func (v *visit) setNotation() error {
	if v.r.Method == http.MethodPost {
		if _, err := v.posted(); err != nil {
			return err
		}
	}
	name := v.given().Get(notationParam)
	for _, n := range units.Notations() {
		if n.Name == name {
			v.units = v.units.In(n)
		}
	}
	if name != "" && v.units.Notation().Name != name {
		return problem{http.StatusBadRequest, "Amounts: this is no notation; choose one at the end of a page"}
	}
	return nil
}

// notation is a choice of the notation of amounts.
type notation struct {
	Name     string
	URL      template.URL
	IsChosen bool
}

// hasChoices reports whether a page offers choices that links carry on. A form does not: it may hold amounts and days
// already.
func (v *visit) hasChoices(p page) bool {
	return p.name != "form" && p.name != "problem" && v.r.Method == http.MethodGet
}

// notations returns the choices of a page.
func (v *visit) notations(p page) (all []notation) {
	if !v.hasChoices(p) {
		return nil
	}
	for _, n := range units.Notations() {
		url := pageURL{v.r.URL}.With(notationParam, n.Name)
		all = append(all, notation{n.Name, url, n.Name == v.units.Notation().Name})
	}
	return all
}

// carried returns the choices that every link and form of a page carries on, so that they hold until others are chosen:
// the zone and the notation, without the defaults.
func (v *visit) carried() url.Values {
	all := url.Values{}
	if zone := v.chosen().Zone(); zone != "" {
		all.Set(zoneParam, zone)
	}
	if name := v.units.Notation().Name; name != units.Notations()[0].Name {
		all.Set(notationParam, name)
	}
	return all
}

// A link to a page of the console, and the beginning of a form, as templates write them: quotes within are escaped.
var (
	pageLink = regexp.MustCompile(`(<a [^>]*href=")((?:` + Path + `|\?)[^"]*)"`)
	formTag  = regexp.MustCompile(`<form[^>]*>`)
)

// zonesTag begins the form that chooses the zone.
const zonesTag = `<form class="zones"`

// carry adds choices to each link and to each form of a page.
func carry(page []byte, all url.Values) []byte {
	if len(all) == 0 {
		return page
	}
	page = pageLink.ReplaceAllFunc(page, func(link []byte) []byte {
		parts := pageLink.FindSubmatch(link)
		return []byte(string(parts[1]) + html.EscapeString(with(html.UnescapeString(string(parts[2])), all)) + `"`)
	})
	hidden := ""
	for _, name := range []string{zoneParam, notationParam} {
		if value := all.Get(name); value != "" {
			hidden += `<input type="hidden" name="` + name + `" value="` + html.EscapeString(value) + `">`
		}
	}
	return formTag.ReplaceAllFunc(page, func(tag []byte) []byte {
		if string(tag[:min(len(tag), len(zonesTag))]) == zonesTag { // it has all that its page has
			return tag
		}
		return slices.Concat(tag, []byte(hidden))
	})
}

// with adds choices to the path and query of a page that has none.
func with(address string, all url.Values) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	has := u.Query()
	for _, name := range []string{zoneParam, notationParam} {
		if value := all.Get(name); value != "" && !has.Has(name) {
			u.RawQuery = strings.TrimPrefix(u.RawQuery+"&"+url.Values{name: {value}}.Encode(), "&")
		}
	}
	return u.String()
}

// number prints a count in the notation of amounts.
func (v *visit) number(n int) string { return v.units.Notation().Print(strconv.Itoa(n)) }
