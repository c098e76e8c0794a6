package tests

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
)

// A refusal is a request that is wrong, and what is answered. Without a method it is a POST of the body.
type refusal struct {
	name    string // "" for the request itself
	method  string
	path    string
	body    string
	headers []string  // name, value, …; a second value of the same name is sent as a second header
	reader  io.Reader // sent instead of body when it is set, in chunks and without a length

	status int
	code   string
	fields []string // every field that the answer must name, in any order
}

// request makes the request of r. A body is JSON unless a header says otherwise.
func (r refusal) request(s *system) (*http.Request, error) {
	method, body := r.method, r.reader
	if method == "" {
		method = http.MethodPost
	}
	if body == nil {
		body = strings.NewReader(r.body)
	}
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.url+r.path, body)
	if err != nil {
		return nil, err
	}
	if r.body != "" || r.reader != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(r.headers); i += 2 {
		if name := r.headers[i]; name == "Content-Type" {
			request.Header.Del(name)
		}
		if r.headers[i+1] != absent {
			request.Header.Add(r.headers[i], r.headers[i+1])
		}
	}
	return request, nil
}

// absent is the value of a header that is not sent.
const absent = "\x00"

// refuses sends each request and holds the answer to what the API promises of an error. After each, the table is item
// for item what it was, and nothing was sent to it for what is told from the request alone.
func (s *system) refuses(t *testing.T, all []refusal) {
	t.Helper()
	s.requests.take()
	before := s.items()
	for _, r := range all {
		name := r.name
		if name == "" {
			name = brief(r.method + " " + r.path + " " + r.body)
		}
		t.Run(name, func(t *testing.T) {
			request, err := r.request(s)
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.do(request)
			if err != nil {
				t.Fatal(err)
			}
			if got.status != r.status || got.code() != r.code {
				t.Errorf("%d %s instead of %d %s: %s", got.status, got.code(), r.status, r.code, got.body)
			}
			if want := slices.Sorted(slices.Values(r.fields)); !slices.Equal(got.fields(), want) {
				t.Errorf("fields at fault are %q instead of %q: %s", got.fields(), want, got.body)
			}
			checkProblem(t, s, got)
			checkRequests(t, r.code, s.requests.take())
			if after := s.items(); !maps.Equal(before, after) {
				t.Errorf("the table changed: %s", difference(before, after))
				before = after
			}
		})
	}
}

// fields returns the fields that an error names, sorted.
func (r reply) fields() []string {
	list, _ := r.value("errors").([]any)
	names := []string{}
	for _, one := range list {
		object, _ := one.(map[string]any)
		name, _ := object["field"].(string)
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// checkProblem holds an answer to RFC 9457 and to what the API promises of every error.
func checkProblem(t testing.TB, s *system, r reply) {
	t.Helper()
	if got := r.header.Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("an error of type %q", got)
	}
	var problem map[string]any
	if err := json.Unmarshal(r.body, &problem); err != nil {
		t.Fatalf("an error that is not JSON: %v: %q", err, r.body)
	}
	for _, name := range []string{"type", "title", "detail", "code", "request_id"} {
		if text, _ := problem[name].(string); text == "" {
			t.Errorf("an error without %s: %s", name, r.body)
		}
	}
	code := r.code()
	if problem["type"] != "/problems/"+code {
		t.Errorf("type %v of code %q", problem["type"], code)
	}
	if problem["status"] != float64(r.status) {
		t.Errorf("status %v in the body of a %d", problem["status"], r.status)
	}
	if id := r.header.Get("X-Request-Id"); id != problem["request_id"] {
		t.Errorf("request %q is called %v in the body", id, problem["request_id"])
	}
	if list, given := problem["errors"]; given {
		faults, _ := list.([]any)
		for _, fault := range faults {
			members, _ := fault.(map[string]any)
			_, named := members["field"].(string) // of a key without characters: ""
			rule, _ := members["rule"].(string)
			if !named || rule == "" || len(members) != 2 {
				t.Errorf("a fault that does not say what is wrong: %v", fault)
			}
		}
		if len(faults) == 0 {
			t.Errorf("an empty list of errors: %s", r.body)
		}
	}
	for name, with := range map[string]bool{
		"Allow":       r.status == http.StatusMethodNotAllowed,
		"Retry-After": r.status == http.StatusServiceUnavailable,
		"ETag":        false,
		"Location":    false,
	} {
		if given := r.header.Get(name) != ""; given != with {
			t.Errorf("%d with the header %s: %q", r.status, name, r.header.Get(name))
		}
	}
	known := []string{"type", "title", "status", "detail", "code", "request_id", "errors"}
	if code == "insufficient_funds" {
		funds := []string{"account", "asset", "available", "requested"}
		for _, name := range funds {
			if text, _ := problem[name].(string); text == "" {
				t.Errorf("a refusal for funds without %s: %s", name, r.body)
			}
		}
		known = append(known, funds...)
	}
	if r.status == http.StatusGatewayTimeout {
		known = append(known, "transaction_id")
	}
	for name := range problem {
		if !slices.Contains(known, name) {
			t.Errorf("an error of code %q with a member %q: %s", code, name, r.body)
		}
	}
	for _, internal := range []string{s.table, store.Endpoint, "dynamo", "Dynamo", "amazon", "goroutine", ".go:", "operation error", table.AccountKey("").PK, table.TransactionKey("").PK} {
		if strings.Contains(string(r.body), internal) {
			t.Errorf("an error that shows %q: %s", internal, r.body)
		}
	}
}

// checkRequests fails t if a refused request wrote, or asked the table for what it could tell by itself.
func checkRequests(t testing.TB, code string, requests []request) {
	t.Helper()
	byItself := []string{
		"not_found", "method_not_allowed", "unsupported_media_type", "body_too_large", "malformed_body", "invalid_request",
		"invalid_cursor", "unbalanced",
	}
	if slices.Contains(byItself, code) && len(requests) > 0 {
		t.Errorf("%s only after %q", code, operations(requests))
	}
	for _, r := range requests {
		if r.writes() && r.err == nil {
			t.Errorf("%s, but %s was done: %+v", code, r.operation, r.input)
		}
	}
}

// writes tells whether the request may change the table.
func (r request) writes() bool {
	return !slices.Contains([]string{"GetItem", "BatchGetItem", "TransactGetItems", "Query", "DescribeTable"}, r.operation)
}

// items reads the whole table, every attribute of every item, by its key.
func (s *system) items() map[string]string {
	s.t.Helper()
	all := make(map[string]string)
	pages := dynamodb.NewScanPaginator(s.plain, &dynamodb.ScanInput{TableName: &s.table, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		for _, item := range page.Items {
			key, err := wire.KeyOf(item)
			if err != nil {
				s.t.Fatal(err)
			}
			text, err := json.Marshal(plain(&types.AttributeValueMemberM{Value: item}))
			if err != nil {
				s.t.Fatal(err)
			}
			all[key.PK+" "+key.SK] = string(text)
		}
	}
	return all
}

// partition reads all items of a partition.
func (s *system) partition(pk string) map[table.Key]wire.Item {
	s.t.Helper()
	all := make(map[table.Key]wire.Item)
	pages := dynamodb.NewQueryPaginator(s.plain, &dynamodb.QueryInput{
		TableName:                 &s.table,
		KeyConditionExpression:    aws.String(table.AttrPK + " = :pk"),
		ExpressionAttributeValues: wire.Item{":pk": wire.String(pk)},
		ConsistentRead:            aws.Bool(true),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		for _, item := range page.Items {
			key, err := wire.KeyOf(item)
			if err != nil {
				s.t.Fatal(err)
			}
			all[key] = item
		}
	}
	return all
}

// plain returns a value of an item as JSON can show it, with its type.
func plain(v types.AttributeValue) any {
	switch v := v.(type) {
	case *types.AttributeValueMemberM:
		fields := make(map[string]any, len(v.Value))
		for name, inner := range v.Value {
			fields[name] = plain(inner)
		}
		return map[string]any{"M": fields}
	case *types.AttributeValueMemberL:
		list := make([]any, len(v.Value))
		for i, inner := range v.Value {
			list[i] = plain(inner)
		}
		return map[string]any{"L": list}
	}
	return fmt.Sprintf("%T %+v", v, v)
}

// difference tells what is new, gone or changed between two states of a table.
func difference(before, after map[string]string) string {
	var lines []string
	for key, item := range after {
		if before[key] != item {
			lines = append(lines, fmt.Sprintf("%s is %s, was %s", key, item, before[key]))
		}
	}
	for key := range before {
		if _, there := after[key]; !there {
			lines = append(lines, key+" is gone")
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "; ")
}

// brief is the beginning of a text, for the name of a test.
func brief(text string) string { return text[:min(len(text), 80)] }
