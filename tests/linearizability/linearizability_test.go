// Package linearizability holds concurrent posts and strong reads over HTTP to one account after the other: callers of
// several processes on one table, with answers that get lost on the way to the callers and on the way from the store, and
// with a pump that moves the folds under the reads.
//
// What is claimed, and checked by porcupine for each account and asset: there is one order of
//
//   - the transactions that move it, each at one instant, after the request that posted it was sent and before the first
//     answer that shows it done (a 201, a replay, a read of it, the word that its id has another body). Whatever number of
//     requests an id had, it is one transaction or none. A request without an outcome (no answer, or a 504) may be done at
//     any time later, or never; which it was is read when nothing is under way any more, and holds for all accounts alike.
//   - its strong reads, each at one instant of its request: they show exactly what came before them in that order.
//   - the refusals for want of funds that name it, each at one instant of its request: there it had less than was
//     requested, and no more than was said to be available.
//
// such that an account with a limit is within it after each. In the end every transaction's legs are in their accounts'
// histories once, whole or not at all, all quantities of an asset sum to zero, and the projections say what strong reads do.
//
// What is not claimed: that reads of two accounts, or of two assets of one, are a picture of one instant. Nor that a strong
// read is atomic when it takes more than one page of the store (1,000 postings after the seal), or on a store that shows
// a transaction item by item: it promises whatever was acknowledged before it began, and checks here are of one page.
package linearizability

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"ledger.example/tests/caller"
)

var (
	historyTime = flag.Duration("history", 11*time.Second, "how long callers post and read: beyond 10 s, what they read is settled in part")
	callerCount = flag.Int("callers", 6, "how many call at once")
	seedFlag    = flag.Uint64("seed", 0, "what callers ask for, and which answers get lost; 0: something else every time")
)

const (
	processes = 2
	// checkTime is how long porcupine may look for the order of one pair's history.
	checkTime = time.Minute
	// projectTime is how long projections may take.
	projectTime = time.Minute
	// manyRequests have every outcome among them. A machine that is too busy makes fewer.
	manyRequests = 300
)

func TestPostsAndStrongReads(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed=%d", seed)
	s := startSystem(t, processes, rand.New(rand.NewPCG(seed, 0)))
	h, floors := newHistory(), limits{}
	open(caller.New(t, s.urls[0]), h, floors)

	end := time.Now().Add(*historyTime)
	var calling sync.WaitGroup
	shares := sharing(*callerCount / 2)
	for i := range *callerCount {
		c := newClient(s, h, i, shares)
		calling.Go(func() { c.run(end) })
	}
	calling.Wait()
	after := &client{history: h, random: s.random, callers: []*caller.Caller{caller.New(t, s.settle())}}
	fates := after.fates()
	pairs := after.close(fates)

	check(t, h, fates, floors)
	now := time.Now()
	caller.Eventually(t, projectTime, "all is projected", func() bool { return s.pump.CaughtUp(now) })
	for p, strongly := range pairs {
		r := after.callers[0].Must(200, "GET", "/v1/accounts/"+p.account+"/balances/"+p.asset, "")
		if got := after.figures(r); got != strongly {
			t.Errorf("%v is projected as %+v, and is %+v", p, got, strongly)
		}
	}
}

// sharing returns a function that gives each number to so many callers.
func sharing(by int) func() int {
	var mu sync.Mutex
	given := 0
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		given++
		return given / max(1, by)
	}
}

// open opens the accounts, and funds them.
func open(c *caller.Caller, h *history, floors limits) {
	c.T.Helper()
	c.Must(201, "PUT", "/v1/assets/EUR", `{"name":"Euro","scale":2}`)
	c.Must(201, "PUT", "/v1/assets/GOLD", `{"name":"Gold","scale":3,"currency":"EUR"}`)
	for _, account := range []string{"bank", "market"} {
		c.Must(201, "PUT", "/v1/accounts/"+account, `{"overdraft":"unlimited"}`)
	}
	opener := &client{history: h, random: &random{r: rand.New(rand.NewPCG(0, 0))}, callers: []*caller.Caller{c}}
	for i := range limited {
		policy := `{}`
		floors[pair{holder(i), "GOLD"}], floors[pair{holder(i), "EUR"}] = 0, 0
		if i%2 == 0 {
			policy = fmt.Sprintf(`{"overdraft":{"EUR":"%d"}}`, overdraft)
			floors[pair{holder(i), "EUR"}] = -overdraft
		}
		c.Must(201, "PUT", "/v1/accounts/"+holder(i), policy)
		id := fmt.Sprint("fund-", i)
		opener.post(id, opener.transfer(id, "bank", holder(i), funds))
	}
}

// fates reads what became of every id. Nothing may be under way any more.
func (c *client) fates() map[string]fate {
	t := c.callers[0].T
	t.Helper()
	fates := make(map[string]fate)
	for id, bodies := range c.history.bodies {
		var reply caller.Reply
		var f fate
		caller.Eventually(t, patience, "an answer comes", func() (ok bool) {
			reply, _, f.answer, ok = c.get("/v1/transactions/" + id)
			return ok
		})
		switch {
		case reply.Status == 200:
			legs := c.legs(reply)
			which := slices.IndexFunc(bodies, func(b body) bool { return slices.Equal(b.legs, legs) })
			if which < 0 {
				t.Errorf("%s is none of what it was asked to be: %s", id, reply.Body)
				continue
			}
			f.text, f.postings = bodies[which].text, ids(reply)
		case reply.Status != 404:
			t.Fatalf("%s: %d %s", id, reply.Status, reply.Body)
		}
		fates[id] = f
	}
	return fates
}

// legs are those of a transaction, in its order.
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

// close reads every pair once more, and its history, which must be the legs of what is there, each once. It returns what
// the pairs have.
func (c *client) close(fates map[string]fate) map[pair]figures {
	t := c.callers[0].T
	t.Helper()
	wanted := make(map[pair][]string) // legs, as texts
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
	has, totals := make(map[pair]figures), make(map[string]int64)
	for p, legs := range wanted {
		var shown figures
		caller.Eventually(t, patience, "an answer comes", func() (ok bool) {
			shown, ok = c.read(p.account, p.asset)
			return ok
		})
		has[p], totals[p.asset] = shown, totals[p.asset]+shown.quantity

		there := make(map[string]int)
		for _, item := range c.callers[0].All("/v1/accounts/"+p.account+"/postings?consistency=strong&asset="+p.asset, 100) {
			quantity, err := strconv.ParseInt(fmt.Sprint(item["quantity"]), 10, 64)
			cost, costErr := strconv.ParseInt(fmt.Sprint(item["cost"]), 10, 64)
			if err != nil || costErr != nil {
				t.Fatalf("%v: %v", p, item)
			}
			there[fmt.Sprint(item["id"], item["transaction"], leg{p, quantity, cost})]++
		}
		for _, one := range legs {
			there[one]--
		}
		for one, times := range there {
			if times != 0 {
				t.Errorf("%v: %s is there %+d times too often", p, one, times)
			}
		}
	}
	for asset, total := range totals {
		if total != 0 {
			t.Errorf("all %s sum to %d", asset, total)
		}
	}
	return has
}

// check looks for the order of every pair's history.
func check(t *testing.T, h *history, fates map[string]fate, floors limits) {
	t.Helper()
	all, wrong := h.operations(fates, floors)
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
		t.Errorf("%v: %s: its %d operations have no order; see %s", p, result, len(history), picture.Name())
	}
	counts := make(map[answer]int)
	for _, r := range h.requests {
		counts[r.outcome]++
	}
	t.Logf("%d operations on %d pairs, checked in %v: %d strong reads, %d posted, %d replayed, %d of another body, %d refused, %d unknown; %d ids",
		operations, len(all), time.Since(began).Round(time.Millisecond), len(h.reads),
		counts[posted], counts[replayed], counts[reused], counts[refused], counts[unknown], len(h.bodies))
	for _, o := range []answer{posted, replayed, reused, refused, unknown, found, absent} {
		if counts[o] == 0 && len(h.requests) > manyRequests {
			t.Errorf("of %d requests, none had outcome %d", len(h.requests), o)
		}
	}
}
