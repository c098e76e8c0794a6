package simulation

import (
	"encoding/json"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"
)

// requestsMost is how many posting requests a history makes at most: each moves a power of two, and all of them
// together stay below 2^63.
const requestsMost = 48

// A Plan is all that a history depends on: the same plan, the same history.
type Plan struct {
	Seed     uint64
	Requests []int    // the numbers of the posting requests that are made, ascending
	Without  []Hazard `json:",omitempty"` // hazards that don't occur
}

// A Hazard is one kind of thing that may go wrong.
type Hazard string

// The hazards of requests to the store, of processes, of the stream, of callers, and of operators.
const (
	NotSent     Hazard = "not sent"    // the connection is refused
	Lost        Hazard = "lost"        // sent, never applied, no answer
	AnswerLost  Hazard = "answer lost" // applied, no answer
	Late        Hazard = "late"        // applied up to a minute later, when its caller has given up
	InProgress  Hazard = "in progress" // the store says that an earlier attempt is under way
	Throttled   Hazard = "throttled"
	Conflict    Hazard = "conflict" // with nobody
	Slow        Hazard = "slow"
	Unprocessed Hazard = "unprocessed" // part of a batch is left unread
	StaleReads  Hazard = "stale reads"
	CutPages    Hazard = "cut pages"
	ItemByItem  Hazard = "item by item" // transactions become visible so

	CrashBefore Hazard = "crash before"
	CrashAfter  Hazard = "crash after"
	WrongClock  Hazard = "wrong clock"

	Duplicate   Hazard = "duplicate"   // a batch is delivered again, up to minutes later
	TwoAtOnce   Hazard = "two at once" // two consumers read one shard
	Stall       Hazard = "stall"       // a consumer holds a batch for minutes
	Split       Hazard = "split"       // of shards
	Poison      Hazard = "poison"      // records whose key is none
	Unfiltered  Hazard = "unfiltered"  // our own writes come back
	Retention   Hazard = "retention"   // records are gone before they were delivered; a rebuild follows
	Abandon     Hazard = "abandon"     // callers never ask again
	Twins       Hazard = "twins"       // two callers with one id at once
	OtherBody   Hazard = "other body"  // the same id with another body
	Memberships Hazard = "memberships" // no hazard, but commands that can be left out
	StrongReads Hazard = "strong reads"
	Rebuilds    Hazard = "rebuilds" // while everything runs
	Thrown      Hazard = "thrown"   // a balance is thrown away, and rebuilt
)

// hazards are all of them, in the order in which shrinking leaves them out.
var hazards = [...]Hazard{
	Rebuilds, Thrown, Retention, Poison, Split, Unfiltered, TwoAtOnce, Duplicate, Stall, Twins, OtherBody, Memberships, Abandon,
	CutPages, StaleReads, Unprocessed, InProgress, WrongClock, CrashBefore, CrashAfter, NotSent, Throttled, Conflict,
	Lost, AnswerLost, Late, ItemByItem, Slow, StrongReads,
}

// number is the place of a hazard among all.
func (h Hazard) number() int { return slices.Index(hazards[:], h) }

// meets tells whether a hazard that was drawn occurs, and counts it.
func (h *history) meets(hazard Hazard, drawn bool) bool {
	if !drawn || !h.plan.has(hazard) {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stats.Met[hazard.number()]++
	return true
}

// PlanOf returns the plan of a seed: everything may go wrong.
func PlanOf(seed uint64) Plan {
	p := Plan{Seed: seed}
	n := 3 + p.draw("requests", 0).IntN(requestsMost-2)
	for i := range n {
		p.Requests = append(p.Requests, i)
	}
	return p
}

// String is the plan as a test's flag takes it.
func (p Plan) String() string {
	text, _ := json.Marshal(p) // cannot fail
	return string(text)
}

func (p Plan) has(h Hazard) bool { return !slices.Contains(p.Without, h) }

// draw returns the source of what the n-th time of name is drawn from.
func (p Plan) draw(name string, n uint64) dice {
	hash := fnv.New64a()
	hash.Write([]byte(name))
	return dice{rand.New(rand.NewPCG(p.Seed, hash.Sum64()+n*0x9e3779b97f4a7c15))}
}

// dice draws.
type dice struct{ *rand.Rand }

func (d dice) chance(p float64) bool { return d.Float64() < p }

// between draws a duration, any as likely as another. Its nanoseconds keep apart what would happen at once.
func (d dice) between(least, most time.Duration) time.Duration {
	return least + time.Duration(d.Int64N(int64(most-least)))
}

func pick[T any](d dice, from ...T) T { return from[d.IntN(len(from))] }
