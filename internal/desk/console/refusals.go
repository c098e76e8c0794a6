package console

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"ledger.example/internal/desk/refusals"
)

// refusalsPage is the page of the writes that the ledger refused.
type refusalsPage struct {
	zone
	Query  refusals.Query
	Error  string
	Rows   []refusedWrite
	More   bool
	IsKept bool   // this console has the log
	User   string // whose refusals are shown, "" for all
}

// refusedWrite is a line of the page.
type refusedWrite struct {
	refusals.Refusal
	When, Sentence string
}

// refusalsQuery returns what the page is asked for. As a user, one sees only one's own.
func (v *visit) refusalsQuery() (q refusals.Query, err error) {
	given := func(name string) string { return strings.TrimSpace(v.query.Get(name)) }
	q = refusals.Query{ID: given("id"), User: given("by"), Code: given("code")}
	if v.user != "" {
		q.User = v.user
	}
	if text := given("since"); text != "" {
		if q.Since, err = time.Parse(time.RFC3339, text); err != nil {
			return q, problem{http.StatusBadRequest, "since: must be a time such as 2026-01-31T12:00:00Z"}
		}
	}
	return q, nil
}

// refusals shows why writes were refused.
func (v *visit) refusals() (page, error) {
	q, err := v.refusalsQuery()
	if err != nil {
		return page{}, err
	}
	data := refusalsPage{zone: v.chosen(), Query: q, IsKept: v.address.Refusals != nil, User: v.user}
	if data.Rows, data.More, err = v.refusedWrites(q); err != nil {
		return page{}, err
	}
	return page{name: "refusals", Title: "Refused writes", Data: &data}, nil
}

// refusedWrites returns what the log has, none if it is elsewhere.
func (v *visit) refusedWrites(q refusals.Query) (all []refusedWrite, more bool, err error) {
	if v.address.Refusals == nil {
		return nil, false, nil
	}
	found, err := v.address.Refusals.Refusals(v.ctx, q)
	for _, r := range found.Data {
		when := r.At.In(v.chosen().in).Format("2006-01-02 15:04:05")
		all = append(all, refusedWrite{r, when, sentences[r.Code]})
	}
	return all, found.More, err
}

// refusalsJSON answers the command line.
func (v *visit) refusalsJSON() (page, error) {
	q, err := v.refusalsQuery()
	switch {
	case err != nil:
		return page{}, err
	case v.address.Refusals == nil:
		return page{}, errNotFound
	}
	found, err := v.address.Refusals.Refusals(v.ctx, q)
	if err != nil {
		return page{}, err
	}
	v.w.Header().Set("Content-Type", "application/json")
	return page{}, json.NewEncoder(v.w).Encode(found)
}
