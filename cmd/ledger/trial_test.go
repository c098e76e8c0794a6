package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A trial balance of now is of the ledger's time, waits until that is settled, and reads strongly. One that is not zero
// is read once more, and then fails.
func TestTrialBalanceOfNow(t *testing.T) {
	at, probes, reads := time.Now().UTC().Truncate(time.Microsecond), 0, 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch path, q := r.URL.Path, r.URL.Query(); {
		case path == "/v1/accounts", path == "/v1/assets":
			fmt.Fprint(w, `{"data":[{"id":"one","scale":2}],"next_cursor":null}`)
		case strings.HasSuffix(path, "/balances"):
			of, err := time.Parse(time.RFC3339, q.Get("at"))
			if reads++; q.Get("consistency") != "strong" || err != nil || !of.Equal(at) {
				t.Errorf("read with %v", q)
			}
			fmt.Fprintf(w, `{"data":[{"account":"one","asset":"one","quantity":"5","credits":"5","debits":"0",`+
				`"settled":true}],"next_cursor":null}`)
		case strings.HasSuffix(path, "/balances/one"):
			probes++
			fmt.Fprintf(w, `{"account":"one","asset":"one","at":%q,"settled":%t}`,
				at.Format("2006-01-02T15:04:05.000000Z"), probes > 2)
		default:
			fmt.Fprint(w, `{"id":"one","scale":2}`)
		}
	}))
	defer s.Close()
	code, out, problems := ledgerIn(t.Context(), nil, nil, "trial-balance", "--url", s.URL)
	if code != exitFailed || reads != 2 || probes < 3 {
		t.Errorf("exit %d after %d reads and %d probes: %s%s", code, reads, probes, out, problems)
	}
	says(t, problems, "sum up to 0.05")
	code, out, _ = ledgerIn(t.Context(), nil, nil, "trial-balance", "--url", s.URL, "--prefix", "o", "--no-wait")
	if code != 0 {
		t.Errorf("a part: exit %d, %s", code, out)
	}
}
