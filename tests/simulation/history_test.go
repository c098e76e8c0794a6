package simulation

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"ledger.example/internal/local/memdb"
)

// drainTime is how long the history waits after the last answer, so that no write is in flight any more: longer than
// maxLate plus twice maxSlow.
const drainTime = maxLate + 15*time.Second

// Stats describe what happened in a history.
type Stats struct {
	Met    map[string]int // how often each hazard and each event of the lists below occurred
	Trace  uint64         // hash of all requests to the store, in order, with their times and faults
	Lasted time.Duration
}

// Events that must occur in the full run, besides the hazards: in each test, and in those of one, by the mode of its
// first history.
var (
	occurrences = []string{"requests", "faults", "crashes", "acknowledged", "replayed", "refused", "unanswered", "balances written",
		"segments closed", "corrections", "corrected below the base", "saved unfinished", "versions raised",
		"writes refused", "malformed", "strong reads checked", "repairs", "other definitions"}
	occurrencesOf = map[Mode][]string{
		PostsOnly: {"backdated shown", string(Memberships)},
		Mixed: {"holds placed", "holds captured", "holds released", "holds expired", "holds swept", "reversals",
			"hold_expired answers", "hold_ended answers", "exceeds_reversible answers", "accounts changed", "less than the most",
			"changes acknowledged", "account_frozen answers", "costs alone refused", "accounts closed", "atomic batches",
			"requests in batches", "written together", "not written together", "ends in batches",
			"ends in atomic batches"},
		Books: {"periods closed", "periods opened again", "closings replayed", "period_exists answers",
			"invalid_period answers", "period_closed answers", "posted after a final closing", "slips found",
			"reversals", "atomic batches", "written together"},
		Rating: {"counted by rates", "given back to rates", "windows opened", "rate_exceeded answers", "accounts changed",
			"reversals", "atomic batches", "ends in atomic batches", "written together", "less than the most"},
	}
)

// count counts one event.
func (h *history) count(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stats.Met[what]++
}

// history is one run of a plan.
type history struct {
	plan  Plan
	knobs knobs
	began time.Time
	store *memdb.Store
	model *model

	operations       []*operation
	processes        []*process     // all that ever ran
	launches         map[string]int // how often a process of each name was started
	commandProcesses []*process     // serve commands; a dead one is replaced at the next call
	projectors       [3]*process
	shards           []*shard

	callers    sync.WaitGroup // callers, readers and operators
	inFlight   sync.WaitGroup // requests to the store
	deliveries sync.WaitGroup // consumers of the stream
	writesDone chan struct{}  // closed when nothing but projectors writes any more

	faultsOff   bool         // no request to the store meets a fault any more
	damaged     bool         // a projection was damaged on purpose: only the audit checks projections from then on
	auditing    bool         // the audit reads in parallel, in no fixed order: nothing is drawn for its requests
	unstreamed  int          // changes of lists, which the stream leaves out: no function consumes them
	lostRecords int          // records that the stream lost
	committing  atomic.Int32 // writes of which some items may be visible and others not

	mu        sync.Mutex
	malformed map[string]bool   // sequence numbers that were logged as malformed records
	draws     map[string]uint64 // number of draws by name
	sums      map[string]int    // numbers of requests and of faults by actor
	err       error             // the first rule that was broken
	failed    chan struct{}     // closed when err is set
	stats     Stats
	observed  int // number of changes of the store that the model has read
}

// actor is the context key for the name of the caller, consumer or operator for whom a request is made.
type actor struct{}

// as returns a context whose requests are made for the named actor.
func as(name string) context.Context { return context.WithValue(context.Background(), actor{}, name) }

// draw returns the random source for what the actor of ctx does now. The name and the number of earlier draws with it
// select the source.
func (h *history) draw(ctx context.Context, what string) dice {
	name, _ := ctx.Value(actor{}).(string)
	name += " " + what
	h.mu.Lock()
	n := h.draws[name]
	h.draws[name]++
	h.mu.Unlock()
	return h.plan.draw(name, n)
}

// add adds to a sum for the actor of ctx, such as that of its requests to the store, and returns it.
func (h *history) add(ctx context.Context, what string, more int) int {
	name, _ := ctx.Value(actor{}).(string)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sums[name+" "+what] += more
	return h.sums[name+" "+what]
}

// fail ends the history because a rule was broken. Only the first call counts.
func (h *history) fail(format string, a ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err == nil {
		h.err = fmt.Errorf("after %v: %w", time.Since(h.began).Round(time.Millisecond), fmt.Errorf(format, a...))
		close(h.failed)
	}
}

var traceSeed = maphash.MakeSeed()

// trace adds a request to Stats.Trace, by which TestReplay compares two runs.
func (h *history) trace(fault Hazard, r request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stats.Trace = maphash.Comparable(traceSeed, struct {
		before uint64
		at     time.Duration
		fault  Hazard
		request
	}{h.stats.Trace, time.Since(h.began), fault, r})
}

// run runs the history of a plan. The caller provides the testing/synctest bubble. The error is the first broken rule.
func run(p Plan) (Stats, error) {
	// A bubble's clock starts in 2000, before the first time that a KSUID can hold.
	time.Sleep(time.Until(p.start()))
	h := &history{
		plan: p, knobs: p.knobs(), began: time.Now(),
		launches: map[string]int{}, writesDone: make(chan struct{}), failed: make(chan struct{}),
		malformed: map[string]bool{}, draws: map[string]uint64{}, sums: map[string]int{},
		stats: Stats{Met: map[string]int{}},
	}
	h.model = newModel(h)
	if err := h.setUp(); err != nil {
		return h.stats, err
	}
	h.startStream()
	h.startCallers()
	h.startReads()
	h.startOperators()

	h.wait(&h.callers)
	synctest.Wait() // goroutines that run at this same instant still meet faults, in any order
	h.faultsOff = true
	h.sleep(drainTime)
	h.sweepAll()
	close(h.writesDone)
	h.wait(&h.deliveries)
	h.wait(&h.inFlight)
	if h.err == nil {
		h.checkEnd()
		h.checkAvailable()
		h.checkSlip()
	}
	h.drain()
	h.stats.Lasted = time.Since(h.began)
	return h.stats, h.err
}

// wait waits for the group, or until the history has failed.
func (h *history) wait(group *sync.WaitGroup) {
	done := make(chan struct{})
	go func() {
		group.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-h.failed:
	}
}

// sleep sleeps, and returns false at once if the history has failed.
func (h *history) sleep(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-h.failed:
		return false
	}
}

// drain ends the history and waits for all its goroutines, because a bubble must not be left before.
func (h *history) drain() {
	h.faultsOff = true
	h.fail("%w", errEnded)
	for _, p := range h.processes {
		p.dead = true
	}
	h.callers.Wait()
	h.deliveries.Wait()
	h.inFlight.Wait()
	if errors.Is(h.err, errEnded) {
		h.err = nil
	}
}

var errEnded = errors.New("the history has ended")
