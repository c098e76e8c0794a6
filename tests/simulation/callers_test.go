package simulation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
)

// The register: a bank without a limit, that everybody is funded by; jane, who may owe nothing; joe, who may owe a
// little; a shop, which gets from everybody.
const (
	usd, aapl             = "USD", "AAPL"
	bank, jane, joe, shop = "bank", "jane", "joe", "shop"
)

var holders = []string{bank, jane, joe, shop}

// perform carries out a command in the n-th process. died reports that its outcome will never be known.
func perform[T any](h *history, n int, do func(*process) (T, error)) (t T, err error, died bool) {
	p := h.commands[n]
	if p.dead {
		p = h.born("command", n)
		h.commands[n] = p
	}
	t, err = do(p)
	return t, err, p.dead
}

// open makes the table and the register, before anything goes wrong.
func (h *history) open() error {
	if err := h.openStore(); err != nil {
		return err
	}
	h.calm = true
	defer func() { h.calm = false }()
	p := h.born(beforehand, 0)
	ctx := as(beforehand)
	for _, asset := range []ledger.RegisterAsset{{ID: usd, Name: usd, Scale: 2},
		{ID: aapl, Name: aapl, Currency: usd}} {
		asset.Actor = beforehand
		if _, _, err := p.ledger.RegisterAsset(ctx, asset); err != nil {
			return err
		}
	}
	for _, account := range []ledger.OpenAccount{
		{ID: bank, Overdraft: events.Overdraft{Unlimited: true}}, {ID: jane},
		{ID: shop, Overdraft: events.Overdraft{Unlimited: true}},
		{ID: joe,
			Overdraft: events.Overdraft{Limits: map[string]events.Amount{usd: events.NewAmount(h.knobs.overdraft)}}},
	} {
		account.Name, account.Actor = account.ID, beforehand
		if _, _, err := p.ledger.OpenAccount(ctx, account); err != nil {
			return err
		}
	}
	for _, team := range teams {
		if _, _, err := p.ledger.RegisterGroup(ctx, ledger.RegisterGroup{ID: team, Actor: beforehand}); err != nil {
			return err
		}
	}
	h.model.opened()
	for n := range h.knobs.processes {
		h.commands = append(h.commands, h.born("command", n))
	}
	return nil
}

// posting is one request to post, and what it was answered.
type posting struct {
	id      string
	request any // a ledger.PostingRequest or a ledger.ReverseRequest
	other   any // another body under the same id

	first     *events.TransactionPosted // as first acknowledged
	unknown   bool                      // a call had no answer, or the answer that the outcome is unknown
	refused   bool                      // a call was answered that nothing was written
	declined  string                    // the code of that answer
	asking    int                       // callers who wait for an answer
	calls     int                       // that were begun
	effective time.Time                 // its effective date, zero for none
	// the last was answered that funds are insufficient, and nobody else waited meanwhile
	final bool
}

// requestOf draws the n-th request. It moves 2^e of something; no other request has the same e.
func (h *history) requestOf(n int) *posting {
	d := h.plan.draw("request", uint64(n))
	order := h.plan.draw("quantities", 0).Perm(requestsMost)
	quantity := events.NewAmount(1 << order[n])
	note := ledger.Annotation{ID: fmt.Sprintf("t%d", n), Actor: "somebody"}
	p := &posting{id: note.ID}
	two := func() (a, b string) {
		i := d.Perm(len(holders))
		return holders[i[0]], holders[i[1]]
	}
	transfer := func(from, to, asset string) ledger.PostingRequest {
		return ledger.PostTransfer{Annotation: note, From: from, To: to, Asset: asset, Quantity: quantity}
	}
	from, to := two()
	if h.knobs.narrow && d.chance(.8) {
		p.request = transfer(bank, jane, usd)
		p.other = otherBody(note, quantity)
		return p
	}
	kind := d.IntN(8)
	if h.knobs.spending && d.chance(.6) {
		kind = 2
	}
	switch kind {
	case 0, 1: // funded
		p.request = transfer(bank, pick(d, jane, jane, joe), pick(d, usd, usd, aapl))
	case 2, 3: // spent
		p.request = transfer(pick(d, jane, jane, joe), pick(d, bank, shop), pick(d, usd, usd, aapl))
	case 4:
		p.request = transfer(from, to, pick(d, usd, aapl))
	case 5:
		p.request = ledger.PostTrade{Annotation: note, Asset: aapl, Buyer: from, Seller: to, Quantity: quantity,
			Cost: quantity, Settle: d.chance(.7)}
	case 6: // passes through jane, who is debited and credited at once
		p.request = ledger.PostTransaction{Annotation: note, Postings: []ledger.LegRequest{
			{Account: bank, Asset: usd, Quantity: quantity.Neg()}, {Account: jane, Asset: usd, Quantity: quantity},
			{Account: jane, Asset: usd, Quantity: quantity.Neg()}, {Account: joe, Asset: usd, Quantity: quantity},
		}}
	case 7: // two assets, with costs
		p.request = ledger.PostTransaction{Annotation: note, Postings: []ledger.LegRequest{
			{Account: from, Asset: aapl, Quantity: quantity, Cost: quantity},
			{Account: to, Asset: aapl, Quantity: quantity.Neg(), Cost: quantity.Neg()},
			{Account: from, Asset: usd, Quantity: quantity.Neg()}, {Account: to, Asset: usd, Quantity: quantity},
		}}
	}
	p.other = otherBody(note, quantity)
	return p
}

func otherBody(note ledger.Annotation, quantity events.Amount) ledger.PostingRequest {
	note.Description = "another body"
	return ledger.PostTransfer{Annotation: note, From: bank, To: jane, Asset: usd, Quantity: quantity}
}

func (h *history) startCallers() {
	if h.plan.Mode != "" {
		h.startLives()
		return
	}
	for _, n := range h.plan.Requests {
		p := h.requestOf(n)
		h.backdate(p, n)
		h.asked = append(h.asked, p)
		d := h.plan.draw("callers of", uint64(n))
		begin := d.between(0, h.knobs.span)
		twins := d.chance(.15)
		names := []string{p.id}
		if h.meets(Twins, twins) {
			names = append(names, p.id+" twin")
		}
		for _, name := range names {
			h.callers.Go(func() {
				if h.sleep(begin + h.plan.draw("delay of "+name, 0).between(0, time.Second)) {
					h.call(as(name), p)
				}
			})
		}
	}
	if h.meets(Memberships, true) {
		h.startMembers()
		h.startGroups()
	}
}

// call asks until it is answered, and then perhaps again.
func (h *history) call(ctx context.Context, p *posting) {
	for tries := 0; tries < 40; tries++ {
		d := h.draw(ctx, "calls")
		body := p.request
		if h.meets(OtherBody, p.first != nil && d.chance(.1)) {
			body = p.other
		}
		final := h.post(ctx, d, p, body)
		switch {
		case final && d.chance(.8):
			return
		case !final && h.meets(Abandon, d.chance(.35)):
			return
		}
		if !h.sleep(d.between(time.Millisecond, pick(d, 100*time.Millisecond, 5*time.Second, 40*time.Second))) {
			return
		}
	}
}

// post makes one call, and checks its answer against the model. It reports whether the answer is final.
func (h *history) post(ctx context.Context, d dice, p *posting, body any) (final bool) {
	ctx, c := h.model.begin(ctx)
	a := p.begin()
	defer func() { p.asking-- }()
	answer, err, died := perform(h, d.IntN(len(h.commands)),
		func(on *process) (ledger.Posted, error) { return send(ctx, on.ledger, body) })
	h.observe()
	return h.judge(ctx, d, p, a, c, body, answer, err, died)
}

// asked is one call of a posting.
type asked struct {
	had   bool // it had been acknowledged before
	calls int  // with this one
	alone bool
}

// begin notes that a call begins that asks for the posting.
func (p *posting) begin() asked {
	p.asking++
	p.calls++
	p.final = false
	return asked{p.first != nil, p.calls, p.asking == 1}
}

// last reports whether a call was the only one while it went on.
func (a asked) last(p *posting) bool { return a.alone && p.calls == a.calls }

// judge checks the answer to one call against the model. It reports whether the answer is final.
func (h *history) judge(ctx context.Context, d dice, p *posting, a asked, c *call, body any, answer ledger.Posted,
	err error, died bool) (final bool) {
	had := a.had
	if died {
		p.unknown = true
		h.count(&h.stats.Unanswered)
		return false
	}
	if err == nil {
		if body == nil || isOther(p, body) {
			h.broken("%s: another body was accepted under its id", p.id)
			return true
		}
		h.acknowledged(p, answer, had)
		if h.meets(StrongReads, d.chance(.5)) {
			leg := pick(d, answer.Transaction.Legs...)
			h.readOne(ctx, h.born("reader of "+p.id, 0), pair{Account: leg.Account, Asset: leg.Asset})
		}
		return true
	}
	var e *ledger.Error
	if !errors.As(err, &e) {
		h.broken("%s: answered with %T: %w", p.id, err, err)
		return true
	}
	switch e.Code {
	case ledger.CodeOutcomeUnknown:
		p.unknown = true
		h.count(&h.stats.Unanswered)
		return false
	case ledger.CodeThrottled, ledger.CodeContention, ledger.CodeUnavailable:
		p.refused, p.declined = true, string(e.Code)
		if had {
			return false // it was there before: nothing is claimed of that
		}
		h.count(&h.stats.Unanswered)
		return false
	case ledger.CodeInsufficientFunds:
		h.count(&h.stats.Refused)
		if had {
			h.broken("%s: refused although it was acknowledged", p.id)
		}
		p.refused, p.declined, p.final = true, string(e.Code), a.last(p)
		h.model.refused(p, e, c)
		return true
	case ledger.CodeTransactionIDReused:
		if !isOther(p, body) {
			h.broken("%s: its own body is taken for another", p.id)
		}
		return true
	}
	if h.tooEarly(p, e) {
		if had {
			h.broken("%s: refused although it was acknowledged: %w", p.id, e)
		}
		return false
	}
	if final, ours := h.declinedLife(p, e, c, had); ours {
		p.final = p.final && a.last(p)
		return final
	}
	h.broken("%s: answered with %w", p.id, err)
	return true
}

// send makes a request that is answered with a transaction.
func send(ctx context.Context, l *ledger.Ledger, request any) (ledger.Posted, error) {
	if r, ok := request.(ledger.ReverseRequest); ok {
		return l.Reverse(ctx, r)
	}
	return l.Post(ctx, request.(ledger.PostingRequest))
}

// acknowledged takes in an answer of success.
func (h *history) acknowledged(p *posting, answer ledger.Posted, had bool) {
	if answer.Replayed {
		h.count(&h.stats.Replayed)
	} else {
		h.count(&h.stats.Acknowledged)
		if had {
			h.broken("%s: posted a second time", p.id)
		}
	}
	if p.first == nil {
		p.first = &answer.Transaction
	} else if !sameTransaction(*p.first, answer.Transaction) {
		h.broken("%s: acknowledged as %+v, first as %+v", p.id, answer.Transaction, *p.first)
	}
	h.model.acknowledge(answer.Transaction)
	h.model.firstTold(p.id)
}

func sameTransaction(a, b events.TransactionPosted) bool {
	if a.ID != b.ID || a.Fingerprint != b.Fingerprint || a.RecordedAt != b.RecordedAt || len(a.Legs) != len(b.Legs) {
		return false
	}
	for i := range a.Legs {
		if a.Legs[i] != b.Legs[i] {
			return false
		}
	}
	return true
}
