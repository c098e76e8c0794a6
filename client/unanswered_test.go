package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// transport answers requests without a network, so that tests can run in a synctest bubble.
type transport func(r *http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

var errCut = errors.New("connection cut")

func response(code int, body string) (*http.Response, error) {
	header := http.Header{"Content-Type": {"application/json"}}
	if code >= 400 {
		header.Set("Content-Type", "application/problem+json")
	}
	return &http.Response{StatusCode: code, Header: header, Body: io.NopCloser(strings.NewReader(body))}, nil
}

const (
	uncovered = `{"code":"insufficient_funds","detail":"Not enough."}`
	absent    = `{"code":"transaction_not_found","detail":"There is no such transaction."}`
)

// isCode reports whether err is an Error with the code.
func isCode(err error, code string) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code == code
}

// newFakeClient returns a client of t that uses the fake time of the bubble.
func newFakeClient(t testing.TB, answers transport) *Client {
	t.Helper()
	c, err := New(Config{URL: "http://127.0.0.1:8080"})
	if err != nil {
		t.Fatal(err)
	}
	c.http.Transport = answers
	return c
}

// A write that got no answer may be applied after its retry was refused. Replies are lost and money arrives at random
// times. A write that Send reports as refused must never be posted later. A write that it reports as posted must be
// posted. If no reply was lost, a refusal is returned at once.
func TestRefusalAfterUnansweredWriteIsFinal(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		money := time.Duration(rapid.IntRange(0, 12_000).Draw(r, "money after ms")) * time.Millisecond
		lingers := time.Duration(rapid.IntRange(0, 8_000).Draw(r, "a lost command lingers ms")) * time.Millisecond
		losses := rapid.IntRange(0, 3).Draw(r, "lost")
		wrong := ""
		synctest.Test(t, func(t *testing.T) {
			began, isPosted, sends := time.Now(), atomic.Bool{}, 0
			try := func() bool {
				if time.Since(began) >= money {
					isPosted.Store(true)
				}
				return isPosted.Load()
			}
			c := newFakeClient(t, func(*http.Request) (*http.Response, error) {
				if sends++; sends <= losses {
					time.AfterFunc(lingers, func() { try() })
					return nil, errCut
				}
				if try() {
					return response(http.StatusCreated, posted)
				}
				return response(http.StatusUnprocessableEntity, uncovered)
			})
			_, err := c.Send(t.Context(), transfer)
			then, took := isPosted.Load(), time.Since(began)
			time.Sleep(time.Minute) // until no request is in flight
			refusal, isRefused := errors.AsType[*Error](err)
			switch {
			case err == nil && !then:
				wrong = "reported as posted, and it is not"
			case err != nil && (!isRefused || refusal.Status != http.StatusUnprocessableEntity):
				wrong = err.Error()
			case err != nil && losses == 0 && (sends != 1 || took != 0),
				err != nil && losses > 0 && (took < commandTimeout || took > commandTimeout+time.Second):
				wrong = fmt.Sprintf("refused after %s and %d sends", took, sends)
			case err != nil && isPosted.Load():
				wrong = fmt.Sprintf("reported as refused after %d sends, and posted afterwards", sends)
			}
		})
		if wrong != "" {
			r.Fatal(wrong)
		}
	})
}

// The wait for a final refusal continues after the timeout. If the caller cancels it, the outcome is unknown.
func TestWaitOutlastsTimeoutButNotContext(t *testing.T) {
	answers := func() transport {
		sends := 0
		return func(*http.Request) (*http.Response, error) {
			switch sends++; sends {
			case 1:
				return nil, errCut
			case 2:
				return response(http.StatusUnprocessableEntity, uncovered)
			}
			return response(http.StatusOK, posted)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		c := newFakeClient(t, answers())
		c.timeout = time.Second
		if w, err := c.Send(t.Context(), transfer); err != nil || w.New {
			t.Errorf("%+v, %v", w, err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c := newFakeClient(t, answers())
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began := time.Now()
		_, err := c.Send(ctx, transfer)
		var unknown *UnknownError
		if took := time.Since(began); !errors.As(err, &unknown) || unknown.ID != "t-1" || took != 3*time.Second {
			t.Errorf("after %s: %v", took, err)
		}
	})
}

// A write that got no answer may be applied, even if no connection can be made afterwards. It is not reported as
// UnreachableError, which means that nothing was sent.
func TestUnansweredWriteIsNotUnreachable(t *testing.T) {
	for name, send := range map[string]func(context.Context, *Client) error{
		"alone": func(ctx context.Context, c *Client) error { _, err := c.Send(ctx, transfer); return err },
		"in a batch": func(ctx context.Context, c *Client) error {
			all, err := c.Batch(ctx, Batch{Requests: []Request{transfer}})
			if err == nil {
				err = all[0].Err
			}
			return err
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			sends := 0
			c := newFakeClient(t, func(*http.Request) (*http.Response, error) {
				if sends++; sends == 1 {
					return nil, errCut
				}
				return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
			})
			err := send(t.Context(), c)
			var unknown *UnknownError
			var unreachable *UnreachableError
			if !errors.As(err, &unknown) || errors.As(err, &unreachable) || sends < 2 {
				t.Errorf("%s: after %d sends: %v", name, sends, err)
			}
		})
	}
}

// A 404 or a 422 to a later call is not final while an unanswered write of the same client may be applied.
func TestRefusalsWaitForUnansweredWrite(t *testing.T) {
	post := func(r Request) func(context.Context, *Client) error {
		return func(ctx context.Context, c *Client) error { _, _, err := c.Post(ctx, r); return err }
	}
	for name, ask := range map[string]func(context.Context, *Client) error{
		"look-up":  func(ctx context.Context, c *Client) error { _, err := c.Transaction(ctx, "t-1"); return err },
		"again":    post(transfer),
		"capture":  post(Capture{Transaction: "t-1"}),
		"reversal": post(Reversal{Transaction: "t-1", ID: "t-2"}),
	} {
		for _, user := range []string{"", "ann"} { // a user's 404 may also mean that a role is missing
			name := name + " for " + user
			synctest.Test(t, func(t *testing.T) {
				isLost, began := true, time.Now()
				c := newFakeClient(t, func(r *http.Request) (*http.Response, error) {
					switch isApplied := time.Since(began) >= 9*time.Second; {
					case isLost:
						return nil, errCut
					case !isApplied && r.URL.Path == "/v1/transfers":
						return response(http.StatusUnprocessableEntity, uncovered)
					case !isApplied:
						return response(http.StatusNotFound, absent)
					case strings.HasSuffix(r.URL.Path, "/reversals"):
						return response(http.StatusCreated, `{"id":"t-2"}`)
					}
					return response(http.StatusOK, posted)
				})
				c.timeout, c.user = time.Nanosecond, user
				var unknown *UnknownError
				if _, err := c.Send(t.Context(), transfer); !errors.As(err, &unknown) {
					t.Fatal(err)
				}
				isLost = false
				if _, err := c.Transaction(t.Context(), "t-3"); err == nil || time.Since(began) != 0 {
					t.Errorf("%s: another transaction waits for %s: %v", name, time.Since(began), err)
				}
				if err := ask(t.Context(), c); err != nil || time.Since(began) != commandTimeout {
					t.Errorf("%s: after %s: %v", name, time.Since(began), err)
				}
			})
		}
	}
}

// Unanswered writes are kept only while they may still be applied.
func TestUnansweredWritesAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newFakeClient(t, func(*http.Request) (*http.Response, error) { return nil, errCut })
		c.timeout = time.Nanosecond
		for _, id := range []string{"t-1", "t-2", "t-3"} {
			_, _ = c.Send(t.Context(), Command{Kind: KindTransfer, ID: id, Body: []byte(`{}`)})
			time.Sleep(commandTimeout)
		}
		if n := len(c.unanswered.at); n != 1 {
			t.Errorf("%d are kept", n)
		}
	})
}

// pen is a Signer that sends the time as the signature, or fails.
type pen struct {
	times []time.Time
	fails error // from the second signature on
}

func (p *pen) Sign(_ context.Context, r *http.Request, body []byte, at time.Time) error {
	p.times = append(p.times, at)
	r.Header.Set("Authorization", fmt.Sprintf("%s of %d bytes", at.Format(time.TimeOnly), len(body)))
	if len(p.times) > 1 {
		return p.fails
	}
	return nil
}

// Each attempt is signed, when the Retry-After of the answer before has passed. If that is beyond the timeout, the
// answer is final.
func TestEachAttemptIsSigned(t *testing.T) {
	busy := func(seconds string) answer { return problem(503, "throttled", "Retry-After", seconds) }
	for _, c := range []struct {
		answers []answer
		after   []time.Duration
	}{
		{[]answer{busy("7"), problem(504, "outcome_unknown", "Retry-After", "11"), status(201, posted)}, []time.Duration{0, 7, 18}},
		{[]answer{busy("3600")}, []time.Duration{0}},
	} {
		client, k := newClient(t, newScript(t, c.answers...).URL)
		p, begin := &pen{}, k.at
		client.sign = p
		_, err := client.Send(t.Context(), transfer)
		var signed []time.Duration
		for _, at := range p.times {
			signed = append(signed, at.Sub(begin)/time.Second)
		}
		if isFinal := len(c.answers) == 1; !slices.Equal(signed, c.after) || isFinal != isCode(err, "throttled") || !isFinal && err != nil {
			t.Errorf("signed after %d seconds, want %d: %v", signed, c.after, err)
		}
	}
}

func TestDeniedErrorAdvice(t *testing.T) {
	forbidden := func(date string) answer {
		return status(403, `{"Message":"Not \u001b[31mauthorized"}`, "Content-Type", "application/json", "Date", date)
	}
	for name, c := range map[string]struct {
		answer answer
		sign   Signer
		says   []string
	}{
		"not signed":    {forbidden("Sat, 21 Nov 2026 09:00:00 GMT"), nil, []string{"403", "Not  [31mauthorized", "no credentials"}},
		"no permission": {forbidden("Sat, 21 Nov 2026 09:04:00 GMT"), &pen{}, []string{"execute-api:Invoke"}},
		"clock behind":  {forbidden("Sat, 21 Nov 2026 09:17:00 GMT"), &pen{}, []string{"clock", "17m0s behind"}},
		"clock ahead":   {forbidden("Sat, 21 Nov 2026 08:30:00 GMT"), &pen{}, []string{"clock", "30m0s ahead"}},
		"not JSON":      {status(401, "<html>"), nil, []string{"401 Unauthorized; ", "no credentials"}},
	} {
		s := newScript(t, c.answer)
		client, k := newClient(t, s.URL)
		client.sign = c.sign
		_, err := client.Send(t.Context(), transfer)
		var denied *DeniedError
		if !errors.As(err, &denied) || len(s.asked) != 1 || len(k.pauses) != 0 {
			t.Errorf("%s: after %d attempts: %v", name, len(s.asked), err)
			continue
		}
		for _, says := range c.says {
			if !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %q is missing in %q", name, says, err)
			}
		}
	}
}

// After an attempt that may have been applied, only a final answer of the API makes the outcome known: no answer that it
// wrote nothing, no refusal by the gateway, and no failure to sign.
func TestUnknownOutcomeStaysUnknownUntilAnswered(t *testing.T) {
	timeout, lost := problem(504, "outcome_unknown"), status(502, "")
	for name, c := range map[string]struct {
		answers   []answer
		fails     error // to sign, from the second attempt on
		isUnknown bool
		attempts  int // 0: until the timeout
	}{
		"throttled":              {[]answer{timeout, problem(503, "throttled")}, nil, true, 0},
		"throttled all the time": {[]answer{problem(503, "throttled")}, nil, false, 0},
		"refused":                {[]answer{timeout, problem(422, "insufficient_funds")}, nil, false, 3},
		"denied":                 {[]answer{lost, status(403, "")}, nil, true, 2},
		"not found":              {[]answer{lost, status(404, "")}, nil, true, 2},
		"nobody's":               {[]answer{lost, problem(401, "unauthenticated")}, nil, true, 2},
		"cannot be sent":         {[]answer{lost, status(201, posted)}, errors.New("no credentials"), true, 2},
	} {
		client, k := newClient(t, newScript(t, c.answers...).URL)
		begin, p := k.at, &pen{fails: c.fails}
		client.sign = p
		_, err := client.Send(t.Context(), transfer)
		unknown, isUnknown := errors.AsType[*UnknownError](err)
		_, isRefused := errors.AsType[*Error](err)
		n := len(p.times)
		if isUnknown != c.isUnknown || isUnknown && (unknown.ID != "t-1" || unknown.Attempts != n) || !isUnknown && !isRefused ||
			k.at.Sub(begin) > DefaultTimeout || c.attempts == 0 && n < 7 || c.attempts > 0 && n != c.attempts {
			t.Errorf("%s: after %d attempts: %v", name, n, err)
		}
	}
}

func TestSignedRequestsNeedHTTPS(t *testing.T) {
	for url, ok := range map[string]bool{
		"https://host/prod":            true,
		"http://127.0.0.1:3000":        true,
		"http://[::1]:3000/":           true,
		"http://localhost":             true,
		"http://host":                  false,
		"http://10.0.0.1":              false,
		"http://localhost.example.com": false,
		"http://127.0.0.1@example.com": false,
	} {
		if _, err := New(Config{URL: url, Sign: &pen{}}); (err == nil) != ok {
			t.Errorf("%s: %v", url, err)
		}
	}
}
