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

// BatchMax is the most requests of a batch.
const BatchMax = 100

const batchesPath = "/v1/batches"

// Batch is up to BatchMax requests, each with an id, none twice.
type Batch struct {
	// Atomic says that all are posted or none. Else each is judged and answered for itself, and no order is promised.
	Atomic   bool
	DryRun   bool // ask what would be answered, and write nothing
	Requests []Request
}

// Outcome is how a request of a batch ended.
type Outcome struct {
	Written Written // of a dry run: the answer, which is not New
	Err     error   // *Error (refused: nothing was written by it) or *UnknownError; nil when it is written
}

// Transaction reads the answer, when there is one.
func (o Outcome) Transaction() (Transaction, error) {
	if o.Err != nil {
		return Transaction{}, o.Err
	}
	var t Transaction
	err := json.Unmarshal(o.Written.Raw, &t)
	return t, err
}

// Batch sends requests together. An error is about all of them: nothing was written, or it is an UnknownError of an
// atomic batch, whose ID is that of its first request. Without an error there is an outcome for each request, in their
// order. Requests that the API could not answer are sent again, as Send does. Errors: those of Send; *Error has
// batch_too_large, and of an atomic batch the first refusal, its fields beginning with "requests[n].".
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
		items[i] = &item{call: k, kind: cmd.Kind}
	}
	var err error
	if b.Atomic || b.DryRun {
		err = c.sendWhole(ctx, b, items)
	} else {
		err = c.sendEach(ctx, items)
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

var errNotDry = errors.New("a dry run was asked for and not done, or the other way round")

// item is a request of a batch on its way.
type item struct {
	call
	kind Kind

	outcome Outcome
	isDone  bool

	attempts     int
	maybeApplied bool
	err          error // of the last attempt
	isRefused    bool  // the last attempt was refused, which is not final yet
}

// end makes err the outcome. It says nothing about attempts before that may have been applied.
func (it *item) end(err error) {
	if it.maybeApplied || it.isRefused {
		err = &UnknownError{ID: it.id, Attempts: it.attempts, Err: err}
	}
	it.outcome, it.isDone = Outcome{Err: err}, true
}

// result is the answer to one request of a batch.
type result struct {
	Status int             `json:"status"`
	Body   json.RawMessage `json:"body"`
}

// callOfBatch is the call that sends items together. results is set when the answer is read.
func callOfBatch(items []*item, isAtomic, isDry bool, results *[]result) (call, error) {
	requests := make([]map[Kind]json.RawMessage, len(items))
	k := call{method: http.MethodPost, path: batchesPath, isDry: isDry}
	if isDry {
		k.query = url.Values{"dry_run": {"true"}}
	}
	for i, it := range items {
		requests[i] = map[Kind]json.RawMessage{it.kind: it.body}
		k.about = append(k.about, it.about...)
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
			return fmt.Errorf("it has %d results of %d requests", len(answer.Results), len(items))
		}
		*results = answer.Results
		return nil
	}
	var err error
	k.body, err = json.Marshal(struct {
		Atomic   bool                       `json:"atomic"`
		Requests []map[Kind]json.RawMessage `json:"requests"`
	}{isAtomic, requests})
	return k, err
}

// sendWhole sends a batch that has one outcome, or writes nothing.
func (c *Client) sendWhole(ctx context.Context, b Batch, items []*item) error {
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

// sendEach sends items until each has an outcome or the time is over. What is refused while an earlier send may still
// be carried out is sent again until it is final, beyond that time, as do does.
func (c *Client) sendEach(ctx context.Context, items []*item) error {
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
				if !it.isDone && !it.isRefused {
					it.end(it.err)
				}
			}
		}
		left = slices.DeleteFunc(slices.Clone(left), func(it *item) bool { return it.isDone })
		if len(left) > 0 && c.wait(ctx, c.pauseOf(left, pause)) != nil {
			for _, it := range left {
				it.end(it.err)
			}
			return nil
		}
	}
	return nil
}

// pauseOf returns the time until items are sent again: pause, or longer when all were refused and none of the refusals
// is final before.
func (c *Client) pauseOf(items []*item, pause time.Duration) time.Duration {
	final := time.Duration(0)
	for _, it := range items {
		if !it.isRefused {
			return pause
		}
		final = max(final, c.unanswered.left(it.about, c.now()))
	}
	return final
}

// sendOnce sends items once, and gives those an outcome that have one. areFresh says that none was written. Error:
// nothing of what was sent was written, nor will be.
func (c *Client) sendOnce(ctx context.Context, items []*item, areFresh bool) (attempted, error) {
	var results []result
	k, err := callOfBatch(items, false, false, &results)
	if err != nil {
		return attempted{}, err
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
	if areFresh && !isAnswered && (a.verdict == answered || a.verdict == barred || isUnreachable) {
		if isUnreachable {
			a.err = &UnreachableError{URL: c.base, Err: a.err}
		}
		return a, a.err
	}
	for i, it := range items {
		of := a
		switch {
		case isAnswered:
			of = judgeResult(it.call, results[i])
		case of.verdict == answered: // a refusal of them all, which says nothing about the attempts before
			of.verdict = barred
		}
		c.settle(it, of)
	}
	return a, nil
}

// settle takes what an attempt proves of a request.
func (c *Client) settle(it *item, a attempted) {
	it.err, it.isRefused = a.err, false
	switch {
	case a.verdict == answered && a.err == nil:
		it.outcome, it.isDone = Outcome{Written: Written{New: isNew(it.call, a), Raw: a.body}}, true
	case a.verdict == answered && isRefusal(a.err) && c.unanswered.left(it.about, c.now()) > 0:
		it.isRefused = true
	case a.verdict == answered:
		it.outcome, it.isDone = Outcome{Err: a.err}, true
	case a.verdict == barred:
		it.end(a.err)
	case a.verdict == unknown:
		it.maybeApplied = true
		c.unanswered.note(it.about, c.now())
	}
}

// judgeResult reads the answer to one request of a batch.
func judgeResult(k call, r result) attempted {
	if r.Status >= 200 && r.Status < 300 {
		if err := k.accept(r.Body); err != nil {
			return attempted{verdict: unknown, err: fmt.Errorf("the result cannot be read: %w", err)}
		}
		return attempted{verdict: answered, status: r.Status, body: r.Body}
	}
	problem := &Error{}
	if err := json.Unmarshal(r.Body, problem); err != nil || problem.Code == "" {
		return attempted{verdict: unknown, err: errors.New("a result without a code of the ledger's API")}
	}
	problem.Status = r.Status
	return judgeProblem(problem, 0)
}
