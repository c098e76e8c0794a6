package api

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/ledger"
	"ledger.example/projections"
)

const (
	ruleStatus = "must be held, captured, released or expired"
	ruleCost   = "is required with cost"
)

// hold returns the request for a hold from the body's object, nil if there is none.
func (r *request) hold(in *client.Hold) *ledger.HoldRequest {
	if in == nil {
		return nil
	}
	return &ledger.HoldRequest{ExpiresAt: r.body.time("hold.expires_at", in.ExpiresAt)}
}

// part returns the part of a transaction that a capture or a reversal takes. The zero Part means all.
func (r *request) part(in client.Part) ledger.Part {
	p := ledger.Part{Quantity: in.Quantity}
	if in.Cost != nil {
		p.Cost = *in.Cost
	}
	if r.body.has("cost") && !r.body.has("quantity") {
		r.body.add(fieldError{Field: "quantity", Rule: ruleCost})
	}
	if in.Postings != nil {
		p.Postings = make([]events.Taken, len(in.Postings))
		for i, taken := range in.Postings {
			p.Postings[i] = events.Taken(taken)
		}
	}
	return p
}

// capture posts what a hold reserves, in whole or in part. The same capture again gets the first answer.
func (a *api) capture(r *request) (reply, error) {
	var in client.Capture
	r.read(&in)
	return a.endHold(r, ledger.CaptureRequest{
		Transaction: r.ids["id"], Part: r.part(in.Part), Actor: r.actor, DryRun: r.dry,
	})
}

// release ends a hold without posting. The answer is the same if the hold was released before.
func (a *api) release(r *request) (reply, error) {
	var in client.Release
	r.read(&in)
	return a.endHold(r, ledger.ReleaseRequest{
		Transaction: r.ids["id"], Description: in.Description, Actor: r.actor, DryRun: r.dry,
	})
}

// endHold ends the hold of the path, and shows it right after its end.
func (a *api) endHold(r *request, c ledger.Request) (reply, error) {
	if err := r.permit(c); err != nil {
		return reply{}, err
	}
	ctx := r.http.Context()
	if _, err := a.permitEndOrReversal(ctx, r, r.ids["id"], debitedByHold); err != nil {
		return reply{}, err
	}
	ended, err := a.config.Commands.Post(ctx, c)
	if err != nil {
		return reply{}, err
	}
	if r.dry {
		return ok(showEnded(ended).body)
	}
	return showEnded(ended), nil
}

// showEnded shows a hold right after its end, also in a replay.
func showEnded(ended ledger.Posted) reply {
	body := showLifecycle(ledger.Lifecycle{Header: ended.Transaction, Ended: ended.End})
	return reply{status: http.StatusOK, body: body, replayed: ended.Replayed, transaction: body.ID}
}

// postReversal reverses a transaction, in whole or in part.
func (a *api) postReversal(r *request) (reply, error) {
	var in client.Reversal
	r.read(&in)
	c := r.reversal(r.ids["id"], in)
	if err := r.permit(c); err != nil {
		return reply{}, err
	}
	if c.EffectiveAt != nil && !r.caller.Admin {
		return reply{}, backdating()
	}
	ctx := r.http.Context()
	if _, err := a.permitEndOrReversal(ctx, r, c.Transaction, debitedBy(c.Part)); err != nil {
		return reply{}, err
	}
	posted, err := a.config.Commands.Post(ctx, c)
	return answerPosted(r, posted, err)
}

// reversal returns the reversal of a transaction that the body asks for.
func (r *request) reversal(of string, in client.Reversal) ledger.ReverseRequest {
	return ledger.ReverseRequest{
		Annotation:  r.annotation(in.ID, in.Description, in.Metadata, in.EffectiveAt),
		Transaction: of, Part: r.part(in.Part),
	}
}

// listReversals lists the reversals of a transaction, oldest first.
func (a *api) listReversals(r *request, in *client.TransactionID) (reply, error) {
	exists := func(ctx context.Context, id string) error {
		_, err := a.config.Resources.Lifecycle(ctx, id)
		return err
	}
	read := func(ctx context.Context, of string, s projections.Slice) (
		projections.Page[projections.Reversal], error,
	) {
		var listed projections.Page[projections.Reversal]
		err := a.readPermitted(ctx, r, of, func(ctx context.Context) (err error) {
			listed, err = a.config.Lists.ReversalsOf(ctx, of, s)
			return err
		})
		return cutPage(listed, func(v projections.Reversal) (string, int) {
			return strconv.FormatInt(v.Number, 10), maxBytes(projections.Hold{Header: v.Header})
		}), err
	}
	show := func(v projections.Reversal) transaction { return showTransaction(v.Header) }
	return answerList(r, r.list().by(isNumber), in.ID, read, exists, show)
}

// showHold shows a transaction in a list. Lists omit what reversals took back.
func showHold(h projections.Hold) transaction {
	return showLifecycle(ledger.Lifecycle{Header: h.Header, Ended: h.Ended})
}

// statuses are those of holds.
var statuses = []ledger.Status{
	ledger.StatusHeld, ledger.StatusCaptured, ledger.StatusReleased, ledger.StatusExpired,
}

// listHolds lists the holds that debit or credit an account, newest first.
func (a *api) listHolds(r *request) (reply, error) {
	status, given := r.query[paramStatus]
	if given && !slices.Contains(statuses, ledger.Status(status)) {
		r.failOnce(paramStatus, ruleStatus)
	}
	read := func(ctx context.Context, of string, s projections.Slice) (projections.Page[projections.Hold], error) {
		listed, err := a.config.Lists.HoldsOf(ctx, of, status, s)
		if err != nil {
			return listed, err
		}
		accounts := make(map[string]bool)
		listed = cutPage(listed, func(h projections.Hold) (string, int) {
			bytes := maxBytes(h)
			for _, leg := range h.Header.Legs {
				if !r.caller.Admin && !accounts[leg.Account] { // its role is read, so it takes a share of the page
					bytes += pageBytes / accountsMax
					accounts[leg.Account] = true
				}
			}
			return string(h.Header.Legs[0].ID), bytes
		})
		var legs []events.Leg
		for _, h := range listed.Items {
			legs = append(legs, h.Header.Legs...)
		}
		return listed, r.look(ctx, legs, toRead)
	}
	return answerList(r, r.list(paramStatus, status).by(isKSUID), r.ids["account"], read, a.accountExists, showHold)
}

// listOpenHolds lists all holds that have not ended, by their expiry.
func (a *api) listOpenHolds(r *request, _ *struct{}) (reply, error) {
	return answerPage(r, r.list().by(isOpenHold), showHold,
		func(ctx context.Context, s projections.Slice) (projections.Page[projections.Hold], error) {
			listed, err := a.config.Lists.OpenHolds(ctx, s)
			return cutPage(listed, func(h projections.Hold) (string, int) {
				return events.FormatTime(h.Header.ExpiresAt) + "#" + h.Header.ID, maxBytes(h)
			}), err
		})
}

// isOpenHold reports whether text can be a position in the list of open holds.
func isOpenHold(text string) bool {
	expires, id, _ := strings.Cut(text, "#")
	_, err := events.ParseTime(expires)
	return err == nil && events.ValidID(id)
}

// pageBytes is about the most bytes of a page of transactions. A Lambda function answers with at most 6 MB, in which
// the page is an escaped JSON string.
const pageBytes = 3 << 20

// cutPage cuts a page after the items that fit into pageBytes, but not before the second item. about returns an item's
// position in the list and the most bytes that it takes in the answer.
func cutPage[S any](listed projections.Page[S], about func(S) (position string, bytes int)) projections.Page[S] {
	total, last := 0, ""
	for i, item := range listed.Items {
		position, bytes := about(item)
		if total += bytes; total > pageBytes && i > 0 {
			return projections.Page[S]{Items: listed.Items[:i], Next: last}
		}
		last = position
	}
	return listed
}

// maxBytes returns the most bytes that a transaction takes in the answer of a Lambda function.
func maxBytes(h projections.Hold) int {
	const (
		fixed   = 1000 // names, times, ids
		ofLeg   = 320
		ofAByte = 7 // of a text: a control character becomes \\u0001
	)
	text, legs := len(h.Header.Actor)+len(h.Header.Description), len(h.Header.Legs)
	for key, value := range h.Header.Metadata {
		text += len(key) + len(value) + 2
	}
	if h.Ended != nil {
		text, legs = text+len(h.Ended.Actor)+len(h.Ended.Description), 2*legs
	}
	return fixed + ofLeg*legs + ofAByte*text
}
