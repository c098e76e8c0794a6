package acceptance

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ledger.example/tests/harness/caller"
)

// Patterns of lines in a file of refusals.
var (
	headerLine = regexp.MustCompile(`^([A-Z][A-Za-z-]+): ?(.*)$`)
	statusLine = regexp.MustCompile(`^(\d{3}) (\w+) ?(.*)$`)
	repetition = regexp.MustCompile(`<([^<>]+)\*(\d+)>`)
)

// expanded replaces <text*3> by texttexttext.
func expanded(line string) string {
	return repetition.ReplaceAllStringFunc(line, func(found string) string {
		part := repetition.FindStringSubmatch(found)
		n, _ := strconv.Atoi(part[2])
		return strings.Repeat(part[1], n)
	})
}

// blocks returns the lines of each block in a file of testdata. Empty lines separate them.
func blocks(t *testing.T, file string) (all [][]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	for block := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		all = append(all, strings.Split(block, "\n"))
	}
	return all
}

// refuseAll sends every request in a file of testdata and checks the answer. The file has one block per request,
// separated by empty lines. A block has, in this order: "# name" (optional), method and path, request headers ("-" as
// the value sends none), the body, the expected status, code and invalid fields ("" is an empty field name), and the
// expected headers and members of the answer. Blocks that begin with ## are comments. Requests that are refused because
// of the state of the ledger are also sent as dry runs.
func refuseAll(t *testing.T, s *caller.Caller, file string) {
	t.Helper()
	for _, block := range blocks(t, file) {
		if strings.HasPrefix(block[0], "##") {
			continue
		}
		var r caller.Refusal
		headers, members := map[string]string{}, map[string]any{} // of the answer
		for i, line := range block {
			line = expanded(line)
			name, named := strings.CutPrefix(line, "# ")
			header, status := headerLine.FindStringSubmatch(line), statusLine.FindStringSubmatch(line)
			switch {
			case named && i == 0:
				r.Name = name
			case r.Path == "":
				r.Method, r.Path, _ = strings.Cut(line, " ")
			case header != nil && r.Status > 0:
				headers[header[1]] = header[2]
			case header != nil:
				if header[2] == "-" {
					header[2] = caller.Absent
				}
				r.Headers = append(r.Headers, header[1:]...)
			case status != nil:
				r.Status, _ = strconv.Atoi(status[1])
				r.Code, r.Fields = status[2], strings.Fields(strings.ReplaceAll(status[3], `""`, "\x00"))
			case r.Status > 0:
				if err := json.Unmarshal([]byte(line), &members); err != nil {
					t.Fatalf("%s: %v", line, err)
				}
			default:
				r.Body = line
			}
		}
		for i, field := range r.Fields {
			r.Fields[i] = strings.ReplaceAll(field, "\x00", "")
		}
		if !canBeSent(t, r) {
			continue
		}
		t.Run(r.String(), func(t *testing.T) {
			got := s.Refuse(t, r)
			got.Shows(t, members)
			for name, want := range headers {
				if got.Header.Get(name) != want {
					t.Errorf("%s is %q, want %q", name, got.Header.Get(name), want)
				}
			}
			if r.Method == "POST" && !caller.ByRequestAlone(r.Code) && !strings.Contains(r.Path, "?") {
				r.Path += "?dry_run=true"
				s.Refuse(t, r).Shows(t, members)
			}
		})
	}
}

// Checks run in the documented order: a request that fails two checks gets the error of the earlier one. Some requests
// are missing because gateways answer them: sam local treats //v1/assets as /v1/assets, and a gateway with CORS answers
// OPTIONS.
func errorsInTheirOrder(t *testing.T, s *caller.Caller) {
	s.OpenBooks()
	refuseAll(t, s, "errors.txt")

	// A replay succeeds even if the funds are gone.
	const all = `{"id":"~w-1","from":"~jane","to":"~shop","asset":"~USD","quantity":"350000"}`
	s.Must(201, "POST", "/v1/transfers", all)
	if again := s.Must(200, "POST", "/v1/transfers", all); again.Header.Get("Idempotent-Replayed") != "true" {
		t.Error("the replay lacks Idempotent-Replayed")
	}
	// The overdraft counts as available. The id of a refused request can be used again.
	s.Must(201, "PUT", "/v1/accounts/~margin", `{"overdraft":{"~USD":"500"}}`)
	s.Must(422, "POST", "/v1/transfers", `{"id":"~m-1","from":"~margin","to":"~shop","asset":"~USD","quantity":"501"}`).
		Shows(t, map[string]any{"available": "500", "requested": "501"})
	s.Must(201, "POST", "/v1/transfers", `{"id":"~m-1","from":"~margin","to":"~shop","asset":"~USD","quantity":"500"}`)
	s.Must(422, "POST", "/v1/transfers", `{"id":"~m-2","from":"~margin","to":"~shop","asset":"~USD","quantity":"1"}`).
		Shows(t, map[string]any{"available": "0"})
}

// Amounts have exactly one valid spelling. Others are refused in every field.
func badAmounts(t *testing.T, s *caller.Caller) {
	s.OpenBooks()
	refuseAll(t, s, "amounts.txt")
	nines := strings.Repeat("9", 28)
	s.Must(201, "POST", "/v1/transfers",
		`{"id":"~a-1","from":"~bank","to":"~shop","asset":"~USD","quantity":"`+nines+`"}`)
	if got := s.Must(200, "GET", "/v1/accounts/~shop/balances/~USD?consistency=strong",
		"").Value("quantity"); got != nines {
		t.Errorf("28 nines were returned as %v", got)
	}
}

// Invalid, unknown, repeated and unsupported query parameters are refused.
func badQueries(t *testing.T, s *caller.Caller) {
	s.OpenBooks()
	refuseAll(t, s, "queries.txt")
	s.Must(200, "GET", "/healthz?probe=1&probe=2", "") // parameters are checked under /v1 only
	s.Must(200, "GET", "/v1/assets?", "")
}

// Transactions that violate a rule about several fields are refused.
func badTransactions(t *testing.T, s *caller.Caller) {
	s.OpenBooks()
	refuseAll(t, s, "transactions.txt")
	const two = `{"account":"~bank","asset":"~USD","quantity":"1"},{"account":"~bank","asset":"~USD","quantity":"-1"}`
	s.Must(201, "POST", "/v1/transactions", `{"postings":[`+two+strings.Repeat(","+two, 23)+`]}`)
	// A posting may have only a cost. An account and asset may be in several postings.
	s.Must(201, "POST", "/v1/transactions",
		`{"postings":[{"account":"~market","asset":"~AAPL","quantity":"0","cost":"-5"},`+
			`{"account":"~jane","asset":"~AAPL","quantity":"0","cost":"2"},`+
			`{"account":"~jane","asset":"~AAPL","quantity":"0","cost":"3"}]}`)
}

// Fields that are missing, null, too long, out of range or of the wrong type are refused. The error names all of them.
func badFields(t *testing.T, s *caller.Caller) {
	s.OpenBooks()
	refuseAll(t, s, "fields.txt")
	overdraft := pairs(101, func(i int) (string, string) { return fmt.Sprint("A", i), "1" })
	refuse(t, s, []caller.Refusal{refusal("101 limits", "PUT /v1/accounts/~joe", `{"overdraft":`+overdraft+`}`,
		400, "invalid_request", "overdraft")})

	// Values at their limits are valid.
	s.Must(201, "PUT", "/v1/assets/~EUR",
		fmt.Sprintf(`{"name":%q,"scale":18,"description":%q}`, strings.Repeat("é", 256), strings.Repeat("💰", 256)))
	s.Must(201, "PUT", "/v1/accounts/~joe",
		fmt.Sprintf(`{"name":%q, "profile" : { "a" : %q } }`, strings.Repeat("é", 256), strings.Repeat("x", 4096-8)))
	s.Must(201, "PUT", "/v1/accounts/~jil", fmt.Sprintf(`{"profile":{"a":"%s"}}`, strings.Repeat(`\u2028`, (4096-8)/3)))
	s.Must(201, "PUT", "/v1/accounts/~jim", `{"profile":{"addresses":[`+strings.Repeat(`{},`, 9)+`{}]},"overdraft":{}}`)
	const rest = `,"from":"~bank","to":"~jane","asset":"~USD","quantity":"1"}`
	s.Must(201, "POST", "/v1/transfers", `{"description":"`+strings.Repeat("é", 256)+`","metadata":`+
		pairs(16, func(i int) (string, string) { return fmt.Sprintf("k%02d", i), strings.Repeat("v", 253) })+rest)
	s.Must(201, "POST", "/v1/transfers", `{"metadata":`+
		pairs(20, func(i int) (string, string) { return fmt.Sprintf("%02d%s", i, strings.Repeat("é", 38)), "v" })+rest)
}

// pairs returns a JSON object with n string members.
func pairs(n int, pair func(i int) (key, value string)) string {
	all := make([]string, n)
	for i := range all {
		key, value := pair(i)
		all[i] = strconv.Quote(key) + ":" + strconv.Quote(value)
	}
	return "{" + strings.Join(all, ",") + "}"
}

// Bodies that are not one JSON object with known, unique fields are refused. None of them has invalid UTF-8: gateways
// change it, because they put the body into JSON, and sam local answers 502.
func malformedBodies(t *testing.T, s *caller.Caller) {
	s.OpenBooks()
	refuseAll(t, s, "malformed.txt")
	const good = `{"id":"~b-1","from":"~bank","to":"~jane","asset":"~USD","quantity":"1"}`

	var all []caller.Refusal
	for name, body := range map[string]string{
		"white space": " \r\n\t ", "a line feed in a string": strings.Replace(good, "{", "{\"description\":\"a\nb\",", 1),
		"NUL after it": good + "\x00",
	} {
		all = append(all, refusal(name, "POST /v1/transfers", body, 400, "malformed_body"))
	}
	all = append(all, caller.Refusal{Name: "empty chunks", Path: "/v1/transfers", Reader: io.MultiReader(), Status: 400,
		Code: "malformed_body"})
	refuse(t, s, all)
}

// bodyMax is the size limit of a body in bytes.
const bodyMax = 256 << 10

// Bodies over the size limit are refused, with a Content-Length or in chunks. Bodies at the limit are accepted.
func bodySizes(t *testing.T, s *caller.Caller) {
	s.OpenBooks()
	padded := func(id string, size int) string {
		body := strings.ReplaceAll(`{"id":"`+id+`","from":"~bank","to":"~jane","asset":"~USD","quantity":"1"}`, "~",
			s.Prefix)
		return body + strings.Repeat(" ", size-len(body))
	}
	refuse(t, s, []caller.Refusal{
		refusal("one byte too large", "POST /v1/transfers", padded("~s-1", bodyMax+1), 413, "body_too_large"),
		{Name: "one byte too large, in chunks", Path: "/v1/transfers",
			Reader: chunks(padded("~s-1", bodyMax+1)), Status: 413, Code: "body_too_large"},
		refusal("a megabyte", "POST /v1/transfers", padded("~s-1", 1<<20), 413, "body_too_large"),
	})
	s.Must(201, "POST", "/v1/transfers", padded("~s-2", bodyMax))
	request, err := caller.Refusal{Path: "/v1/transfers", Reader: chunks(padded("~s-3", bodyMax))}.Request(s)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Do(request); err != nil || got.Status != 201 {
		t.Errorf("body at the limit, in chunks: %d %s %v", got.Status, got.Body, err)
	}
}

// chunks returns a body whose length a client does not know.
func chunks(text string) io.Reader { return io.MultiReader(strings.NewReader(text)) }
