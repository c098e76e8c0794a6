package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"ledger.example/cmd/ledger/client"
	"ledger.example/cmd/ledger/sign"
)

const (
	// attemptsMax is how often one request is sent at most.
	attemptsMax = 10
	// firstPause and longestPause bound the pauses between attempts, which double; longestWait what a Retry-After may ask for.
	firstPause   = 50 * time.Millisecond
	longestPause = 2 * time.Second
	longestWait  = 10 * time.Second
)

// The codes of answers that have none of the API's.
const (
	codeNoConnection = "no_connection" // nothing was sent
	codeNoAnswer     = "no_answer"     // cut off, or timed out
	codeNotOurs      = "not_an_answer" // a 2xx that isn't about what was asked
)

// counts are what became of requests, each counted once but for Declined and Repeated. The methods are safe for concurrent use.
type counts struct {
	mu       sync.Mutex
	done     int64            // answered by success
	replays  int64            // of those: written before
	refusals int64            // insufficient funds
	errors   map[string]int64 // by code: other failures, after all attempts
	faults   int64            // of those: not answered by 503 or 429 in the end, which a ledger may do
	declined int64            // attempts answered by 503, or 429: written nothing, asked again
	repeated int64            // attempts whose outcome was unknown, asked again by the same id
}

func (c *counts) count(change func(*counts)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(c)
}

// failed counts a request that was given up, or answered by an error; whether that is a fault, unless it is a refusal.
func (c *counts) failed(code string, isFault bool) {
	c.count(func(c *counts) {
		if code == client.CodeInsufficientFunds {
			c.refusals++
			return
		}
		if c.errors == nil {
			c.errors = make(map[string]int64)
		}
		c.errors[code]++
		if isFault {
			c.faults++
		}
	})
}

// verdict is what an attempt proves.
type verdict int

const (
	final   verdict = iota
	notNow          // nothing was written, and the attempt may be made again
	unknown         // it may have been applied, or may still be
)

// result is what became of a request in the end.
type result struct {
	answer
	code    string // "" when it succeeded
	unknown bool   // an attempt may have been applied, and no later one told
	final   bool   // the last attempt told what became of the request
	again   bool   // it took several attempts, or failed: net/http may read the body of one still
}

// ask sends a request until it is answered, at most attemptsMax times, always with the same id, and counts what becomes of it.
// The answer is in buffer. An error ends the load: nobody answers, something else than the ledger does, or it doesn't let the
// caller in.
//
// The end of ctx is the end of attempts, and that of under cuts off the one that is under way. Neither is an error of the
// ledger's, and neither is counted.
func (r *run) ask(ctx, under context.Context, req *request, buffer *bytes.Buffer, n *counts) (result, error) {
	var out result
	heard := false
	for attempt := 0; ; attempt++ {
		a, err := r.load.send(under, req, buffer)
		if unsigned, ok := errors.AsType[*sign.Error](err); ok {
			return result{}, unsigned
		}
		heard = heard || err == nil
		v, code, fatal := judge(req, a, err)
		if fatal != nil {
			return result{}, fatal
		}
		out = result{answer: a, code: code, unknown: v == unknown || out.unknown && v == notNow, final: v == final, again: attempt > 0 || code != ""}
		switch {
		case v == final && code == "":
			r.succeeded()
			n.count(func(n *counts) {
				n.done++
				if a.header.Get("Idempotent-Replayed") == "true" {
					n.replays++
				}
			})
			return out, nil
		case v != final && ctx.Err() != nil:
			return out, nil
		case v == final, attempt == attemptsMax-1:
			if !heard {
				return result{}, fmt.Errorf("no answer after %d attempts: %w", attemptsMax, err)
			}
			n.failed(code, v != notNow)
			return out, nil
		case v == notNow:
			n.count(func(n *counts) { n.declined++ })
		default:
			n.count(func(n *counts) { n.repeated++ })
		}
		if !wait(ctx, max(pause(attempt), retryAfter(a))) {
			return out, nil
		}
	}
}

// judge reads an answer by the API's rule: a 4xx or 503 with a code wrote nothing; a 500, a 504, no answer, and one without
// a code prove nothing. fatal is a reason to send nothing more.
func judge(req *request, a answer, err error) (v verdict, code string, fatal error) {
	if err != nil {
		if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
			return notNow, codeNoConnection, nil
		}
		return unknown, codeNoAnswer, nil
	}
	if a.status >= 200 && a.status < 300 {
		if req.id != "" && !bytes.Contains(a.body, []byte(`"`+req.id+`"`)) {
			return unknown, codeNotOurs, nil
		}
		if req.id == "" && !req.isAnswered(a.body) {
			return final, codeNotOurs, nil
		}
		return final, "", nil
	}
	var problem struct{ Code, Detail string }
	_ = json.Unmarshal(a.body, &problem) // what is no problem has no code
	code = problem.Code
	if code == "" {
		code = "status_" + strconv.Itoa(a.status)
	}
	switch {
	case a.status == http.StatusUnauthorized, a.status == http.StatusForbidden:
		return final, code, fmt.Errorf("%s %s: the caller is not let in: %d %s", req.method, req.path, a.status, http.StatusText(a.status))
	case problem.Code == "" && a.status < 500 && a.status != http.StatusRequestTimeout && a.status != http.StatusTooEarly && a.status != http.StatusTooManyRequests:
		return final, code, fmt.Errorf("%s %s: %w", req.method, req.path, &client.StatusError{Status: a.status})
	case problem.Code != "" && (a.status == http.StatusServiceUnavailable || a.status == http.StatusTooManyRequests):
		return notNow, code, nil
	case a.status >= 500, problem.Code == "":
		return unknown, code, nil
	}
	return final, code, nil
}

// pause returns the pause after an attempt, counted from 0: doubling, and shortened by chance by up to a half so that clients
// that failed together don't come back together.
func pause(attempt int) time.Duration {
	d := min(firstPause<<attempt, longestPause) // the shift stays in range: attemptsMax
	return d - rand.N(d/2)
}

// retryAfter is what an answer asks for in whole seconds, 0 where it doesn't.
func retryAfter(a answer) time.Duration {
	seconds, err := strconv.Atoi(a.header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, longestWait)
}
