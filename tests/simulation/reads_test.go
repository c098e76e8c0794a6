package simulation

import (
	"context"
	"time"

	"ledger.example/events"
	"ledger.example/projections"
)

// startReads starts strong reads at random times. Each must show everything that was acknowledged before it began.
func (h *history) startReads() {
	if !h.plan.has(StrongReads) {
		return
	}
	count := h.plan.draw("strong reads", 0).IntN(40)
	h.startRandomly("strong read", count, h.knobs.span+30*time.Second, func(ctx context.Context, d dice, n int) {
		h.readStrongly(ctx, d, h.startProcess("reader", n))
	})
}

func (h *history) readStrongly(ctx context.Context, d dice, p *process) {
	if d.chance(.3) {
		must := h.model.ackedSoFar()
		account := pick(d, jane, joe)
		listed, err := p.reader.Balances(ctx, account,
			func(asset string) *events.Amount { return h.floor(pair{Account: account, Asset: asset}) },
			projections.Slice{Limit: 10})
		if err != nil || p.dead {
			return // a read without an answer proves nothing
		}
		h.count("strong reads checked")
		h.observe()
		for _, b := range listed.Items {
			h.model.checkRead(b, must)
			h.model.checkBackdated(b.Pair, sums{credits: uint64(int64Of(b.Head.Credits)), debits: uint64(int64Of(b.Head.Debits))})
			delete(must, pair{Account: account, Asset: b.Asset})
		}
		for k, acked := range must {
			if k.Account == account && acked != (sums{}) {
				h.fail("a strong list of the balances of %s lacks %s", account, k.Asset)
			}
		}
		return
	}
	k := pair{Account: pick(d, accountIDs...), Asset: pick(d, usd, aapl)}
	h.readOne(ctx, p, k)
	// Default reads may lag, but what they show must be stored.
	_, page, err := p.lists.Balances(ctx, k.Account, projections.Slice{Limit: 10})
	if err != nil || p.dead {
		return
	}
	h.observe()
	for _, b := range page.Items {
		h.model.checkRead(b, nil)
	}
}

// readOne reads one balance strongly, now and as of a time.
func (h *history) readOne(ctx context.Context, p *process, k pair) {
	must := h.model.ackedSoFar()
	b, err := p.reader.Balance(ctx, k, h.floor(k))
	if err != nil || p.dead {
		return
	}
	h.count("strong reads checked")
	h.observe()
	h.model.checkRead(b, must)
	h.model.checkBackdated(k, sums{credits: uint64(int64Of(b.Head.Credits)), debits: uint64(int64Of(b.Head.Debits))})
	h.readFunds(ctx, p, k)
	h.readPast(ctx, p, k)
}

// readFunds reads the funds of a pair as a refusal does. They contain everything acknowledged, and what was read before.
func (h *history) readFunds(ctx context.Context, p *process, k pair) {
	must := h.model.fundsSoFar(k)
	funds, err := p.reader.Funds(ctx, k.Account, k.Asset)
	if err != nil || p.dead {
		return
	}
	h.observe()
	h.model.checkFunds(k, uint64(int64Of(funds)), must)
}

// readPast strongly reads a balance as of an hour from now, which must include everything acknowledged. Such a read
// uses segments and the postings after them, not the stored balance.
func (h *history) readPast(ctx context.Context, p *process, k pair) {
	must := h.model.ackedSoFar()
	was, err := p.past.Balance(ctx, k, p.clock().Add(time.Hour), true)
	if err != nil || p.dead {
		return
	}
	h.count("strong reads checked")
	h.observe()
	h.model.checkRead(projections.Balance{Pair: k, Head: was.Fold}, must)
}

// floor returns the lowest balance that the account's limit allows; nil: unlimited.
func (h *history) floor(k pair) *events.Amount {
	floor := events.Amount{}
	switch {
	case k.Account == bank || k.Account == shop:
		return nil
	case k.Account == joe && k.Asset == usd:
		floor = events.NewAmount(-h.knobs.overdraft)
	}
	return &floor
}
