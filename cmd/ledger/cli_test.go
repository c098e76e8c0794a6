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

func TestExitCodesAndStreams(t *testing.T) {
	s := newStub(t, register())
	for _, c := range []struct {
		args          string
		code          int
		out, problems string // a text that they contain; "" for empty
	}{
		{"", 0, "ledger up --demo", ""}, // help
		{"nonsense", 2, "", `unknown command "nonsense"`},
		{"transfer jane shop -5 USD", 2, "", "-5 is read as a flag: an amount must be above zero"},
		{"transfer jane shop -.5 USD", 2, "", "-.5 is read as a flag: an amount must be above zero"},
		{"shwo jane", 2, "", "Did you mean this?\n\tshow\n"},
		{"transfers a b 1 USD", 2, "", "Did you mean this?\n\ttransfer\n"},
		{"version", 0, "ledger ", ""},
		{"--nonsense", 2, "", "unknown flag: --nonsense"},
		{"--help", 0, "ledger up --demo", ""},
		{"show", 2, "", "expected ACCOUNT, but got 0 arguments"},
		{"show a/b", 2, "", `ACCOUNT: "a/b" is not an id`},
		{"show jane --nonsense", 2, "", "unknown flag"},
		{"show nobody", 1, "", "not_found: In words.\n  quantity: is too much"},
		{"--url nonsense show jane", 2, "", "--url or LEDGER_URL"},
		{"balance jane AAPL", 0, "1500.00 USD", ""},
		{"balance jane AAPL --json", 0, `"net_expenditure":"150000"`, ""},
		{"balance jane AAPL --minor", 0, "150000", ""},
		{"balance jane USD --strong", 0, "-0.05", ""},
		{"history jane --csv --json", 2, "", "[csv json] were all set"},
		{"history jane --limit 0", 2, "", `"--limit" flag: must be a whole number of at least 1`},
		{"verify --table t2 --dynamodb-endpoint http://127.0.0.1:1", 2, "", `"--table" flag: must be the name of a table: 3 to 255`},
		{"rebuild --table=a/b --dynamodb-endpoint http://127.0.0.1:1", 2, "", `"--table" flag: must be the name`},
		{"redrive --table t2 --dynamodb-endpoint http://127.0.0.1:1", 2, "", `"--table" flag: must be the name`},
		{"up --memory --table t2", 2, "", `"--table" flag: must be the name`},
		{"pump --table t2", 2, "", `"--table" flag: must be the name`},
		{"dynamodb --table t2", 2, "", `"--table" flag: must be the name`},
		{"history jane --from yesterday", 2, "", "must be like 2026-01-31T12:00:00Z or 2026-01-31"},
		{"history jane --from 2026-01-31T12:00:00+24:00", 2, "", "must be like 2026-01-31T12:00:00Z or 2026-01-31"},
		{"statement jane USD --month 2026-13", 2, "", "must be like 2026-01"},
		{"history jane --asset a/b", 2, "", "--asset"},
		{"history jane --asset= --from=", 2, "", `invalid argument "" for "--asset"`},
		{"transaction t-1", 0, "-1500.00 USD", ""},
		{"transaction t-2", 1, "", "not_found"},
		{"transfer jane shop 1 USD", 0, "transfer", ""},
		{"transfer jane shop 1.005 USD", 2, "", "3 decimal places, and there are at most 2"},
		{"transfer jane shop 1.5 USD --minor", 2, "", "there are at most 0"},
		{"transfer jane shop ten USD --minor", 2, "", `QUANTITY: "ten" is not a decimal number`},
		{"transfer jane shop 1 EUR", 1, "", "not_found"},
		{"transfer jane shop 1", 2, "", "FROM TO QUANTITY ASSET"},
		{"transfer jane shop 1 USD --metadata x", 2, "", "must be key=value"},
		{"transfer jane shop 1 USD --metadata x=1 --metadata x=2", 2, "", "given twice"},
		{"transfer jane shop 1 USD --id a/b", 2, "", "--id"},
		{"transfer jane shop 1 USD --id=", 2, "", `invalid argument "" for "--id"`}, // a new id would post it twice
		{"transfer jane shop 1 USD --description=", 0, "transfer", ""},
		{"trade --asset AAPL", 2, "", "give BUYER SELLER QUANTITY ASSET COST, or each of"},
		{"trade jane market 1 AAPL", 2, "", "give BUYER SELLER QUANTITY ASSET COST, or each of"},
		{"trade jane market 1 AAPL 1 --cost 1", 2, "", "give BUYER SELLER QUANTITY ASSET COST, or each of"},
		{"trial-balance --format xml", 2, "", "must be one of table, csv, json"},
		{"trial-balance --format csv --json", 2, "", `{"code":"usage","detail":"if any flags in the group [format json] are set`},
		{"trial-balance --prefix a --group b", 2, "", "[group prefix] were all set"},
		{"show nobody --json", 1, "", `{"code":"not_found","detail":"In words.","account":"jane"`},
		{"show --json", 2, "", `{"code":"usage","detail":"expected ACCOUNT, but got 0 arguments"}`},
		{"rebuild --json --dynamodb-endpoint http://127.0.0.1:1", 1, "", `{"code":"failed","detail":`},
		{"show jane --json --url http://127.0.0.1:1", 1, "", `{"code":"unreachable","detail":"no ledger answers at http://127.0.0.1:1`},
		{"history jane --limit 5 --all", 2, "", "[all limit] were all set"},
		{"trade --asset AAPL --buyer a --seller b --quantity 1 --cost=", 2, "", "--cost must not be empty"},
		{"history jane --from 2026-02-01 --to 2026-01-31", 2, "", "--from must be earlier than --to"},
		{"import", 2, "", "accepts 1 arg(s), received 0"},
		{"import x --clients 0", 2, "", "from 1 to 512"},
		{"import x --max-errors -1", 2, "", "of at least 0"},
		{"import /nonexistent/file", 1, "", "no such file"},
		{"up --port 70000", 2, "", "from 0 to 65535"},
		{"up --memory --data d", 2, "", "[data memory] were all set"},
		{"up --memory --dynamodb-endpoint http://127.0.0.1:8000", 2, "", "[dynamodb-endpoint memory] were all set"},
		{"up --memory --no-pump", 2, "", "[memory no-pump] were all set"},
		{"up --dynamodb-endpoint e", 2, "", "not an http or https URL"},
		{"up --data=", 2, "", "--data must not be empty"}, // the data would be lost
		{"up now", 2, "", `unknown command "now" for "ledger up"`},
		{"dynamodb --data=", 2, "", "--data must not be empty"}, // the data would be lost
		{"dynamodb now", 2, "", "unknown command"},
		{"pump now", 2, "", "unknown command"},
		{"pump --dynamodb-endpoint localhost:8000", 2, "", "not an http or https URL"},
		{"rebuild jane", 2, "", "unknown command"},
		{"rebuild --asset USD", 2, "", "--asset needs --account"},
		{"rebuild --account jane --from jane", 2, "", "[account from] were all set"},
		{"rebuild --account a*b", 2, "", "--account"},
		{"rebuild --account=", 2, "", `invalid argument "" for "--account"`},
		{"rebuild --rate -1", 2, "", "--rate"},
		{"rebuild --dynamodb-endpoint here", 2, "", "--dynamodb-endpoint"},
		{"rebuild --dynamodb-endpoint http://127.0.0.1:1 --region x", 2, "", "[dynamodb-endpoint region] were all set"},
		{"rebuild --dynamodb-endpoint http://127.0.0.1:1", 1, "", "127.0.0.1:1"},
		{"redrive", 2, "", "requires at least 1 arg(s)"},
		{"redrive nothing-here.jsonl --dynamodb-endpoint http://127.0.0.1:1", 1, "", "nothing-here.jsonl"},
		{"redrive - --dynamodb-endpoint http://127.0.0.1:1", 1, "", "127.0.0.1:1"},
		{"redrive - --dynamodb-endpoint here", 2, "", "--dynamodb-endpoint"},
		{"verify here", 2, "", "unknown command"},
		{"verify --segments 0", 2, "", "--segments"},
		{"verify --settle -1s", 2, "", "--settle"},
		{"verify --max -1", 2, "", "--max"},
		{"verify --rate -1", 2, "", "--rate"},
		{"verify --dynamodb-endpoint here", 2, "", "--dynamodb-endpoint"},
	} {
		code, out, problems := ledger(t, s.URL, strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(out, c.out) || (c.out == "") != (out == "") ||
			!strings.Contains(problems, c.problems) || (c.problems == "") != (problems == "") {
			t.Errorf("ledger %s: exit %d, want %d\nstandard output, want %q:\n%s\nstandard error, want %q:\n%s",
				c.args, code, c.code, c.out, out, c.problems, problems)
		}
	}
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

func TestHistoryFormats(t *testing.T) {
	s := newStub(t, register())
	_, out, _ := ledger(t, s.URL, "history", "jane")
	if strings.ContainsRune(out, '\x1b') || !strings.Contains(out, "-1500.00 USD") {
		t.Errorf("%q", out)
	}
	_, out, _ = ledger(t, s.URL, "history", "jane", "--csv")
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	want := []string{"2026-11-21T09:06:39.123456Z", "t-1", "trade", "0ujtsYcgvSTl8PAuAdqWYSMnLOv", "jane", "AAPL", "-10", "-1500.00", "USD", "=1+1, \"odd\"\x1b[31m", "0", "posted"}
	if err != nil || len(rows) != 2 || !slices.Equal(rows[1], want) {
		t.Errorf("%v: %q", err, rows)
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

// Without --id, each request has a new KSUID, and the server's answer must have it.
func TestNewIDs(t *testing.T) {
	s := newStub(t, register())
	made := make(map[string]bool)
	for range 2 {
		if code, _, problems := ledger(t, s.URL, "transfer", "jane", "shop", "1", "USD"); code != exitDone {
			t.Fatalf("exit %d, %s", code, problems)
		}
	}
	for _, sent := range s.sent {
		var body struct{ ID string }
		_ = json.Unmarshal([]byte(sent[strings.Index(sent, "{"):]), &body)
		if _, err := events.ParseKSUID(body.ID); err != nil {
			t.Errorf("%q: %v", body.ID, err)
		}
		made[body.ID] = true
	}
	if len(made) != 2 {
		t.Errorf("%d ids: %v", len(made), made)
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

// show names the balances that do not include the postings on the same page.
func TestShowNamesStaleBalances(t *testing.T) {
	page := func(asOf string) map[string]string {
		answers := register()
		answers["GET /v1/accounts/jane/summary?newest=10"] = `{"account":{"id":"jane"},"summary":{},"balances":{"next_cursor":null,"data":[
			{"asset":"AAPL","quantity":"0","net_expenditure":"0","credits":"0","debits":"0","postings":1,"as_of":` + asOf + `}]},
			"postings":{"data":[{` + posting + `}],"next_cursor":null}}`
		return answers
	}
	for asOf, trails := range map[string]bool{`"0ujtsYcgvSTl8PAuAdqWYSMnLOv"`: false, `"0ujtsYcgvSTl8PAuAdqWYSMnLOw"`: false,
		`"0ujtsYcgvSTl8PAuAdqWYSMnLOu"`: true, `null`: true} {
		code, out, problems := ledger(t, newStub(t, page(asOf)).URL, "show", "jane")
		if code != exitDone || strings.Contains(out, "--strong") || strings.Contains(problems, "yet: AAPL.") != trails {
			t.Errorf("as of %s: exit %d, %s", asOf, code, problems)
		}
	}
}
