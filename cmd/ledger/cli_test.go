package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"ledger.example/events"
)

// stub is an API with fixed answers by "METHOD uri". It records the writes.
type stub struct {
	*httptest.Server
	answers map[string]string // a body, or a status and a code, such as "422 code", for a problem

	mu   sync.Mutex
	sent []string // "METHOD uri body", of writes
}

func newStub(t *testing.T, answers map[string]string) *stub {
	s := &stub{answers: answers}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if r.Method != http.MethodGet {
		s.mu.Lock()
		s.sent = append(s.sent, r.Method+" "+r.URL.RequestURI()+" "+string(body))
		s.mu.Unlock()
	}
	answer, ok := s.answers[r.Method+" "+r.URL.RequestURI()]
	if !ok {
		answer = "404 not_found"
	}
	status, code, isProblem := strings.Cut(answer, " ")
	if number, err := strconv.Atoi(status); err == nil && isProblem {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(number)
		fmt.Fprintf(w, `{"code":%q,"detail":"In words.","account":"jane","asset":"USD","available":"350200","requested":"10000000",
			"errors":[{"field":"quantity","rule":"is too much"}]}`, code)
		return
	}
	if r.Method == http.MethodPost {
		var request struct{ ID string }
		_ = json.Unmarshal(body, &request)
		answer = strings.ReplaceAll(answer, "ID", request.ID)
		w.WriteHeader(http.StatusCreated)
	}
	io.WriteString(w, answer)
}

// lastBody decodes the body of the last write.
func (s *stub) lastBody(t *testing.T, to any) {
	t.Helper()
	sent := s.sent[len(s.sent)-1]
	if err := json.Unmarshal([]byte(sent[strings.Index(sent, "{"):]), to); err != nil {
		t.Fatalf("%s: %v", sent, err)
	}
}

const posting = `"id":"0ujtsYcgvSTl8PAuAdqWYSMnLOv","account":"jane","asset":"AAPL","quantity":"-10","cost":"-150000"`

// register returns the answers of a stub of a small ledger.
func register() map[string]string {
	return map[string]string{
		"GET /healthz":        `{"status":"ok"}`,
		"GET /v1/assets/USD":  `{"id":"USD","scale":2,"currency":null}`,
		"GET /v1/assets/AAPL": `{"id":"AAPL","scale":0,"currency":"USD"}`,
		"GET /v1/accounts/jane/balances/AAPL": `{"account":"jane","asset":"AAPL","quantity":"10","net_expenditure":"150000",
			"credits":"10","debits":"0","postings":1,"as_of":null,"as_of_time":null}`,
		"GET /v1/accounts/jane/balances/USD?consistency=strong": `{"account":"jane","asset":"USD","quantity":"-5","net_expenditure":"0",
			"credits":"0","debits":"5","postings":1,"as_of":"k","as_of_time":"2026-11-21T09:06:39.123456Z"}`,
		"GET /v1/accounts/jane/postings?limit=20": `{"data":[{` + posting + `,"transaction":"t-1","kind":"trade","description":"=1+1, \"odd\"\u001b[31m","posted_at":"2026-11-21T09:06:39.123456Z"}],"next_cursor":null}`,
		"GET /v1/transactions/t-1":                `{"id":"t-1","kind":"trade","posted_at":"2026-11-21T09:06:39.123456Z","description":"","metadata":{"a":"b"},"postings":[{` + posting + `}]}`,
		"GET /v1/accounts/jane/summary?newest=10": `{"account":{"id":"jane","name":"Jane Doe","profile":{},"overdraft":{"USD":"500000"},"created_at":"2026-11-21T09:00:00.000000Z"},
			"summary":{"holdings":1,"assets":2,"first_posting_at":null,"last_posting_at":null},
			"balances":{"data":[{"account":"jane","asset":"AAPL","quantity":"10","net_expenditure":"150000","credits":"10","debits":"0","postings":1}],"next_cursor":"next"},
			"postings":{"data":[],"next_cursor":null}}`,
		"GET /v1/accounts/jane/balances?limit=100":                    `{"data":[{"account":"jane","asset":"AAPL","quantity":"10","net_expenditure":"150000","credits":"10","debits":"0","postings":1}],"next_cursor":"next"}`,
		"GET /v1/accounts/jane/balances?cursor=next&limit=100":        `{"data":[{"account":"jane","asset":"USD","quantity":"350000","net_expenditure":"0","credits":"500000","debits":"150000","postings":2}],"next_cursor":null}`,
		"GET /v1/accounts/jane/balances?consistency=strong&limit=100": `{"data":[{"account":"jane","asset":"AAPL","quantity":"11","net_expenditure":"160000","credits":"11","debits":"0","postings":2}],"next_cursor":null}`,
		"POST /v1/transfers": `{"id":"ID","kind":"transfer","posted_at":"2026-11-21T09:06:39.123456Z","postings":[]}`,
		"POST /v1/trades":    `{"id":"ID","kind":"trade","posted_at":"2026-11-21T09:06:39.123456Z","postings":[]}`,
	}
}

// ledger runs a command line against url and returns its exit code, standard output and standard error.
func ledger(t *testing.T, url string, args ...string) (code int, out, problems string) {
	t.Helper()
	return ledgerIn(t.Context(), map[string]string{urlVariable: url}, strings.NewReader(""), args...)
}

// ledgerIn runs a command line with the given environment variables and input.
func ledgerIn(ctx context.Context, environment map[string]string, input io.Reader, args ...string) (code int, out, problems string) {
	var o, e bytes.Buffer
	code = run(ctx, args, func(name string) string { return environment[name] }, input, &o, &e)
	return code, o.String(), e.String()
}

// nobody is an address that refuses connections.
const nobody = "http://127.0.0.1:1"

// says fails the test for each text that is missing in an output.
func says(t *testing.T, said string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(said, text) {
			t.Errorf("%q is missing in\n%s", text, said)
		}
	}
}

// dynamo serves a stub of DynamoDB. The answer to an operation, such as "Scan", is JSON or an error code.
func dynamo(t *testing.T, answer func(operation string) string) (url string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		status, body := http.StatusOK, answer(operation)
		if !strings.HasPrefix(body, "{") {
			status, body = http.StatusBadRequest, fmt.Sprintf(`{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":"in words"}`, body)
		}
		w.Header().Set("X-Amz-Crc32", fmt.Sprint(crc32.ChecksumIEEE([]byte(body))))
		w.WriteHeader(status)
		io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestShow(t *testing.T) {
	s := newStub(t, register())
	_, out, _ := ledger(t, s.URL, "show", "jane")
	says(t, out, "Jane Doe", "5000.00 USD", "1, of 2 assets", "AAPL         10      1500.00 USD", "USD     3500.00                -")
	_, out, _ = ledger(t, s.URL, "show", "jane", "--strong")
	says(t, out, "AAPL         11", "1600.00 USD")
	_, out, _ = ledger(t, s.URL, "show", "jane", "--strong", "--json")
	var page struct {
		Account  struct{ Overdraft map[string]string }
		Balances struct{ Data []struct{ Quantity string } }
	}
	if err := json.Unmarshal([]byte(out), &page); err != nil || page.Account.Overdraft["USD"] != "500000" ||
		len(page.Balances.Data) != 1 || page.Balances.Data[0].Quantity != "11" {
		t.Errorf("%v: %s", err, out)
	}
}

// show names the balances that do not include the postings on the same page.
func TestShowNamesStaleBalances(t *testing.T) {
	for asOf, trails := range map[string]bool{`"0ujtsYcgvSTl8PAuAdqWYSMnLOv"`: false, `"0ujtsYcgvSTl8PAuAdqWYSMnLOw"`: false,
		`"0ujtsYcgvSTl8PAuAdqWYSMnLOu"`: true, `null`: true} {
		answers := register()
		answers["GET /v1/accounts/jane/summary?newest=10"] = `{"account":{"id":"jane"},"summary":{},"balances":{"next_cursor":null,"data":[
			{"asset":"AAPL","quantity":"0","net_expenditure":"0","credits":"0","debits":"0","postings":1,"as_of":` + asOf + `}]},
			"postings":{"data":[{` + posting + `}],"next_cursor":null}}`
		code, out, problems := ledger(t, newStub(t, answers).URL, "show", "jane")
		if code != exitDone || strings.Contains(out, "--strong") || strings.Contains(problems, "yet: AAPL.") != trails {
			t.Errorf("as of %s: exit %d, %s", asOf, code, problems)
		}
	}
}

func TestHistoryFormats(t *testing.T) {
	s := newStub(t, register())
	_, out, _ := ledger(t, s.URL, "history", "jane")
	if strings.ContainsRune(out, '\x1b') || !strings.Contains(out, "-1500.00 USD") {
		t.Errorf("%q", out)
	}
	_, out, _ = ledger(t, s.URL, "history", "jane", "--csv")
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	want := []string{"2026-11-21T09:06:39.123456Z", "t-1", "trade", "0ujtsYcgvSTl8PAuAdqWYSMnLOv", "jane", "AAPL", "-10", "-1500.00", "USD", "'=1+1, \"odd\"\x1b[31m", "0", "posted"}
	if err != nil || len(rows) != 2 || !slices.Equal(rows[1], want) {
		t.Errorf("%v: %q", err, rows)
	}
	_, out, _ = ledger(t, s.URL, "history", "jane", "--csv", "--raw")
	rows, err = csv.NewReader(strings.NewReader(out)).ReadAll()
	want[9] = want[9][1:]
	if err != nil || len(rows) != 2 || !slices.Equal(rows[1], want) {
		t.Errorf("%v: %q", err, rows)
	}
	for _, line := range []string{"history jane --raw", "find --raw", "statement jane USD --raw", "trial-balance --raw",
		"trial-balance --raw --json"} {
		if code, _, problems := ledger(t, s.URL, strings.Fields(line)...); code != exitUsage ||
			!strings.Contains(problems, "--raw needs --") {
			t.Errorf("%s: exit %d, %s", line, code, problems)
		}
	}
}

// history reads pages until the end or --limit. A page may be short or empty.
func TestHistoryPages(t *testing.T) {
	page := func(next string, ids ...string) string {
		var data []string
		for _, id := range ids {
			data = append(data, `{"id":"`+id+`","asset":"USD","quantity":"1","cost":"0","transaction":"t-`+id+`"}`)
		}
		return `{"data":[` + strings.Join(data, ",") + `],"next_cursor":` + next + `}`
	}
	answers := register()
	answers["GET /v1/accounts/jane/postings?limit=100"] = page(`"c1"`, "1", "2")
	answers["GET /v1/accounts/jane/postings?cursor=c1&limit=100"] = page(`"c2"`)
	answers["GET /v1/accounts/jane/postings?cursor=c2&limit=100"] = page(`null`, "3")
	answers["GET /v1/accounts/jane/postings?limit=3"] = page(`"c1"`, "1", "2")
	answers["GET /v1/accounts/jane/postings?cursor=c1&limit=1"] = page(`"c2"`, "3")
	s := newStub(t, answers)
	for args, want := range map[string]int{"--all": 3, "--limit 3": 3} {
		code, out, problems := ledger(t, s.URL, append([]string{"history", "jane", "--csv"}, strings.Fields(args)...)...)
		if rows := strings.Split(strings.TrimSpace(out), "\n"); code != exitDone || len(rows) != want+1 ||
			!strings.HasPrefix(rows[0], "posted_at,") || !strings.Contains(rows[3], "t-3") {
			t.Errorf("%s: exit %d, %s\n%s", args, code, problems, out)
		}
		if isCut := strings.Contains(problems, "There are more"); isCut != (args != "--all") {
			t.Errorf("%s: %s", args, problems)
		}
	}
}

// A quantity of zero is refused as such: a request would leave it out.
func TestNoQuantity(t *testing.T) {
	s := newStub(t, register())
	for _, args := range [][]string{
		{"transfer", "jane", "shop", "0", "USD"},
		{"transfer", "jane", "shop", "0.00", "USD", "--keep", "1"},
		{"split", "jane", "0", "USD", "shop=rest"},
	} {
		code, _, problems := ledger(t, s.URL, args...)
		if code == exitDone {
			t.Error(args)
		}
		says(t, problems, "QUANTITY: must be above zero")
	}
}

// Without --id, each request has a new KSUID, and the server's answer must have it.
func TestNewIDs(t *testing.T) {
	s := newStub(t, register())
	made := make(map[string]bool)
	for range 2 {
		if code, _, problems := ledger(t, s.URL, "transfer", "jane", "shop", "1", "USD"); code != exitDone {
			t.Fatalf("exit %d, %s", code, problems)
		}
		var body struct{ ID string }
		s.lastBody(t, &body)
		if _, err := events.ParseKSUID(body.ID); err != nil || made[body.ID] {
			t.Errorf("%q: %v", body.ID, err)
		}
		made[body.ID] = true
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestOutputErrors(t *testing.T) {
	s := newStub(t, register())
	for _, args := range []string{"show jane", "history jane --csv", "transaction t-1 --json", "import " + os.DevNull} {
		var problems bytes.Buffer
		code := run(t.Context(), append(strings.Fields(args), "--url", s.URL), func(string) string { return "" }, nil, brokenWriter{}, &problems)
		if code != exitFailed || !strings.Contains(problems.String(), "no space left") {
			t.Errorf("%s: exit %d, %s", args, code, problems.String())
		}
	}
}

func TestPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	code, out, problems := ledger(t, "", "up", "--port", port)
	if code != exitFailed || out != "" || !strings.Contains(problems, "port "+port+" is in use") || !strings.Contains(problems, "--port") {
		t.Errorf("exit %d, %q, %q", code, out, problems)
	}
}
