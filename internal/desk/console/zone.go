package console

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"ledger.example/internal/desk/days"
)

// zoneParam is the query parameter with the name of the zone of days. It goes with every page: see carried.
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
	in, _ := zoneOf(v.given())
	return in
}
