package api

import (
	"net/http"

	"ledger.example/events"
	"ledger.example/ledger"
)

// idempotencyKey is the header that may hold a transaction's id.
const idempotencyKey = "Idempotency-Key"

func (a *api) postTransaction(r *request) (reply, error) {
	c := ledger.PostTransaction{Annotation: ledger.Annotation{Actor: r.actor}}
	err := r.decode(func(o *object) {
		r.annotation(o, &c.Annotation)
		legs := o.objects("postings")
		c.Postings = make([]ledger.LegRequest, len(legs))
		for i := range legs {
			if p := &legs[i]; p.n != nil {
				c.Postings[i] = ledger.LegRequest{
					Account: p.requiredID("account"), Asset: p.requiredID("asset"),
					Quantity: p.requiredAmount("quantity"), Cost: p.amount("cost"),
				}
				p.finish()
			}
		}
	}, func() []ledger.FieldError { return c.Shape() })
	return a.post(r, c, err)
}

func (a *api) postTransfer(r *request) (reply, error) {
	c := ledger.PostTransfer{Annotation: ledger.Annotation{Actor: r.actor}}
	err := r.decode(func(o *object) {
		r.annotation(o, &c.Annotation)
		c.From, c.To, c.Asset = o.requiredID("from"), o.requiredID("to"), o.requiredID("asset")
		c.Quantity = o.requiredAmount("quantity")
	}, func() []ledger.FieldError { return c.Shape() })
	return a.post(r, c, err)
}

func (a *api) postTrade(r *request) (reply, error) {
	c := ledger.PostTrade{Annotation: ledger.Annotation{Actor: r.actor}}
	err := r.decode(func(o *object) {
		r.annotation(o, &c.Annotation)
		c.Asset, c.Buyer, c.Seller = o.requiredID("asset"), o.requiredID("buyer"), o.requiredID("seller")
		c.Quantity, c.Cost = o.requiredAmount("quantity"), o.amount("cost")
		c.Settle = o.flag("settle")
	}, func() []ledger.FieldError { return c.Shape() })
	return a.post(r, c, err)
}

// annotation reads what the three bodies share, and the id from wherever it is given: in the body, in the header, or
// the same in both.
func (r *request) annotation(o *object, c *ledger.Annotation) {
	c.ID = o.id("id")
	c.Description = o.text("description")
	c.Metadata = o.pairs("metadata")

	keys, given := r.Header[idempotencyKey]
	if !given {
		return
	}
	body := o.n.member("id")
	switch {
	case len(keys) != 1:
		r.fail(idempotencyKey, ruleOnce)
	case !events.ValidID(keys[0]):
		r.fail(idempotencyKey, ruleID)
	case body == nil:
		c.ID = keys[0]
	case body.kind != aText || body.text != keys[0]:
		r.fail(idempotencyKey, ruleAgree)
		if !named(o.d.wrong, "id", false) {
			o.fail(body.at, "id", ruleAgree)
		}
	}
}

// post carries out a posting request that was decoded with err.
func (a *api) post(r *request, c ledger.PostingRequest, err error) (reply, error) {
	if err != nil {
		return reply{}, err
	}
	posted, err := a.Commands.Post(r.Context(), c)
	if err != nil {
		return reply{}, err
	}
	id := posted.Transaction.ID
	out := made(!posted.Replayed, "/v1/transactions/"+id, showTransaction(posted.Transaction))
	out.replayed, out.id = posted.Replayed, id
	return out, nil
}

func (a *api) getTransaction(r *request) (reply, error) {
	if err := r.check(); err != nil {
		return reply{}, err
	}
	e, err := a.Facts.Transaction(r.Context(), r.ids["id"])
	if err != nil {
		return reply{}, missing(err)
	}
	return reply{status: http.StatusOK, body: showTransaction(e), fixed: true, id: e.ID}, nil
}
