package simulation

import "time"

// briefly is what transactions take to become visible, at most, for each item, so that a read which is repeated for being
// below a limit comes out right: in histories with longer ones nothing is claimed of that.
const briefly = 8 * time.Millisecond

// knobs are drawn once for a history: what kind of day it is.
type knobs struct {
	span      time.Duration // in which the requests begin
	processes int           // that take commands
	fault     float64       // chance that a request to the store meets one
	crash     float64       // chance that its process dies with it
	late      float64       // chance that a transaction is applied late
	dies      float64       // chance that its process dies then; often, and hardly anything is acknowledged
	slow      float64       // chance that it takes long
	latency   time.Duration // most that it takes else
	visible   time.Duration // most between two items of a transaction
	lag       time.Duration // most that an eventually consistent read is behind
	page      int           // most items of a page
	stretch   int64
	segments  int
	leave     int // settled postings that may be left above the seal
	shards    int
	batch     int     // most records of one
	again     float64 // chance that a batch is delivered again
	stall     float64
	overdraft int64 // of joe, in USD
	forgets   bool  // the stream does
	narrow    bool  // nearly everything happens to one pair
	spending  bool  // most of the rest spends what there is
	behind    bool  // those who project are slow
	ahead     bool  // the clocks of those who project are minutes ahead
}

func (p Plan) knobs() knobs {
	d := p.draw("knobs", 0)
	k := knobs{
		span:      pick(d, time.Second, 30*time.Second, time.Minute, 2*time.Minute),
		processes: 1 + d.IntN(3),
		fault:     pick(d, 0, .01, .04, .12),
		crash:     pick(d, 0, .002, .01),
		late:      pick(d, 0, .1, .4, .9),
		slow:      pick(d, 0, .02, .08, .3),
		latency:   pick(d, 2*time.Millisecond, 15*time.Millisecond, 120*time.Millisecond, 600*time.Millisecond),
		visible:   pick(d, time.Millisecond, briefly, briefly, 100*time.Millisecond, 2*time.Second),
		lag:       pick(d, 0, 100*time.Millisecond, 3*time.Second, 30*time.Second),
		page:      pick(d, 1, 2, 3, 5, 100),
		stretch:   pick(d, int64(1), 2, 3, 4, 8),
		segments:  pick(d, 1, 2, 3, 90),
		shards:    1 + d.IntN(4),
		batch:     pick(d, 1, 3, 8, 30),
		again:     pick(d, 0, .05, .3),
		stall:     pick(d, 0, .05, .2),
		overdraft: pick(d, int64(0), 1000, 1<<40),
		forgets:   d.chance(.1),
		narrow:    d.chance(.5),
	}
	k.dies = pick(p.draw("deaths", 0), .02, .1, .5)
	k.leave = pick(p.draw("settled", 0), 0, 1, 4)
	switch d.IntN(8) { // on some days the rare meets the rare
	case 0: // late postings meet refolds under way, and segments that are becoming visible
		k.span, k.late, k.latency, k.narrow, k.behind, k.shards = time.Minute, .9, 20*time.Millisecond, true, true, 4
		k.stretch, k.segments, k.stall = 1, 90, .05
	case 1: // repeated requests meet themselves becoming visible
		k.late, k.visible, k.narrow, k.spending, k.crash = .7, 2*time.Second, false, true, 0
	case 2:
		k.ahead, k.narrow, k.span = true, true, time.Minute
	}
	return k
}
