// Package linearizability checks that concurrent posts and strong reads over HTTP are linearizable for each account
// and asset. Callers use several processes on one table. Answers are lost between the store, the processes and the
// callers, and a pump projects during the reads. TestSoak also kills the processes.
//
// Porcupine checks each account and asset. There must be one order of these operations, in which an account with a
// limit never exceeds it:
//
//   - The transactions of the account and asset. Each takes effect at one instant, after its first request was sent
//     and before the first answer that shows it (a 201, a replay, a read, or a refusal because its id has another
//     body). All requests with one id are one transaction or none. A request without an outcome (no answer, or a 504)
//     may take effect at any later time, or never. Which it was is read when no request is in progress, and is the
//     same for all accounts.
//   - The strong reads. Each takes effect at one instant during its request, and shows exactly the transactions before
//     it in the order.
//   - The refusals for insufficient funds. Each takes effect at one instant during its request. At that instant the
//     account had less than was requested, and no more than the refusal says was available.
//
// At the end, the legs of each transaction are in the histories of their accounts once, all of them or none. All
// quantities of an asset sum to zero, and the projections agree with strong reads.
//
// Not promised, and not checked: that reads of two accounts, or of two assets of one account, show one instant. A
// strong read is not atomic if it needs more than one page of the store (1,000 postings after the seal), or if the
// store shows a transaction item by item. It then still includes everything that was acknowledged before it began. The
// reads checked here need one page.
package linearizability

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"golang.org/x/sync/errgroup"

	"ledger.example/tests/harness/caller"
	"ledger.example/tests/harness/full"
)

var (
	historyTime = flag.Duration("history", 0,
		"how long clients post and read; after more than 10 s, some of the postings that they read are settled")
	callerCount = flag.Int("callers", 6, "number of concurrent clients")
)

const (
	processes = 2
	// checkTime is how long porcupine may search for the order of one pair's operations.
	checkTime = time.Minute
	// projectTime is how long projections may take.
	projectTime = time.Minute
	// manyRequests is the number of requests from which on every outcome must occur: the rarest, absent, about twenty
	// times. A busy machine makes fewer.
	manyRequests = 1000
	// maxReads is the number of concurrent reads at the end.
	maxReads = 8
)

func TestPostsAndStrongReads(t *testing.T) {
	duration := *historyTime
	if duration == 0 {
		duration = full.Count(2*time.Second, 11*time.Second)
	}
	s := startSystem(t, processes)
	c := openBooks(t, s.urls()...)
	c.retryFor = time.Minute
	ctx, cancel := context.WithTimeout(t.Context(), duration)
	defer cancel()
	c.start(ctx).Wait()
	c.check(s.shutDown())
}

// workload is a group of clients of one ledger, and their history.
type workload struct {
	t        *testing.T
	history  *history
	floors   floors
	urls     []string
	retryFor time.Duration // how long a client retries while the outcome is unknown
	outages  bool          // the store may be down: an answer of 500 has no outcome

	mu     sync.Mutex
	shared int
}

// openBooks opens and funds the accounts, through the first of the URLs.
func openBooks(t *testing.T, urls ...string) *workload {
	t.Helper()
	c := &workload{t: t, history: newHistory(), floors: floors{}, urls: urls, retryFor: time.Minute}
	opener := c.client(0, caller.New(t, urls[0]))
	http := opener.callers[0]
	http.Must(201, "PUT", "/v1/assets/EUR", `{"name":"Euro","scale":2}`)
	http.Must(201, "PUT", "/v1/assets/GOLD", `{"name":"Gold","scale":3,"currency":"EUR"}`)
	for _, account := range []string{"bank", "market"} {
		http.Must(201, "PUT", "/v1/accounts/"+account, `{"overdraft":"unlimited"}`)
	}
	for i := range limited {
		policy := `{}`
		c.floors[pair{holder(i), "GOLD"}], c.floors[pair{holder(i), "EUR"}] = 0, 0
		if i%2 == 0 {
			policy = fmt.Sprintf(`{"overdraft":{"EUR":"%d"}}`, overdraft)
			c.floors[pair{holder(i), "EUR"}] = -overdraft
		}
		http.Must(201, "PUT", "/v1/accounts/"+holder(i), policy)
		id := fmt.Sprint("fund-", i)
		opener.post(id, transfer(id, "bank", holder(i), funds))
	}
	return c
}

// start starts the clients, which run until ctx ends.
func (c *workload) start(ctx context.Context) *sync.WaitGroup {
	calling := &sync.WaitGroup{}
	for i := range *callerCount {
		one := c.client(i)
		for _, url := range c.urls {
			http := caller.New(c.t, url)
			http.HTTP.Transport = unreliable{http.HTTP.Transport}
			http.HTTP.Timeout = timeout
			one.callers = append(one.callers, http)
		}
		calling.Go(func() { one.run(ctx) })
	}
	return calling
}

func (c *workload) client(number int, callers ...*caller.Caller) *client {
	return &client{workload: c, number: number, callers: callers}
}

// sharedNumber returns a number that about half of the clients get.
func (c *workload) sharedNumber() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shared++
	return c.shared / max(1, *callerCount/2)
}

// check checks the history, and compares the ledger's state with it. No request may be in flight any more. url is a
// process without faults.
func (c *workload) check(url string) {
	c.t.Helper()
	after := c.client(0, caller.New(c.t, url))
	fates := after.endStates()
	strongly := after.checkPostings(fates)
	c.checkOrder(fates)
	caller.Eventually(c.t, projectTime, "projections agree with strong reads", func() bool {
		projected := make(map[pair]figures)
		for p := range strongly {
			projected[p] = after.figures(after.callers[0].Must(200, "GET",
				"/v1/accounts/"+p.account+"/balances/"+p.asset, ""))
		}
		return maps.Equal(projected, strongly)
	})
}

// endStates reads the end state of every id.
func (c *client) endStates() map[string]endState {
	c.t.Helper()
	fates := make(map[string]endState)
	var mu sync.Mutex
	var all errgroup.Group
	all.SetLimit(maxReads)
	for id, bodies := range c.history.bodies {
		all.Go(func() error {
			reply, f, err := c.endState(id)
			if err != nil {
				return err
			}
			if reply.Status == 200 {
				legs := c.legs(reply)
				which := slices.IndexFunc(bodies, func(b body) bool { return slices.Equal(b.legs, legs) })
				if which < 0 {
					return fmt.Errorf("%s has none of the requested bodies: %s", id, reply.Body)
				}
				f.text, f.postings = bodies[which].text, ids(reply)
			}
			mu.Lock()
			defer mu.Unlock()
			fates[id] = f
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		c.t.Fatal(err)
	}
	return fates
}

// endState reads a transaction, and retries until it gets an answer. A busy machine may give none.
func (c *client) endState(id string) (reply caller.Reply, f endState, err error) {
	for began := time.Now(); time.Since(began) < c.retryFor; time.Sleep(retryPause) {
		ok := false
		if reply, _, f.answer, ok = c.get("/v1/transactions/" + id); !ok {
			continue
		}
		if reply.Status != 200 && reply.Status != 404 {
			return reply, f, fmt.Errorf("%s: %d %s", id, reply.Status, reply.Body)
		}
		return reply, f, nil
	}
	return reply, f, fmt.Errorf("%s: no answer within %v", id, c.retryFor)
}

// legs returns the legs of a transaction, in order.
func (c *client) legs(r caller.Reply) (legs []leg) {
	list, _ := r.Value("postings").([]any)
	for i := range list {
		legs = append(legs, leg{
			pair{r.Text("postings", i, "account"), r.Text("postings", i, "asset")},
			c.number64(r, "postings", i, "quantity"), c.number64(r, "postings", i, "cost"),
		})
	}
	return legs
}

// checkPostings reads every pair and lists its postings. They must be the legs of the stored transactions, each once.
// It returns the balances.
func (c *client) checkPostings(fates map[string]endState) map[pair]figures {
	t := c.t
	t.Helper()
	wanted := make(map[pair][]string) // legs as text
	for id, f := range fates {
		for _, b := range c.history.bodies[id] {
			if b.text != f.text {
				continue
			}
			postings := strings.Fields(strings.Trim(f.postings, "[]"))
			for i, l := range b.legs {
				wanted[l.pair] = append(wanted[l.pair], fmt.Sprint(postings[i], id, l))
			}
		}
	}
	balances, totals := make(map[pair]figures), make(map[string]int64)
	for p, legs := range wanted {
		var shown figures
		caller.Eventually(t, c.retryFor, "a read is answered", func() (ok bool) {
			shown, ok = c.read(p.account, p.asset)
			return ok
		})
		balances[p], totals[p.asset] = shown, totals[p.asset]+shown.quantity

		found := make(map[string]int)
		for _, item := range c.callers[0].All("/v1/accounts/"+p.account+"/postings?consistency=strong&asset="+p.asset,
			100) {
			quantity, err := strconv.ParseInt(fmt.Sprint(item["quantity"]), 10, 64)
			cost, costErr := strconv.ParseInt(fmt.Sprint(item["cost"]), 10, 64)
			if err != nil || costErr != nil {
				t.Fatalf("%v: %v", p, item)
			}
			found[fmt.Sprint(item["id"], item["transaction"], leg{p, quantity, cost})]++
		}
		for _, one := range legs {
			found[one]--
		}
		for one, times := range found {
			if times != 0 {
				t.Errorf("%v: %s is stored %+d times too often", p, one, times)
			}
		}
	}
	for asset, total := range totals {
		if total != 0 {
			t.Errorf("all %s sum to %d", asset, total)
		}
	}
	return balances
}

// checkOrder searches for an order of every pair's operations that the model accepts.
func (c *workload) checkOrder(fates map[string]endState) {
	t, h := c.t, c.history
	t.Helper()
	all, wrong := h.operations(fates, c.floors)
	for _, fault := range wrong {
		t.Error(fault)
	}
	began, operations := time.Now(), 0
	for p, history := range all {
		operations += len(history)
		result, info := porcupine.CheckOperationsVerbose(model, history, checkTime)
		if result == porcupine.Ok {
			continue
		}
		picture, err := os.CreateTemp("", "linearizability-*.html")
		if err != nil {
			t.Fatal(err)
		}
		if err := porcupine.Visualize(model, info, picture); err != nil {
			t.Fatal(err)
		}
		if err := picture.Close(); err != nil {
			t.Fatal(err)
		}
		t.Errorf("%v: %s: no order explains its %d operations; see %s", p, result, len(history), picture.Name())
	}
	counts := make(map[answer]int)
	for _, r := range h.requests {
		counts[r.outcome]++
	}
	t.Logf("%d operations on %d pairs, checked in %v: %d strong reads, %d posted, %d replayed, %d of another body, "+
		"%d refused, %d unknown, %d found, %d absent; %d ids",
		operations, len(all), time.Since(began).Round(time.Millisecond), len(h.reads),
		counts[posted], counts[replayed], counts[reused], counts[refused], counts[unknown],
		counts[found], counts[absent], len(h.bodies))
	for _, o := range []answer{posted, replayed, reused, refused, unknown, found, absent} {
		if counts[o] == 0 && len(h.requests) > manyRequests {
			t.Errorf("of %d requests, none had outcome %d", len(h.requests), o)
		}
	}
}
