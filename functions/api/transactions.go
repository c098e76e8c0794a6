package api

import (
	"context"
	"time"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/ledger"
)

// transaction is a transaction of any kind, with its legs, its end if it is a hold, and what was reversed of it.
type transaction struct {
	ID          string            `json:"id,omitempty"` // absent in a dry run if the caller did not choose it
	Kind        events.Kind       `json:"kind"`
	Status      ledger.Status     `json:"status"`
	PostedAt    string            `json:"posted_at,omitempty"`   // absent in dry runs, like all times
	RecordedAt  string            `json:"recorded_at,omitempty"` // equal to PostedAt without an effective date
	Actor       string            `json:"actor"`
	Description string            `json:"description"`
	Metadata    map[string]string `json:"metadata,omitzero"`         // nil only in a batch, see endsBytes
	Reverses    string            `json:"reverses,omitempty"`        // id of the transaction that this one reverses
	ExpiresAt   string            `json:"expires_at,omitempty"`      // of a hold
	Postings    []leg             `json:"postings,omitzero"`         // as planned if it is a hold; nil likewise
	Hidden      int               `json:"hidden_postings,omitempty"` // number of legs that the caller may not see

	// How a hold ended.
	EndedAt        string `json:"ended_at,omitempty"`
	EndedBy        string `json:"ended_by,omitempty"`
	EndDescription string `json:"end_description,omitempty"` // of a release
	Captured       []leg  `json:"captured,omitzero"`         // the legs of the capture; nil while the hold is open

	Reversed []client.Leg `json:"reversed,omitempty"` // what was reversed of each posted leg
	DryRun   bool         `json:"dry_run,omitempty"`  // nothing was written
}

// leg is a posting of a transaction.
type leg struct {
	ID       events.KSUID `json:"id,omitempty"` // absent in dry runs
	Account  string       `json:"account"`
	Asset    string       `json:"asset"`
	Quantity string       `json:"quantity"`
	Cost     string       `json:"cost"`
}

// decimalChars is about how many characters the two amounts of a leg have.
const decimalChars = 24

// showLeg converts a leg. It formats the amounts in the buffer d, which saves allocations.
func showLeg(l events.Leg, d *events.Decimals) leg {
	return leg{l.ID, l.Account, l.Asset, d.Of(l.Quantity), d.Of(l.Cost)}
}

func showTransaction(e events.TransactionPosted) transaction {
	t := transaction{
		ID: e.ID, Kind: e.Kind, Status: ledger.StatusPosted, Actor: e.Actor,
		Description: e.Description, Metadata: e.Metadata, Reverses: e.Reverses, Postings: showLegs(e.Legs),
		DryRun: e.Legs[0].ID == "", // only a dry run has no KSUIDs
	}
	if e.IsHold() {
		t.Status = ledger.StatusHeld
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

// showLifecycle shows a transaction with its end and its reversals.
func showLifecycle(l ledger.Lifecycle) transaction {
	t := showTransaction(l.Header)
	t.Status = l.Status()
	if l.Ended != nil {
		if !t.DryRun {
			t.EndedAt = events.FormatTime(l.Ended.EndedAt())
		}
		t.EndedBy, t.EndDescription, t.Captured = l.Ended.Actor, l.Ended.Description, []leg{}
		if t.Status == ledger.StatusCaptured {
			t.Captured = showLegs(l.Ended.Legs)
		}
	}
	if len(l.Reversals) > 0 {
		for i, of := range l.Reversed() {
			posted := l.Posted()[i]
			t.Reversed = append(t.Reversed, client.Leg{
				Account: posted.Account, Asset: posted.Asset, Quantity: of.Quantity, Cost: of.Cost,
			})
		}
	}
	return t
}

// getTransaction is strongly consistent.
func (a *api) getTransaction(r *request, in *client.TransactionID) (reply, error) {
	read := func(ctx context.Context, id string) (transaction, error) {
		lifecycle, err := a.config.Resources.Lifecycle(ctx, id)
		if err != nil {
			return transaction{}, err
		}
		return showLifecycle(lifecycle), r.permitRead(ctx, lifecycle.Header)
	}
	out, err := answerResource(r, in.ID, read, func(t transaction) transaction { return t })
	out.transaction = in.ID
	return out, err
}

// postTransaction posts any number of legs. The ledger checks that they balance.
func (a *api) postTransaction(r *request) (reply, error) { return a.post(r, r.transaction()) }

// postTransfer moves a quantity of one asset between two accounts.
func (a *api) postTransfer(r *request) (reply, error) { return a.post(r, r.transfer()) }

// postTrade moves an asset from seller to buyer for a cost. With settle it also moves the cost in the asset's
// currency.
func (a *api) postTrade(r *request) (reply, error) { return a.post(r, r.trade()) }

func (r *request) transaction() ledger.Request {
	var in client.TransactionRequest
	r.read(&in)
	c := ledger.PostTransaction{Annotation: r.annotation(in.ID, in.Description, in.Metadata, in.EffectiveAt)}
	c.Hold = r.hold(in.Hold)
	c.Postings = make([]ledger.LegRequest, len(in.Postings))
	for i, leg := range in.Postings {
		c.Postings[i] = ledger.LegRequest(leg)
	}
	return c
}

func (r *request) transfer() ledger.Request {
	var in client.Transfer
	r.read(&in)
	c := ledger.PostTransfer{
		Annotation: r.annotation(in.ID, in.Description, in.Metadata, in.EffectiveAt),
		From:       in.From, To: in.To, Asset: in.Asset, Quantity: in.Quantity,
	}
	c.Hold = r.hold(in.Hold)
	return c
}

func (r *request) trade() ledger.Request {
	var in client.Trade
	r.read(&in)
	c := ledger.PostTrade{
		Annotation: r.annotation(in.ID, in.Description, in.Metadata, in.EffectiveAt),
		Asset:      in.Asset, Buyer: in.Buyer, Seller: in.Seller, Quantity: in.Quantity, Cost: in.Cost,
		Settle: in.Settle,
	}
	c.Hold = r.hold(in.Hold)
	return c
}

// annotation returns the annotation of the transaction that r asks for, from the fields of the body.
func (r *request) annotation(
	id, description string, metadata map[string]string, effectiveAt time.Time,
) ledger.Annotation {
	return ledger.Annotation{
		ID: r.transactionID(id), Description: description, Metadata: metadata, Actor: r.actor,
		EffectiveAt: r.body.time("effective_at", effectiveAt), DryRun: r.dry,
	}
}

// post posts a transaction. A replay gets the first answer.
func (a *api) post(r *request, c ledger.Request) (reply, error) {
	if err := r.permit(c); err != nil {
		return reply{}, err
	}
	posted, err := a.config.Commands.Post(r.http.Context(), c)
	return answerPosted(r, posted, err)
}

// answerPosted answers with the transaction that was posted or, in a dry run, would be.
func answerPosted(r *request, posted ledger.Posted, err error) (reply, error) {
	switch {
	case err != nil:
		return reply{}, err
	case r.dry:
		return ok(showTransaction(posted.Transaction))
	}
	return showPosted(posted), nil
}

// showPosted shows a transaction as of its posting, also in a replay.
func showPosted(posted ledger.Posted) reply {
	id := posted.Transaction.ID
	out := written(!posted.Replayed, "/v1/transactions/"+id, showTransaction(posted.Transaction))
	out.replayed, out.transaction = posted.Replayed, id
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
