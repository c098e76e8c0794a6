package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// BatchMax is the maximum number of requests in a batch.
const BatchMax = 100

// BatchPostingsMax is the maximum number of postings of a batch's requests together. A transfer has two, and so has a
// trade. One that is settled has four. A capture, a release and a reversal count as four, or as the postings that they
// list.
const BatchPostingsMax = 400

const batchesPath = "/v1/batches"

// Batch is a list of up to BatchMax requests, with up to BatchPostingsMax postings together. Each new transaction needs
// an id, and no two may have the same. No hold may be ended twice.
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
	send := func() error { return c.sendAsUnit(ctx, b, items) }
	if !b.Atomic && !b.DryRun {
		send = func() error {
			return c.sendUntilDone(ctx, items, c.timeout, func(left []*item) (attemptResult, error) {
				return c.sendOnce(ctx, left, len(left) == len(items))
			})
		}
	}
	if err := send(); err != nil {
		return nil, err
	}
	outcomes := make([]Outcome, len(items))
	for i, it := range items {
		if outcomes[i].Err = it.err; it.err == nil {
			outcomes[i].Written = Written{New: isNew(it.call, it.last) && !b.DryRun, Raw: it.last.body}
		}
	}
	return outcomes, nil
}

var errNotDry = errors.New("dry_run in the answer differs from the request")

// result has the answer to one request of a batch.
type result struct {
	// The status that the request would have if sent alone: 201 if it was posted, 200 if it was posted before or ended
	// a hold, otherwise that of the problem. If the transaction to end or reverse does not exist, the status is 422.
	Status int `json:"status" least:"200" most:"599"`
	// `true` if the same was carried out before. Absent otherwise.
	Replayed bool `json:"replayed,omitempty"`
	// The transaction. If the status is 400 or above, the problem. If a batch ends many large holds, the last ones are
	// shown without `metadata` and `postings`, which can be read with the transaction.
	Body json.RawMessage `json:"body" names:"own"`
}

// callOfBatch returns the call that sends items together. Its accept sets results.
func callOfBatch(items []*item, isAtomic, isDry bool, results *[]result) (call, error) {
	requests := make([]map[Kind]json.RawMessage, len(items))
	k := call{method: http.MethodPost, path: batchesPath}
	if isDry {
		k.makeDry()
	}
	for i, it := range items {
		requests[i] = map[Kind]json.RawMessage{it.kind: it.inBatch}
		k.resources = append(k.resources, it.resources...)
	}
	if len(items) > 0 {
		k.id = items[0].id
	}
	k.accept = func(text []byte) error {
		var answer BatchResults
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
		it.last = judgeResult(it.call, results[i])
		it.err = it.last.err
	}
	return nil
}

// sendOnce sends items once and sets their outcomes. areFresh means that no item of the batch is written yet. If
// sendOnce returns an error, none of the items was written or will be.
func (c *Client) sendOnce(ctx context.Context, items []*item, areFresh bool) (attemptResult, error) {
	var results []result
	k, err := callOfBatch(items, false, false, &results)
	if err != nil {
		return attemptResult{}, err
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

// judgeResult returns what the answer to one request of a batch proves.
func judgeResult(k call, r result) attemptResult {
	if r.Status >= 200 && r.Status < 300 {
		if err := k.accepts(r.Body); err != nil {
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
