package linearizability

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// leg is one requested posting.
type leg struct {
	pair
	quantity, cost int64
}

// body is one request body for a transaction.
type body struct {
	path, text string
	legs       []leg // in the order of the answer's postings
}

// moves returns what the transaction adds to each pair.
func (b body) moves() map[pair]figures {
	all := make(map[pair]figures)
	for _, l := range b.legs {
		f := figures{quantity: l.quantity, expenditure: l.cost, credits: max(0, l.quantity),
			debits: max(0, -l.quantity), postings: 1}
		all[l.pair] = all[l.pair].plus(f)
	}
	return all
}

// answer is what an answer says about a transaction.
type answer int

const (
	unknown  answer = iota // no answer, or one without an outcome: it may be posted at any later time, or never
	posted                 // this request posted it
	replayed               // an earlier request posted it
	reused                 // another body is posted under the id
	refused                // not posted, because of insufficient funds
	undone                 // not posted
	found                  // a read shows it
	absent                 // a read does not find it
)

// request is one post or read of a transaction. Times are in nanoseconds since the history began.
type request struct {
	id           string
	text         string // of the body; "" for a read
	call, answer int64
	outcome      answer
	postings     string // their ids, if the answer shows the transaction

	refusedPair          pair
	available, requested int64
}

// read is one strong read of a pair.
type read struct {
	pair
	call, answer int64
	shown        figures
}

// history has all requests and answers of the clients. Its add methods are safe for concurrent use.
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

// addBody records a body before it is sent.
func (h *history) addBody(id string, b body) {
	h.mu.Lock()
	defer h.mu.Unlock()
	same := func(known body) bool { return known.text == b.text }
	if !slices.ContainsFunc(h.bodies[id], same) {
		h.bodies[id] = append(h.bodies[id], b)
	}
}

func (h *history) addRequest(r request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requests = append(h.requests, r)
}

func (h *history) addReads(r ...read) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reads = append(h.reads, r...)
}

// powerCut is a simulated power cut, from right before the JVM of DynamoDB Local is killed until no process that might
// answer is left. Times are in nanoseconds since the history began.
type powerCut struct{ began, ended int64 }

// maxForgotten bounds the age of writes that DynamoDB Local loses although it acknowledged them, when its JVM is
// killed. Up to 5.4 ms were measured on an idle machine (see TestDynamoDBLocalForgets).
const maxForgotten = 50 * time.Millisecond

// excuse removes the answers during power cuts and right before them, because their effects may be lost. A post that
// was acknowledged then has an unknown outcome. It returns the number of answers that it removed.
func (h *history) excuse(cuts []powerCut) (n int) {
	lost := func(answer int64) bool {
		excused := slices.ContainsFunc(cuts,
			func(c powerCut) bool { return c.began-int64(maxForgotten) <= answer && answer < c.ended })
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

// endState is the state of one id at the end, when no request is in flight.
type endState struct {
	text     string // of the posted body; empty: none was posted
	postings string
	answer   int64 // time of the answer that shows it
}

// floors has the least quantity of each pair that has a limit.
type floors map[pair]int64

// operations returns the operations of each pair for the model, and the faults that are found without the model.
//
// All requests with one id are one operation. It takes effect at one instant, after the request that posted it was sent
// and before the first answer that shows it. It is in the history of every pair that it moves, or in none.
func (h *history) operations(fates map[string]endState,
	floors floors) (all map[pair][]porcupine.Operation, wrong []string) {
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
				operation{action: refuse, what: r.id, available: r.available, requested: r.requested})
		}
	}
	for id, bodies := range h.bodies {
		f := fates[id]
		call, answer, faults := interval(id, f, byID[id])
		wrong = append(wrong, faults...)
		for _, b := range bodies {
			if b.text != f.text || faults != nil {
				continue
			}
			for p, moved := range b.moves() {
				add(p, call, answer, operation{action: post, what: id, figures: moved})
			}
		}
	}
	for _, r := range h.reads {
		add(r.pair, r.call, r.answer, operation{action: observe, what: "read", figures: r.shown})
		if floor, limited := floors[r.pair]; limited && r.shown.quantity < floor {
			wrong = append(wrong, fmt.Sprintf("%v is shown with %d, below its limit", r.pair, r.shown.quantity))
		}
	}
	for _, operations := range all {
		layOut(operations)
	}
	return all, wrong
}

// interval returns the times between which the transaction of an id took effect, if it did.
func interval(id string, f endState, requests []request) (call, answer int64, wrong []string) {
	fault := func(format string, a ...any) {
		wrong = append(wrong, id+" "+fmt.Sprintf(format, a...))
	}
	earliest, latest := int64(0), f.answer // from answers that do not show it, and that show it
	sent := int64(-1)                      // the earliest time at which the request that posted it was sent
	done := 0
	for _, r := range requests {
		shows := r.outcome == posted || r.outcome == replayed || r.outcome == found
		switch {
		case shows && (r.postings != f.postings || r.text != "" && r.text != f.text):
			fault("was shown as %s, but is %q in the end", r.postings, f.postings)
		case r.outcome == reused && (f.text == "" || f.text == r.text):
			fault("was refused because it has another body than %s, but has %q in the end", r.text, f.text)
		case r.outcome == refused, r.outcome == absent:
			earliest = max(earliest, r.call)
		}
		if shows || r.outcome == reused {
			latest = min(latest, r.answer)
		}
		switch {
		case r.outcome == posted:
			done++
			sent = r.call
		case r.outcome == unknown && r.text == f.text && done == 0 && (sent < 0 || r.call < sent):
			sent = r.call
		}
	}
	switch call = max(earliest, sent); {
	case f.text == "":
	case done > 1:
		fault("was posted %d times", done)
	case sent < 0:
		fault("is stored, but the answers to all its requests say that it is not")
	case call > latest:
		fault("was shown before it was sent, or not found after it was shown")
	}
	return call, latest, wrong
}

// layOut puts operations that overlap in time into different lines of porcupine's picture.
func layOut(operations []porcupine.Operation) {
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
