package trial_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/internal/desk/trial"
)

// A trial balance without any row is settled only if the ledger says so of its time.
func TestNothingIsNotSettledByItself(t *testing.T) {
	at := time.Now().Add(-time.Second)
	for _, settled := range []bool{true, false} {
		api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			switch path := r.URL.Path; {
			case path == "/v1/accounts", path == "/v1/assets":
				fmt.Fprint(w, `{"data":[{"id":"one"}],"next_cursor":null}`)
			case strings.HasSuffix(path, "/balances"):
				fmt.Fprint(w, `{"data":[],"next_cursor":null}`)
			default:
				fmt.Fprintf(w, `{"account":"one","asset":"one","at":%q,"settled":%t}`, events.FormatTime(at), settled)
			}
		}))
		defer api.Close()
		c, err := client.New(client.Config{URL: api.URL})
		if err != nil {
			t.Fatal(err)
		}
		got, err := trial.Read(t.Context(), c, trial.Query{At: at}, []string{"one"}, func() {})
		if err != nil || got.Settled != settled || len(got.Data) != 0 {
			t.Errorf("%+v, %v; want settled %t", got, err, settled)
		}
	}
}
