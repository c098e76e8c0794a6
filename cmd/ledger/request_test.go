package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"ledger.example/client"
)

// withHolds returns the answers of register with three holds: of a transfer, of a trade, and of a transaction with
// three legs. The answers to writes have little more than the id.
func withHolds() map[string]string {
	answers := register()
	for request, answer := range map[string]string{
		"GET /v1/transactions/stay-7": `{"id":"stay-7","kind":"transfer","status":"held","postings":[{"account":"jane","asset":"USD","quantity":"-40000","cost":"0"},
			{"account":"hotel","asset":"USD","quantity":"40000","cost":"0"}]}`,
		"GET /v1/transactions/t-1": `{"id":"t-1","kind":"trade","status":"held","postings":[{"account":"jane","asset":"AAPL","quantity":"10","cost":"150000"},
			{"account":"market","asset":"AAPL","quantity":"-10","cost":"-150000"}]}`,
		"GET /v1/transactions/pay-9": `{"id":"pay-9","kind":"transaction","status":"held","postings":[{"account":"a","asset":"USD","quantity":"-3000","cost":"0"},
			{"account":"b","asset":"USD","quantity":"1000","cost":"0"},{"account":"c","asset":"AAPL","quantity":"0","cost":"0"}]}`,
		"POST /v1/transactions/stay-7/capture":                `{"id":"stay-7","status":"captured"}`,
		"POST /v1/transactions/stay-7/capture?dry_run=true":   `{"id":"stay-7","status":"captured","dry_run":true}`,
		"POST /v1/transactions/t-1/capture":                   `{"id":"t-1","status":"captured"}`,
		"POST /v1/transactions/pay-9/capture":                 `{"id":"pay-9","status":"captured"}`,
		"POST /v1/transactions/stay-7/release":                `{"id":"stay-7","status":"released"}`,
		"POST /v1/transactions/stay-7/reversals":              `{"id":"ID","kind":"reversal"}`,
		"POST /v1/transactions/stay-7/reversals?dry_run=true": `{"id":"ID","kind":"reversal","dry_run":true}`,
		"POST /v1/transfers?dry_run=true":                     `{"id":"ID","kind":"transfer","dry_run":true}`,
		"POST /v1/splits?dry_run=true":                        `{"id":"ID","kind":"transaction","dry_run":true}`,
		"POST /v1/transactions?dry_run=true":                  `{"id":"ID","kind":"transaction","dry_run":true}`,
		"PUT /v1/assets/USD":                                  `{"id":"USD","scale":2}`,
		"PUT /v1/assets/AAPL":                                 `{"id":"AAPL","scale":0}`,
		"PATCH /v1/accounts/jane":                             `{"id":"jane"}`,
		"PUT /v1/accounts/jane":                               `{"id":"jane"}`,
	} {
		answers[request] = answer
	}
	return answers
}

// A duration in --expires counts from now. The advice after an unknown outcome has the time instead, because the
// duration would give another time in the next run.
func TestExpiresAfterADuration(t *testing.T) {
	s := newStub(t, withHolds())
	for text, in := range map[string]time.Duration{"36h": 36 * time.Hour, "7d": 7 * 24 * time.Hour, "1.5d": 36 * time.Hour} {
		began := time.Now()
		if code, _, problems := ledger(t, s.URL, "transfer", "jane", "shop", "1", "USD", "--hold", "--expires", text); code != exitDone {
			t.Fatalf("exit %d, %s", code, problems)
		}
		var body struct {
			Hold struct {
				ExpiresAt time.Time `json:"expires_at"`
			}
		}
		s.lastBody(t, &body)
		if at := body.Hold.ExpiresAt; at.Before(began.Add(in)) || at.After(time.Now().Add(in+time.Second)) || at.Nanosecond() != 0 {
			t.Errorf("%s: it expires at %s", text, at)
		}
	}
	p := postFlags{id: "t-1", isHold: true, expires: expiry{in: time.Hour}}
	if err := p.complete(); err != nil || !slices.Equal(p.continued(), []string{"id", "t-1", "expires", p.hold.ExpiresAt.Format(time.RFC3339)}) {
		t.Errorf("%+v, %v: %q", p.hold, err, p.continued())
	}
}

// The JSON of an unknown outcome has its code and the id, although the last answer may say that nothing was written.
func TestJSONOfAnUnknownOutcome(t *testing.T) {
	for answer, wanted := range map[string]string{
		`{"code":"version_mismatch","detail":"Nothing was written."}`:                       `"transaction_id":"jane"}`,
		`{"code":"outcome_unknown","detail":"","transaction_id":"jane","request_id":"ABC"}`: `"request_id":"ABC"}`,
	} {
		last := &client.Error{Raw: []byte(answer)}
		if err := json.Unmarshal(last.Raw, last); err != nil {
			t.Fatal(err)
		}
		problem := string(problemOf(&client.UnknownError{ID: "jane", Err: last}, true))
		if !strings.HasPrefix(problem, `{"code":"outcome_unknown"`) || !strings.HasSuffix(problem, wanted) {
			t.Errorf("%s: %s", answer, problem)
		}
	}
}
