package simulation

import (
	"context"
	"time"

	"ledger.example/events"
	"ledger.example/projections"
)

// startReads reads strongly, all the time: everything acknowledged before must be there.
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
			func(asset string) *events.Amount { return h.floor(pair{Account: account, Asset: asset}) }, projections.Slice{Limit: 10})
		if err != nil || p.dead {
			return // nothing is claimed
		}
		h.count("exact reads")
		h.observe()
		for _, b := range listed.Items {
			h.model.checkRead(b, must)
			delete(must, pair{Account: account, Asset: b.Asset})
		}
		for k, acked := range must {
			if k.Account == account && acked != (sums{}) {
				h.fail("strong list of %s misses %s altogether", account, k.Asset)
			}
		}
		return
	}
	k := pair{Account: pick(d, accountIDs...), Asset: pick(d, usd, aapl)}
	h.readOne(ctx, p, k)
	// Plain reads may be behind, and are right about what they show.
	_, page, err := p.lists.Balances(ctx, k.Account, projections.Slice{Limit: 10})
	if err != nil || p.dead {
		return
	}
	h.observe()
	for _, b := range page.Items {
		h.model.checkRead(b, nil)
	}
}

// readOne reads one balance strongly.
func (h *history) readOne(ctx context.Context, p *process, k pair) {
	must := h.model.ackedSoFar()
	b, err := p.reader.Balance(ctx, k, h.floor(k))
	if err != nil || p.dead {
		return
	}
	h.count("exact reads")
	h.observe()
	h.model.checkRead(b, must)
	h.readPast(ctx, p, k)
}

// readPast reads strongly what a balance is as of a time that is not over: all that was acknowledged. It reads no
// balance, but the segments and the postings behind them, whatever is being written meanwhile.
func (h *history) readPast(ctx context.Context, p *process, k pair) {
	must := h.model.ackedSoFar()
	was, err := p.past.Balance(ctx, k, p.clock().Add(time.Hour), true)
	if err != nil || p.dead {
		return
	}
	h.count("exact reads")
	h.observe()
	h.model.checkRead(projections.Balance{Pair: k, Head: was.Fold}, must)
}

// floor is how low an account may go; nil is as low as it likes.
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
