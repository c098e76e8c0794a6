package main

import (
	"context"
	"net/http"
	"strings"
	"testing"
)

// Beyond loopback, up wants to know its names, and answers to no others.
func TestUpListens(t *testing.T) {
	t.Parallel()
	code, problems := runUp(t, func(ctx context.Context, url string) {
		if !strings.HasPrefix(url, "http://127.0.0.1:") {
			t.Errorf("up prints the address %q", url)
		}
		for host, want := range map[string]int{
			"Ledger:8080": 200, "books.internal": 200, "": 200, "evil.example": 403, "x.ledger": 403,
		} {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/v1/me", nil)
			if err != nil {
				t.Error(err)
				return
			}
			r.Host = host
			if resp, err := http.DefaultClient.Do(r); err != nil || resp.StatusCode != want {
				t.Errorf("%s: %v, %v", host, resp, err)
			}
		}
		if code, out, problems := ledger(t, url, "health"); code != exitDone || out != "ok\n" {
			t.Errorf("exit %d: %s%s", code, out, problems)
		}
	}, "--memory", "--listen", "0.0.0.0", "--host", "ledger", "--host", "books.internal")
	if code != exitDone {
		t.Errorf("exit %d: %s", code, problems)
	}
}

func TestListenIsChecked(t *testing.T) {
	t.Parallel()
	for text, args := range map[string][]string{
		"--host NAME":           {"--listen", "0.0.0.0"},
		"give --host":           {"--listen", "::"},
		"must be an IP address": {"--listen", "localhost"},
		"the port is --port":    {"--listen", "127.0.0.1:8080"},
		"must be a name of DNS": {"--host", "ledger:8080"},
		"without a port":        {"--host", "*.example.com"},
	} {
		code, _, problems := ledger(t, "", append([]string{"up", "--memory", "--port", "0"}, args...)...)
		if code != exitUsage || !strings.Contains(problems, text) {
			t.Errorf("%v: exit %d: %s", args, code, problems)
		}
	}
}

// A ledger that does not answer is not healthy.
func TestHealth(t *testing.T) {
	t.Parallel()
	code, out, problems := ledger(t, nobody, "health")
	if code != exitFailed || out != "" || !strings.Contains(problems, "no ledger answers at "+nobody) {
		t.Errorf("exit %d: %s%s", code, out, problems)
	}
}
