// Package refusals says which writes the API refused, and why. A refusal writes nothing, so only the log of the API has
// it.
package refusals

import (
	"context"
	"strings"
	"time"
)

// Refusal is a line of the log about a refused write. It has no accounts and no amounts.
type Refusal struct {
	At          time.Time `json:"at"`
	Transaction string    `json:"transaction"` // "" if the request was about none, or about many
	Code        string    `json:"code"`
	Status      int       `json:"status"`
	Method      string    `json:"method"`
	Route       string    `json:"route"`
	Actor       string    `json:"actor"`
	RequestID   string    `json:"request_id"`
}

// Query selects refusals. An empty text selects all.
type Query struct {
	ID    string // of the transaction
	User  string // who sent the request, or for whom it was sent
	Code  string
	Since time.Time
}

// Via separates a user from the service that acts for them, in the name of an actor.
const Via = " via "

// Has reports whether a query selects a refusal.
func (q Query) Has(r Refusal) bool {
	return (q.ID == "" || r.Transaction == q.ID) && (q.Code == "" || r.Code == q.Code) && !r.At.Before(q.Since) &&
		(q.User == "" || r.Actor == q.User || strings.HasPrefix(r.Actor, q.User+Via))
}

// Page has refusals, newest first.
type Page struct {
	Data []Refusal `json:"data"`
	More bool      `json:"more"` // there are older ones, or there may be
}

// Most is the most refusals of a page.
const Most = 1000

// Log is a log of the API that can be asked.
type Log interface {
	Refusals(ctx context.Context, q Query) (Page, error)
}
