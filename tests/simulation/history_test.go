package simulation

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"ledger.example/internal/local/memdb"
)

// quietAfter is how long after the last answer something of a command may still be applied: longer than lateMost, and
// slowMost twice.
const drainTime = maxLate + 15*time.Second

// Stats are what a history met.
type Stats struct {
	Met    map[string]int // how often, by what: see occurrences, and hazards
	Trace  uint64         // over everything that happened, in its order
	Lasted time.Duration
}

// What a history may meet beside the hazards, in posts and lives, and in lives alone.
var (
	occurrences = []string{"requests", "faults", "crashes", "acknowledged", "replayed", "refused", "unanswered",
		"balances written", "segments closed", "corrections", "corrected below the base", "saved unfinished",
		"versions raised", "writes refused", "malformed", "exact reads", "repairs"}
	occurrencesOfPosts = []string{"backdated shown", string(Memberships)}
	occurrencesOfLives = []string{"holds placed", "holds captured", "holds released", "holds expired", "holds swept",
		"reversals", "told that a hold expired", "told that a hold ended", "told that too much is reversed",
		"accounts changed", "changes acknowledged", "told that an account is frozen", "told of a state",
		"accounts closed", "atomic batches", "requests in batches"}
)

// count counts what is met.
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

	commandProcesses []*process // that take commands; a dead one is replaced when it is needed
	launches         map[string]int

	callers, inFlight, deliveries sync.WaitGroup
	writesDone                    chan struct{} // closed when nothing more is written to the stream by callers
	faultsOff                     bool          // nothing goes wrong by itself any more
	damaged                       bool          // somebody threw a projection away
	auditing                      bool          // by goroutines whose order is open: nothing is drawn for them
	shards                        []*shard
	projectors                    [3]*process
	unstreamed                    int // changes that the stream has no record of: nobody wants those of lists
	processes                     []*process
	operations                    []*operation
	lostRecords                   int          // records that the stream lost
	committing                    atomic.Int32 // writes that are becoming visible

	mu        sync.Mutex
	malformed map[string]bool   // records by number that nothing can project, and that were logged
	draws     map[string]uint64 // how often each name was drawn for
	requests  map[string]int    // requests by actor
	err       error             // the first rule that was broken
	failed    chan struct{}     // closed with it
	stats     Stats
	observed  int // changes of the store looked at
}

// actor is the name of whom a request is made for.
type actor struct{}

func as(name string) context.Context { return context.WithValue(context.Background(), actor{}, name) }

// draw returns what to draw from for this time that the actor of ctx does what.
func (h *history) draw(ctx context.Context, what string) dice {
	name, _ := ctx.Value(actor{}).(string)
	name += " " + what
	h.mu.Lock()
	n := h.draws[name]
	h.draws[name]++
	h.mu.Unlock()
	return h.plan.draw(name, n)
}

// requestsOf adds to the number of requests that were made for the actor of ctx, and returns it.
func (h *history) addRequests(ctx context.Context, more int) int {
	name, _ := ctx.Value(actor{}).(string)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requests[name] += more
	return h.requests[name]
}

// broken says which rule was broken; the first counts.
func (h *history) fail(format string, a ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err == nil {
		h.err = fmt.Errorf("after %v: %w", time.Since(h.began).Round(time.Millisecond), fmt.Errorf(format, a...))
		close(h.failed)
	}
}

// trace adds to the hash by which two runs are compared.
func (h *history) trace(fault Hazard, r request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	hash := fnv.New64a()
	fmt.Fprint(hash, h.stats.Trace, time.Since(h.began), fault, r)
	h.stats.Trace = hash.Sum64()
}

// run plays a plan in a bubble of testing/synctest, which the caller made, and returns the first rule that it broke.
func run(p Plan) (Stats, error) {
	// The bubble's clock begins before KSUIDs do.
	time.Sleep(time.Until(time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)))
	h := &history{
		plan: p, knobs: p.knobs(), began: time.Now(),
		launches: map[string]int{}, writesDone: make(chan struct{}), draws: map[string]uint64{}, malformed: map[string]bool{},
		requests: map[string]int{}, failed: make(chan struct{}), stats: Stats{Met: map[string]int{}},
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
	synctest.Wait() // what goes on at this instant isn't calm yet, in whichever order it is run
	h.faultsOff = true
	h.sleep(drainTime)
	h.sweepAll()
	close(h.writesDone)
	h.wait(&h.deliveries)
	h.wait(&h.inFlight)
	if h.err == nil {
		h.checkEnd()
		h.checkAvailable()
	}
	h.drain()
	h.stats.Lasted = time.Since(h.began)
	return h.stats, h.err
}

// wait waits, unless a rule is broken before.
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

// sleep waits, and reports whether the history goes on.
func (h *history) sleep(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-h.failed:
		return false
	}
}

// settle lets everything that was started come to its end: a bubble may not be left before.
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
