package console

import (
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/internal/days"
)

// defaultDays is the length of a chart or a statement if no days are chosen.
const defaultDays = 30

// period selects the history of an account in one asset or all, between two days.
type period struct {
	account         string
	Asset, From, To string    // as entered in the form, "" if not chosen
	from, to        time.Time // from is inclusive, to is exclusive; zero means unbounded
	zone
}

// latest is the upper bound of a period.
var latest = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// period reads the period from the request. Both of its days are included. Error: a problem.
func (v *visit) period() (period, error) {
	given := func(name string) string { return strings.TrimSpace(v.query.Get(name)) }
	refuse := func(format string, args ...any) error {
		return problem{http.StatusBadRequest, fmt.Sprintf(format, args...)}
	}
	in, err := v.zoneOf(v.query)
	p := period{account: v.id, Asset: given("asset"), From: given("from"), To: given("to"), zone: in}
	if err != nil {
		return p, err
	}
	if asset := p.Asset; asset != "" && !events.ValidID(asset) {
		p.Asset = ""
		return p, refuse("Asset: %q is not an id", asset)
	}
	for _, day := range []struct {
		label, text string
		at          *time.Time
	}{{"From", p.From, &p.from}, {"To", p.To, &p.to}} {
		if day.text == "" {
			continue
		}
		of, err := p.day(day.label, day.text)
		if err != nil {
			return p, err
		}
		at := of.Begin(p.in)
		if day.at == &p.to {
			at = of.End(p.in)
		}
		*day.at = within(at, events.Epoch(), latest)
	}
	if p.To != "" && p.From > p.To {
		return p, refuse("From (%s) must not be after To (%s)", p.From, p.To)
	}
	return p, nil
}

// within clamps t to the range from least to most.
func within(t, least, most time.Time) time.Time {
	if t.Before(least) {
		return least
	}
	if t.After(most) {
		return most
	}
	return t
}

// URL returns the URL of a file (chart or statement) for this period.
func (p period) URL(file string) template.URL {
	q := url.Values{"asset": {p.Asset}, "from": {p.From}, "to": {p.To}}
	if p.Zone() != "" {
		q.Set(zoneParam, p.Zone())
	}
	return template.URL(pathOf("accounts", p.account) + "/" + file + "?" + q.Encode()) // every part of it is escaped
}

// Days formats the days of charts and statements.
func (p period) Days() string {
	s := p.statement()
	return days.Of(s.From.In(p.in)).String() + " to " + days.Of(client.LastBefore(s.To).In(p.in)).String()
}

// InFuture reports whether the period has not begun.
func (p period) InFuture() bool { return p.from.After(time.Now()) }

// statement returns the query of a statement for the period up to now; by default, for the last defaultDays days.
func (p period) statement() client.StatementQuery {
	now := time.Now().UTC()
	s := client.StatementQuery{Account: p.account, Asset: p.Asset, From: p.from, To: now}
	if !p.to.IsZero() {
		s.To = within(p.to, events.Epoch(), now)
	}
	if s.From.IsZero() {
		s.From = s.To.AddDate(0, 0, -defaultDays)
	}
	s.From = within(s.From, events.Epoch(), s.To)
	return s
}
