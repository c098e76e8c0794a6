package system

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"ledger.example/internal/local/dynamolocal"
	"ledger.example/internal/local/dynamolocal/dynamolocaltest"
	"ledger.example/internal/local/memdb"
	"ledger.example/internal/table"
	"ledger.example/tests/harness/inject"
	"ledger.example/tests/harness/setup"
)

// Store has tables, in memory or in DynamoDB Local.
type Store struct {
	Endpoint string // empty in memory
	clients  setup.Store
}

// Memory returns an in-memory store that panics when an event is changed. tampered, if not nil, is called instead.
func Memory(tampered func(error)) *Store {
	return &Store{clients: setup.Memory(memdb.Options{Violation: tampered})}
}

// MemoryAt is Memory with a clock that the test controls.
func MemoryAt(now func() time.Time) *Store {
	return &Store{clients: setup.Memory(memdb.Options{Now: now})}
}

// Tampered allows changes of events, as an argument of Memory.
func Tampered(error) {}

// Local returns the DynamoDB Local that the test process shares.
func Local(t testing.TB) *Store {
	t.Helper()
	return &Store{Endpoint: dynamolocaltest.Shared(t).Endpoint, clients: setup.DynamoDBLocal(t)}
}

// client returns a client of the store for the ledger. With faults, an in-memory store is attached below the SDK's
// retries and decoding, so that faults pass through them.
func (s *Store) client(f *inject.Set, options ...func(*dynamodb.Options)) *dynamodb.Client {
	if f == nil {
		return s.clients.Client(options...)
	}
	options = append(options, f.Inject)
	if s.clients.Memory == nil {
		return s.clients.Client(options...)
	}
	return table.NewClient(aws.Config{
		Region:       dynamolocal.Region,
		BaseEndpoint: aws.String("http://memory.invalid"),
		Credentials:  credentials.NewStaticCredentialsProvider("test", "test", ""),
	}, append(options, overMemory(s.clients.Memory))...)
}

var tables atomic.Int64

// NewTable creates the table of template.yaml for t, and returns its name.
func (s *Store) NewTable(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("t%d-%s", tables.Add(1), strings.Map(nameByte, t.Name()))
	name = name[:min(len(name), 100)]
	setup.Table(t, s.clients.Client(), name)
	return name
}

// nameByte replaces characters that a table name must not have.
func nameByte(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
		return r
	}
	return '-'
}

// Context keys for the SDK's input of a request, and for the output of its reply. They save encoding and decoding.
type (
	inputKey  struct{}
	outputKey struct{}
)

// output is the result of a request.
type output struct {
	result any
	err    error
}

// overMemory is a client option that replaces the network with an in-memory store, below the SDK's retries and the
// faults.
func overMemory(db *memdb.Store) func(*dynamodb.Options) {
	return func(o *dynamodb.Options) {
		o.HTTPClient = exchanger(func(r *http.Request) (*http.Response, error) {
			result, err := db.Answer(r.Context(), r.Context().Value(inputKey{}))
			return reply(r, result, err), nil
		})
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			err := stack.Initialize.Add(middleware.InitializeMiddlewareFunc("KeepInput",
				func(ctx context.Context, in middleware.InitializeInput,
					next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
					return next.HandleInitialize(context.WithValue(ctx, inputKey{}, in.Parameters), in)
				}), middleware.After)
			return errors.Join(err, stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("TypedReply",
				func(ctx context.Context, in middleware.DeserializeInput,
					next middleware.DeserializeHandler) (middleware.DeserializeOutput, middleware.Metadata, error) {
					out, metadata, err := next.HandleDeserialize(ctx, in)
					if response, ok := out.RawResponse.(*smithyhttp.Response); ok && response.Request != nil {
						if typed, ok := response.Request.Context().Value(outputKey{}).(output); ok {
							out.Result, err = typed.result, typed.err
						}
					}
					return out, metadata, err
				}), middleware.Before))
		})
	}
}

// exchanger is a function as the SDK's HTTP client.
type exchanger func(*http.Request) (*http.Response, error)

// Do implements the SDK's HTTPClient.
func (e exchanger) Do(r *http.Request) (*http.Response, error) { return e(r) }

// reply returns an HTTP response, with as much in it as the SDK and the faults read.
func reply(r *http.Request, result any, err error) *http.Response {
	status, body := http.StatusOK, "{}"
	header := http.Header{"Content-Type": {"application/x-amz-json-1.0"},
		"Date": {time.Now().UTC().Format(http.TimeFormat)}}
	if err != nil {
		var refusal smithy.APIError
		code := "InternalServerError"
		if errors.As(err, &refusal) {
			code = refusal.ErrorCode()
		}
		status, body = http.StatusBadRequest, fmt.Sprintf(`{"__type":"com.amazonaws.dynamodb.v20120810#%s"}`, code)
	}
	return &http.Response{
		StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body)),
		Request: r.WithContext(context.WithValue(r.Context(), outputKey{}, output{result, err})),
	}
}
