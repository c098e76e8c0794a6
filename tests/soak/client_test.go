package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"ledger.example/tests/caller"
)

const (
	// limited accounts share what there is; some may owe.
	limited = 8
	// overdraft is what every third of them may owe, of EUR.
	overdraft = 500
	// funds is what each gets of EUR.
	funds = 5_000
	// thinks is the longest pause of a client between two transactions.
	thinks = 120 * time.Millisecond
	// commandLife is longer than any command lives, which is 8 s.
	commandLife = 9 * time.Second
	// asksAgain is the longest pause before a client asks again.
	asksAgain = 200 * time.Millisecond
	// patience is how long most clients wait for an answer, more than a command lives; impatience, how long some do.
	patience, impatience = 10 * time.Second, 30 * time.Millisecond
)

// leg is one posting as it was asked for.
type leg struct {
	account, asset string
	quantity, cost int64
}

// asked is one transaction that a client asked for, under an id of its own, and what it was told.
type asked struct {
	id, path, body string
	legs           []leg // in the order of the answer

	acknowledged []acknowledgment
	refused      bool // for funds, at last
	unknown      bool // some request got no answer, or one that tells of no outcome
	answered     bool // the last one got an answer
}

// acknowledgment is one answer that says that the transaction is there.
type acknowledgment struct {
	at       time.Time
	postings string // their ids
}

// client posts one transaction after the other.
type client struct {
	*caller.Caller
	hurried *caller.Caller // doesn't wait long
	number  int
	random  *rand.Rand
	asked   []*asked
}

func newClient(t *testing.T, url string, number int, random *rand.Rand) *client {
	c := &client{Caller: caller.New(t, url), hurried: caller.New(t, url), number: number, random: random}
	c.HTTP.Timeout, c.hurried.HTTP.Timeout = patience, impatience
	return c
}

// run posts until end is done, and returns what was asked for. What has no answer by then is asked for again for as long as
// quiet.
func (c *client) run(end context.Context) []*asked {
	for end.Err() == nil {
		a := c.next()
		c.asked = append(c.asked, a)
		c.post(end, a)
		time.Sleep(time.Duration(c.random.Int64N(int64(thinks))))
	}
	return c.asked
}

// post sends one transaction until its outcome is known. Now and then it gives up at once, or asks once more than it must.
func (c *client) post(end context.Context, a *asked) {
	persistent, again := c.random.IntN(5) > 0, c.random.IntN(10) == 0
	var ended time.Time      // when this one is first seen to be over
	var unanswered time.Time // when it was last asked for without an answer
	for ended.IsZero() || time.Since(ended) < quiet {
		if end.Err() != nil && ended.IsZero() {
			ended = time.Now()
		}
		by := c.Caller
		if c.random.IntN(20) == 0 {
			by = c.hurried
		}
		r, err := by.Try("POST", a.path, a.body)
		switch code := r.Code(); {
		case err != nil, r.Status >= 500 && code == "", r.Status == 500, r.Status == 504:
			a.unknown, a.answered, unanswered = true, false, time.Now()
			if !persistent {
				return
			}
		case r.Status == 503: // it wrote nothing
		case r.Status == 200, r.Status == 201:
			a.answered = true
			a.acknowledged = append(a.acknowledged, acknowledgment{time.Now(), fmt.Sprint(r.Each("id", "postings"))})
			if !again {
				return
			}
			again = false
			continue
		case r.Status == 422 && code == "insufficient_funds":
			// A refusal speaks for its request, not for an earlier one that this client stopped waiting for and that may still run.
			a.answered, a.refused = true, time.Since(unanswered) > commandLife
			return
		default:
			c.T.Errorf("%s is answered with %d %s", a.body, r.Status, r.Body)
			return
		}
		time.Sleep(time.Duration(c.random.Int64N(int64(asksAgain))))
	}
	c.T.Errorf("%s has no answer after all was started again for %v", a.id, quiet)
}

// next makes up a transaction.
func (c *client) next() *asked {
	a := &asked{id: fmt.Sprintf("soak-%d-%d", c.number, len(c.asked))}
	parties := c.random.Perm(limited)
	party := func(i int) string { return fmt.Sprint("holder-", parties[i]) }
	amount := 1 + c.random.Int64N(funds/5)
	switch c.random.IntN(10) {
	case 0, 1: // there is enough of everything at the bank
		a.transfer("bank", party(0), amount)
	case 2, 3, 4, 5:
		a.transfer(party(0), party(1), amount)
	case 6, 7:
		quantity := 1 + c.random.Int64N(20)
		a.path = "/v1/trades"
		a.body = fmt.Sprintf(`{"id":%q,"asset":"GOLD","buyer":%q,"seller":"market","quantity":"%d","cost":"%d","settle":true}`, a.id, party(0), quantity, amount)
		a.legs = []leg{{party(0), "GOLD", quantity, amount}, {"market", "GOLD", -quantity, -amount}, {party(0), "EUR", -amount, 0}, {"market", "EUR", amount, 0}}
	default:
		a.path = "/v1/transactions"
		var sum int64
		for i := range 2 + c.random.IntN(limited-2) {
			part := 1 + c.random.Int64N(funds/10)
			a.legs, sum = append(a.legs, leg{party(i), "EUR", -part, 0}), sum+part
		}
		a.legs = append(a.legs, leg{"market", "EUR", sum, 0})
		var postings []string
		for _, l := range a.legs {
			postings = append(postings, fmt.Sprintf(`{"account":%q,"asset":%q,"quantity":"%d"}`, l.account, l.asset, l.quantity))
		}
		a.body = fmt.Sprintf(`{"id":%q,"postings":[%s]}`, a.id, strings.Join(postings, ","))
	}
	return a
}

func (a *asked) transfer(from, to string, amount int64) {
	a.path = "/v1/transfers"
	a.body = fmt.Sprintf(`{"id":%q,"from":%q,"to":%q,"asset":"EUR","quantity":"%d"}`, a.id, from, to, amount)
	a.legs = []leg{{from, "EUR", -amount, 0}, {to, "EUR", amount, 0}}
}
