package ledger

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"ledger.example/events"
)

const (
	// BatchMax is the maximum number of requests in a batch.
	BatchMax = 100
	// batchReserve is how long before its deadline a batch starts its last request. It keeps unknown outcomes rare.
	batchReserve = time.Second
)

// PostBatch posts 1 to BatchMax requests of one actor, all or none of them dry runs. Each must have an id. It returns
// the results in the order of the requests.
//
// An atomic batch is posted completely or not at all. A request may spend the credits of earlier ones. Requests that
// were posted before get their first answer, and the others are posted. The error is that of the first refused request,
// which Error.Request numbers, or CodeBatchTooLarge.
//
// In any other batch the requests are independent. Requests that debit the same limited account and asset are posted in
// their order, the others in any order. Requests that were not started in time get CodeUnavailable.
//
// Errors of the batch as a whole: CodeInvalidTransaction (for the number of requests or a duplicate id), CodeInternal.
func (l *Ledger) PostBatch(ctx context.Context, requests []Request, atomic bool) ([]BatchResult, error) {
	var f faults
	f.check(Field{Name: "requests"}, BatchViolation(len(requests)))
	if f != nil {
		return nil, invalidTransaction(f)
	}
	b := &batch{ledger: l, results: make([]BatchResult, len(requests))}
	for _, r := range requests {
		b.drafts = append(b.drafts, r.expand())
	}
	if err := b.rules(); err != nil {
		return nil, err
	}
	for i, d := range b.drafts {
		b.results[i].Err = d.validate()
	}
	c, cancel, err := startCommand(ctx, nil, b.drafts[0].Actor)
	if err != nil {
		return nil, err
	}
	defer cancel()
	if atomic {
		err = b.postAtomic(c)
	} else {
		b.postEach(c)
	}
	if err != nil {
		return nil, err
	}
	return b.results, nil
}

// batch is one PostBatch in progress.
type batch struct {
	ledger  *Ledger
	drafts  []draft
	results []BatchResult
}

// rules checks the rules over several requests. Errors: CodeInvalidTransaction, CodeInternal.
func (b *batch) rules() error {
	var f faults
	seen := make(map[string]bool, len(b.drafts))
	for i, d := range b.drafts {
		if first := b.drafts[0]; d.Actor != first.Actor || d.DryRun != first.DryRun {
			return internalError(errors.New("a batch of several actors, or in part a dry run"))
		}
		if d.endsHold() || d.isReversal() {
			return internalError(errors.New("a batch with a reversal or the end of a hold"))
		}
		if d.ID != "" && seen[d.ID] {
			f.check(Field{Request: i + 1, Name: "id"}, RuleRepeatedID)
		}
		seen[d.ID] = true
	}
	if f != nil {
		return invalidTransaction(f)
	}
	return nil
}

// validate checks one request of a batch without reading anything.
func (d draft) validate() *Error {
	f := faults(d.shape())
	if d.ID == "" {
		f.check(Field{Name: "id"}, "must be given in a batch")
	}
	if len(f) > 0 {
		return invalidRequest(f)
	}
	return d.rules()
}

// postAtomic posts all requests in one transaction of the store. Error: that of the first refused request.
func (b *batch) postAtomic(c *command) error {
	for i, result := range b.results {
		if result.Err != nil {
			return withRequest(result.Err, i)
		}
	}
	b.prefetch(c)
	requests := make([]*request, len(b.drafts))
	for i, d := range b.drafts {
		requests[i] = &request{draft: d, number: i + 1}
	}
	if err := b.ledger.attempt(c, requests...); err != nil {
		return err
	}
	for i, r := range requests {
		b.results[i].Posted = r.answer
	}
	return nil
}

// prefetch looks up the definitions and credits of all requests together. It only fills the caches: each request looks
// up what it still misses.
func (b *batch) prefetch(ctx context.Context) {
	var keys lookupKeys
	all := &definitions{}
	for i, d := range b.drafts {
		if b.results[i].Err != nil {
			continue
		}
		known, missing := b.ledger.cachedDefinitions(d)
		all.accounts = append(all.accounts, known.accounts...)
		keys.accounts = append(keys.accounts, missing.accounts...)
		keys.assets = append(keys.assets, missing.assets...)
		keys.credits = append(keys.credits, b.ledger.uncachedCredits(d, known)...)
	}
	if keys.empty() {
		return
	}
	if err := b.ledger.lookupInto(ctx, keys, all); err != nil {
		b.ledger.log.WarnContext(ctx, "prefetch of a batch failed", "error", err)
	}
}

// postEach posts the requests independently.
func (b *batch) postEach(c *command) {
	b.prefetch(c)
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

// postOne posts one request, unless the deadline is near or the caller is gone.
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
	r := &request{draft: b.drafts[i]}
	if err := b.ledger.attempt(c, r); err != nil {
		return BatchResult{Err: asError(err)}
	}
	return BatchResult{Posted: r.answer}
}

// chains groups the requests, by index. Requests that debit the same limited pair are in one chain, in their order.
// Unknown accounts count as limited. In a dry run nothing is spent, so every request is its own chain.
func (b *batch) chains() [][]int {
	last := make(map[events.Pair]int) // the last request that debits the pair
	root := make([]int, len(b.drafts))
	find := func(i int) int {
		for root[i] != i {
			i = root[i]
		}
		return i
	}
	for i, d := range b.drafts {
		root[i] = i
		if b.results[i].Err != nil || d.DryRun {
			continue
		}
		known, _ := b.ledger.cachedDefinitions(d)
		for _, leg := range known.legs(d) {
			pair := events.Pair{Account: leg.Account, Asset: leg.Asset}
			if leg.Quantity.Sign() >= 0 || known.overdraft(pair.Account).Unlimited {
				continue
			}
			if j, ok := last[pair]; ok { // the first request of a chain is its root
				a, b := find(i), find(j)
				root[max(a, b)] = min(a, b)
			}
			last[pair] = i
		}
	}
	var chains [][]int
	at := make(map[int]int) // the chain of each root
	for i := range b.drafts {
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

// withRequest returns a copy of err that names the request with index i of a batch.
func withRequest(err error, i int) *Error {
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
