package console

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"ledger.example/internal/days"
)

// zoneParam is the query parameter with the name of the zone of days. It goes with every page: see carried.
const zoneParam = "zone"

// zone is the time zone of the days of a page.
type zone struct {
	in       *time.Location // nil for none
	standard *time.Location // that of pages without a choice
}

// zoneOf returns the zone in a query or a form, by default that of the console. Error: a problem.
func (c *Console) zoneOf(given url.Values) (zone, error) {
	standard := cmp.Or(c.address.Zone, time.UTC)
	name := strings.TrimSpace(given.Get(zoneParam))
	if name == "" {
		return zone{standard, standard}, nil
	}
	in, err := days.Zone(name)
	if err != nil {
		return zone{standard, standard}, problem{http.StatusBadRequest, fmt.Sprintf("Zone: %q %v", name, err)}
	}
	return zone{in, standard}, nil
}

// Zone returns the name of the zone, for links and forms, "" for the default.
func (z zone) Zone() string {
	if z.in == nil || z.ZoneName() == z.standard.String() {
		return ""
	}
	return z.ZoneName()
}

// ZoneName returns the name of the zone.
func (z zone) ZoneName() string { return cmp.Or(z.in, time.UTC).String() }

// day parses a day. The error begins with the label of its field.
func (z zone) day(label, text string) (days.Day, error) {
	day, err := days.Parse(text)
	if err != nil {
		return day, problem{http.StatusBadRequest, fmt.Sprintf("%s: %q is not a day such as 2026-11-21", label, text)}
	}
	return day, nil
}

// zoneChoice is the form that chooses the zone of a page, and keeps the other parameters of its address.
type zoneChoice struct {
	Path, Name string
	Others     []parameter
	Common     []string // some zones; any other can be typed
}

// parameter is a query parameter of a page.
type parameter struct{ Name, Value string }

// commonZones are offered first: one or some of each hour.
var commonZones = []string{
	"UTC", "Pacific/Honolulu", "America/Los_Angeles", "America/Denver", "America/Chicago", "America/New_York",
	"America/Sao_Paulo", "Europe/London", "Europe/Berlin", "Europe/Paris", "Africa/Lagos", "Africa/Johannesburg",
	"Europe/Athens", "Europe/Istanbul", "Asia/Dubai", "Asia/Karachi", "Asia/Kolkata", "Asia/Dhaka", "Asia/Jakarta",
	"Asia/Shanghai", "Asia/Singapore", "Asia/Tokyo", "Australia/Sydney", "Pacific/Auckland",
}

// zones returns the choice of the zone of a page, nil for a page without one. A place in a list may not be there in
// another zone, so it is not kept.
func (v *visit) zones(p page) *zoneChoice {
	if !v.hasChoices(p) {
		return nil
	}
	choice := zoneChoice{Path: v.r.URL.EscapedPath(), Name: v.chosen().ZoneName(), Common: commonZones}
	for _, name := range slices.Sorted(maps.Keys(v.query)) {
		if name == zoneParam || name == "cursor" || name == stopParam {
			continue
		}
		for _, value := range v.query[name] {
			choice.Others = append(choice.Others, parameter{name, value})
		}
	}
	return &choice
}

// chosen returns the zone of the visit, the console's if it has none, or no valid one.
func (v *visit) chosen() zone {
	in, _ := v.zoneOf(v.given())
	return in
}
