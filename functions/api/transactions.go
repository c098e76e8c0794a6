package api

import (
	"net/http"
	"slices"
	"time"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/ledger"
)

// The types of answers with many amounts are those of package client, but with the texts of the amounts: see showLeg.
type (
	leg         = client.PostedLegOf[string]
	transaction = client.TransactionOf[leg]
	posting     = client.PostingOf[string]
	statement   = client.StatementOf[string]
	accountPage = client.AccountPageOf[string]
)

// decimalChars is about how many characters the two amounts of a leg have.
const decimalChars = 24

// showLeg converts a leg. It formats the amounts in the buffer d, which saves allocations.
func showLeg(l events.Leg, d *events.Decimals) leg {
	return leg{
		ID: string(l.ID), Account: l.Account, Asset: l.Asset, Quantity: d.Of(l.Quantity), Cost: d.Of(l.Cost),
	}
}

// showTransaction shows a transaction with its end, but without what was reversed of it.
func showTransaction(of events.Transaction) transaction {
	e := of.Header
	t := transaction{
		ID: e.ID, Kind: string(e.Kind), Status: string(of.Status()), Actor: e.Actor,
		ShownAnnotation: client.ShownAnnotation(e.Annotation), Reverses: e.Reverses, Postings: showLegs(e.Legs),
		DryRun: e.Legs[0].ID == "", // only a dry run has no KSUIDs
	}
	if !t.DryRun {
		t.PostedAt, t.RecordedAt = events.FormatTime(e.PostedAt()), events.FormatTime(e.Recorded())
		if e.IsHold() {
			t.ExpiresAt = events.FormatTime(e.ExpiresAt)
		}
	}
	if t.Metadata == nil {
		t.Metadata = map[string]string{}
	}
	if of.Ended != nil {
		if !t.DryRun {
			t.EndedAt = events.FormatTime(of.Ended.EndedAt())
		}
		t.EndedBy, t.EndDescription, t.Captured = of.Ended.Actor, of.Ended.Description, []leg{}
		if of.Status() == events.StatusCaptured {
			t.Captured = showLegs(of.Ended.Legs)
		}
	}
	return t
}

func showLegs(legs []events.Leg) []leg {
	shown := make([]leg, len(legs))
	var d events.Decimals
	d.Grow(decimalChars * len(legs))
	for i, l := range legs {
		shown[i] = showLeg(l, &d)
	}
	return shown
}

// showReversed shows what was reversed of each posted leg, nil before the first reversal.
func showReversed(of ledger.Lifecycle) (all []client.Leg) {
	if len(of.Reversals) == 0 {
		return nil
	}
	posted := of.Posted()
	for i, taken := range of.Reversed() {
		all = append(all, client.Leg{
			Account: posted[i].Account, Asset: posted[i].Asset, Quantity: taken.Quantity, Cost: taken.Cost,
		})
	}
	return all
}

// getTransaction is strongly consistent.
func (a *api) getTransaction(r *request, in *client.TransactionID) (reply, error) {
	lifecycle, err := a.config.Resources.Lifecycle(r.ctx(), in.ID)
	if err == nil {
		err = r.permitLegs(r.ctx(), lifecycle.Header)
	}
	if err != nil {
		return reply{}, err
	}
	shown := showTransaction(lifecycle.Transaction)
	shown.Reversed, shown.Reversals = showReversed(lifecycle), r.newestReversals(lifecycle)
	return reply{status: http.StatusOK, body: shown, transaction: in.ID}, nil
}

// newestReversals returns the ids of the newest reversals of a transaction, newest first: of those of which the caller
// may see a leg. It is not nil.
func (r *request) newestReversals(of ledger.Lifecycle) []string {
	ids := []string{}
	for _, reversal := range slices.Backward(of.Reversals) {
		if r.seesReversal(of, reversal) {
			ids = append(ids, reversal.By)
		}
		if len(ids) == client.ReversalsShown {
			break
		}
	}
	return ids
}

// transaction asks for any number of legs. The ledger checks that they balance.
func (r *request) transaction(in *client.TransactionRequest) ledger.Request {
	c := ledger.PostTransaction{Annotation: r.annotation(in.ID, in.Annotation, in.EffectiveAt)}
	c.Hold = r.hold(in.Hold)
	c.Postings = make([]ledger.LegRequest, len(in.Postings))
	for i, leg := range in.Postings {
		c.Postings[i] = ledger.LegRequest(leg)
	}
	return c
}

// transfer moves a quantity of one asset between two accounts, or as much as fits.
func (r *request) transfer(in *client.Transfer) ledger.Request {
	c := ledger.PostTransfer{
		Annotation: r.annotation(in.ID, in.Annotation, in.EffectiveAt),
		From:       in.From, To: in.To, Asset: in.Asset, Quantity: in.Quantity,
	}
	c.Fit = fitOf(in.UpTo, in.Keep, in.AtLeast)
	c.Hold = r.hold(in.Hold)
	return c
}

// fitOf returns how much fits, nil without the most.
func fitOf(upTo client.UpTo, keep, atLeast *events.Amount) *ledger.Fit {
	if upTo == "" {
		return nil
	}
	fit := &ledger.Fit{AtLeast: atLeast, Keep: amountOf(keep)}
	if upTo != client.All {
		most, _ := events.ParseAmount(string(upTo), events.PostedDigits) // its text was checked as it was read
		fit.UpTo = &most
	}
	return fit
}

// amountOf returns an amount, zero for none.
func amountOf(a *events.Amount) events.Amount {
	if a == nil {
		return events.Amount{}
	}
	return *a
}

// trade moves an asset from seller to buyer for a cost. With settle it also moves the cost in the asset's currency.
func (r *request) trade(in *client.Trade) ledger.Request {
	c := ledger.PostTrade{
		Annotation: r.annotation(in.ID, in.Annotation, in.EffectiveAt),
		Asset:      in.Asset, Buyer: in.Buyer, Seller: in.Seller, Quantity: in.Quantity, Cost: in.Cost,
		Settle: in.Settle,
	}
	c.Hold = r.hold(in.Hold)
	return c
}

// split divides a quantity among accounts, or as much as fits. The legs follow from the request and from what fits: see
// ledger.PostSplit.
func (r *request) split(in *client.Split) ledger.Request {
	c := ledger.PostSplit{
		Annotation: r.annotation(in.ID, in.Annotation, in.EffectiveAt),
		From:       in.From.Account, Asset: in.Asset, Quantity: in.Quantity, To: make([]ledger.Portion, len(in.To)),
		Fit: fitOf(in.UpTo, in.Keep, in.AtLeast),
	}
	if in.From.IsList() {
		c.Sources = make([]ledger.Source, len(in.From.Sources))
		for i, s := range in.From.Sources {
			c.Sources[i] = ledger.Source{Account: s.Account, Keep: amountOf(s.Keep)}
		}
	}
	for i, p := range in.To {
		share, _ := ledger.ParseShare(string(p.Share)) // its text was checked as it was read
		c.To[i] = ledger.Portion{Account: p.Account, Share: share, Quantity: p.Quantity, Rest: int64(p.Rest)}
	}
	c.Hold = r.hold(in.Hold)
	return c
}

// hold returns the request for a hold from the body's object, nil if there is none.
func (r *request) hold(in *client.Hold) *ledger.HoldRequest {
	if in == nil {
		return nil
	}
	return &ledger.HoldRequest{ExpiresAt: r.body.time("hold.expires_at", in.ExpiresAt)}
}

// capture posts what a hold reserves, in whole or in part. The same capture again gets the first answer.
func (r *request) capture(in *client.Capture) ledger.Request {
	return ledger.CaptureRequest{Transaction: in.Transaction, Part: r.part(in.Part), Actor: r.actor, DryRun: r.dry}
}

// release ends a hold without posting. The answer is the same if the hold was released before.
func (r *request) release(in *client.Release) ledger.Request {
	return ledger.ReleaseRequest{
		Transaction: in.Transaction, Description: in.Description, Actor: r.actor, DryRun: r.dry,
	}
}

// reversal reverses a transaction, in whole or in part.
func (r *request) reversal(in *client.Reversal) ledger.Request {
	return ledger.ReverseRequest{
		Annotation:  r.annotation(in.ID, in.Annotation, in.EffectiveAt),
		Transaction: in.Transaction, Part: r.part(in.Part),
	}
}

// annotation returns the annotation of the transaction that r asks for, from the fields of the body.
func (r *request) annotation(id string, said events.Annotation, effectiveAt time.Time) ledger.Annotation {
	r.posts = r.transactionID(id)
	return ledger.Annotation{
		ID: r.posts, Annotation: said, Actor: r.actor,
		EffectiveAt: r.body.time("effective_at", effectiveAt), DryRun: r.dry,
	}
}

// part returns the part of a transaction that a capture or a reversal takes. The zero Part means all.
func (r *request) part(in client.Part) ledger.Part {
	p := ledger.Part{Quantity: in.Quantity, Cost: in.Cost}
	if in.Postings != nil {
		p.Postings = make([]ledger.LegPart, len(in.Postings))
		for i, taken := range in.Postings {
			p.Postings[i] = ledger.LegPart(taken)
		}
	}
	return p
}

// post posts a transaction, or ends a hold. A replay gets the first answer.
func (a *api) post(r *request, c ledger.Request) (reply, error) {
	posted, err := a.config.Commands.Post(r.ctx(), c)
	if err != nil {
		return reply{}, err
	}
	out := showPosted(posted)
	if r.dry {
		return ok(out.body)
	}
	return out, nil
}

// showPosted shows a transaction as of its posting, and a hold that was ended as of its end, also in a replay.
func showPosted(posted ledger.Posted) reply {
	body := showTransaction(posted.Transaction)
	out := written(posted.Ended == nil && !posted.Replayed, "/v1/transactions/"+body.ID, body)
	out.replayed, out.transaction = posted.Replayed, body.ID
	return out
}

// idempotencyKey is the header that may have a transaction's id.
const idempotencyKey = "Idempotency-Key"

// transactionID returns the id of the transaction that r asks for, which may be in the body, in the header, or in both
// if they are equal. id is that of the body.
func (r *request) transactionID(id string) string {
	keys, given := r.http.Header[idempotencyKey]
	switch inBody := r.body.has("id"); {
	case !given:
	case len(keys) != 1:
		r.fail(idempotencyKey, ruleOnce)
	case !events.ValidID(keys[0]):
		r.fail(idempotencyKey, ruleID)
	case !inBody:
		return keys[0]
	case id != keys[0]:
		r.fail(idempotencyKey, ruleAgree)
		r.body.add(fieldError{Field: "id", Rule: ruleAgree}) // unless it already has a fault
	}
	return id
}
