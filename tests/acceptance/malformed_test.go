package acceptance

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"ledger.example/tests/caller"
)

// Bodies that are not one JSON object of known fields, once each. None has bytes that are no UTF-8: gateways, which put a
// body into JSON, don't pass them on as they are, and sam local answers 502.
func malformedBodies(t *testing.T, s *caller.Caller) {
	s.OpenBooks()
	const good = `{"id":"~b-1","from":"~bank","to":"~jane","asset":"~USD","quantity":"1"}`

	var all []caller.Refusal
	for name, body := range map[string]string{
		"white space":               " \r\n\t ",
		"null":                      `null`,
		"a text":                    `"id"`,
		"a number":                  `1`,
		"an array":                  `[` + good + `]`,
		"true":                      `true`,
		"no quotes":                 `{id:"~b-1"}`,
		"single quotes":             `{'id':'b-1'}`,
		"a comma too many":          strings.Replace(good, "}", ",}", 1),
		"a comment":                 strings.Replace(good, "{", "{/* */", 1),
		"a form":                    "from=bank&to=jane&asset=~USD&quantity=1",
		"a second object":           good + good,
		"a brace too many":          good + "}",
		"text after it":             good + " x",
		"NUL after it":              good + "\x00",
		"a byte order mark":         "\xef\xbb\xbf" + good,
		"half a surrogate pair":     strings.Replace(good, "{", `{"description":"\ud800",`, 1),
		"the other half":            strings.Replace(good, "{", `{"description":"\udc00x",`, 1),
		"a line end in a text":      strings.Replace(good, "{", "{\"description\":\"a\nb\",", 1),
		"an unknown escape":         strings.Replace(good, "{", `{"description":"\x41",`, 1),
		"a number that begins 0":    strings.Replace(good, `"1"`, `01`, 1),
		"a number that begins +":    strings.Replace(good, `"1"`, `+1`, 1),
		"a number that begins .":    strings.Replace(good, `"1"`, `.5`, 1),
		"a number that ends .":      strings.Replace(good, `"1"`, `1.`, 1),
		"not a number":              strings.Replace(good, `"1"`, `NaN`, 1),
		"infinity":                  strings.Replace(good, `"1"`, `Infinity`, 1),
		"a hexadecimal number":      strings.Replace(good, `"1"`, `0x1`, 1),
		"deep arrays":               strings.Repeat("[", 100_000),
		"deep objects":              strings.Repeat(`{"a":`, 40_000),
		"deep and whole":            `{"metadata":` + strings.Repeat("[", 50_000) + strings.Repeat("]", 50_000) + `}`,
		"a deep key that is no key": `{"metadata":{"a":{1:2}}}`,
	} {
		all = append(all, caller.Refusal{Name: name, Path: "/v1/transfers", Body: body, Status: 400, Code: "malformed_body"})
	}
	all = append(all,
		caller.Refusal{Name: "empty", Path: "/v1/transfers", Headers: []string{"Content-Type", "application/json"}, Status: 400, Code: "malformed_body"},
		caller.Refusal{Name: "empty chunks", Path: "/v1/transfers", Reader: io.MultiReader(), Status: 400, Code: "malformed_body"},
	)
	for end := 1; end < len(good); end += 14 {
		all = append(all, caller.Refusal{Name: fmt.Sprint("cut after ", end), Path: "/v1/transfers", Body: good[:end], Status: 400, Code: "malformed_body"})
	}
	refuse(t, s, all)

	refuse(t, s, []caller.Refusal{
		{Name: "unknown", Path: "/v1/transfers", Body: `{"Id":"~b-1","from":"~bank","to":"~jane","asset":"~USD","quantity":"1","cost":"1","settle":false}`, Status: 400, Code: "malformed_body", Fields: []string{"Id", "cost", "settle"}},
		{Name: "unknown in an asset", Method: "PUT", Path: "/v1/assets/~EUR", Body: `{"id":"~EUR","name":"Euro","scale":2,"created_at":"2026-01-01T00:00:00Z"}`, Status: 400, Code: "malformed_body", Fields: []string{"id", "created_at"}},
		{Name: "unknown in an account", Method: "PUT", Path: "/v1/accounts/~joe", Body: `{"name":"Joe","overdraft":"unlimited","limit":"5","":1}`, Status: 400, Code: "malformed_body", Fields: []string{"limit", ""}},
		{Name: "unknown in a grant", Method: "PUT", Path: "/v1/accounts/~jane/members/~u-1", Body: `{"role":"viewer","user":"~u-1"}`, Status: 400, Code: "malformed_body", Fields: []string{"user"}},
		{Name: "unknown, nested", Path: "/v1/transactions", Body: `{"postings":[{"account":"~jane","asset":"~USD","quantity":"1","id":"x"}]}`, Status: 400, Code: "malformed_body", Fields: []string{"postings[0].id"}},
		{Name: "twice", Path: "/v1/trades", Body: `{"settle":true,"asset":"~AAPL","buyer":"~jane","seller":"~market","quantity":"1","settle":true}`, Status: 400, Code: "malformed_body", Fields: []string{"settle"}},
		{Name: "twice by an escape", Path: "/v1/transfers", Body: `{"from":"~bank","to":"~jane","asset":"~USD","quantity":"1","quantit\u0079":"2"}`, Status: 400, Code: "malformed_body", Fields: []string{"quantity"}},
		{Name: "twice, nested", Path: "/v1/transactions", Body: `{"postings":[{"account":"~jane","asset":"~USD","quantity":"1"},{"account":"~bank","asset":"~USD","quantity":"-1","quantity":"-1"}]}`, Status: 400, Code: "malformed_body", Fields: []string{"postings[1].quantity"}},
		{Name: "twice in a profile", Method: "PUT", Path: "/v1/accounts/~joe", Body: `{"profile":{"a":1,"addresses":[{"b":1},{"street":"x","street":"y"}],"a":2}}`, Status: 400, Code: "malformed_body", Fields: []string{"profile.addresses[1].street", "profile.a"}},
		{Name: "twice in an overdraft", Method: "PUT", Path: "/v1/accounts/~joe", Body: `{"overdraft":{"~USD":"1","~USD":"1"}}`, Status: 400, Code: "malformed_body", Fields: []string{"overdraft.~USD"}},
	})
}

// bodyMax is the most bytes of a body (API, order of checks).
const bodyMax = 256 << 10

// A body's size is what was sent, however it was sent; what is within it is not too large.
func bodySizes(t *testing.T, s *caller.Caller) {
	s.OpenBooks()
	padded := func(id string, size int) string {
		body := strings.ReplaceAll(`{"id":"`+id+`","from":"~bank","to":"~jane","asset":"~USD","quantity":"1"}`, "~", s.Prefix)
		return body + strings.Repeat(" ", size-len(body))
	}
	refuse(t, s, []caller.Refusal{
		{Name: "a byte too many", Path: "/v1/transfers", Body: padded("~s-1", bodyMax+1), Status: 413, Code: "body_too_large"},
		{Name: "a byte too many in chunks", Path: "/v1/transfers", Reader: strings.NewReader(padded("~s-1", bodyMax+1)), Status: 413, Code: "body_too_large"},
		{Name: "a megabyte", Path: "/v1/transfers", Body: padded("~s-1", 1<<20), Status: 413, Code: "body_too_large"},
		{Name: "a megabyte in chunks", Path: "/v1/transfers", Reader: &chunks{left: 1 << 20}, Status: 413, Code: "body_too_large"},
	})
	s.Must(201, "POST", "/v1/transfers", padded("~s-2", bodyMax))
	request, err := caller.Refusal{Path: "/v1/transfers", Reader: &chunks{Reader: strings.NewReader(padded("~s-3", bodyMax)), left: bodyMax}}.Request(s)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Do(request); err != nil || got.Status != 201 {
		t.Errorf("as large as may be, in chunks: %d %s %v", got.Status, got.Body, err)
	}
}

// chunks is a body of a length that nobody knows beforehand: of what it reads from, or of spaces.
type chunks struct {
	io.Reader
	left int
}

func (c *chunks) Read(p []byte) (n int, err error) {
	if c.left == 0 {
		return 0, io.EOF
	}
	p = p[:min(len(p), c.left, 4096)]
	if c.Reader != nil {
		n, err = c.Reader.Read(p)
	} else {
		n = copy(p, bytes.Repeat([]byte{' '}, len(p)))
	}
	c.left -= n
	return n, err
}
