package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	_ "ledger.example/tests/harness/full" // fixes the seed
)

// batchOf returns transfers with ids t-0, t-1 …
func batchOf(n int) []Request {
	requests := make([]Request, n)
	for i := range requests {
		id := fmt.Sprintf("t-%d", i)
		requests[i] = Command{Kind: KindTransfer, ID: id, Body: []byte(`{"id":"` + id + `"}`)}
	}
	return requests
}

func results(texts ...string) string { return `{"results":[` + strings.Join(texts, ",") + `]}` }

func refused(status int, code string) string {
	return fmt.Sprintf(`{"status":%d,"body":{"code":%q,"detail":"In words."}}`, status, code)
}

// A batch has requests of all kinds. Its retry has only those that got no answer. The answer says which are replays.
func TestBatchRetriesUnansweredRequestsOnly(t *testing.T) {
	s := newScript(t,
		status(200, results(`{"status":201,"body":{"id":"t-0"}}`, refused(503, "throttled"), refused(422, "insufficient_funds"),
			refused(504, "outcome_unknown"), `{"status":200,"body":{"id":"h-1"}}`, `{"status":200,"replayed":true,"body":{"id":"h-2"}}`,
			`{"status":201,"body":{"id":"r-1"}}`, refused(503, "throttled"), refused(409, "hold_ended"))),
		status(200, results(`{"status":200,"body":{"id":"t-1"}}`, `{"status":201,"body":{"id":"t-3","status":"held"}}`,
			`{"status":200,"replayed":true,"body":{"id":"r-2"}}`)))
	c, k := newClient(t, s.URL)
	outcomes, err := c.Batch(t.Context(), Batch{Requests: append(batchOf(4),
		Capture{Transaction: "h-1"}, Release{Transaction: "h-2", Description: "none came"}, Reversal{Transaction: "t-1", ID: "r-1"},
		Command{Kind: KindReversal, ID: "r-2", Of: "t-2", Body: []byte(` {"id":"r-2"}`)}, Command{Kind: KindCapture, ID: "h-3", Of: "h-3", Body: []byte("{ }")},
	)})
	if err != nil || len(k.pauses) != 1 {
		t.Fatalf("%v after pauses %v: %v", outcomes, k.pauses, err)
	}
	if want := []string{
		`POST /v1/batches {"atomic":false,"requests":[{"transfer":{"id":"t-0"}},{"transfer":{"id":"t-1"}},{"transfer":{"id":"t-2"}},` +
			`{"transfer":{"id":"t-3"}},{"capture":{"transaction":"h-1"}},{"release":{"transaction":"h-2","description":"none came"}},` +
			`{"reversal":{"transaction":"t-1","id":"r-1"}},{"reversal":{"transaction":"t-2","id":"r-2"}},{"capture":{"transaction":"h-3"}}]}`,
		`POST /v1/batches {"atomic":false,"requests":[{"transfer":{"id":"t-1"}},{"transfer":{"id":"t-3"}},` +
			`{"reversal":{"transaction":"t-2","id":"r-2"}}]}`,
	}; !slices.Equal(s.asked, want) {
		t.Errorf("asked %q, want %q", s.asked, want)
	}
	var got []string
	for _, o := range outcomes {
		if refusal, ok := errors.AsType[*Error](o.Err); ok {
			got = append(got, refusal.Code)
		} else {
			got = append(got, fmt.Sprint(o.Written.New))
		}
	}
	if text := strings.Join(got, " "); text != "true false insufficient_funds true true false true false hold_ended" {
		t.Errorf("outcomes %s", text)
	}
	if held, err := outcomes[3].Transaction(); err != nil || held.Status != StatusHeld {
		t.Errorf("%+v, %v", held, err)
	}
	if _, err := c.Batch(t.Context(), Batch{Requests: []Request{Capture{Transaction: "a/b"}}}); !errors.Is(err, ErrID) {
		t.Errorf("an invalid id: %v", err)
	}
}

func TestBatchRefusedAsAWhole(t *testing.T) {
	for name, c := range map[string]struct {
		answers []answer
		want    any // the error of the batch; nil if every outcome is an UnknownError
	}{
		"too large":              {[]answer{problem(422, "batch_too_large")}, new(*Error)},
		"always throttled":       {[]answer{problem(503, "throttled")}, nil},
		"gateway's 403":          {[]answer{status(403, "{}")}, new(*DeniedError)},
		"another program's":      {[]answer{status(404, "<html>")}, new(*StatusError)},
		"denied after a timeout": {[]answer{status(502, ""), status(403, "{}")}, nil},
		"refused after one":      {[]answer{status(502, ""), problem(400, "malformed_body")}, nil},
		"never answered":         {[]answer{status(200, results())}, nil},
	} {
		client, _ := newClient(t, newScript(t, c.answers...).URL)
		outcomes, err := client.Batch(t.Context(), Batch{Requests: batchOf(2)})
		if c.want != nil {
			if err == nil || !errors.As(err, c.want) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		for _, o := range outcomes {
			_, isUnknown := errors.AsType[*UnknownError](o.Err)
			if o.Err == nil || isUnknown != (name != "always throttled") {
				t.Errorf("%s: %v", name, o.Err)
			}
		}
		if err != nil || len(outcomes) != 2 {
			t.Errorf("%s: %d outcomes, %v", name, len(outcomes), err)
		}
	}
	client, _ := newClient(t, "http://127.0.0.1:1")
	var unreachable *UnreachableError
	if _, err := client.Batch(t.Context(), Batch{Requests: batchOf(1)}); !errors.As(err, &unreachable) {
		t.Errorf("%v", err)
	}
}

func TestAtomicBatch(t *testing.T) {
	s := newScript(t, status(201, results(`{"status":201,"body":{"id":"t-0"}}`, `{"status":201,"body":{"id":"t-1"}}`)))
	c, _ := newClient(t, s.URL)
	outcomes, err := c.Batch(t.Context(), Batch{Atomic: true, Requests: batchOf(2)})
	if err != nil || len(outcomes) != 2 || !outcomes[0].Written.New || !outcomes[1].Written.New ||
		!strings.Contains(s.asked[0], `{"atomic":true,`) {
		t.Errorf("%+v, %v, asked %q", outcomes, err, s.asked)
	}
	for code, want := range map[int]any{422: new(*Error), 504: new(*UnknownError)} {
		c, _ = newClient(t, newScript(t, problem(code, "code")).URL)
		if outcomes, err := c.Batch(t.Context(), Batch{Atomic: true, Requests: batchOf(2)}); outcomes != nil || !errors.As(err, want) {
			t.Errorf("%d: %v, %v", code, outcomes, err)
		}
	}
	s = newScript(t, status(200, `{"dry_run":true,"results":[{"status":201,"body":{"id":"t-0","dry_run":true}},`+refused(422, "insufficient_funds")+`]}`))
	c, _ = newClient(t, s.URL)
	outcomes, err = c.Batch(t.Context(), Batch{DryRun: true, Requests: batchOf(2)})
	if err != nil || outcomes[0].Written.New || outcomes[0].Err != nil || outcomes[1].Err == nil ||
		!strings.HasPrefix(s.asked[0], "POST /v1/batches?dry_run=true ") {
		t.Errorf("%+v, %v, asked %q", outcomes, err, s.asked)
	}
}

// Replies are lost, refused or delayed at random. A request that is reported as refused must never be posted later. A
// request that is reported as posted must be posted.
func TestBatchOutcomesAreFinal(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		const size = 3
		money := time.Duration(rapid.IntRange(0, 12_000).Draw(r, "money after ms")) * time.Millisecond
		lingers := time.Duration(rapid.IntRange(0, 8_000).Draw(r, "a lost command lingers ms")) * time.Millisecond
		fates := rapid.SliceOfN(rapid.SampledFrom([]string{"cut", "503", "504", "tried", "tried"}), 12, 12).Draw(r, "fates")
		wrong := ""
		synctest.Test(t, func(t *testing.T) {
			began, isPosted, n := time.Now(), map[string]bool{}, 0
			var mu sync.Mutex
			answer := func(id string) string {
				mu.Lock()
				defer mu.Unlock()
				isNew := !isPosted[id]
				if isNew && time.Since(began) < money {
					return refused(http.StatusUnprocessableEntity, "insufficient_funds")
				}
				isPosted[id] = true
				return fmt.Sprintf(`{"status":%d,"body":{"id":%q}}`, map[bool]int{true: 201, false: 200}[isNew], id)
			}
			late := func(id string) { time.Sleep(lingers); answer(id) }
			fate := func() string { n++; return append(fates, "tried")[min(n, len(fates)+1)-1] }
			c := newFakeClient(t, func(q *http.Request) (*http.Response, error) {
				var body struct {
					Requests []struct{ Transfer struct{ ID string } }
				}
				_ = json.NewDecoder(q.Body).Decode(&body)
				isCut := fate() == "cut"
				var answers []string
				for _, of := range body.Requests {
					switch f := fate(); {
					case isCut, f == "cut":
						go late(of.Transfer.ID)
						answers = append(answers, refused(http.StatusInternalServerError, "internal"))
					case f == "504":
						go late(of.Transfer.ID)
						answers = append(answers, refused(http.StatusGatewayTimeout, "outcome_unknown"))
					case f == "503":
						answers = append(answers, refused(http.StatusServiceUnavailable, "throttled"))
					default:
						answers = append(answers, answer(of.Transfer.ID))
					}
				}
				if isCut {
					return nil, errCut
				}
				return response(http.StatusOK, results(answers...))
			})
			outcomes, err := c.Batch(t.Context(), Batch{Requests: batchOf(size)})
			if err != nil || len(outcomes) != size {
				wrong = fmt.Sprintf("%d outcomes: %v", len(outcomes), err)
			}
			time.Sleep(time.Minute) // until no request is in flight
			mu.Lock()
			defer mu.Unlock()
			for i, o := range outcomes {
				id := fmt.Sprintf("t-%d", i)
				_, isRefused := errors.AsType[*Error](o.Err)
				_, isUnknown := errors.AsType[*UnknownError](o.Err)
				switch {
				case o.Err == nil && !isPosted[id]:
					wrong = id + " is reported as posted, and it is not"
				case isUnknown, o.Err != nil && !isRefused:
					wrong = o.Err.Error()
				case isRefused && isPosted[id]:
					wrong = id + " is reported as refused, and posted"
				}
			}
		})
		if wrong != "" {
			r.Fatal(wrong)
		}
	})
}
