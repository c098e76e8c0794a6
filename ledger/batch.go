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
	return l.postBatch(ctx, requests, atomic, false)
}

func (l *Ledger) postBatch(
	ctx context.Context, requests []PostingRequest, atomic, dry bool,
) ([]BatchResult, error) {
	if n := len(requests); n == 0 || n > BatchMax {
		return nil, invalidTransaction([]FieldError{{
			Field: Field{Name: "requests"}, Rule: fmt.Sprintf("must be 1 to %d, not %d", BatchMax, n),
		}})
	}
	b := &batch{ledger: l, dryRun: dry, results: make([]BatchResult, len(requests))}
	for _, r := range requests {
		b.drafts = append(b.drafts, r.expand())
	}
	if err := b.rules(); err != nil {
		return nil, err
	}
	for i, d := range b.drafts {
		b.results[i].Err = d.validate()
	}
	c, cancel, err := startCommand(ctx, nil, b.drafts[0].note.Actor)
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

// batch is one PostBatch on its way.
type batch struct {
	ledger  *Ledger
	dryRun  bool // nothing is written
	drafts  []draft
	results []BatchResult
}

// rules returns nil, or what breaks the rules over several requests.
func (b *batch) rules() error {
	var f faults
	seen := make(map[string]bool, len(b.drafts))
	for i, d := range b.drafts {
		if d.note.Actor != b.drafts[0].note.Actor {
			return internalError(errors.New("a batch of several actors"))
		}
		if d.note.ID != "" && seen[d.note.ID] {
			f.check(Field{Request: i + 1, Name: "id"}, "is that of an earlier request of the batch")
		}
		seen[d.note.ID] = true
	}
	if f != nil {
		return invalidTransaction(f)
	}
	return nil
}

// itself returns nil, or what is wrong with a request of a batch by itself.
func (d draft) validate() *Error {
	f := faults(d.shape())
	if d.note.ID == "" {
		f.check(Field{Name: "id"}, "must be given in a batch")
	}
	if len(f) > 0 {
		return invalidRequest(f)
	}
	return d.rules()
}

// postAll posts all requests in one transaction of the store, or returns the error of the first that is refused.
func (b *batch) postAtomic(c *command) error {
	for i, result := range b.results {
		if result.Err != nil {
			return withRequest(result.Err, i)
		}
	}
	b.prefetch(c)
	items := make([]*item, len(b.drafts))
	for i, d := range b.drafts {
		items[i] = &item{draft: d, request: i + 1, dryRun: b.dryRun}
	}
	if err := b.ledger.submit(c, items...); err != nil {
		return err
	}
	for i, p := range items {
		b.results[i].Posted = p.answer
	}
	return nil
}

// warm looks up what the requests name, all at once. What it does not find, each request looks up for itself.
func (b *batch) prefetch(ctx context.Context) {
	var keys LookupKeys
	all := &definitions{}
	for i, p := range b.drafts {
		if b.results[i].Err != nil {
			continue
		}
		d, missing := b.ledger.cachedDefinitions(p)
		all.accounts = append(all.accounts, d.accounts...)
		keys.Accounts = append(keys.Accounts, missing.Accounts...)
		keys.Assets = append(keys.Assets, missing.Assets...)
		keys.Credits = append(keys.Credits, b.ledger.uncachedCredits(p, d)...)
	}
	if keys.empty() {
		return
	}
	if err := b.ledger.lookupInto(ctx, keys, all); err != nil {
		b.ledger.log.WarnContext(ctx, "what a batch names could not be looked up at once", "error", err)
	}
}

// postEach posts each request for itself.
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
	p := &item{draft: b.drafts[i], dryRun: b.dryRun}
	if err := b.ledger.submit(c, p); err != nil {
		return BatchResult{Err: asError(err)}
	}
	return BatchResult{Posted: p.answer}
}

// chains returns the requests that must follow each other, by index, in their order: those that debit the same pairs of
// accounts with limits. Accounts that are not known are taken for such. Requests of a dry run spend nothing.
func (b *batch) chains() [][]int {
	of := make(map[events.Pair]int) // to a request that debits it
	root := make([]int, len(b.drafts))
	find := func(i int) int {
		for root[i] != i {
			i = root[i]
		}
		return i
	}
	for i, p := range b.drafts {
		root[i] = i
		if b.results[i].Err != nil || b.dryRun {
			continue
		}
		d, _ := b.ledger.cachedDefinitions(p)
		for _, leg := range d.legs(p) {
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

// ofRequest returns an error that names the request of a batch with an index.
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
