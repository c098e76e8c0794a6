package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"ledger.example/client"
	"ledger.example/events"
)

// auditLines is the number of events on a page.
const auditLines = 50

// auditPage is the page of the events of the journal, newest first: who did what, and when.
type auditPage struct {
	Account, Actor, Type string // the filters as entered, "" for none
	Types                []string
	Days                 period
	Error                string // of the filters
	Through              string // until when events were listed that the page looks at
	sought
}

// deed is an event of the journal: who did something, and what to.
type deed struct {
	ID, Type, At, Actor string
	Subjects            []subject
	Texts               []string // what it says besides
	accounts            []string // the ids of all accounts that it names
}

// subject is what an event is about. The kind is transactions, accounts, assets or groups, and "" for a period.
type subject struct{ Kind, ID string }

// URL returns the path of the page of a subject.
func (s subject) URL() string {
	if s.Kind == "" {
		return Path + "periods"
	}
	return pathOf(s.Kind, s.ID)
}

// audit shows who did what. It looks through the journal from the last of the days back to the first one.
func (v *visit) audit() (page, error) {
	given := func(name string) string { return strings.TrimSpace(v.query.Get(name)) }
	data := auditPage{Account: given("account"), Actor: given("actor"), Type: given("type"), Types: events.Types}
	p := page{name: "audit", Title: "Who did what", Data: &data}
	var err error
	switch data.Days, err = v.period(); {
	case err != nil:
		data.Error = err.Error()
	case data.Account != "" && !events.ValidID(data.Account):
		data.Error = fmt.Sprintf("Account: %q is not an id", data.Account)
	case data.Type != "" && !slices.Contains(events.Types, data.Type):
		data.Error = fmt.Sprintf("Type: %q is none of the types of events", data.Type)
	}
	if data.Error != "" {
		p.status = http.StatusBadRequest
		p.rest = func(s *stream) error { return s.show("deeds", &data) }
		return p, nil
	}
	back := newJournalBack(v.api, data.Days, time.Now())
	data.Through = back.until.Format("2006-01-02 15:04:05")
	if !v.query.Has("cursor") {
		v.query.Set("cursor", back.first()) // so that the next pages do not move while events come in
	}
	p.rest = func(s *stream) error {
		if v.query.Has(stopParam) {
			data.Back, data.URLs.GoOn = stoppedText, pageURL{v.r.URL}.With(stopParam, "")
			return s.show("deeds", &data)
		}
		err := look(s, looking[deed]{
			pages: back.page, limit: auditLines, pass: data.has, isFiltered: true,
			back: func(d deed) string { return "Looked back to " + v.dayOf(d.At) },
		}, &data.sought)
		if err != nil {
			return err
		}
		return s.show("deeds", &data)
	}
	return p, nil
}

// has reports whether an event passes the filters. An actor is found by a part of it: some are long.
func (a *auditPage) has(d deed) bool {
	at := timeOf(d.At)
	return (a.Account == "" || slices.Contains(d.accounts, a.Account)) && contains(a.Actor, d.Actor) &&
		(a.Type == "" || a.Type == d.Type) && !at.Before(a.Days.from) && (a.Days.to.IsZero() || at.Before(a.Days.to))
}

// deedOf returns what an entry of the journal says. The actor is only in the canonical form of the event.
func deedOf(e client.JournalEntry) (deed, error) {
	var event struct{ Actor, Description string }
	var made struct {
		ID, Account, Group, User, Role, Name, Reason, State string
		Kind, Description                                   string
		Through                                             string `json:"closed_before"`
		Postings                                            []client.Posting
	}
	err := cmp.Or(json.Unmarshal([]byte(e.Canonical), &event), json.Unmarshal(e.Data, &made))
	if err != nil {
		return deed{}, fmt.Errorf("read the entry %s of the journal: %w", e.ID, err)
	}
	d := deed{ID: e.ID, Type: e.Type, At: e.At, Actor: event.Actor}
	on := func(kind, id string) { d.Subjects = append(d.Subjects, subject{kind, id}) }
	say := func(texts ...string) {
		d.Texts = append(d.Texts, slices.DeleteFunc(texts, func(text string) bool { return text == "" })...)
	}
	switch e.Type {
	case events.TypeAssetRegistered:
		on("assets", made.ID)
		say(made.Name)
	case events.TypeAccountOpened, events.TypeAccountChanged:
		on("accounts", made.ID)
		say(made.Name, made.State)
	case events.TypeGroupRegistered:
		on("groups", made.ID)
		say(made.Name)
	case events.TypePeriodClosed:
		on("", "Periods")
		say("closed before "+timeOf(made.Through).Format("2006-01-02 15:04:05"), made.Reason)
	case events.TypePosted, events.TypeHeld, events.TypeCaptured, events.TypeReleased, events.TypeExpired:
		on("transactions", made.ID)
		for _, p := range made.Postings {
			d.accounts = append(d.accounts, p.Account)
		}
		say(made.Kind, cmp.Or(event.Description, made.Description))
	default: // roles and places in groups
		if made.Account != "" {
			on("accounts", made.Account)
		}
		if made.Group != "" {
			on("groups", made.Group)
		}
		if made.User != "" {
			say("user "+made.User, made.Role)
		}
	}
	for _, s := range d.Subjects {
		if s.Kind == "accounts" {
			d.accounts = append(d.accounts, s.ID)
		}
	}
	return d, nil
}
