package linearizability

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// leg is one posting as it was asked for.
type leg struct {
	pair
	quantity, cost int64
}

// body is what one id is asked to be.
type body struct {
	path, text string
	legs       []leg // in the order of the answer
}

// moves is what a body adds to each pair.
func (b body) moves() map[pair]figures {
	all := make(map[pair]figures)
	for _, l := range b.legs {
		f := figures{quantity: l.quantity, expenditure: l.cost, credits: max(0, l.quantity),
			debits: max(0, -l.quantity), postings: 1}
		all[l.pair] = all[l.pair].plus(f)
	}
	return all
}

// answer is what became of a request about a transaction, as far as its caller knows.
type answer int

const (
	unknown  answer = iota // no answer, or one without an outcome: it may be done any time later, or never
	posted                 // it is done by this very request
	replayed               // it was done before
	reused                 // another body was
	refused                // it is not done, for want of funds
	undone                 // it is not done
	found                  // a read: it is there
	absent                 // a read: it is not there
)

// request is one about a transaction. Times are counted from the beginning of the history.
type request struct {
	id           string
	text         string // of the body; "" for a read
	call, answer int64
	outcome      answer
	postings     string // ids, where the transaction is shown

	refusedPair          pair
	available, requested int64
}

// read is one strong read of one pair.
type read struct {
	pair
	call, answer int64
	shown        figures
}

// history is what callers saw. It is safe for concurrent use while it is recorded.
type history struct {
	began time.Time

	mu       sync.Mutex
	bodies   map[string][]body // by id
	requests []request
	reads    []read
}

func newHistory() *history {
	return &history{began: time.Now(), bodies: make(map[string][]body)}
}

func (h *history) now() int64 { return int64(time.Since(h.began)) }

// asks records a body, before it is sent for the first time.
func (h *history) asks(id string, b body) {
	h.mu.Lock()
	defer h.mu.Unlock()
	same := func(known body) bool { return known.text == b.text }
	if !slices.ContainsFunc(h.bodies[id], same) {
		h.bodies[id] = append(h.bodies[id], b)
	}
}

func (h *history) add(r request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requests = append(h.requests, r)
}

func (h *history) saw(r ...read) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reads = append(h.reads, r...)
}

// cut is a power cut of DynamoDB Local: from right before its JVM was killed to when nobody was left who could
// acknowledge. Times are counted from the beginning of the history.
type cut struct{ began, ended int64 }

// forgets is how long before its JVM is killed DynamoDB Local may have acknowledged what it loses then: up to 5.4 ms
// were measured on an idle machine (see TestDynamoDBLocalForgets).
const forgets = 50 * time.Millisecond

// excuse leaves out the answers during power cuts and right before them, as their effects may be lost: what was said to
// be done has no known outcome any more. It returns how many answers it left out.
func (h *history) excuse(cuts []cut) (n int) {
	lost := func(answer int64) bool {
		excused := slices.ContainsFunc(cuts,
			func(c cut) bool { return c.began-int64(forgets) <= answer && answer < c.ended })
		if excused {
			n++
		}
		return excused
	}
	var requests []request
	for _, r := range h.requests {
		if r.outcome != unknown && lost(r.answer) {
			if r.outcome != posted && r.outcome != replayed && r.outcome != reused {
				continue
			}
			r.outcome, r.postings = unknown, ""
		}
		requests = append(requests, r)
	}
	h.requests = requests
	h.reads = slices.DeleteFunc(h.reads, func(r read) bool { return lost(r.answer) })
	return n
}

// fate is what one id is in the end, when nothing is under way any more.
type fate struct {
	text     string // of the body that was posted; "" if none was
	postings string
	answer   int64 // when it was read
}

// limits are the accounts that have one: the least quantity that it allows them.
type limits map[pair]int64

// operations are the history of each pair, for the model; wrong is what needs no model to be wrong.
//
// All requests about one id are one operation: it is done at one instant, not before the request that did it was sent,
// and not after the first answer that shows it done. So the history of every pair that it touches has it, or none has.
func (h *history) operations(fates map[string]fate,
	floors limits) (all map[pair][]porcupine.Operation, wrong []string) {
	all = make(map[pair][]porcupine.Operation)
	add := func(p pair, call, answer int64, o operation) {
		floor, limited := floors[p]
		o.floor, o.unlimited = floor, !limited
		all[p] = append(all[p], porcupine.Operation{Input: o, Call: call, Return: answer})
	}
	byID := make(map[string][]request)
	for _, r := range h.requests {
		byID[r.id] = append(byID[r.id], r)
		if r.outcome == refused {
			add(r.refusedPair, r.call, r.answer,
				operation{act: refuse, what: r.id, available: r.available, requested: r.requested})
		}
	}
	for id, bodies := range h.bodies {
		f := fates[id]
		call, answer, faults := span(id, f, byID[id])
		wrong = append(wrong, faults...)
		for _, b := range bodies {
			if b.text != f.text || faults != nil {
				continue
			}
			for p, moved := range b.moves() {
				add(p, call, answer, operation{act: post, what: id, figures: moved})
			}
		}
	}
	for _, r := range h.reads {
		add(r.pair, r.call, r.answer, operation{act: observe, what: "read", figures: r.shown})
		if floor, limited := floors[r.pair]; limited && r.shown.quantity < floor {
			wrong = append(wrong, fmt.Sprintf("%v is shown with %d, below its limit", r.pair, r.shown.quantity))
		}
	}
	for _, operations := range all {
		draw(operations)
	}
	return all, wrong
}

// span returns between which times the transaction of an id was done, if it was.
func span(id string, f fate, requests []request) (call, answer int64, wrong []string) {
	fault := func(format string, a ...any) {
		wrong = append(wrong, id+" "+fmt.Sprintf(format, a...))
	}
	earliest, latest := int64(0), f.answer // by the answers that show it absent, or there
	doer := int64(-1)                      // when the request that did it was sent, at the earliest
	done := 0
	for _, r := range requests {
		shows := r.outcome == posted || r.outcome == replayed || r.outcome == found
		switch {
		case shows && (r.postings != f.postings || r.text != "" && r.text != f.text):
			fault("is shown as %s, and is %q in the end", r.postings, f.postings)
		case r.outcome == reused && (f.text == "" || f.text == r.text):
			fault("was said to have another body than %s, and has %q in the end", r.text, f.text)
		case r.outcome == refused, r.outcome == absent:
			earliest = max(earliest, r.call)
		}
		if shows || r.outcome == reused {
			latest = min(latest, r.answer)
		}
		switch {
		case r.outcome == posted:
			done++
			doer = r.call
		case r.outcome == unknown && r.text == f.text && done == 0 && (doer < 0 || r.call < doer):
			doer = r.call
		}
	}
	switch call = max(earliest, doer); {
	case f.text == "":
	case done > 1:
		fault("was posted %d times", done)
	case doer < 0:
		fault("is there, and every request to post it was answered otherwise")
	case call > latest:
		fault("is shown before it can be there, or absent after it was shown")
	}
	return call, latest, wrong
}

// draw puts operations that overlap in time into different lines of a picture.
func draw(operations []porcupine.Operation) {
	slices.SortFunc(operations, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	var ends []int64
	for i := range operations {
		o := &operations[i]
		line := slices.IndexFunc(ends, func(end int64) bool { return end < o.Call })
		if line < 0 {
			line, ends = len(ends), append(ends, 0)
		}
		o.ClientId, ends[line] = line, o.Return
	}
}
