package api

import (
	"fmt"
	"strings"
	"testing"

	"ledger.example/ledger"
)

// transferOf is a request of a batch.
func transferOf(id, from, to, quantity string) string {
	return fmt.Sprintf(`{"transfer":{"id":%q,"from":%q,"to":%q,"asset":"USD","quantity":%q}}`, id, from, to, quantity)
}

func batchOf(atomic bool, requests ...string) string {
	return fmt.Sprintf(`{"atomic":%t,"requests":[%s]}`, atomic, strings.Join(requests, ","))
}

// outcome of a result: its status and its code, or its transaction's id.
func outcomes(t *testing.T, body []byte) string {
	t.Helper()
	var all []string
	for _, r := range answerOf[struct {
		Results []struct {
			Status int
			Body   struct{ ID, Code string }
		}
	}](t, body).Results {
		all = append(all, fmt.Sprint(r.Status, " ", r.Body.ID, r.Body.Code))
	}
	return strings.Join(all, ", ")
}

// Each request of a batch is answered as if it had been sent alone.
func TestBatches(t *testing.T) {
	f := newFixture(t)
	body := batchOf(false, transferOf("b-1", "jane", "shop", "10"), transferOf("b-2", "jane", "nobody", "1"), `7`,
		`{"trade":{"id":"b-3","asset":"AAPL","buyer":"jane","seller":"market","quantity":"1","cost":"5","settle":true}}`,
		`{"transfer":{"id":"b-4","from":"jane","to":"shop","asset":"USD","quantity":5,"from":"x","x":1}}`,
		`{"transfer":{"from":"jane","to":"jane","asset":"USD","quantity":"0"}}`,
		`{"batch":{"requests":[]}}`, `{"transfer":{},"trade":{}}`, `{}`, `{"trade":[]}`, `{"trade":{},"trade":{}}`,
		`{"transaction":{"id":"b-5","postings":[{"account":"jane","asset":"USD","quantity":"-1"}]}}`,
		transferOf("b-6", "fees", "shop", "10"), transferOf("t-1", "jane", "shop", "1"))
	w := f.must(t, 200, "POST", "/v1/batches", body)
	const want = "201 b-1, 422 account_not_found, 400 malformed_body, 201 b-3, 400 malformed_body, 400 invalid_request, " +
		"400 malformed_body, 400 malformed_body, 400 malformed_body, 400 malformed_body, 400 malformed_body, " +
		"422 invalid_transaction, 422 insufficient_funds, 409 transaction_id_reused"
	if got := outcomes(t, w.Body.Bytes()); got != want {
		t.Errorf("answered\n%s, want\n%s", got, want)
	}
	for _, part := range []string{
		`"errors":[{"field":"to","rule":"names no opened account"}]`,
		`"errors":[{"field":"from","rule":"must be given once"},{"field":"x","rule":"is not a field of this request"}]`,
		`"errors":[{"field":"quantity","rule":"must be above zero"},{"field":"id","rule":"is required"}]`,
		`"errors":[{"field":"batch","rule":"is not a field of this request"}]`,
		`"request_id":"` + w.Header().Get("X-Request-Id") + `"`,
	} {
		if !strings.Contains(w.Body.String(), part) {
			t.Errorf("no %s in %s", part, w.Body)
		}
	}
	if shown := f.must(t, 200, "GET", "/v1/transactions/b-1", "").Body.String(); !strings.Contains(w.Body.String(),
		`{"status":201,"body":`+strings.TrimSpace(shown)+`}`) {
		t.Errorf("%s is not in %s", shown, w.Body)
	}
	before := f.items(t)
	if got := outcomes(t, f.must(t, 200, "POST", "/v1/batches", body).Body.Bytes()); got !=
		strings.NewReplacer("201 b-1", "200 b-1", "201 b-3", "200 b-3").Replace(want) {
		t.Errorf("answered again %s", got)
	}
	unchanged(t, f, before)
	if log := f.log.String(); !strings.Contains(log, `"TransactionsPosted":2`) {
		t.Errorf("logged %s", log)
	}
}

// An atomic batch is posted as a whole: 201, and 200 when all of it had been posted before.
func TestAtomicBatches(t *testing.T) {
	f := newFixture(t)
	body := batchOf(true, transferOf("b-1", "market", "shop", "10"), transferOf("b-2", "shop", "fees", "10"))
	if got := outcomes(t, f.must(t, 201, "POST", "/v1/batches", body).Body.Bytes()); got != "201 b-1, 201 b-2" {
		t.Errorf("answered %s", got)
	}
	if got := outcomes(t, f.must(t, 200, "POST", "/v1/batches", body).Body.Bytes()); got != "200 b-1, 200 b-2" {
		t.Errorf("answered again %s", got)
	}
	more := batchOf(true, transferOf("b-1", "market", "shop", "10"), transferOf("b-3", "market", "fees", "10"))
	if got := outcomes(t, f.must(t, 201, "POST", "/v1/batches", more).Body.Bytes()); got != "200 b-1, 201 b-3" {
		t.Errorf("answered in part %s", got)
	}
}

// Every refusal of a batch leaves the table as it is.
func TestRefusalsOfBatchesWriteNothing(t *testing.T) {
	f := newFixture(t)
	f.haveGuards(t, "shop", "fees")
	many := func(n int, debited string) (all []string) {
		for i := range n {
			all = append(all, transferOf(fmt.Sprint("m-", i), debited, "shop", "1"))
		}
		return all
	}
	fine := transferOf("b-1", "market", "shop", "10")
	before := f.items(t)
	for _, c := range []struct {
		body, query string
		status      int
		code        ledger.Code
		fields      string
	}{
		{batchOf(false), "", 422, ledger.CodeInvalidTransaction, "requests"},
		{batchOf(true, many(101, "market")...), "", 422, ledger.CodeInvalidTransaction, "requests"},
		{`{"requests":7,"atomic":"yes"}`, "", 400, ledger.CodeInvalidRequest, "requests atomic"},
		{`{"atomic":true}`, "", 400, ledger.CodeInvalidRequest, "requests"},
		{`{"requests":[` + fine + `],"atomic":true,"atomic":false,"x":1}`, "", 400, codeMalformedBody, "atomic x"},
		{`{"requests":[` + fine, "", 400, codeMalformedBody, ""},
		{batchOf(false, fine), "?dry_run=yes", 400, ledger.CodeInvalidRequest, "dry_run"},
		{batchOf(false, fine, transferOf("b-2", "market", "shop", "1"), fine), "", 422, ledger.CodeInvalidTransaction,
			"requests[2].transfer.id"},
		{batchOf(true, fine, `7`, fine), "", 400, codeMalformedBody, "requests[1]"},
		{batchOf(true, fine, `{"batch":{}}`), "", 400, codeMalformedBody, "requests[1].batch"},
		{batchOf(true, fine, `{"transfer":{"to":"a b","from":"jane","asset":"USD","quantity":"1"}}`), "", 400,
			ledger.CodeInvalidRequest, "requests[1].transfer.to requests[1].transfer.id"},
		{batchOf(true, fine, `{"transaction":{"id":"b-9","postings":[{"account":"jane","asset":"USD","quantity":"0"},{}]}}`),
			"", 400, ledger.CodeInvalidRequest, "requests[1].transaction.postings[1].account " +
				"requests[1].transaction.postings[1].asset requests[1].transaction.postings[1].quantity"},
		{batchOf(true, fine, transferOf("b-2", "jane", "jane", "1")), "", 422, ledger.CodeInvalidTransaction,
			"requests[1].transfer.from requests[1].transfer.to"},
		{batchOf(true, fine, transferOf("b-2", "jane", "nobody", "1")), "", 422, ledger.CodeAccountNotFound,
			"requests[1].transfer.to"},
		{batchOf(true, fine, transferOf("t-1", "jane", "shop", "1")), "", 409, ledger.CodeTransactionIDReused,
			"requests[1].transfer"},
		{batchOf(true, transferOf("b-2", "shop", "fees", "10"), fine), "", 422, ledger.CodeInsufficientFunds,
			"requests[0].transfer"}, // which only the later one brings
		{batchOf(true, fine, `{"transfer":{"id":"b-2","from":"jane","to":"shop","asset":"USD","quantity":"1",`+
			`"hold":{"expires_at":"2020-01-01T00:00:00Z"}}}`), "", 400, ledger.CodeInvalidRequest,
			"requests[1].transfer.hold.expires_at"},
		{batchOf(true, many(34, "jane")...), "", 422, ledger.CodeBatchTooLarge, ""},
		{`{"requests":[` + fine + `]}` + strings.Repeat(" ", BatchBytes), "", 413, codeBodyTooLarge, ""},
	} {
		w := f.must(t, c.status, "POST", "/v1/batches"+c.query, c.body)
		if fields := refused(t, w, c.status, c.code); fields != c.fields {
			t.Errorf("%.200s: %s", c.body, w.Body)
		}
		if c.status == 413 || c.query != "" {
			continue
		}
		dry := f.must(t, c.status, "POST", "/v1/batches?dry_run=true", c.body)
		if fields := refused(t, dry, c.status, c.code); fields != c.fields {
			t.Errorf("a dry run of %.200s: %s", c.body, dry.Body)
		}
	}
	unchanged(t, f, before)
	padded := `{"requests":[` + fine + `]}`
	f.must(t, 200, "POST", "/v1/batches", padded+strings.Repeat(" ", BatchBytes-len(padded)))
}

// A dry run answers what would be answered, without KSUIDs, times and an id of the server's, and writes nothing.
func TestDryRuns(t *testing.T) {
	f := newFixture(t)
	f.must(t, 201, "POST", "/v1/transfers", placed)
	f.must(t, 201, "POST", "/v1/transfers", strings.ReplaceAll(placed, "h-1", "h-2"))
	f.must(t, 200, "POST", "/v1/transactions/h-2/release", `{}`)
	f.log.Reset()
	before := f.items(t)
	for _, c := range []struct{ target, body, want string }{
		{"transfers", goodTransfer, `{"kind":"transfer","status":"posted","actor":"local","description":"","metadata":{},` +
			`"postings":[{"account":"jane","asset":"USD","quantity":"-1","cost":"0"},` +
			`{"account":"shop","asset":"USD","quantity":"1","cost":"0"}],"dry_run":true}`},
		{"transfers", strings.Replace(placed, "h-1", "h-3", 1), `{"id":"h-3","kind":"transfer","status":"held",`},
		{"transfers", placed, `{"id":"h-1","kind":"transfer","status":"held",`}, // again
		{"trades", `{"id":"t-2","asset":"AAPL","buyer":"jane","seller":"market","quantity":"1","cost":"5","settle":true}`,
			`{"id":"t-2","kind":"trade",`},
		{"transactions", `{"id":"t-2","postings":[{"account":"jane","asset":"USD","quantity":"-1"},` +
			`{"account":"shop","asset":"USD","quantity":"1"}]}`, `{"id":"t-2","kind":"transaction",`},
		{"transactions/h-1/capture", `{"quantity":"42"}`, `"ended_by":"local","captured":[{"account":"jane","asset":"USD",` +
			`"quantity":"-42","cost":"0"},{"account":"shop","asset":"USD","quantity":"42","cost":"0"}],"dry_run":true}`},
		{"transactions/h-1/release", `{}`, `"ended_by":"local","captured":[],"dry_run":true}`},
		{"transactions/h-2/release", `{}`, `"ended_by":"local","captured":[],"dry_run":true}`},
		{"transactions/t-1/reversals", `{"quantity":"1","cost":"9"}`, `"reverses":"t-1","postings":[{"account":"jane",` +
			`"asset":"AAPL","quantity":"-1","cost":"-9"},`},
		{"batches", batchOf(false, transferOf("b-1", "jane", "shop", "1"), `7`), `{"dry_run":true,"results":[{"status":201,` +
			`"body":{"id":"b-1",`},
		{"batches", batchOf(true, transferOf("b-1", "jane", "shop", "1")), `"dry_run":true}}]}`},
	} {
		w := f.must(t, 200, "POST", "/v1/"+c.target+"?dry_run=true", c.body)
		text := w.Body.String()
		if !strings.Contains(text, c.want) || !strings.Contains(text, `"dry_run":true`) ||
			strings.Contains(text, "_at\"") || strings.Contains(text, `{"id":"3`) || w.Header().Get("Location") != "" {
			t.Errorf("%s %s: %v %s", c.target, c.body, w.Header(), text)
		}
	}
	for target, body := range map[string]string{
		"transfers": `{"from":"fees","to":"jane","asset":"USD","quantity":"1"}`, "transactions/h-2/capture": `{}`,
		"transactions/t-1/reversals": `{"quantity":"11"}`, "transactions/none/release": `{}`,
	} {
		dry := f.do(t, "POST", "/v1/"+target+"?dry_run=true", body)
		unchanged(t, f, before)
		f.haveGuards(t, "fees")
		wet := f.do(t, "POST", "/v1/"+target+"?dry_run=false", body)
		if p, q := answer[problem](t, dry), answer[problem](t, wet); p.Code != q.Code || p.Code == "" {
			t.Errorf("%s: dry %s, wet %s", target, dry.Body, wet.Body)
		}
		before = f.items(t)
	}
	refused(t, f.do(t, "POST", "/v1/transfers?dry_run=1", goodTransfer), 400, ledger.CodeInvalidRequest)
	refused(t, f.do(t, "PATCH", "/v1/accounts/jane?dry_run=true", `{}`), 400, ledger.CodeInvalidRequest)
	if log := f.log.String(); strings.Count(log, "TransactionsPosted") != 8 { // of the guards
		t.Errorf("logged %s", log)
	}
}
