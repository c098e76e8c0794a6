package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ledger.example/client"
	"ledger.example/internal/desk/units"
)

// moved returns the JSON of a transaction with two legs.
func moved(id, status, more string) string {
	return `{"id":"` + id + `","kind":"transfer","status":"` + status + `","posted_at":"2026-11-22T09:00:00.000000Z","description":"A \u001b[31mbook","postings":[{"account":"jane","asset":"USD","quantity":"-2500","cost":"0"},{"account":"shop","asset":"USD","quantity":"2500","cost":"0"}]` + more + `}`
}

// tail prints the entries page by page, retries while the ledger fails, and then continues where it was. It succeeds
// when its context ends.
func TestTail(t *testing.T) {
	t.Parallel()
	entry := func(event, cursor, transaction string) string {
		return `{"type":"` + event + `","at":"2026-11-22T09:00:01.000000Z","cursor":"` + cursor + `","data":` + transaction + `}`
	}
	captured := moved("h-1", "captured", `,"captured":[{"account":"jane","asset":"USD","quantity":"-2000","cost":"0"}]`)
	for _, asJSON := range []bool{true, false} {
		t.Run(fmt.Sprintf("JSON %t", asJSON), func(t *testing.T) {
			t.Parallel()
			var away atomic.Int64 // answers that fail from now on
			away.Store(-1)
			asked := make(chan string, 1000)
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasPrefix(r.URL.Path, "/v1/assets/") {
					io.WriteString(w, `{"id":"USD","scale":2}`)
					return
				}
				after := r.URL.Query().Get("after")
				asked <- after
				data, next := "", "c3"
				switch after {
				case "":
					data, next = entry("transaction.posted", "c1", moved("t-1", "posted", ""))+","+entry("hold.captured", "c2", captured), "c2"
				case "c2":
					if away.Add(1) < 2 { // the ledger restarts
						w.WriteHeader(http.StatusInternalServerError)
						return
					}
					data = entry("hold.released", "c3", moved("h-2", "released", "")) +
						`,{"type":"member.granted","at":"2026-11-21T09:06:39Z","cursor":"c3","data":{"user":"ann","group":"desk","role":"owner"}}` +
						`,{"type":"account.changed","at":"2026-11-21T09:06:39Z","cursor":"c3","data":{"id":"joe","name":"Joe"}}`
				}
				fmt.Fprintf(w, `{"data":[%s],"next_cursor":"%s"}`, data, next)
			}))
			t.Cleanup(s.Close)
			api, err := client.New(client.Config{URL: s.URL, Timeout: time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			var out, problems strings.Builder
			env := newEnvironment(nil, &out, &problems, os.Getenv)
			env.api, env.units = api, units.New(api, false)
			if asJSON {
				env.format = formatJSON
			}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- env.tail(ctx, client.JournalQuery{}) }()
			for after := range asked {
				if after == "c3" {
					break
				}
			}
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			says(t, problems.String(), "Waiting for the ledger: ", "To continue, run: ledger tail --after c3\n")
			if strings.Count(problems.String(), "Waiting") != 1 {
				t.Errorf("it says too much: %s", problems.String())
			}
			if asJSON {
				lines := strings.Split(strings.TrimSpace(out.String()), "\n")
				if len(lines) != 5 || lines[1] != entry("hold.captured", "c2", captured) {
					t.Errorf("printed %q", lines)
				}
				return
			}
			says(t, out.String(), "RECORDED AT (UTC)", "t-1 (transfer, posted)", "-25.00", "h-1 (transfer, captured)", "-20.00",
				"h-2 (transfer, released)", "ann (member.granted) owner in", "joe (account.changed) Joe")
			if strings.Count(out.String(), "RECORDED") != 1 {
				t.Errorf("more than one heading: %s", out.String())
			}
		})
	}
}

// tail ends with an error if it is refused, or if the first request fails.
func TestTailErrors(t *testing.T) {
	s := newStub(t, map[string]string{"GET /v1/journal?after=x&limit=100": "400 invalid_cursor"})
	if code, _, problems := ledger(t, s.URL, "tail", "--after", "x"); code != exitFailed ||
		strings.Contains(problems, "To continue") {
		t.Errorf("exit %d, %s", code, problems)
	}
	if code, _, problems := ledger(t, nobody, "tail"); code != exitFailed {
		t.Errorf("exit %d, %s", code, problems)
	}
	if code, _, problems := ledger(t, s.URL, "tail", "--after", "x", "--from", "2026-11-22"); code != exitUsage {
		t.Errorf("exit %d, %s", code, problems)
	}
}
