// Package tabletest has tables for tests, and cases that several packages test. Store is a scripted DynamoDB: it
// records the requests that the AWS SDK sends, and gives the answers that a test prepared.
package tabletest

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/internal/table"
)

// Clock is the Date of every reply.
const Clock = "Sat, 21 Nov 2026 09:06:39 GMT"

// Request is one request as it was sent.
type Request struct {
	Operation string         // such as "PutItem"
	Body      map[string]any // its JSON
}

// Reply is what the store answers: an HTTP status and JSON, or with Err that no reply came.
type Reply struct {
	Status int
	Body   string
	Err    error
}

// OK is a reply of JSON.
func OK(body string) Reply { return Reply{Status: http.StatusOK, Body: body} }

// Refusal is an error reply of the store.
func Refusal(status int, code, message string) Reply {
	return Reply{Status: status, Body: fmt.Sprintf(`{"__type":"com.amazonaws.dynamodb.v20120810#%s","Message":%q}`,
		code, message)}
}

// Store answers each request with what Answer says. It is safe for concurrent use.
type Store struct {
	Answer func(Request) Reply

	t        testing.TB
	mu       sync.Mutex
	requests []Request
}

// New returns a store, and a client for it that is tuned like the one in use.
func New(t testing.TB, answer func(Request) Reply) (*Store, *dynamodb.Client) {
	s := &Store{Answer: answer, t: t}
	client := table.NewClient(aws.Config{
		Region:      "us-east-1",
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	}, func(o *dynamodb.Options) { o.HTTPClient = s })
	return s, client
}

// Always answers the same to everything.
func Always(r Reply) func(Request) Reply { return func(Request) Reply { return r } }

// Requests returns what was sent so far.
func (s *Store) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Do implements the SDK's HTTP client.
func (s *Store) Do(r *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	request := Request{Operation: operation}
	if err := json.NewDecoder(r.Body).Decode(&request.Body); err != nil {
		s.t.Errorf("a request that is not JSON: %v", err)
	}
	s.mu.Lock()
	s.requests = append(s.requests, request)
	s.mu.Unlock()
	reply := s.Answer(request)
	if reply.Err != nil {
		return nil, reply.Err
	}
	return &http.Response{
		StatusCode: reply.Status,
		Header: http.Header{
			"Date": {Clock}, "Content-Type": {"application/x-amz-json-1.0"},
			"X-Amz-Crc32": {strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(reply.Body))), 10)},
		},
		Body:    io.NopCloser(strings.NewReader(reply.Body)),
		Request: r,
	}, nil
}

// JSON returns an item as the store writes it in a reply, from what it was sent: what a request's Body holds.
func JSON(item any) string {
	b, err := json.Marshal(item)
	if err != nil {
		panic(err) // it came from JSON
	}
	return string(b)
}
