package linearizability

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"ledger.example/tests/caller"
)

const (
	// limited accounts share what there is; every second one may owe.
	limited   = 4
	overdraft = 30_000
	funds     = 300_000
	// thinks is the longest pause of a caller between two requests.
	thinks = 60 * time.Millisecond
	// hangsUp is the longest that a caller waits who hangs up.
	hangsUp = 15 * time.Millisecond
	// asksAgain is the longest pause before a request is repeated whose outcome is unknown.
	asksAgain = 100 * time.Millisecond
	// patience is how long all others wait, more than a command lives.
	patience = 15 * time.Second
)

var errLost = errors.New("the answer got lost")

// client is one caller, of all processes in turn.
type client struct {
	number   int
	random   *random
	history  *history
	callers  []*caller.Caller
	requests int
	shared   func() int // a number that other callers are given, too
}

// unreliable is a connection on which answers get lost, and callers hang up.
type unreliable struct {
	http.RoundTripper
	random *random
}

func (u unreliable) RoundTrip(r *http.Request) (*http.Response, error) {
	switch u.random.intN(25) {
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
		ctx, cancel := context.WithTimeout(r.Context(), u.random.upTo(hangsUp))
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

// canceller ends a request's context when its answer was read.
type canceller struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (c canceller) Close() error {
	defer c.cancel()
	return c.ReadCloser.Close()
}

func newClient(s *system, h *history, number int, shared func() int) *client {
	c := &client{number: number, random: s.random, history: h, shared: shared}
	for _, url := range s.urls {
		one := caller.New(s.t, url)
		one.HTTP.Transport = unreliable{one.HTTP.Transport, s.random}
		one.HTTP.Timeout = patience
		c.callers = append(c.callers, one)
	}
	return c
}

// anyone is a caller of one of the processes.
func (c *client) anyone() *caller.Caller { return c.callers[c.random.intN(len(c.callers))] }

// run sends requests until end.
func (c *client) run(end time.Time) {
	for time.Now().Before(end) {
		switch n := c.random.intN(20); {
		case n < 6:
			c.read(holder(c.random.intN(limited)), "EUR")
		case n < 7:
			c.read("market", []string{"EUR", "GOLD"}[c.random.intN(2)])
		case n < 8:
			c.readAll(holder(c.random.intN(limited)))
		case n < 9:
			c.look(c.anID())
		case n < 12: // somebody else's, which may be the same, or another
			id := fmt.Sprint("shared-", c.shared())
			c.post(id, c.transfer(id, "bank", holder(c.random.intN(2)), 1000))
		default:
			c.requests++
			id := fmt.Sprintf("own-%d-%d", c.number, c.requests)
			c.post(id, c.body(id))
		}
		time.Sleep(c.random.upTo(thinks))
	}
}

// anID is one that was posted by now, or nearly.
func (c *client) anID() string {
	if c.random.intN(2) == 0 || c.requests == 0 {
		return fmt.Sprint("shared-", c.shared())
	}
	return fmt.Sprintf("own-%d-%d", c.number, 1+c.random.intN(c.requests))
}

func holder(i int) string { return fmt.Sprint("holder-", i) }

// body makes up a transaction.
func (c *client) body(id string) body {
	parties := []string{holder(0), holder(1), holder(2), holder(3)}
	c.random.mu.Lock()
	c.random.r.Shuffle(len(parties), func(i, j int) { parties[i], parties[j] = parties[j], parties[i] })
	c.random.mu.Unlock()
	amount := 1 + int64(c.random.intN(funds/2)) // sums of a few of them are hardly ever the same
	switch n := c.random.intN(10); {
	case n < 2:
		return c.transfer(id, "bank", parties[0], amount)
	case n < 5:
		return c.transfer(id, parties[0], parties[1], amount)
	case n < 8:
		quantity := 1 + int64(c.random.intN(1000))
		gold, eur := func(account string) pair { return pair{account, "GOLD"} }, func(account string) pair { return pair{account, "EUR"} }
		return body{"/v1/trades",
			fmt.Sprintf(`{"id":%q,"asset":"GOLD","buyer":%q,"seller":"market","quantity":"%d","cost":"%d","settle":true}`, id, parties[0], quantity, amount),
			[]leg{{gold(parties[0]), quantity, amount}, {gold("market"), -quantity, -amount}, {eur(parties[0]), -amount, 0}, {eur("market"), amount, 0}}}
	}
	legs := []leg{
		{pair{parties[0], "EUR"}, -amount, 0}, {pair{parties[1], "EUR"}, amount / 2, 0}, {pair{parties[2], "EUR"}, -amount / 3, 0},
		{pair{parties[0], "EUR"}, amount / 4, 0}, // debited and credited at once
	}
	sum := int64(0)
	for i := range legs {
		legs[i].quantity += int64(1 - 2*(i%2)) // none is zero
		sum += legs[i].quantity
	}
	legs = append(legs, leg{pair{"market", "EUR"}, -sum, 0})
	if sum == 0 {
		legs = legs[:len(legs)-1]
	}
	var postings []string
	for _, l := range legs {
		postings = append(postings, fmt.Sprintf(`{"account":%q,"asset":%q,"quantity":"%d"}`, l.account, l.asset, l.quantity))
	}
	return body{"/v1/transactions", fmt.Sprintf(`{"id":%q,"postings":[%s]}`, id, strings.Join(postings, ",")), legs}
}

func (c *client) transfer(id, from, to string, amount int64) body {
	return body{"/v1/transfers", fmt.Sprintf(`{"id":%q,"from":%q,"to":%q,"asset":"EUR","quantity":"%d"}`, id, from, to, amount),
		[]leg{{pair{from, "EUR"}, -amount, 0}, {pair{to, "EUR"}, amount, 0}}}
}

// post sends a transaction, and mostly again while its outcome is unknown, and now and then although it is known.
func (c *client) post(id string, b body) {
	c.history.asks(id, b)
	persistent, again := c.random.intN(4) > 0, c.random.intN(8) == 0
	for sent := 0; sent < 30; sent++ {
		r := request{id: id, text: b.text, call: c.history.now()}
		to := c.anyone()
		reply, err := to.Try("POST", b.path, b.text)
		r.answer = c.history.now()
		switch code := reply.Code(); {
		case err != nil, reply.Status == 504 && code == "outcome_unknown":
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
			to.T.Errorf("%s is answered with %d %s", b.text, reply.Status, reply.Body)
			return
		}
		c.history.add(r)
		switch {
		case r.outcome == unknown && !persistent:
			return
		case r.outcome == unknown, r.outcome == undone:
		case !again:
			return
		default:
			again = false
		}
		time.Sleep(c.random.upTo(asksAgain))
	}
}

// get reads; it tells whether an answer came, and between which times it was made. A store that is too busy gives none.
func (c *client) get(path string) (reply caller.Reply, call, answer int64, ok bool) {
	call = c.history.now()
	reply, err := c.anyone().Try("GET", path, "")
	return reply, call, c.history.now(), err == nil && reply.Status != 503
}

// look reads a transaction.
func (c *client) look(id string) {
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
		c.callers[0].T.Errorf("%s is answered with %d %s", id, reply.Status, reply.Body)
		return
	}
	c.history.add(r)
}

// read reads one balance; it tells whether an answer came.
func (c *client) read(account, asset string) (figures, bool) {
	p := pair{account, asset}
	reply, call, answer, ok := c.get("/v1/accounts/" + account + "/balances/" + asset + "?consistency=strong")
	if !ok {
		return figures{}, false
	}
	if reply.Status != 200 {
		c.callers[0].T.Errorf("%v is answered with %d %s", p, reply.Status, reply.Body)
		return figures{}, false
	}
	shown := c.figures(reply)
	c.history.saw(read{p, call, answer, shown})
	return shown, true
}

// readAll reads all balances of an account: each is read by itself, and they are no picture of one instant.
func (c *client) readAll(account string) {
	reply, call, answer, ok := c.get("/v1/accounts/" + account + "/balances?consistency=strong")
	if !ok {
		return
	}
	list, _ := reply.Value("data").([]any)
	if reply.Status != 200 {
		c.callers[0].T.Errorf("%s is answered with %d %s", account, reply.Status, reply.Body)
		return
	}
	shown := map[string]figures{"EUR": {}, "GOLD": {}} // what isn't listed was never moved
	for i := range list {
		shown[reply.Text("data", i, "asset")] = c.figures(reply, "data", i)
	}
	for asset, f := range shown {
		c.history.saw(read{pair{account, asset}, call, answer, f})
	}
}

// figures are those of a balance in a reply.
func (c *client) figures(r caller.Reply, path ...any) figures {
	amount := func(name string) int64 { return c.number64(r, append(path[:len(path):len(path)], name)...) }
	count, _ := r.Value(append(path[:len(path):len(path)], "postings")...).(float64)
	return figures{amount("quantity"), amount("net_expenditure"), amount("credits"), amount("debits"), int64(count)}
}

func (c *client) number64(r caller.Reply, path ...any) int64 {
	n, err := strconv.ParseInt(r.Text(path...), 10, 64)
	if err != nil {
		c.callers[0].T.Errorf("no amount at %v of %s", path, r.Body)
	}
	return n
}

// ids are those of a transaction's postings.
func ids(r caller.Reply) string { return fmt.Sprint(r.Each("id", "postings")) }
