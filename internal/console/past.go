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
)

// pastDays is how many days the chart and the statement of an account show, unless days are chosen.
const pastDays = 30

// pastError says, for people, what is wrong with the days that were chosen.
type pastError string

func (e pastError) Error() string { return string(e) }

// past is what is asked of an account's past: of one asset or all, between two days.
type past struct {
	account         string
	Asset, From, To string    // as they stand in the form, "" where nothing is chosen
	from, to        time.Time // from included, to excluded; zero times leave a side open
}

// latest is the last time that a day may be chosen of.
var latest = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// pastOf reads which part of an account's past a request asks for. Days are whole days in UTC, both included. The error
// is a pastError.
func pastOf(r *http.Request) (past, error) {
	q := r.URL.Query()
	p := past{
		account: r.PathValue("id"), Asset: strings.TrimSpace(q.Get("asset")), From: strings.TrimSpace(q.Get("from")),
		To: strings.TrimSpace(q.Get("to")),
	}
	if p.Asset != "" && !events.ValidID(p.Asset) {
		asset := p.Asset
		p.Asset = ""
		return p, pastError(fmt.Sprintf("Asset is %q, which is no id", asset))
	}
	for _, day := range []struct {
		label, text string
		at          *time.Time
		days        int // after its beginning
	}{{"From", p.From, &p.from, 0}, {"To", p.To, &p.to, 1}} {
		if day.text == "" {
			continue
		}
		at, err := time.Parse(time.DateOnly, day.text)
		if err != nil {
			return p, pastError(fmt.Sprintf("%s is %q: it must be a day such as 2026-11-21", day.label, day.text))
		}
		*day.at = within(at.AddDate(0, 0, day.days), events.Epoch(), latest)
	}
	if p.To != "" && p.From > p.To {
		return p, pastError(fmt.Sprintf("From, %s, is after To, %s: choose an earlier day", p.From, p.To))
	}
	return p, nil
}

// within returns the time between two others that is nearest to t.
func within(t, least, most time.Time) time.Time {
	if t.Before(least) {
		return least
	}
	if t.After(most) {
		return most
	}
	return t
}

// URL is where the chart or the statement of this past is.
func (p past) URL(file string) template.URL {
	q := url.Values{"asset": {p.Asset}, "from": {p.From}, "to": {p.To}}
	return template.URL(pathOf("accounts", p.account) + "/" + file + "?" + q.Encode()) // every part of it is escaped
}

// Days says between which days charts and statements are.
func (p past) Days() string {
	s := p.statement()
	return s.From.Format(time.DateOnly) + " to " + s.To.Add(-time.Microsecond).Format(time.DateOnly)
}

// IsToCome reports whether no part of it is over.
func (p past) IsToCome() bool { return p.from.After(time.Now()) }

// statement asks for what is over: the last days, where nothing else is chosen.
func (p past) statement() client.StatementQuery {
	now := time.Now().UTC()
	s := client.StatementQuery{Account: p.account, Asset: p.Asset, From: p.from, To: now}
	if !p.to.IsZero() {
		s.To = within(p.to, events.Epoch(), now)
	}
	if s.From.IsZero() {
		s.From = s.To.AddDate(0, 0, -pastDays)
	}
	s.From = within(s.From, events.Epoch(), s.To)
	return s
}
