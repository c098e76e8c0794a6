package api

import (
	"errors"
	"fmt"
	"net/http"

	"ledger.example/ledger"
)

const (
	ruleRefused   = "is refused"
	detailOneKind = "The request must be an object with exactly one member: transaction, transfer or trade. Its value must be an object."
)

// results is the answer to a batch, in the order of its requests.
type results struct {
	DryRun  bool     `json:"dry_run,omitempty"`
	Results []result `json:"results"`
}

// result is the answer to one request of a batch: its transaction, or its problem.
type result struct {
	Status int `json:"status"`
	Body   any `json:"body"`
}

// batched is one request of a batch.
type batched struct {
	at      int    // its place in the batch
	kind    string // transaction, transfer or trade; "" as long as that is not clear
	own     request
	posting ledger.PostingRequest
	problem *problem // why it is refused, nil unless it is
}

// postBatch posts many transactions: each for itself, or all or none.
func (a *api) postBatch(r *request) (reply, error) {
	items, atomic, err := r.batch()
	if err != nil {
		return reply{}, err
	}
	twice := idsTwice(r.body.member("requests"))
	if twice == nil {
		if err := r.permitBatch(items, atomic); err != nil {
			return reply{}, err
		}
	}
	var sound []*batched
	var requests []ledger.PostingRequest
	for _, b := range items {
		switch {
		case b.problem == nil:
			sound, requests = append(sound, b), append(requests, b.posting)
		case atomic:
			return reply{}, b.inBatch()
		}
	}
	if twice != nil {
		return reply{}, newProblem(ledger.CodeInvalidTransaction, "The batch is invalid; see errors.", twice...)
	}
	shown, posted, err := a.carryOut(r, sound, requests, atomic)
	if err != nil {
		return reply{}, err
	}
	out := results{DryRun: r.dry, Results: make([]result, len(items))}
	for i, b := range sound {
		out.Results[b.at] = shown[i]
	}
	for i, b := range items {
		if b.problem != nil {
			b.problem.RequestID = r.id
			out.Results[i] = result{b.problem.Status, b.problem}
		}
	}
	status := http.StatusOK
	if atomic && !r.dry && posted.posted > 0 {
		status = http.StatusCreated
	}
	return reply{status: status, body: out, batch: posted}, nil
}

// carryOut posts what is sound, and returns how each is answered. A refusal is noted
// with its request.
func (a *api) carryOut(
	r *request, sound []*batched, requests []ledger.PostingRequest, atomic bool,
) (shown []result, posted tally, err error) {
	if len(sound) == 0 { // each is refused by itself
		return nil, posted, nil
	}
	answers, err := a.posts(r).PostBatch(r.http.Context(), requests, atomic)
	if err != nil {
		return nil, posted, refusalOfBatch(err, sound)
	}
	shown = make([]result, len(sound))
	for i, answer := range answers {
		if answer.Err != nil {
			sound[i].problem = problemOf(sound[i].own.refusal(answer.Err), true)
			continue
		}
		one := showPosted(answer.Posted)
		shown[i] = result{one.status, one.body}
		if one.replayed {
			posted.replayed++
		} else {
			posted.posted++
		}
	}
	return shown, posted, nil
}

// batch reads the body of a batch. Errors: the problem of the batch as a whole. What is wrong with a request is its
// problem.
func (r *request) batch() (items []*batched, atomic bool, err error) {
	d := &decoder{}
	top := object{d: d, n: r.body}
	for m := range r.body.children() {
		if r.body.member(m.key) != m && len(d.malformed) < errorsMax {
			d.malformed = append(d.malformed, fieldError{Field: m.key, Rule: ruleOnce})
		}
	}
	atomic = top.flag("atomic")
	list := top.take("requests", required)
	top.is(anArray, "requests", list, ruleArray)
	top.finish()
	switch {
	case len(d.malformed) > 0:
		return nil, false, malformedFields(d.malformed)
	case len(d.wrong)+len(r.wrong) > 0:
		return nil, false, r.invalid(d)
	case list.count < 1 || list.count > ledger.BatchMax:
		return nil, false, newProblem(ledger.CodeInvalidTransaction, "The batch is invalid; see errors.", fieldError{
			Field: "requests", Rule: fmt.Sprintf("must be 1 to %d, not %d", ledger.BatchMax, list.count),
		})
	}
	for n := range list.children() {
		b := &batched{at: len(items)}
		if err := b.read(r, n); err != nil {
			b.problem = problemOf(err, true)
		}
		items = append(items, b)
	}
	return items, atomic, nil
}

// idsTwice returns the fields with the id of an earlier request, whatever else is wrong with either: nobody could tell
// which of the two was posted.
func idsTwice(list *node) (twice []fieldError) {
	seen, at := make(map[string]bool, list.count), 0
	for n := range list.children() {
		for kind := range n.children() {
			id := kind.member("id")
			if n.kind != anObject || kind.kind != anObject || id == nil || id.kind != aText {
				continue
			}
			if seen[id.text] {
				field := fmt.Sprintf("requests[%d].%s.id", at, kind.key)
				twice = append(twice, fieldError{Field: field, Rule: "is that of an earlier request of the batch"})
			}
			seen[id.text] = true
		}
		at++
	}
	return twice
}

// read reads a request from n. Errors: those of a body of its own.
func (b *batched) read(r *request, n *node) error {
	var body *node
	var malformed []fieldError
	kinds := 0
	for m := range n.children() {
		switch {
		case n.kind != anObject || len(malformed) == errorsMax:
		case n.member(m.key) != m:
			malformed = append(malformed, fieldError{Field: m.key, Rule: ruleOnce})
		case postingKinds[m.key] != nil:
			body = m
			kinds++
		default:
			malformed = append(malformed, fieldError{Field: m.key, Rule: ruleKnown})
		}
	}
	switch {
	case malformed != nil:
		return malformedFields(malformed)
	case kinds != 1 || body.kind != anObject:
		return newProblem(codeMalformedBody, detailOneKind)
	}
	var twice repeats
	twice.find(body)
	b.kind, b.own = body.key, request{http: r.http, body: body, twice: twice.fields}
	var c beingRead
	err := b.own.decode(&c, func(o *object) {
		c.PostingRequest, _ = postingKinds[b.kind](o, ledger.Annotation{Actor: r.actor})
		if o.n.member("id") == nil {
			o.fail(o.n.end, "id", ruleRequired)
		}
	})
	b.posting = c.PostingRequest
	return err
}

// field returns the name of a field of the request within the batch.
func (b *batched) field(name string) string {
	full := fmt.Sprintf("requests[%d]", b.at)
	for _, part := range []string{b.kind, name} {
		if part != "" {
			full += "." + part
		}
	}
	return full
}

// inBatch returns the request's problem as that of the whole batch: with the full names of its fields. When it has
// none, the request itself is named.
func (b *batched) inBatch() *problem {
	for i := range b.problem.Errors {
		b.problem.Errors[i].Field = b.field(b.problem.Errors[i].Field)
	}
	if len(b.problem.Errors) == 0 {
		b.problem.Errors = []fieldError{{Field: b.field(""), Rule: ruleRefused}}
	}
	return b.problem
}

// refusalOfBatch returns the problem of a batch that the ledger refuses as a whole: for one of its requests, for what
// is wrong between several, or for its size.
func refusalOfBatch(err error, sound []*batched) error {
	e, ok := errors.AsType[*ledger.Error](err)
	if !ok {
		return err
	}
	if e.Request > 0 {
		b := sound[e.Request-1]
		b.problem = problemOf(b.own.refusal(e), true)
		return b.inBatch()
	}
	p := problemOf(e, true)
	for i, f := range e.Fields[:len(p.Errors)] {
		if f.Field.Request > 0 {
			p.Errors[i].Field = sound[f.Field.Request-1].field(p.Errors[i].Field)
		}
	}
	return p
}
