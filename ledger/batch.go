package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"ledger.example/events"
)

const (
	// BatchMax is the most requests of a batch.
	BatchMax = 100
	// batchReserve is kept of a command's time: no request of a batch is begun later, so that it is rarely left with an
	// unknown outcome.
	batchReserve = time.Second
)

// PostBatch posts many requests, 1 to BatchMax, each with an id of its own, by one actor. It returns a result for each,
// in their order.
//
// An atomic batch is posted as a whole or not at all. A later request may spend what an earlier one brings. A request
// that was posted before is answered as it was then, and the others are posted. An error is that of the first request
// that is refused, which Error.Request names, or CodeBatchTooLarge.
//
// In any other batch each request is posted for itself, in no order but that requests which debit the same limited
// account and asset follow each other. What the time does not reach is CodeUnavailable.
//
// Errors of the batch as a whole: CodeInvalidTransaction (how many they are, or an id that is given twice),
// CodeInternal.
func (l *Ledger) PostBatch(ctx context.Context, requests []PostingRequest, atomic bool) ([]BatchResult, error) {
	b, c, cancel, err := l.startBatch(ctx, requests)
	if err != nil {
		return nil, err
	}
	defer cancel()
	if !atomic {
		b.postEach(c)
		return b.results, nil
	}
	if err := b.postAll(c); err != nil {
		return nil, err
	}
	return b.results, nil
}

// startBatch begins the command of a batch. What is wrong with a request by itself is its result.
func (l *Ledger) startBatch(
	ctx context.Context, requests []PostingRequest,
) (*batch, *command, context.CancelFunc, error) {
	if len(requests) == 0 || len(requests) > BatchMax {
		return nil, nil, nil, invalidTransaction([]FieldError{{
			Field: Field{Name: "requests"}, Rule: fmt.Sprintf("must be 1 to %d, not %d", BatchMax, len(requests)),
		}})
	}
	b := &batch{ledger: l, items: make([]*posting, len(requests)), results: make([]BatchResult, len(requests))}
	for i, r := range requests {
		b.items[i] = &posting{attempts: attempts{ledger: l}, draft: r.expand()}
		if b.items[i].draft.note.Actor != b.items[0].draft.note.Actor {
			return nil, nil, nil, internalError(errors.New("a batch of several actors"))
		}
	}
	if err := b.distinct(); err != nil {
		return nil, nil, nil, err
	}
	for i, p := range b.items {
		b.results[i].Err = p.itself()
	}
	c, cancel, err := startCommand(ctx, nil, b.items[0].draft.note.Actor)
	return b, c, cancel, err
}

// batch is one PostBatch on its way.
type batch struct {
	ledger  *Ledger
	items   []*posting
	results []BatchResult
}

// distinct returns nil, or CodeInvalidTransaction for ids that are given twice.
func (b *batch) distinct() *Error {
	var f faults
	seen := make(map[string]bool, len(b.items))
	for i, p := range b.items {
		id := p.draft.note.ID
		if id != "" && seen[id] {
			f.check(Field{Request: i + 1, Name: "id"}, "is that of an earlier request of the batch")
		}
		seen[id] = true
	}
	return invalidTransaction(f)
}

// itself returns nil, or what is wrong with a request of a batch by itself.
func (p *posting) itself() *Error {
	shape := p.draft.shape()
	if p.draft.note.ID == "" {
		f := faults(shape)
		f.check(Field{Name: "id"}, "must be given in a batch")
		shape = f
	}
	if len(shape) > 0 {
		return invalidRequest(shape)
	}
	return p.draft.rules()
}

// warm looks up what the requests name, all at once. What it does not find, each request looks up for itself.
func (b *batch) warm(ctx context.Context) {
	var keys LookupKeys
	all := &definitions{}
	for i, p := range b.items {
		if b.results[i].Err != nil {
			continue
		}
		d, missing := b.ledger.cached(p.draft)
		all.accounts = append(all.accounts, d.accounts...)
		keys.Accounts = append(keys.Accounts, missing.Accounts...)
		keys.Assets = append(keys.Assets, missing.Assets...)
		keys.Credits = append(keys.Credits, b.ledger.unknownCredits(p.draft, d)...)
	}
	if keys.empty() {
		return
	}
	if err := b.ledger.learn(ctx, keys, all); err != nil {
		b.ledger.log.WarnContext(ctx, "what a batch names could not be looked up at once", "error", err)
	}
}

// postEach posts each request for itself.
func (b *batch) postEach(c *command) {
	b.warm(c)
	group, _ := errgroup.WithContext(c)
	group.SetLimit(maxRequests)
	for _, chain := range b.chains() {
		group.Go(func() error {
			for _, i := range chain {
				b.results[i] = b.postOne(c, i)
			}
			return nil
		})
	}
	_ = group.Wait() // none fails
}

// postOne posts one request, unless the time is up or the caller gone.
func (b *batch) postOne(c *command, i int) BatchResult {
	end, _ := c.Deadline()
	switch {
	case b.results[i].Err != nil:
		return b.results[i]
	case time.Until(end) < batchReserve, c.abandoned() != nil:
		return BatchResult{Err: &Error{
			Code: CodeUnavailable, RetryAfter: retryAfter, Err: context.DeadlineExceeded,
			Detail: "The batch took too long: this request was not tried. Nothing was written for it.",
		}}
	}
	posted, err := b.items[i].post(c)
	if err != nil {
		return BatchResult{Err: asError(err)}
	}
	return BatchResult{Posted: posted}
}

// chains returns the requests that must follow each other, by index, in their order: those that debit the same pairs of
// accounts with limits. Accounts that are not known are taken for such.
func (b *batch) chains() [][]int {
	of := make(map[events.Pair]int) // to a request that debits it
	root := make([]int, len(b.items))
	find := func(i int) int {
		for root[i] != i {
			i = root[i]
		}
		return i
	}
	for i, p := range b.items {
		root[i] = i
		if b.results[i].Err != nil {
			continue
		}
		d, _ := b.ledger.cached(p.draft)
		for _, leg := range d.legs(p.draft) {
			pair := events.Pair{Account: leg.Account, Asset: leg.Asset}
			if leg.Quantity.Sign() >= 0 || d.overdraft(pair.Account).Unlimited {
				continue
			}
			if j, ok := of[pair]; ok { // the first of a chain is its root
				a, b := find(i), find(j)
				root[max(a, b)] = min(a, b)
			}
			of[pair] = i
		}
	}
	var chains [][]int
	at := make(map[int]int) // from a root to its chain
	for i := range b.items {
		r := find(i)
		n, ok := at[r]
		if !ok {
			n = len(chains)
			at[r], chains = n, append(chains, nil)
		}
		chains[n] = append(chains[n], i)
	}
	return chains
}

// ofRequest returns an error that names the request of a batch with an index.
func ofRequest(err error, i int) *Error {
	e := *asError(err)
	e.Request = i + 1
	fields := make([]FieldError, len(e.Fields))
	for at, f := range e.Fields {
		f.Field.Request = i + 1
		fields[at] = f
	}
	if len(fields) > 0 {
		e.Fields = fields
	}
	return &e
}
