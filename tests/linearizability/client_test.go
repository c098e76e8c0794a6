package linearizability

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"ledger.example/tests/harness/caller"
)

const (
	// limited is the number of accounts with a limit. Every second one has an overdraft.
	limited   = 4
	overdraft = 30_000
	funds     = 300_000
	// thinkTime is the longest pause of a client between two requests.
	thinkTime = 60 * time.Millisecond
	// hangUpTime is the longest time after which an impatient client hangs up.
	hangUpTime = 15 * time.Millisecond
	// retryPause is the longest pause before a retry. outagePause is added if there was no answer at all.
	retryPause, outagePause = 100 * time.Millisecond, time.Second
	// timeout is the time after which a client gives up: longer than a command's deadline.
	timeout = 15 * time.Second
)

var errLost = errors.New("the answer was lost")

// client calls random processes of the ledger, one request at a time.
type client struct {
	*workload
	number   int
	callers  []*caller.Caller
	requests int
}

// unreliable is a connection that loses some answers, and on which some clients hang up.
type unreliable struct{ http.RoundTripper }

func (u unreliable) RoundTrip(r *http.Request) (*http.Response, error) {
	switch rand.IntN(25) {
	case 0:
		response, err := u.RoundTripper.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		defer response.Body.Close()
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			return nil, err
		}
		return nil, errLost
	case 1:
		ctx, cancel := context.WithTimeout(r.Context(), rand.N(hangUpTime))
		response, err := u.RoundTripper.RoundTrip(r.WithContext(ctx))
		if err != nil {
			cancel()
			return nil, err
		}
		response.Body = canceller{response.Body, cancel}
		return response, nil
	}
	return u.RoundTripper.RoundTrip(r)
}

// canceller cancels a request's context when the body of its answer is closed.
type canceller struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (c canceller) Close() error {
	defer c.cancel()
	return c.ReadCloser.Close()
}

// anyProcess returns a caller of a random process.
func (c *client) anyProcess() *caller.Caller { return c.callers[rand.IntN(len(c.callers))] }

// run sends requests until ctx ends.
func (c *client) run(ctx context.Context) {
	for ctx.Err() == nil {
		switch n := rand.IntN(20); {
		case n < 6:
			c.read(holder(rand.IntN(limited)), "EUR")
		case n < 7:
			c.read("market", []string{"EUR", "GOLD"}[rand.IntN(2)])
		case n < 8:
			c.readAll(holder(rand.IntN(limited)))
		case n < 9:
			c.find(c.knownID())
		case n < 12: // an id that other clients use, too, with the same body or another
			id := fmt.Sprint("shared-", c.sharedNumber())
			c.post(id, transfer(id, "bank", holder(rand.IntN(2)), 1000))
		default:
			c.requests++
			id := fmt.Sprintf("own-%d-%d", c.number, c.requests)
			c.post(id, c.body(id))
		}
		time.Sleep(rand.N(thinkTime))
	}
}

// knownID returns an id that has probably been posted.
func (c *client) knownID() string {
	if rand.IntN(2) == 0 || c.requests == 0 {
		return fmt.Sprint("shared-", c.sharedNumber())
	}
	return fmt.Sprintf("own-%d-%d", c.number, 1+rand.IntN(c.requests))
}

func holder(i int) string { return fmt.Sprint("holder-", i) }

// body returns a random transaction.
func (c *client) body(id string) body {
	var parties []string
	for _, i := range rand.Perm(limited) {
		parties = append(parties, holder(i))
	}
	// The amount is random, so that different sets rarely have the same sum. From 8 on, no leg below is zero.
	amount := 8 + int64(rand.IntN(funds/2))
	switch n := rand.IntN(10); {
	case n < 2:
		return transfer(id, "bank", parties[0], amount)
	case n < 5:
		return transfer(id, parties[0], parties[1], amount)
	case n < 8:
		quantity := 1 + int64(rand.IntN(1000))
		gold := func(account string) pair { return pair{account, "GOLD"} }
		eur := func(account string) pair { return pair{account, "EUR"} }
		return body{"/v1/trades",
			fmt.Sprintf(`{"id":%q,"asset":"GOLD","buyer":%q,"seller":"market","quantity":"%d","cost":"%d","settle":true}`,
				id, parties[0], quantity, amount),
			[]leg{{gold(parties[0]), quantity, amount}, {gold("market"), -quantity, -amount},
				{eur(parties[0]), -amount, 0}, {eur("market"), amount, 0}}}
	}
	legs := []leg{
		{pair{parties[0], "EUR"}, -amount, 0}, {pair{parties[1], "EUR"}, amount / 2, 0},
		{pair{parties[2], "EUR"}, -amount / 3, 0},
		{pair{parties[0], "EUR"}, amount / 4, 0}, // debited and credited in the same transaction
	}
	sum := int64(0)
	for i := range legs {
		legs[i].quantity += int64(1 - 2*(i%2)) // so that the sum of these is rarely zero
		sum += legs[i].quantity
	}
	legs = append(legs, leg{pair{"market", "EUR"}, -sum, 0})
	if sum == 0 {
		legs = legs[:len(legs)-1]
	}
	var postings []string
	for _, l := range legs {
		postings = append(postings, fmt.Sprintf(`{"account":%q,"asset":%q,"quantity":"%d"}`, l.account, l.asset,
			l.quantity))
	}
	return body{"/v1/transactions", fmt.Sprintf(`{"id":%q,"postings":[%s]}`, id, strings.Join(postings, ",")), legs}
}

func transfer(id, from, to string, amount int64) body {
	return body{"/v1/transfers", fmt.Sprintf(`{"id":%q,"from":%q,"to":%q,"asset":"EUR","quantity":"%d"}`, id, from, to,
		amount),
		[]leg{{pair{from, "EUR"}, -amount, 0}, {pair{to, "EUR"}, amount, 0}}}
}

// post sends a transaction. It usually retries while the outcome is unknown, and sometimes although it is known.
func (c *client) post(id string, b body) {
	c.history.addBody(id, b)
	persistent, again := rand.IntN(4) > 0, rand.IntN(8) == 0
	for began := time.Now(); time.Since(began) < c.retryFor; {
		r := request{id: id, text: b.text, call: c.history.now()}
		to := c.anyProcess()
		reply, err := to.Try("POST", b.path, b.text)
		r.answer = c.history.now()
		switch code := reply.Code(); {
		case err != nil, reply.Status == 504 && code == "outcome_unknown", c.outages && reply.Status == 500:
			r.outcome = unknown
		case reply.Status == 201:
			r.outcome, r.postings = posted, ids(reply)
		case reply.Status == 200 && reply.Header.Get("Idempotent-Replayed") == "true":
			r.outcome, r.postings = replayed, ids(reply)
		case reply.Status == 409 && code == "transaction_id_reused":
			r.outcome = reused
		case reply.Status == 422 && code == "insufficient_funds":
			r.outcome = refused
			r.refusedPair = pair{reply.Text("account"), reply.Text("asset")}
			r.available, r.requested = c.number64(reply, "available"), c.number64(reply, "requested")
		case reply.Status == 503:
			r.outcome = undone
		default:
			c.t.Errorf("%s is answered with %d %s", b.text, reply.Status, reply.Body)
			return
		}
		c.history.addRequest(r)
		switch {
		case r.outcome == unknown && !persistent:
			return
		case r.outcome == unknown, r.outcome == undone:
		case !again:
			return
		default:
			again = false
		}
		if c.outages && err != nil {
			time.Sleep(rand.N(outagePause))
		}
		time.Sleep(rand.N(retryPause))
	}
	c.t.Errorf("%s has no outcome after %v", id, c.retryFor)
}

// get sends a read at the time call, and gets the reply at the time answer. ok is false if there is no usable answer,
// because the store is busy or down.
func (c *client) get(path string) (reply caller.Reply, call, answer int64, ok bool) {
	call = c.history.now()
	reply, err := c.anyProcess().Try("GET", path, "")
	return reply, call, c.history.now(), err == nil && reply.Status != 503 && (!c.outages || reply.Status != 500)
}

// find reads a transaction.
func (c *client) find(id string) {
	reply, call, answer, ok := c.get("/v1/transactions/" + id)
	r := request{id: id, call: call, answer: answer}
	switch {
	case !ok:
		return
	case reply.Status == 200:
		r.outcome, r.postings = found, ids(reply)
	case reply.Status == 404 && reply.Code() == "transaction_not_found":
		r.outcome = absent
	default:
		c.t.Errorf("%s is answered with %d %s", id, reply.Status, reply.Body)
		return
	}
	c.history.addRequest(r)
}

// read reads one balance strongly. ok is false if there is no answer.
func (c *client) read(account, asset string) (shown figures, ok bool) {
	p := pair{account, asset}
	reply, call, answer, ok := c.get("/v1/accounts/" + account + "/balances/" + asset + "?consistency=strong")
	if !ok {
		return figures{}, false
	}
	if reply.Status != 200 {
		c.t.Errorf("%v is answered with %d %s", p, reply.Status, reply.Body)
		return figures{}, false
	}
	shown = c.figures(reply)
	c.history.addReads(read{p, call, answer, shown})
	return shown, true
}

// readAll reads all balances of an account strongly. They are not a snapshot: each is recorded as a read of its own
// pair.
func (c *client) readAll(account string) {
	reply, call, answer, ok := c.get("/v1/accounts/" + account + "/balances?consistency=strong")
	if !ok {
		return
	}
	list, _ := reply.Value("data").([]any)
	if reply.Status != 200 {
		c.t.Errorf("%s is answered with %d %s", account, reply.Status, reply.Body)
		return
	}
	shown := map[string]figures{"EUR": {}, "GOLD": {}} // an asset that is not listed has no postings
	for i := range list {
		shown[reply.Text("data", i, "asset")] = c.figures(reply, "data", i)
	}
	for asset, f := range shown {
		c.history.addReads(read{pair{account, asset}, call, answer, f})
	}
}

// figures returns the figures of the balance at a path in a reply.
func (c *client) figures(r caller.Reply, path ...any) figures {
	amount := func(name string) int64 { return c.number64(r, append(path[:len(path):len(path)], name)...) }
	count, _ := r.Value(append(path[:len(path):len(path)], "postings")...).(float64)
	return figures{amount("quantity"), amount("net_expenditure"), amount("credits"), amount("debits"), int64(count)}
}

func (c *client) number64(r caller.Reply, path ...any) int64 {
	n, err := strconv.ParseInt(r.Text(path...), 10, 64)
	if err != nil {
		c.t.Errorf("no amount at %v of %s", path, r.Body)
	}
	return n
}

// ids returns the ids of a transaction's postings.
func ids(r caller.Reply) string { return fmt.Sprint(r.Each("id", "postings")) }
