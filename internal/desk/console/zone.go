package console

import (
	"cmp"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"ledger.example/internal/desk/days"
)

// zoneParam is the query parameter with the name of the zone of days. It goes with every page: see carry.
const zoneParam = "zone"

// zone is the time zone of the days of a page.
type zone struct {
	in *time.Location
}

// zoneOf returns the zone in a query or a form, by default UTC. Error: a problem.
func zoneOf(given url.Values) (zone, error) {
	name := strings.TrimSpace(given.Get(zoneParam))
	if name == "" {
		return zone{time.UTC}, nil
	}
	in, err := days.Zone(name)
	if err != nil {
		return zone{time.UTC}, problem{http.StatusBadRequest, fmt.Sprintf("Zone: %q %v", name, err)}
	}
	return zone{in}, nil
}

// Zone returns the name of the zone, for links and forms, "" for UTC.
func (z zone) Zone() string {
	if z.in == nil || z.in == time.UTC {
		return ""
	}
	return z.in.String()
}

// ZoneName returns the name of the zone.
func (z zone) ZoneName() string { return cmp.Or(z.Zone(), "UTC") }

// day parses a day. The error begins with the label of its field.
func (z zone) day(label, text string) (days.Day, error) {
	day, err := days.Parse(text)
	if err != nil {
		return day, problem{http.StatusBadRequest, fmt.Sprintf("%s: %q is not a day such as 2026-11-21", label, text)}
	}
	return day, nil
}

// chosen returns the zone of the visit, UTC if it has none, or no valid one.
func (v *visit) chosen() zone {
	given := v.query
	if v.r.PostForm != nil {
		given = v.r.PostForm
	}
	in, _ := zoneOf(given)
	return in
}

// A link to a page of the console, and the beginning of a form, as templates write them: quotes within are escaped.
var (
	pageLink = regexp.MustCompile(`(<a [^>]*href=")((?:` + Path + `|\?)[^"]*)"`)
	formTag  = regexp.MustCompile(`<form[^>]*>`)
)

// carry adds the zone to each link and to each form of a page, so that it holds until another one is chosen.
func (z zone) carry(page []byte) []byte {
	if z.Zone() == "" {
		return page
	}
	page = pageLink.ReplaceAllFunc(page, func(link []byte) []byte {
		parts := pageLink.FindSubmatch(link)
		address := z.with(html.UnescapeString(string(parts[2])))
		return []byte(string(parts[1]) + html.EscapeString(address) + `"`)
	})
	hidden := `<input type="hidden" name="` + zoneParam + `" value="` + html.EscapeString(z.Zone()) + `">`
	return formTag.ReplaceAll(page, []byte("${0}"+strings.ReplaceAll(hidden, "$", "$$")))
}

// with adds the zone to the path and query of a page that has none.
func (z zone) with(address string) string {
	u, err := url.Parse(address)
	if err != nil || z.Zone() == "" || u.Query().Has(zoneParam) {
		return address
	}
	u.RawQuery = strings.TrimPrefix(u.RawQuery+"&"+url.Values{zoneParam: {z.Zone()}}.Encode(), "&")
	return u.String()
}
