package simulation

import (
	"encoding/json"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"
)

// A Plan is all that a history depends on: the same plan, the same history.
type Plan struct {
	Seed     uint64
	Mode     Mode     `json:",omitempty"` // what its requests are about
	Requests []int    // the numbers of the requests that are made, ascending
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
	Damaged     Hazard = "thrown"   // a balance is thrown away, and rebuilt
	Backdated   Hazard = "backdated"
)

// hazards are all of them, in the order in which shrinking leaves them out.
var hazards = []Hazard{
	Rebuilds, Damaged, Retention, Poison, Split, Unfiltered, TwoAtOnce, Duplicate, Stall, Twins, OtherBody, Memberships,
	Abandon, Backdated,
	CutPages, StaleReads, Unprocessed, InProgress, WrongClock, CrashBefore, CrashAfter, NotSent, Throttled, Conflict,
	Lost, AnswerLost, Late, ItemByItem, Slow, StrongReads,
}

// meets reports whether a hazard that was drawn occurs, and counts it.
func (h *history) occurs(hazard Hazard, drawn bool) bool {
	if !drawn || h.auditing || !h.plan.has(hazard) {
		return false
	}
	h.count(string(hazard))
	return true
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

// briefly is what transactions take to become visible, at most, for each item, so that a read which is repeated for
// being below a limit comes out right: in histories with longer ones nothing is claimed of that.
const shortItemDelay = 8 * time.Millisecond

// knobs are drawn once for a history: what kind of day it is.
type knobs struct {
	span            time.Duration // in which the requests begin
	processes       int           // that take commands
	fault           float64       // chance that a request to the store meets one
	crash           float64       // chance that its process dies with it
	late            float64       // chance that a transaction is applied late
	dieAfterLate    float64       // chance that its process dies then; often, and hardly anything is acknowledged
	slow            float64       // chance that it takes long
	latency         time.Duration // most that it takes else
	itemDelay       time.Duration // most between two items of a transaction
	lag             time.Duration // most that an eventually consistent read is behind
	page            int           // most items of a page
	stretch         int64
	segments        int
	unsealed        int // settled postings that may be left above the seal
	shards          int
	batch           int     // most records of one
	redeliver       float64 // chance that a batch is delivered again
	stall           float64
	overdraft       int64   // of joe, in USD
	losesRecords    bool    // the stream does
	onePair         bool    // nearly everything happens to one pair
	mostlySpends    bool    // most of the rest spends what there is
	slowProjectors  bool    // those who project are slow
	projectorsAhead bool    // the clocks of those who project are minutes ahead
	backdated       float64 // chance that a request has an effective date
}

func (p Plan) knobs() knobs {
	d := p.draw("knobs", 0)
	k := knobs{
		span:         pick(d, time.Second, 30*time.Second, time.Minute, 2*time.Minute),
		processes:    1 + d.IntN(3),
		fault:        pick(d, 0, .01, .04, .12),
		crash:        pick(d, 0, .002, .01),
		late:         pick(d, 0, .1, .4, .9),
		slow:         pick(d, 0, .02, .08, .3),
		latency:      pick(d, 2*time.Millisecond, 15*time.Millisecond, 120*time.Millisecond, 600*time.Millisecond),
		itemDelay:    pick(d, time.Millisecond, shortItemDelay, shortItemDelay, 100*time.Millisecond, 2*time.Second),
		lag:          pick(d, 0, 100*time.Millisecond, 3*time.Second, 30*time.Second),
		page:         pick(d, 1, 2, 3, 5, 100),
		stretch:      pick(d, int64(1), 2, 3, 4, 8),
		segments:     pick(d, 1, 2, 3, 90),
		shards:       1 + d.IntN(4),
		batch:        pick(d, 1, 3, 8, 30),
		redeliver:    pick(d, 0, .05, .3),
		stall:        pick(d, 0, .05, .2),
		overdraft:    pick(d, int64(0), 1000, 1<<40),
		losesRecords: d.chance(.1),
		onePair:      d.chance(.5),
	}
	k.dieAfterLate = pick(p.draw("deaths", 0), .02, .1, .5)
	k.unsealed = pick(p.draw("settled", 0), 0, 1, 4)
	k.backdated = pick(p.draw("backdated", 0), 0, .1, .3, .8)
	switch d.IntN(8) { // on some days the rare meets the rare
	case 0: // late postings meet refolds under way, and segments that are becoming visible
		k.span, k.late, k.latency, k.onePair, k.slowProjectors, k.shards = time.Minute, .9, 20*time.Millisecond, true, true, 4
		k.stretch, k.segments, k.stall = 1, 90, .05
	case 1: // repeated requests meet themselves becoming visible
		k.late, k.itemDelay, k.onePair, k.mostlySpends, k.crash = .7, 2*time.Second, false, true, 0
	case 2:
		k.projectorsAhead, k.onePair, k.span = true, true, time.Minute
	}
	if p.Mode != PostsOnly {
		return k.forMode(p)
	}
	return k
}

// ofLife changes the knobs for a history of a Mode.
func (k knobs) forMode(p Plan) knobs {
	d := p.draw("life", 0)
	k.span = 30 * time.Second
	k.processes = 2
	k.late = pick(d, 0, .05, .2, .5)
	k.itemDelay = pick(d, time.Millisecond, shortItemDelay, 100*time.Millisecond, time.Second, 3*time.Second)
	k.overdraft = pick(d, int64(0), 0, 50)
	k.onePair, k.mostlySpends, k.projectorsAhead = false, false, false
	if !slices.Contains([]Mode{Changing, Reversing, Batching}, p.Mode) {
		k.backdated = 0
	}
	switch p.Mode {
	case Changing, Raising: // changes are broken off, and earlier attempts still on their way
		k.crash, k.late = pick(d, .005, .02, .06), pick(d, .1, .3, .5)
	case Closing: // what passed its guard is not visible for long
		k.itemDelay = pick(d, time.Millisecond, 100*time.Millisecond, time.Second, 3*time.Second)
	}
	return k
}

// skewMost is how far clocks are off in histories of a Mode: as far as they may be for ends of holds to be in time.
const maxSkew = 5 * time.Second
