package acceptance

import (
	"bytes"
	"strings"
	"testing"

	"ledger.example/tests/harness/caller"
)

// A repeated request gets the first answer, even if its JSON is written differently.
func replaysByMeaning(t *testing.T, s *caller.Caller) {
	s.OpenBooks()
	for _, c := range []struct {
		path, first string
		again       []string
	}{
		{"/v1/transactions",
			`{"id":"~r-1","postings":[{"account":"~bank","asset":"~USD","quantity":"-5"},{"account":"~jane","asset":"~USD","quantity":"5"}]}`, []string{
				"\n{ \"postings\" : [ {\"quantity\":\"-5\",\"asset\":\"~USD\",\"account\":\"~bank\"}\t, {\"asset\":\"~USD\",\"quantity\":\"5\",\"account\":\"~jane\"} ] ,\r\n \"id\":\"~r-1\" }\n",
				`{"id":"~r-1","description":"","metadata":{},"postings":[{"account":"~bank","asset":"~USD","quantity":"-5","cost":"0"},{"account":"~jane","asset":"~USD","quantity":"5","cost":"0"}]}`,
				`{"\u0069d":"~\u0072-1","postings":[{"account":"~bank","asset":"~U\u0053D","quantity":"\u002d5"},{"account":"~jane","asset":"~USD","quantity":"5"}]}`,
			}},
		{"/v1/transfers",
			`{"id":"~r-2","from":"~bank","to":"~jane","asset":"~USD","quantity":"5","metadata":{"a":"1","b":"é"},"description":"caf\u00e9"}`, []string{
				`{"description":"café","metadata":{"b":"\u00e9","a":"1"},"quantity":"5","asset":"~USD","to":"~jane","from":"~bank","id":"~r-2"}`,
			}},
		{"/v1/trades", `{"id":"~r-3","asset":"~AAPL","buyer":"~jane","seller":"~market","quantity":"1","cost":"0"}`,
			[]string{
				`{"id":"~r-3","asset":"~AAPL","buyer":"~jane","seller":"~market","quantity":"1","cost":"0","settle":false,"description":"","metadata":{}}`,
				`{"settle":false,"cost":"0","quantity":"1","seller":"~market","buyer":"~jane","asset":"~AAPL","id":"~r-3"}`,
			}},
		{"/v1/trades",
			`{"id":"~r-4","asset":"~AAPL","buyer":"~jane","seller":"~market","quantity":"1","cost":"0","settle":true}`, []string{
				`{"settle":true,"id":"~r-4","asset":"~AAPL","cost":"0","buyer":"~jane","seller":"~market","quantity":"1"}`,
			}},
	} {
		first := s.Must(201, "POST", c.path, c.first)
		if first.Header.Get("Idempotent-Replayed") != "" ||
			first.Header.Get("Location") != "/v1/transactions/"+first.Value("id").(string) {
			t.Errorf("headers of the first answer to %s: %v", c.first, first.Header)
		}
		for _, again := range append(c.again, c.first) {
			got := s.Send("POST", c.path, again)
			if got.Status != 200 || got.Header.Get("Idempotent-Replayed") != "true" ||
				!bytes.Equal(got.Body, first.Body) {
				t.Errorf("%s: %d %s, first %s", again, got.Status, got.Body, first.Body)
			}
		}
		// The id may be in the header, in the body, or in both.
		id := first.Value("id").(string)
		bare := strings.Replace(c.first, `"id":"`+id+`",`, "", 1)
		for _, body := range []string{bare, c.first} {
			got := s.Send("POST", c.path, body, "Idempotency-Key", id)
			if got.Status != 200 || !bytes.Equal(got.Body, first.Body) {
				t.Errorf("%s with its id in the header: %d %s", body, got.Status, got.Body)
			}
		}
		if got := unreversed(t, s.Must(200, "GET", "/v1/transactions/"+id, "")); !bytes.Equal(got, first.Body) {
			t.Errorf("read as %s, answered as %s", got, first.Body)
		}
	}
	// First with the id in the header, then in the body.
	first := s.Must(201, "POST", "/v1/transfers", `{"from":"~bank","to":"~jane","asset":"~USD","quantity":"5"}`,
		"Idempotency-Key", "~h-1")
	if first.Value("id") != "~h-1" {
		t.Errorf("the id from the header is %v", first.Value("id"))
	}
	s.Must(200, "POST", "/v1/transfers", `{"id":"~h-1","from":"~bank","to":"~jane","asset":"~USD","quantity":"5"}`)

	// Without an id, each request posts a new transaction.
	const noID = `{"from":"~bank","to":"~jane","asset":"~USD","quantity":"5"}`
	one, two := s.Must(201, "POST", "/v1/transfers", noID), s.Must(201, "POST", "/v1/transfers", noID)
	if one.Value("id") == two.Value("id") {
		t.Errorf("two transactions have the id %v", one.Value("id"))
	}
	if id, _ := one.Value("id").(string); s.Send("POST", "/v1/transfers", noID, "Idempotency-Key", id).Status != 200 {
		t.Errorf("no replay with the generated id %s", id)
	}
}

// A used id with a different request is refused, even if the request would have the same postings.
func reusedIDs(t *testing.T, s *caller.Caller) {
	s.OpenBooks()
	const (
		transaction = `{"id":"~u-1","description":"d","metadata":{"k":"v"},"postings":[{"account":"~market","asset":"~AAPL","quantity":"-5","cost":"-7"},{"account":"~jane","asset":"~AAPL","quantity":"5","cost":"7"}]}`
		transfer    = `{"id":"~u-2","from":"~bank","to":"~jane","asset":"~USD","quantity":"5"}`
		trade       = `{"id":"~u-3","asset":"~AAPL","buyer":"~jane","seller":"~market","quantity":"1","cost":"7","settle":true}`
	)
	s.Must(201, "POST", "/v1/transactions", transaction)
	s.Must(201, "POST", "/v1/transfers", transfer)
	s.Must(201, "POST", "/v1/trades", trade)
	// The kind and the order of postings count as well.
	refuseAll(t, s, "reused.txt")
	refuseAll(t, s, "ids.txt") // in the header and in the body
	for _, c := range [][2]string{{"/v1/transactions", transaction}, {"/v1/transfers", transfer},
		{"/v1/trades", trade}} {
		s.Must(200, "POST", c[0], c[1])
	}
}

// Repeated definitions of assets and accounts are compared by meaning, and get the first answer. A block of the file has
// the path, the first body, and others: the same one, or one whose given field differs.
func repeatedDefinitions(t *testing.T, s *caller.Caller) {
	s.OpenRegister()
	for _, lines := range blocks(t, "definitions.txt") {
		path, first, bodies := lines[0], s.Must(201, "PUT", lines[0], lines[1]), lines[2:]
		if got := first.Header.Get("Location"); got != path {
			t.Errorf("%s is at %q", path, got)
		}
		for _, line := range append(bodies, "same "+lines[1]) {
			field, body, _ := strings.Cut(line, " ")
			if field != "same" {
				code := map[bool]string{true: "asset_exists", false: "account_exists"}[strings.HasPrefix(path, "/v1/assets")]
				s.Refuse(t, caller.Refusal{
					Method: "PUT", Path: path, Body: body, Status: 409, Code: code, Fields: []string{field},
				})
				continue
			}
			// PUT ignores Idempotency-Key, even an invalid one.
			got := s.Send("PUT", path, body, "Idempotency-Key", "not an id")
			if got.Status != 200 || !bytes.Equal(got.Body, first.Body) {
				t.Errorf("%s %s: %d %s, first %s", path, body, got.Status, got.Body, first.Body)
			}
		}
		if got := s.Must(200, "GET", path, ""); !bytes.Equal(got.Body, first.Body) {
			t.Errorf("read as %s, answered as %s", got.Body, first.Body)
		}
	}
}

// unreversed returns a transaction that was read by its id, and was not reversed, as answers to posts and lists have it.
func unreversed(t *testing.T, r caller.Reply) []byte {
	t.Helper()
	text, ok := bytes.CutSuffix(bytes.TrimSpace(r.Body), []byte(`,"reversals":[]}`))
	if !ok {
		t.Errorf("is reversed, or does not say that it is not: %s", r.Body)
	}
	return append(bytes.Clone(text), "}\n"...)
}
