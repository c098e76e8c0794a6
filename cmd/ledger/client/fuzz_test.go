package client

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

// FuzzJudge takes any reply to a write: a refusal is believed only with one of the API's codes, a success only if it can be
// read, and what a gateway says is shown in few characters that a terminal can print.
func FuzzJudge(f *testing.F) {
	f.Fuzz(func(t *testing.T, status uint16, kind, after, text string) {
		c := &Client{now: func() time.Time { return time.Unix(1_800_000_000, 0) }}
		resp := &http.Response{StatusCode: 200 + int(status)%400, Header: http.Header{"Content-Type": {kind}, "Retry-After": {after}}}
		var read struct{ ID string }
		a := c.judge(context.Background(), call{accept: decodeInto(&read)}, resp, []byte(text))
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
			a.verdict == notNow && (!ours || status != 503 && status != 429),
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
