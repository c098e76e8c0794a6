package api

import (
	"errors"
	"fmt"
	"net/http"

	"ledger.example/ledger"
)

const (
	ruleRefused   = "is refused"
	detailOneKind = "The request must be an object with exactly one member: transaction, transfer or trade. " +
		"The value must be an object."
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
	at      int     // index in the batch
	kind    string  // transaction, transfer or trade; "" if it is not valid
	request request // has only what is needed to decode the request
	posting ledger.Request
	problem *problem // why the request is refused, nil if it is not
}

// postBatch posts several transactions, each on its own or, if the batch is atomic, all or none.
func (a *api) postBatch(r *request) (reply, error) {
	items, atomic, err := r.batch()
	if err != nil {
		return reply{}, err
	}
	repeated := repeatedIDs(r.body.member("requests"))
	if repeated == nil {
		if err := r.permitBatch(items, atomic); err != nil {
			return reply{}, err
		}
	}
	var valid []*batched
	var requests []ledger.Request
	for _, b := range items {
		switch {
		case b.problem == nil:
			valid, requests = append(valid, b), append(requests, b.posting)
		case atomic:
			return reply{}, b.asBatchProblem()
		}
	}
	if repeated != nil {
		return reply{}, newProblem(ledger.CodeInvalidTransaction, "The batch is invalid; see errors.", repeated...)
	}
	shown, posted, err := a.executeBatch(r, valid, requests, atomic)
	if err != nil {
		return reply{}, err
	}
	out := results{DryRun: r.dry, Results: make([]result, len(items))}
	for i, b := range valid {
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

// executeBatch posts the valid requests and returns their results. If a request is refused, it sets its problem.
func (a *api) executeBatch(
	r *request, valid []*batched, requests []ledger.Request, atomic bool,
) (shown []result, posted tally, err error) {
	if len(valid) == 0 {
		return nil, posted, nil
	}
	answers, err := a.config.Commands.PostBatch(r.http.Context(), requests, atomic)
	if err != nil {
		return nil, posted, refusalOfBatch(err, valid)
	}
	shown = make([]result, len(valid))
	for i, answer := range answers {
		if answer.Err != nil {
			valid[i].problem = problemOf(valid[i].request.refusal(answer.Err), true)
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

// batch reads the body of a batch. The error is a problem of the whole batch. If a single request is invalid, batch
// sets its problem.
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
	top.hasKind(anArray, "requests", list, ruleArray)
	top.rejectUnknown()
	switch {
	case len(d.malformed) > 0:
		return nil, false, malformedFields(d.malformed)
	case len(d.faults)+len(r.faults) > 0:
		return nil, false, r.invalid(d)
	}
	if violation := ledger.BatchViolation(int(list.count)); violation != "" {
		return nil, false, newProblem(ledger.CodeInvalidTransaction, "The batch is invalid; see errors.",
			fieldError{Field: "requests", Rule: violation})
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

// repeatedIDs returns the id fields that have the id of an earlier request, even of an invalid one. With the same id
// twice, the caller could not know which of the two requests was posted.
func repeatedIDs(list *node) (repeated []fieldError) {
	seen, at := make(map[string]bool, list.count), 0
	for n := range list.children() {
		for kind := range n.children() {
			id := kind.member("id")
			if n.kind != anObject || kind.kind != anObject || id == nil || id.kind != aText {
				continue
			}
			if seen[id.text] {
				field := fmt.Sprintf("requests[%d].%s.id", at, kind.key)
				repeated = append(repeated, fieldError{Field: field, Rule: ledger.RuleRepeatedID})
			}
			seen[id.text] = true
		}
		at++
	}
	return repeated
}

// read decodes a request from n. The error is the problem that the request would have on its own.
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
	var repeated repeats
	repeated.find(body)
	b.kind, b.request = body.key, request{http: r.http, body: body, repeated: repeated.fields}
	var c decodedPosting
	err := b.request.decode(&c, func(o *object) {
		c.Request, _ = postingKinds[b.kind](o, r.note())
		if o.n.member("id") == nil {
			o.fail(o.n.end, "id", ruleRequired)
		}
	})
	b.posting = c.Request
	return err
}

// field returns the full name of a field of the request in the batch.
func (b *batched) field(name string) string {
	full := fmt.Sprintf("requests[%d]", b.at)
	for _, part := range []string{b.kind, name} {
		if part != "" {
			full += "." + part
		}
	}
	return full
}

// asBatchProblem returns the request's problem as the problem of the whole batch, with the full names of its fields. If
// the problem has no fields, it gets the request as its only field.
func (b *batched) asBatchProblem() *problem {
	for i := range b.problem.Errors {
		b.problem.Errors[i].Field = b.field(b.problem.Errors[i].Field)
	}
	if len(b.problem.Errors) == 0 {
		b.problem.Errors = []fieldError{{Field: b.field(""), Rule: ruleRefused}}
	}
	return b.problem
}

// refusalOfBatch returns the problem of a batch that the ledger refuses as a whole: because of one request, of a
// conflict between requests, or of its size.
func refusalOfBatch(err error, valid []*batched) error {
	e, ok := errors.AsType[*ledger.Error](err)
	if !ok {
		return err
	}
	if e.Request > 0 {
		b := valid[e.Request-1]
		b.problem = problemOf(b.request.refusal(e), true)
		return b.asBatchProblem()
	}
	p := problemOf(e, true)
	for i, f := range e.Fields[:len(p.Errors)] {
		if f.Field.Request > 0 {
			p.Errors[i].Field = valid[f.Field.Request-1].field(p.Errors[i].Field)
		}
	}
	return p
}
