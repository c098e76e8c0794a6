package api

import (
	"errors"
	"fmt"
	"net/http"

	"ledger.example/client"
	"ledger.example/ledger"
)

const (
	ruleRefused   = "is refused"
	detailOneKind = "The request must be an object with exactly one member: transaction, transfer, trade, split, " +
		"capture, release or reversal. The value must be an object."

	// ruleTransaction is the rule of a field that names the transaction to end or reverse.
	ruleTransaction = "must be the id of an existing transaction"
)

// results is the answer to a batch, in the order of its requests.
type results struct {
	DryRun  bool     `json:"dry_run,omitempty"`
	Results []result `json:"results"`
}

// result is the answer to one request of a batch: its transaction, or its problem.
type result struct {
	Status   int  `json:"status"`
	Replayed bool `json:"replayed,omitempty"` // the same was carried out before
	Body     any  `json:"body"`
}

// batchKind is a kind of request in a batch.
type batchKind struct {
	may  rule   // as on the route of its own
	id   string // the field that no two requests of a batch may have the same of
	once string // the rule for that
	read func(*request) ledger.Request
}

// batchKinds are the kinds of request in a batch, by their names.
var batchKinds = map[string]batchKind{
	"transaction": inBatch(client.PostTransaction, "id", ledger.RuleRepeatedID, (*request).transaction),
	"transfer":    inBatch(client.PostTransfer, "id", ledger.RuleRepeatedID, (*request).transfer),
	"trade":       inBatch(client.PostTrade, "id", ledger.RuleRepeatedID, (*request).trade),
	"split":       inBatch(client.PostSplit, "id", ledger.RuleRepeatedID, (*request).split),
	"reversal":    inBatch(client.ReverseTransaction, "id", ledger.RuleRepeatedID, (*request).reversal),
	"capture":     inBatch(client.CaptureHold, "transaction", ledger.RuleRepeatedEnd, (*request).capture),
	"release":     inBatch(client.ReleaseHold, "transaction", ledger.RuleRepeatedEnd, (*request).release),
}

// inBatch returns the kind of the requests of an operation. What is in their path on a route is in their body here.
func inBatch[In, Out any](
	o client.Op[In, Out], id, once string, commandOf func(*request, *In) ledger.Request,
) batchKind {
	return batchKind{ruleOf(o.May), id, once, func(r *request) ledger.Request {
		in := new(In)
		r.readBody(in)
		return commandOf(r, in)
	}}
}

// batched is one request of a batch.
type batched struct {
	at      int     // index in the batch
	kind    string  // of batchKinds; "" if it is not valid
	request request // has only what is needed to read the request, and to check and show it to a user
	asked   ledger.Request
	problem *problem // why the request is refused, nil if it is not
}

// refuse sets the problem of the request to an error, as the caller may see it.
func (b *batched) refuse(err error) {
	_, err = b.request.visible(reply{}, err)
	if e, ok := errors.AsType[*ledger.Error](err); ok && e.Code == ledger.CodeTransactionNotFound {
		named := *e // by the body of the request, not by a path
		named.Fields = []ledger.FieldError{{Field: ledger.Field{Name: "transaction"}, Rule: ruleTransaction}}
		err = &named
	}
	b.problem = problemOf(b.request.refusal(err), true)
}

// postBatch carries out several requests, each on its own or, if the batch is atomic, all or none.
func (a *api) postBatch(r *request, _ *client.BatchRequest) (reply, error) {
	items, atomic, repeated, err := r.batch()
	if err != nil {
		return reply{}, err
	}
	if repeated == nil {
		if err := a.permitBatch(r, items, atomic); err != nil {
			return reply{}, err
		}
	}
	var valid []*batched
	var requests []ledger.Request
	for _, b := range items {
		switch {
		case b.problem == nil:
			valid, requests = append(valid, b), append(requests, b.asked)
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
			out.Results[i] = result{Status: b.problem.Status, Body: b.problem}
		}
	}
	status := http.StatusOK
	if atomic && !r.dry && posted.posted > 0 {
		status = http.StatusCreated
	}
	return reply{status: status, body: out, batch: posted}, nil
}

// executeBatch carries out the valid requests and returns their results. If a request is refused, it sets its problem.
func (a *api) executeBatch(
	r *request, valid []*batched, requests []ledger.Request, atomic bool,
) (shown []result, posted tally, err error) {
	if len(valid) == 0 {
		return nil, posted, nil
	}
	answers, err := a.config.Commands.PostBatch(r.ctx(), requests, atomic)
	if err != nil {
		return nil, posted, refusalOfBatch(err, valid)
	}
	shown = make([]result, len(valid))
	bytes := 0
	for i, answer := range answers {
		if answer.Err != nil {
			valid[i].refuse(answer.Err)
			continue
		}
		one := showInBatch(answer.Posted, &bytes)
		one, _ = valid[i].request.visible(one, nil)
		shown[i] = result{one.status, one.replayed, one.body}
		if one.replayed {
			posted.replayed++
		} else {
			posted.posted++
		}
	}
	return shown, posted, nil
}

// endsBytes is about the most bytes of the holds that the answer to a batch shows in full. A hundred short requests can
// end holds that together exceed what a function can answer.
const endsBytes = 2 << 20

// showInBatch shows what a request of a batch posted or ended. bytes is about the most bytes of the holds that were
// shown before. Beyond endsBytes, a hold is shown without its metadata and without its planned postings.
func showInBatch(posted ledger.Posted, bytes *int) reply {
	one := showPosted(posted)
	if posted.Ended == nil {
		return one
	}
	if *bytes += maxBytes(posted.Transaction); *bytes > endsBytes {
		t := one.body.(transaction)
		t.Metadata, t.Postings = nil, nil
		one.body = t
	}
	return one
}

// batchBody is the body of a batch.
type batchBody struct {
	Atomic   bool      `json:"atomic,omitempty"`
	Requests []rawText `json:"requests" in:"required"`
}

// Shape implements command. The requests have shapes of their own.
func (batchBody) Shape() []ledger.FieldError { return nil }

// rawText is a value that is read later. Its unknown and repeated members are not recorded.
type rawText string

func (t *rawText) read(r *reader, at int) error {
	err := r.skipQuietly()
	*t = rawText(r.since(at))
	return err
}

// batch reads the body of a batch. The error is a problem of the whole batch. If a single request is invalid, batch
// sets its problem. repeated are the ids, and the holds to end, of earlier requests, even of invalid ones: the caller
// could not know which of the two requests was carried out.
func (r *request) batch() (items []*batched, atomic bool, repeated []fieldError, err error) {
	var in batchBody
	r.readBody(&in)
	if err := r.checkBody(in); err != nil {
		return nil, false, nil, err
	}
	if violation := ledger.BatchViolation(len(in.Requests)); violation != "" {
		return nil, false, nil, newProblem(ledger.CodeInvalidTransaction, "The batch is invalid; see errors.",
			fieldError{Field: "requests", Rule: violation})
	}
	type named struct{ rule, id string }
	seen := make(map[named]bool, len(in.Requests))
	for i, text := range in.Requests {
		b := &batched{at: i}
		if err := b.read(r, text, func(name, id string) {
			kind := batchKinds[name]
			if seen[named{kind.once, id}] {
				field := fmt.Sprintf("requests[%d].%s.%s", i, name, kind.id)
				repeated = append(repeated, fieldError{Field: field, Rule: kind.once})
			}
			seen[named{kind.once, id}] = true
		}); err != nil {
			b.problem = problemOf(err, true)
		}
		items = append(items, b)
	}
	return items, in.Atomic, repeated, nil
}

// read reads a request, and calls note with its ids. The error is the problem that the request would have on its own.
func (b *batched) read(r *request, text rawText, note func(kind, id string)) error {
	if text[0] != '{' {
		return newProblem(codeMalformedBody, detailOneKind)
	}
	in, kinds, body := newReader([]byte(text)), []string(nil), ""
	err := in.object(func(kind string) error {
		if batchKinds[kind].read == nil {
			in.refuse(ruleKnown)
		} else {
			kinds = append(kinds, kind)
		}
		at := in.at()
		if in.json.PeekKind() != '{' {
			return in.skipQuietly()
		}
		in.quiet = true
		err := in.object(func(name string) error {
			if id := batchKinds[kind].id; id == "" || name != id || in.json.PeekKind() != '"' {
				return in.skip()
			}
			_, id, err := in.scalar()
			note(kind, id)
			return err
		})
		in.quiet, body = false, in.since(at)
		return err
	})
	switch {
	case err != nil: // cannot happen: the text was read with the batch
		return err
	case len(in.malformed) > 0:
		return malformedFields(in.malformed)
	case len(kinds) != 1 || body == "":
		return newProblem(codeMalformedBody, detailOneKind)
	}
	b.kind = kinds[0]
	// The header Idempotency-Key is not for a batch.
	kind := batchKinds[b.kind]
	b.request = request{
		http: &http.Request{}, text: []byte(body), actor: r.actor, dry: r.dry, caller: r.caller, rule: kind.may,
		config: r.config, isBatched: true,
	}
	b.asked = kind.read(&b.request)
	if kind.id == "id" && !b.request.body.has("id") {
		b.request.body.add(fieldError{Field: "id", Rule: ruleRequired})
	}
	return b.request.checkBody(b.asked)
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
// a refusal has no fields, it gets the request as its only field.
func (b *batched) asBatchProblem() *problem {
	for i := range b.problem.Errors {
		b.problem.Errors[i].Field = b.field(b.problem.Errors[i].Field)
	}
	if len(b.problem.Errors) == 0 && b.problem.Status < http.StatusInternalServerError {
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
		b.refuse(e)
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
