// Package inject injects faults into the ledger's requests to its table. A request is refused, lost, or applied without
// a reply. Faults are injected below the SDK, so the SDK's retries and decoding are tested too.
package inject

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Exchange is the reply to one request, as the SDK's transport returns it.
type Exchange struct {
	out      middleware.DeserializeOutput
	metadata middleware.Metadata
	err      error
}

// Sender sends a request to the store.
type Sender func(context.Context) Exchange

// Fault handles one request in place of the SDK's transport. It may call send to pass the request to the store.
type Fault func(ctx context.Context, send Sender) Exchange

// AnyOperation selects all operations for which no other fault is set.
const AnyOperation = ""

// Set has the faults for a client's requests, by operation name. A Set is safe for concurrent use.
type Set struct {
	mu     sync.Mutex
	coming map[string][]Fault
	always map[string]Fault
}

// NewSet returns an empty Set.
func NewSet() *Set {
	f := &Set{}
	f.Clear()
	return f
}

// Next sets the faults of the next requests of an operation, one for each. They take precedence over All.
func (f *Set) Next(operation string, coming ...Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.coming[operation] = append(f.coming[operation], coming...)
}

// All sets the fault of all further requests of an operation.
func (f *Set) All(operation string, always Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.always[operation] = always
}

// Clear removes all faults.
func (f *Set) Clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.coming, f.always = make(map[string][]Fault), make(map[string]Fault)
}

func (f *Set) take(operation string) Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	if coming := f.coming[operation]; len(coming) > 0 {
		f.coming[operation] = coming[1:]
		return coming[0]
	}
	if always, ok := f.always[operation]; ok {
		return always
	}
	if always, ok := f.always[AnyOperation]; ok {
		return always
	}
	return Pass
}

// Inject is a client option that injects the faults between the SDK and its transport.
func (f *Set) Inject(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("faults",
			func(ctx context.Context, in middleware.DeserializeInput,
				next middleware.DeserializeHandler) (middleware.DeserializeOutput, middleware.Metadata, error) {
				e := f.take(middleware.GetOperationName(ctx))(ctx, func(ctx context.Context) (e Exchange) {
					e.out, e.metadata, e.err = next.HandleDeserialize(ctx, in)
					return e
				})
				return e.out, e.metadata, e.err
			}), middleware.After)
	})
}

// Pass sends the request without a fault.
func Pass(ctx context.Context, send Sender) Exchange { return send(ctx) }

func broken(err error) Exchange {
	return Exchange{err: &smithyhttp.RequestSendError{Err: err}}
}

// storeError answers with an error of the store. more has further JSON members: "" or `,"name":value`. The store gets no
// request.
func storeError(status int, code, more string) Fault {
	body := `{"__type":"com.amazonaws.dynamodb.v20120810#` + code + `","message":"made up"` + more + `}`
	return func(context.Context, Sender) Exchange {
		date := time.Now().UTC().Format(http.TimeFormat)
		return Exchange{out: middleware.DeserializeOutput{RawResponse: &smithyhttp.Response{Response: &http.Response{
			StatusCode: status,
			Header:     http.Header{"Content-Type": {"application/x-amz-json-1.0"}, "Date": {date}},
			Body:       io.NopCloser(strings.NewReader(body)),
		}}}}
	}
}

// Refuses answers with an error of the store, and does not apply the request.
func Refuses(status int, code string) Fault { return storeError(status, code, "") }

// Cancels answers that the transaction is cancelled. There is one reason for each action: "Code" or "Code {item}".
func Cancels(reasons ...string) Fault {
	list := make([]map[string]any, len(reasons))
	for i, reason := range reasons {
		code, item, guard := strings.Cut(reason, " ")
		list[i] = map[string]any{"Code": code}
		if guard {
			list[i]["Item"] = json.RawMessage(item)
		}
	}
	text, err := json.Marshal(list)
	if err != nil {
		panic(err)
	}
	return storeError(400, "TransactionCanceledException", `,"CancellationReasons":`+string(text))
}

// Unreachable refuses the connection to the store.
func Unreachable(context.Context, Sender) Exchange {
	return broken(&net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED})
}

// Lost drops the request and breaks the connection. The ledger cannot know whether the request was applied.
func Lost(context.Context, Sender) Exchange {
	return broken(&net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET})
}

// Hangs drops the request and never replies.
func Hangs(ctx context.Context, _ Sender) Exchange {
	<-ctx.Done()
	return broken(ctx.Err())
}

// Applied sends the request to the store, drops the reply, and replies with another fault.
func Applied(instead Fault) Fault {
	return func(ctx context.Context, send Sender) Exchange {
		e := send(context.WithoutCancel(ctx))
		if response, ok := e.out.RawResponse.(*smithyhttp.Response); ok {
			_, err := io.Copy(io.Discard, response.Body)
			if err := errors.Join(err, response.Body.Close()); err != nil {
				return Exchange{err: err}
			}
		}
		return instead(ctx, send)
	}
}

// ClockOff shifts the date of a reply by d.
func ClockOff(d time.Duration) Fault {
	return func(ctx context.Context, send Sender) Exchange {
		e := send(ctx)
		if response, ok := e.out.RawResponse.(*smithyhttp.Response); ok {
			at, err := http.ParseTime(response.Header.Get("Date"))
			if err != nil {
				return Exchange{err: err}
			}
			response.Header.Set("Date", at.Add(d).Format(http.TimeFormat))
		}
		return e
	}
}
