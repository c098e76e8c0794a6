package simulation

import (
	"encoding/json"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"
)

// A Plan determines a history completely.
type Plan struct {
	Seed       uint64
	Mode       Mode     `json:",omitempty"` // what its operations are about
	Operations []int    // indexes into Plan.operations, ascending; the others are skipped
	Without    []Hazard `json:",omitempty"` // hazards that are switched off
}

// A Hazard is one kind of fault or disturbance.
type Hazard string

const (
	// Requests to the store.
	NotSent     Hazard = "not sent"     // the connection is refused
	Lost        Hazard = "lost"         // the request is sent, but never applied, and gets no answer
	AnswerLost  Hazard = "answer lost"  // the request is applied, but gets no answer
	Late        Hazard = "late"         // no answer; the request is applied up to maxLate later
	InProgress  Hazard = "in progress"  // the store says that an earlier attempt of a transaction is still running
	Throttled   Hazard = "throttled"    // the store throttles the request
	Conflict    Hazard = "conflict"     // the store reports a transaction conflict, although there is none
	Slow        Hazard = "slow"         // the request takes up to maxSlow before and after it is applied
	Unprocessed Hazard = "unprocessed"  // BatchGetItem leaves some keys unprocessed
	StaleReads  Hazard = "stale reads"  // eventually consistent reads lag
	CutPages    Hazard = "cut pages"    // pages of queries end early or are empty
	ItemByItem  Hazard = "item by item" // the items of a transaction become visible one by one

	// Processes.
	CrashBefore Hazard = "crash before" // the process dies before its request is applied
	CrashAfter  Hazard = "crash after"  // the process dies after its request is applied, without the answer
	WrongClock  Hazard = "wrong clock"  // a clock is off, jumps or stands still

	// The stream.
	Duplicate  Hazard = "duplicate"   // a batch is redelivered up to five minutes later
	TwoAtOnce  Hazard = "two at once" // two consumers read the same shard
	Stall      Hazard = "stall"       // a consumer holds a batch for up to maxStall
	Split      Hazard = "split"       // a shard splits
	Poison     Hazard = "poison"      // a record has a malformed key
	Unfiltered Hazard = "unfiltered"  // records of projections are delivered too, as if Lambda had no filter
	Retention  Hazard = "retention"   // records expire before they are delivered; a rebuild follows at the end

	// Callers and operators.
	Abandon     Hazard = "abandon"      // a caller gives up although the outcome is unknown
	Twins       Hazard = "twins"        // two callers send the same id at once
	OtherBody   Hazard = "other body"   // a caller sends an id again with another body
	Memberships Hazard = "memberships"  // grants, revocations and groups; not a fault, but can be switched off
	StrongReads Hazard = "strong reads" // strong reads; not a fault, but can be switched off
	Rebuilds    Hazard = "rebuilds"     // an operator rebuilds projections while everything runs
	Damaged     Hazard = "damaged"      // projections are damaged at the end, and rebuilt
	Backdated   Hazard = "backdated"    // transactions have an effective date in the past
	HeldWrites  Hazard = "held writes"  // writes of projectors wait for up to maxHeld, long after their reads
)

// hazards has all hazards, in the order in which shrinking switches them off.
var hazards = []Hazard{
	Rebuilds, Damaged, Retention, Poison, Split, Unfiltered, TwoAtOnce, Duplicate, Stall, Twins, OtherBody, Memberships,
	Abandon, Backdated, HeldWrites,
	CutPages, StaleReads, Unprocessed, InProgress, WrongClock, CrashBefore, CrashAfter, NotSent, Throttled, Conflict,
	Lost, AnswerLost, Late, ItemByItem, Slow, StrongReads,
}

// occurs reports whether a hazard that was drawn is switched on, and counts it.
func (h *history) occurs(hazard Hazard, drawn bool) bool {
	if !drawn || h.auditing || !h.plan.has(hazard) {
		return false
	}
	h.count(string(hazard))
	return true
}

// String returns the plan as JSON, as the flag -plan takes it.
func (p Plan) String() string {
	text, _ := json.Marshal(p) // cannot fail
	return string(text)
}

func (p Plan) has(h Hazard) bool { return !slices.Contains(p.Without, h) }

// draw returns the random source for the n-th use of a name. Changing a name changes what every seed does.
func (p Plan) draw(name string, n uint64) dice {
	hash := fnv.New64a()
	hash.Write([]byte(name))
	return dice{rand.New(rand.NewPCG(p.Seed, hash.Sum64()+n*0x9e3779b97f4a7c15))}
}

// dice is a random source.
type dice struct{ *rand.Rand }

func (d dice) chance(p float64) bool { return d.Float64() < p }

// between draws a duration from a uniform distribution. Its nanoseconds make it unlikely that two goroutines wake at
// the same instant.
func (d dice) between(least, most time.Duration) time.Duration {
	return least + time.Duration(d.Int64N(int64(most-least)))
}

func pick[T any](d dice, from ...T) T { return from[d.IntN(len(from))] }

// shortItemDelay is the longest knobs.itemDelay at which no balance may be shown below its limit. The reader repeats a
// read that shows one, and by then the transaction is visible completely. With longer delays, this is not checked.
const shortItemDelay = 8 * time.Millisecond

// knobs are the probabilities and sizes of a history. They are drawn once, so that histories differ in character.
type knobs struct {
	span      time.Duration // operations begin within this time
	processes int           // number of command processes
	fault     float64       // chance that a request to the store meets a fault
	crash     float64       // chance that the process dies at a request
	late      float64       // chance that a transaction meets Late
	slow      float64       // chance that a request meets Slow
	latency   time.Duration // longest time before and after any other request is applied
	itemDelay time.Duration // longest time between two items of a transaction becoming visible
	lag       time.Duration // longest lag of an eventually consistent read
	page      int           // most items of a page

	// dieAfterLate is the chance that a process dies after it sent a late request. With a high chance, few commands
	// are acknowledged.
	dieAfterLate float64

	stretch  int64 // projections.Tuning, likewise the next two
	segments int
	unsealed int

	shards       int
	batch        int           // most records of a batch
	redeliver    float64       // chance that a batch is redelivered
	stall        float64       // chance that a consumer stalls
	losesRecords bool          // the stream loses records
	outage       time.Duration // when consumers begin to stall for a minute; 0: never

	overdraft int64   // joe's limit in USD
	backdated float64 // chance that an operation has an effective date
	held      float64 // chance that a write of a projector is held

	onePair         bool // nearly every transfer is of one account and asset
	mostlySpends    bool // most transfers spend what an account has
	earlySpends     bool // jane spends backdated credits at once
	slowProjectors  bool // requests of projectors are slow
	projectorsAhead bool // clocks of projectors are up to five minutes ahead
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
	k.held = pick(p.draw("held", 0), 0, 0, .1, .6)
	switch d.IntN(8) { // some histories combine settings for interleavings that are rare otherwise
	case 0: // postings arrive late, while their balance is being refolded and segments are only partly visible
		k.span, k.late, k.latency, k.shards = time.Minute, .9, 20*time.Millisecond, 4
		k.onePair, k.slowProjectors = true, true
		k.stretch, k.segments, k.stall = 1, 90, .05
	case 1: // a retry runs while the transaction of the first attempt is only partly visible
		k.late, k.itemDelay, k.onePair, k.mostlySpends, k.crash = .7, 2*time.Second, false, true, 0
	case 2: // projectors' clocks are ahead
		k.projectorsAhead, k.onePair, k.span = true, true, time.Minute
	}
	if p.Mode != PostsOnly {
		return k.forMode(p)
	}
	if early := p.draw("early spends", 0); early.chance(.25) {
		k.earlySpends, k.held, k.backdated = true, pick(early, .3, .8), pick(early, .3, .6)
		k.span, k.itemDelay, k.slow = time.Minute, shortItemDelay, 0
	}
	return k
}

// forMode adapts the knobs to a mode other than PostsOnly.
func (k knobs) forMode(p Plan) knobs {
	d := p.draw("life", 0)
	k.span = 30 * time.Second
	k.processes = 2
	k.late = pick(d, 0, .05, .2, .5)
	k.itemDelay = pick(d, time.Millisecond, shortItemDelay, 100*time.Millisecond, time.Second, 3*time.Second)
	k.overdraft = pick(d, int64(0), 0, 50)
	k.onePair, k.mostlySpends, k.projectorsAhead = false, false, false
	if !slices.Contains([]Mode{Changing, Reversing, Batching, Books, Rating}, p.Mode) {
		k.backdated = 0
	}
	switch p.Mode {
	case Rating:
		k.backdated = pick(d, 0, 0, .15)
	case Changing, Raising: // changes are interrupted, and their earlier attempts are still in flight
		k.crash, k.late = pick(d, .005, .02, .06), pick(d, .1, .3, .5)
	case Books:
		k.span, k.backdated = pick(d, 10*time.Second, 30*time.Second, 12*time.Minute), pick(d, .6, .95)
		k.late = pick(d, 0, .1, .3, .6)
	case Closing: // a debit has passed its guard, but stays invisible for long
		k.itemDelay = pick(d, time.Millisecond, 100*time.Millisecond, time.Second, 3*time.Second)
		if k.outage = pick(d, 0, 28*time.Second); k.outage > 0 { // before it, the balance is sealed
			k.late, k.crash, k.unsealed = 0, 0, 0
		}
	}
	return k
}

// maxSkew is how far clocks are off in TestLifecycles: the most at which the ledger promises that holds end in time.
const maxSkew = 5 * time.Second
