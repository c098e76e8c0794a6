package ledger

import (
	"context"
	"errors"
	"slices"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// Independent requests of a batch that share guards are written together: one transaction of the store updates each
// guard once, instead of once for each request.
//
// Only a success answers them, or what is stored under their ids. If the joint write fails otherwise, each request is
// posted alone, and has its own reason to be refused. But the joint write may have an unknown outcome. So the requests
// carry on with what its attempts leave behind (see only), and these rules keep a refusal final:
//
//   - A request that was in a write of unknown outcome is unknown itself until it is answered.
//   - The joint write passes a guard only if each of its requests would pass it alone, without the credits of the
//     others. So its bound is at most that of each request. Then a request that its guard refuses alone cannot be
//     written by a joint attempt that is still in flight.

// batchReserve is how long before its deadline a batch starts its last write. It keeps unknown outcomes rare.
const batchReserve = time.Second

// jointTries is after how many further attempts that wrote nothing a joint write is given up. It has more items than a
// single request, so it conflicts more often.
const jointTries = 3

// errTogether ends a joint write that a guard refused.
var errTogether = errors.New("the requests cannot be written together")

// postChain posts independent requests that share guards, in their order, and answers each.
//
// A request is not judged while it is not known what became of an earlier request that debits the same pair, or that is
// for the transaction that it ends or reverses: it is not tried. So their order holds when they are sent again, too.
func (l *Ledger) postChain(c *command, chain []*request) {
	open := make(map[any]bool) // transactions and pairs of which an earlier request may be sent again
	for len(chain) > 0 {
		n := l.fitting(chain)
		joint := &attempts{funding: funding{ledger: l}, pending: chain[:n], joint: true}
		if n > 1 && len(open) == 0 && hasTime(c) {
			_ = joint.carryOut(c) // the error is of no request: those that it leaves pending are posted alone
		}
		for _, r := range joint.pending {
			known, _ := l.cachedDefinitions(r.draft)
			of := []any{r.ID, r.other()}
			for _, pair := range known.limitedDebits(r.draft) {
				of = append(of, pair)
			}
			waits := slices.ContainsFunc(of[1:], func(of any) bool { return open[of] })
			err := joint.only(r).postAlone(c, waits)
			if err == nil {
				continue
			}
			r.refused = asError(err)
			switch r.refused.Code {
			case CodeUnavailable, CodeThrottled, CodeContention, CodeOutcomeUnknown:
				for _, of := range of {
					if of != "" {
						open[of] = true
					}
				}
			}
		}
		chain = chain[n:]
	}
}

// fitting returns how many of the first requests fit into one transaction of the store; at least one. What ends or
// reverses a transaction is always alone: it may need the request before it, or the same number as another reversal.
func (l *Ledger) fitting(chain []*request) int {
	actions, guards := 0, make(map[events.Pair]bool)
	for n, r := range chain {
		if r.other() != "" {
			return max(n, 1)
		}
		known, _ := l.cachedDefinitions(r.draft)
		actions += r.eventCount() + len(known.legs(r.draft))
		before := len(guards)
		for _, pair := range known.limitedDebits(r.draft) {
			guards[pair] = true
		}
		if actions += len(guards) - before; n > 0 && actions > store.TransactionActions {
			return n
		}
	}
	return len(chain)
}

// hasTime reports whether a write of a batch may start: the deadline is not near, and the caller waits.
func hasTime(c *command) bool {
	end, _ := c.Deadline()
	return time.Until(end) >= batchReserve && c.abandoned() == nil
}

// only returns attempts for one of the pending requests, which go on after those of a joint write: with its credits and
// accounts, with its attempts, and with its unknown outcome.
func (a *attempts) only(r *request) *attempts {
	return &attempts{
		funding: funding{ledger: a.ledger, limits: a.limits}, tries: tries{unknown: a.unknown},
		pending: []*request{r}, sent: slices.Clip(a.sent),
	}
}

// postAlone carries out a request of a batch, unless it must wait for an earlier one or there is no time.
func (a *attempts) postAlone(c *command, waits bool) error {
	switch {
	case !waits && hasTime(c):
		return a.carryOut(c)
	case a.unknown:
		return unknownError(a.pending[0].ID, context.DeadlineExceeded)
	case waits:
		return notTried("An earlier request for the same account or transaction has no final answer")
	}
	return notTried("The batch took too long")
}

func notTried(why string) *Error {
	e := busy(CodeUnavailable, "", context.DeadlineExceeded)
	e.Detail = why + ": this request was not tried. Nothing was written for it."
	return e
}
