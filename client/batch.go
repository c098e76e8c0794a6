package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// BatchMax is the maximum number of requests in a batch.
const BatchMax = 100

const batchesPath = "/v1/batches"

// Batch is a list of up to BatchMax requests. Each new transaction needs an id, and no two may have the same. No hold
// may be ended twice.
type Batch struct {
	// Atomic carries out all requests or none. Otherwise each request is carried out or refused on its own. No order is
	// promised, except of requests that debit the same limited account and asset, and of those that place, end and
	// reverse the same transaction: they are carried out in theirs, also when they are sent again.
	Atomic   bool
	DryRun   bool // write nothing, and return what would be answered
	Requests []Request
}

// Outcome is the result of one request of a batch.
type Outcome struct {
	Written Written // the answer; New is false in a dry run
	Err     error   // *Error (it wrote nothing) or *UnknownError; nil if it was written
}

// Transaction returns the transaction of the answer, or Err.
func (o Outcome) Transaction() (Transaction, error) {
	if o.Err != nil {
		return Transaction{}, o.Err
	}
	var t Transaction
	err := json.Unmarshal(o.Written.Raw, &t)
	return t, err
}

// Batch sends requests together and returns one outcome for each, in the order of the requests. Requests without an
// answer are retried, as by Send. If Batch returns an error, no request was written, unless it is an UnknownError of an
// atomic batch; its ID is the id of the first request. Errors: those of Send. An *Error is about the whole batch, for
// example batch_too_large, or it is the first refusal in an atomic batch. Then the names of its fields begin with
// "requests[n].".
func (c *Client) Batch(ctx context.Context, b Batch) ([]Outcome, error) {
	items := make([]*item, len(b.Requests))
	for i, r := range b.Requests {
		cmd, err := r.Command()
		if err != nil {
			return nil, err
		}
		k, err := callOf(cmd)
		if err != nil {
			return nil, err
		}
		body, err := cmd.inBatch()
		if err != nil {
			return nil, err
		}
		items[i] = &item{call: k, kind: cmd.Kind, inBatch: body}
	}
	var err error
	if b.Atomic || b.DryRun {
		err = c.sendAsUnit(ctx, b, items)
	} else {
		err = c.sendUntilDone(ctx, items)
	}
	if err != nil {
		return nil, err
	}
	outcomes := make([]Outcome, len(items))
	for i, it := range items {
		outcomes[i] = it.outcome
	}
	return outcomes, nil
}

var errNotDry = errors.New("dry_run in the answer differs from the request")

// item is a request of a batch that is being sent.
type item struct {
	call
	kind    Kind
	inBatch []byte // the body in a batch

	outcome Outcome
	isDone  bool

	attempts     int
	maybeApplied bool
	err          error // of the last attempt
	isPending    bool  // the last attempt was refused, but an unanswered write may still change that
}

// end makes err the outcome, as an UnknownError if an earlier attempt may have been applied.
func (it *item) end(err error) {
	if it.maybeApplied || it.isPending {
		err = &UnknownError{ID: it.id, Attempts: it.attempts, Err: err}
	}
	it.outcome, it.isDone = Outcome{Err: err}, true
}

// result is the answer to one request of a batch.
type result struct {
	Status   int             `json:"status"`
	Replayed bool            `json:"replayed"`
	Body     json.RawMessage `json:"body"`
}

// callOfBatch returns the call that sends items together. Its accept sets results.
func callOfBatch(items []*item, isAtomic, isDry bool, results *[]result) (call, error) {
	requests := make([]map[Kind]json.RawMessage, len(items))
	k := call{method: http.MethodPost, path: batchesPath, isDry: isDry}
	if isDry {
		k.query = url.Values{"dry_run": {"true"}}
	}
	for i, it := range items {
		requests[i] = map[Kind]json.RawMessage{it.kind: it.inBatch}
		k.resources = append(k.resources, it.resources...)
	}
	if len(items) > 0 {
		k.id = items[0].id
	}
	k.accept = func(text []byte) error {
		var answer struct {
			DryRun  bool     `json:"dry_run"`
			Results []result `json:"results"`
		}
		if err := json.Unmarshal(text, &answer); err != nil {
			return err
		}
		if answer.DryRun != isDry {
			return errNotDry
		}
		if len(answer.Results) != len(items) {
			return fmt.Errorf("it has %d results for %d requests", len(answer.Results), len(items))
		}
		*results = answer.Results
		return nil
	}
	var err error
	k.body, err = json.Marshal(BatchRequest{isAtomic, requests})
	return k, err
}

// sendAsUnit sends an atomic batch, or a dry run of any batch. Like a single request, it is answered as a whole.
func (c *Client) sendAsUnit(ctx context.Context, b Batch, items []*item) error {
	var results []result
	k, err := callOfBatch(items, b.Atomic, b.DryRun, &results)
	if err != nil {
		return err
	}
	if _, err := c.do(ctx, k); err != nil {
		return err
	}
	for i, it := range items {
		a := judgeResult(it.call, results[i])
		it.outcome = Outcome{Written{isNew(it.call, a) && !b.DryRun, a.body}, a.err}
	}
	return nil
}

// sendUntilDone sends items until each has an outcome or the timeout passes. Like do, it waits beyond the timeout for
// refusals that an unanswered write may still change.
func (c *Client) sendUntilDone(ctx context.Context, items []*item) error {
	deadline := c.now().Add(c.timeout)
	left := items
	for attempt := 0; len(left) > 0; attempt++ {
		a, err := c.sendOnce(ctx, left, len(left) == len(items))
		if err != nil {
			return err
		}
		pause := max(backoff.Delay(attempt+1), a.retryAfter)
		if c.now().Add(pause).After(deadline) || ctx.Err() != nil {
			for _, it := range left {
				if !it.isDone && !it.isPending {
					it.end(it.err)
				}
			}
		}
		left = slices.DeleteFunc(slices.Clone(left), func(it *item) bool { return it.isDone })
		if len(left) > 0 && c.wait(ctx, c.pauseBefore(left, pause)) != nil {
			for _, it := range left {
				it.end(it.err)
			}
			return nil
		}
	}
	return nil
}

// pauseBefore returns the time until items are sent again. It is pause, unless all items were refused: then it is the
// time after which all refusals are final.
func (c *Client) pauseBefore(items []*item, pause time.Duration) time.Duration {
	final := time.Duration(0)
	for _, it := range items {
		if !it.isPending {
			return pause
		}
		final = max(final, c.unanswered.remaining(it.resources, c.now()))
	}
	return final
}

// sendOnce sends items once and sets their outcomes. areFresh means that no item of the batch is written yet. If
// sendOnce returns an error, none of the items was written or will be.
func (c *Client) sendOnce(ctx context.Context, items []*item, areFresh bool) (attemptResult, error) {
	var results []result
	k, err := callOfBatch(items, false, false, &results)
	if err != nil {
		return attemptResult{}, err
	}
	for _, it := range items {
		it.attempts++
	}
	a := c.attempt(ctx, k)
	isAnswered := a.verdict == answered && a.err == nil
	for _, it := range items {
		areFresh = areFresh && !it.maybeApplied
	}
	isUnreachable := a.verdict == notSent && !c.replied.Load()
	if areFresh && !isAnswered && (a.verdict == answered || a.verdict == notRetryable || isUnreachable) {
		if isUnreachable {
			a.err = &UnreachableError{URL: c.base, Err: a.err}
		}
		return a, a.err
	}
	for i, it := range items {
		result := a
		switch {
		case isAnswered:
			result = judgeResult(it.call, results[i])
		case a.verdict == answered: // a refusal of the whole batch; it proves nothing about earlier attempts
			result.verdict = notRetryable
		}
		c.settle(it, result)
	}
	return a, nil
}

// settle updates an item with the result of an attempt.
func (c *Client) settle(it *item, a attemptResult) {
	it.err, it.isPending = a.err, false
	switch {
	case a.verdict == answered && it.maybeApplied && c.mayLackRole(a.err):
		it.end(a.err) // an earlier attempt may have been applied before the role was revoked
	case a.verdict == answered && a.err == nil:
		it.outcome, it.isDone = Outcome{Written: Written{New: isNew(it.call, a), Raw: a.body}}, true
	case a.verdict == answered && isRefusal(a.err) && c.unanswered.remaining(it.resources, c.now()) > 0:
		it.isPending = true
	case a.verdict == answered:
		it.outcome, it.isDone = Outcome{Err: a.err}, true
	case a.verdict == notRetryable:
		it.end(a.err)
	case a.verdict == unknown:
		it.maybeApplied = true
		c.unanswered.add(it.resources, c.now())
	}
}

// judgeResult returns what the answer to one request of a batch proves.
func judgeResult(k call, r result) attemptResult {
	if r.Status >= 200 && r.Status < 300 {
		if err := k.accept(r.Body); err != nil {
			return attemptResult{verdict: unknown, err: fmt.Errorf("the result cannot be read: %w", err)}
		}
		return attemptResult{verdict: answered, status: r.Status, body: r.Body, isReplay: r.Replayed}
	}
	problem := &Error{}
	if err := json.Unmarshal(r.Body, problem); err != nil || problem.Code == "" {
		return attemptResult{verdict: unknown, err: errors.New("a result without a code of the ledger's API")}
	}
	problem.Status = r.Status
	return judgeProblem(problem, 0)
}
