package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ledger.example/events"
)

// answer is one scripted reply.
type answer func(w http.ResponseWriter)

func status(code int, body string, headers ...string) answer {
	return func(w http.ResponseWriter) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
		io.WriteString(w, body)
	}
}

func problem(code int, name string, headers ...string) answer {
	return status(code, fmt.Sprintf(`{"type":"/problems/%[1]s","status":%[2]d,"detail":"in words","code":%[1]q,"request_id":"r-1"}`, name, code),
		append([]string{"Content-Type", "application/problem+json"}, headers...)...)
}

func dropped(w http.ResponseWriter) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		conn.Close()
	}
}

func truncated(w http.ResponseWriter) {
	w.Header().Set("Content-Length", "1000")
	io.WriteString(w, `{"id":"t-1"`)
}

// script is a server that sends scripted replies in turn, and then repeats the last one. It records the requests.
type script struct {
	*httptest.Server
	mu      sync.Mutex
	answers []answer
	asked   []string // "METHOD uri body"
}

func newScript(t *testing.T, answers ...answer) *script {
	s := &script{answers: answers}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.asked = append(s.asked, r.Method+" "+r.URL.RequestURI()+" "+string(body))
		next := s.answers[min(len(s.asked), len(s.answers))-1]
		s.mu.Unlock()
		next(w)
	}))
	t.Cleanup(s.Close)
	return s
}

// clock is a fake clock. Pauses return at once and are recorded.
type clock struct {
	at     time.Time
	pauses []time.Duration
}

func newClient(t *testing.T, url string) (*Client, *clock) {
	t.Helper()
	c, err := New(Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	k := &clock{at: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)}
	c.now = func() time.Time { return k.at }
	c.wait = func(ctx context.Context, d time.Duration) error {
		k.pauses = append(k.pauses, d)
		k.at = k.at.Add(d)
		return ctx.Err()
	}
	return c, k
}

var transfer = Command{Kind: KindTransfer, ID: "t-1", Body: []byte(`{"id":"t-1"}`)}

const posted = `{"id":"t-1","kind":"transfer"}`

func TestWhichAnswersAreRetried(t *testing.T) {
	for name, c := range map[string]struct {
		first answer
		again bool
		code  string // of the *Error; "" and final for a *StatusError or a *DeniedError
		final bool
	}{
		"new":                    {first: status(201, posted)},
		"replayed":               {first: status(200, posted)},
		"refused":                {first: problem(422, "insufficient_funds"), code: "insufficient_funds", final: true},
		"id reused":              {first: problem(409, "transaction_id_reused"), code: "transaction_id_reused", final: true},
		"malformed":              {first: problem(400, "malformed_body"), code: "malformed_body", final: true},
		"unauthenticated":        {first: problem(401, "unauthenticated"), code: "unauthenticated", final: true},
		"throttled":              {first: problem(503, "throttled"), again: true},
		"internal":               {first: problem(500, "internal"), again: true},
		"outcome unknown":        {first: problem(504, "outcome_unknown"), again: true},
		"gateway's 502":          {first: status(502, "bad gateway"), again: true},
		"gateway's 503":          {first: status(503, `{"message":"Service Unavailable"}`, "Content-Type", "application/json"), again: true},
		"gateway's 429":          {first: status(429, `{"message":"Too Many Requests"}`, "Content-Type", "application/json"), again: true},
		"gateway's 403":          {first: status(403, `{"message":"Forbidden"}`, "Content-Type", "application/json"), final: true},
		"gateway's 404":          {first: status(404, `{"message":"Not Found"}`, "Content-Type", "application/json"), final: true},
		"problem without a code": {first: status(404, `{"title":"Not Found"}`, "Content-Type", "application/problem+json"), final: true},
		"redirect":               {first: status(302, "", "Location", "/elsewhere"), final: true}, // following it would leak the signature
		"redirected POST":        {first: status(307, "", "Location", "/elsewhere"), final: true},
		"connection dropped":     {first: dropped, again: true},
		"reply cut off":          {first: truncated, again: true},
		"another program's 200":  {first: status(200, "<html>log in first</html>"), again: true},
		"another thing's 200":    {first: status(200, `{"id":"t-2"}`), again: true},
		"another API's 200":      {first: status(200, `{"ok":true}`), again: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, c.first, status(200, posted))
			client, _ := newClient(t, s.URL)
			w, err := client.Send(t.Context(), transfer)
			want := []string{`POST /v1/transfers {"id":"t-1"}`}
			if c.again {
				want = append(want, want[0])
			}
			if !slices.Equal(s.asked, want) {
				t.Errorf("asked %q, want %q", s.asked, want)
			}
			var refusal *Error
			var foreign *StatusError
			var denied *DeniedError
			switch {
			case !c.final && err != nil:
				t.Errorf("it failed: %v", err)
			case !c.final && (w.New != (name == "new") || string(w.Raw) != posted):
				t.Errorf("answered %v %s", w.New, w.Raw)
			case c.code != "" && (!errors.As(err, &refusal) || refusal.Code != c.code):
				t.Errorf("the error is %v, want %s", err, c.code)
			case c.final && c.code == "" && !errors.As(err, &foreign) && !errors.As(err, &denied):
				t.Errorf("the error is %v, want a StatusError or a DeniedError", err)
			}
		})
	}
}

// A ledger that never replied is unreachable at once. One that has replied may be restarting, so connections that it
// refuses are retried.
func TestUnreachable(t *testing.T) {
	for _, hasReplied := range []bool{false, true} {
		s := newScript(t, status(200, `{"status":"ok"}`))
		s.Config.SetKeepAlivesEnabled(false) // a request on a broken idle connection would have an unknown outcome
		client, k := newClient(t, s.URL)
		if hasReplied {
			if err := client.Ping(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		s.Close()
		_, err := client.Send(t.Context(), transfer)
		var unreachable *UnreachableError
		var unknown *UnknownError
		if !errors.As(err, &unreachable) || errors.As(err, &unknown) || !hasReplied && len(k.pauses) != 0 ||
			hasReplied && len(k.pauses) < 6 || !strings.Contains(err.Error(), "no ledger answers at "+s.URL) {
			t.Errorf("replied %t: after pauses %v: %v", hasReplied, k.pauses, err)
		}
	}
}

func TestErrorTexts(t *testing.T) {
	for answer, want := range map[string]string{
		`{"code":"invalid_request","detail":"Two fields are wrong.","errors":[{"field":"from","rule":"is an id"},` +
			`{"field":"postings[1].quantity","rule":"is a whole number"}]}`: "invalid_request: Two fields are wrong.\n" +
			"  from: is an id\n  postings[1].quantity: is a whole number",
		`{"code":"insufficient_funds","detail":"Not enough.","account":"jane","asset":"USD","available":"350000",` +
			`"requested":"1500000"}`: "insufficient_funds: Not enough.\n" +
			"  jane has 350000 of USD available, and 1500000 were requested (minor units)",
		`{"code":"rate_exceeded","detail":"Too much.","account":"jane","asset":"EUR","per":"day","zone":"Europe/Berlin",` +
			`"limit":"50000","used":"12000","available":"38000","requested":"40000","opens_at":"2026-03-28T23:00:00.000000Z"}`: "rate_exceeded: Too much.\n" +
			"  jane may debit 50000 of EUR a day (Europe/Berlin): 12000 are used, 38000 are available, and 40000 were requested " +
			"(minor units)\n  it opens again at 2026-03-29 00:00 Europe/Berlin",
		`{"code":"rate_exceeded","detail":"Too much.","account":"jane","asset":"EUR","per":"week","zone":"UTC",` +
			`"limit":"5","used":"0","available":"5","requested":"6","opens_at":null}`: "rate_exceeded: Too much.\n" +
			"  jane may debit 5 of EUR a week (UTC): 0 are used, 5 are available, and 6 were requested (minor units)\n" +
			"  the request is above the limit by itself",
		`{"code":"rate_exceeded","detail":"Limit over time exceeded."}`: "rate_exceeded: Limit over time exceeded.", // of a hidden account
		`{"code":"exceeds_reversible","detail":"Too much.","left":[{"account":"jane","asset":"AAPL","quantity":"-1",` +
			`"cost":"-150"}]}`: "exceeds_reversible: Too much.\n  left: -1 of AAPL at jane, cost -150 (minor units)",
	} {
		c, _ := newClient(t, newScript(t, status(422, answer, "Content-Type", "application/problem+json")).URL)
		_, err := c.Send(t.Context(), transfer)
		refused, isRefused := errors.AsType[*Error](err)
		if !isRefused || err.Error() != want {
			t.Fatalf("it says %q, want %q", err, want)
		}
		shown := func(suffix string) func(string, events.Amount) string {
			return func(asset string, a events.Amount) string { return a.String() + suffix + asset }
		}
		text := refused.Text(shown("q"), shown("c"), func(FieldError) string { return "r" })
		if len(refused.Left) > 0 && !strings.HasSuffix(text, "left: -1qAAPL of AAPL at jane, cost -150cAAPL") ||
			len(refused.Fields) > 0 && !strings.HasSuffix(text, "from: r\n  postings[1].quantity: r") {
			t.Errorf("with its own amounts it says %q", text)
		}
	}
}

func TestNewChecksURL(t *testing.T) {
	for _, url := range []string{"", "localhost:8080", "ftp://host", "http://", "http://host/?a=b", "http://host/#x", "http://h\x00"} {
		if _, err := New(Config{URL: url}); err == nil {
			t.Errorf("New took %q", url)
		}
	}
	for _, url := range []string{"https://host/stage", "https://host/stage/", "https://host/stage//"} {
		if c, err := New(Config{URL: url}); err != nil || c.base != "https://host/stage" {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// FuzzJudge judges any reply to a write. A refusal needs a code of the API, a success needs a readable body, and the
// message of a gateway is shortened and has printable characters only.
func FuzzJudge(f *testing.F) {
	f.Fuzz(func(t *testing.T, status uint16, kind, after, text string) {
		c := &Client{now: func() time.Time { return time.Unix(1_800_000_000, 0) }}
		resp := &http.Response{StatusCode: 200 + int(status)%400, Header: http.Header{"Content-Type": {kind}, "Retry-After": {after}}}
		var read struct{ ID string }
		a := c.judge(call{accept: func(text []byte) error { return json.Unmarshal(text, &read) }}, resp, []byte(text))
		var problem *Error
		ours := errors.As(a.err, &problem)
		switch status := resp.StatusCode; {
		case status < 300:
			if (a.verdict == answered) != (a.err == nil) || a.verdict != answered && a.verdict != unknown {
				t.Fatalf("%d %q: verdict %v, %v", status, text, a.verdict, a.err)
			}
			return
		case ours && (problem.Code == "" || problem.Status != status || kind == ""):
			t.Fatalf("%d %q %q passes for our own: %v", status, kind, text, a.err)
		case a.err == nil,
			a.verdict == answered && (!ours || status >= 500),
			a.verdict == retryable && (!ours || status != 503 && status != 429),
			status >= 500 && !ours && a.verdict != unknown:
			t.Fatalf("%d %q %q: verdict %v, %v", status, kind, text, a.verdict, a.err)
		}
		var other *StatusError
		if errors.As(a.err, &other) && (len([]rune(other.Message)) > messageRunes || strings.ContainsAny(other.Message, "\n\r\x1b\x00")) {
			t.Fatalf("%q is shown as %q", text, other.Message)
		}
		if a.retryAfter < 0 {
			t.Fatalf("Retry-After %q is %v", after, a.retryAfter)
		}
	})
}
