// Package fault makes the ledger's requests to its table fail: they are refused, lost, applied without a reply, or
// late. Faults are injected below the SDK, so the SDK's own retries and decoding are tested, too.
package fault

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
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Exchange is one request to the store and its reply, as the SDK's transport hands it on.
type Exchange struct {
	out      middleware.DeserializeOutput
	metadata middleware.Metadata
	err      error
}

// Sender sends a request to the store.
type Sender func(context.Context) Exchange

// Fault stands between the SDK and the store for one request.
type Fault func(ctx context.Context, send Sender) Exchange

// AnyOperation stands for all operations that have no fault of their own.
const AnyOperation = ""

// Set is the faults that a client's requests meet, by the name of their operation. A Set is safe for concurrent use.
type Set struct {
	mu     sync.Mutex
	coming map[string][]Fault
	always map[string]Fault
}

// NewSet returns no faults yet.
func NewSet() *Set {
	f := &Set{}
	f.Clear()
	return f
}

// Next lets the next requests of an operation meet one fault each, before those that all of them meet.
func (f *Set) Next(operation string, coming ...Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.coming[operation] = append(f.coming[operation], coming...)
}

// All lets all further requests of an operation meet a fault.
func (f *Set) All(operation string, always Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.always[operation] = always
}

// Clear ends all faults.
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

// Inject is a client option that puts the faults beneath everything in the SDK but the transport.
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

// Pass is no fault.
func Pass(ctx context.Context, send Sender) Exchange { return send(ctx) }

func broken(err error) Exchange {
	return Exchange{err: &smithyhttp.RequestSendError{Err: err}}
}

// Replies is a reply made up by the store, or by something before it; the store gets no request.
func Replies(status int, mediaType, body string) Fault {
	return func(context.Context, Sender) Exchange {
		return Exchange{out: middleware.DeserializeOutput{RawResponse: &smithyhttp.Response{Response: &http.Response{
			StatusCode: status,
			Header:     http.Header{"Content-Type": {mediaType}, "Date": {time.Now().UTC().Format(http.TimeFormat)}},
			Body:       io.NopCloser(strings.NewReader(body)),
		}}}}
	}
}

// storeError is an error of the store, with more members as JSON has them: "" or `,"name":value`.
func storeError(status int, code, more string) Fault {
	return Replies(status, "application/x-amz-json-1.0",
		`{"__type":"com.amazonaws.dynamodb.v20120810#`+code+`","message":"made up"`+more+`}`)
}

// Refuses is a store that does nothing of what it is asked, and answers with an error.
func Refuses(status int, code string) Fault { return storeError(status, code, "") }

// Cancels is a store that cancels a transaction for reasons, one for each of its actions: "Code" or "Code {item}".
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

// Unreachable is a store to which no connection can be made.
func Unreachable(context.Context, Sender) Exchange {
	return broken(&net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED})
}

// Lost loses the request on its way, and the connection breaks: the ledger can't know whether it came through.
func Lost(context.Context, Sender) Exchange {
	return broken(&net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET})
}

// Hangs loses the request, and no reply ever comes.
func Hangs(ctx context.Context, _ Sender) Exchange {
	<-ctx.Done()
	return broken(ctx.Err())
}

// Applied lets the store apply the request, and then something else be its reply.
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

// Delayed keeps a request on its way until it lands; its connection breaks at once.
type Delayed struct{ sent chan func() Exchange }

// NewDelayed returns a Delayed for one request.
func NewDelayed() Delayed { return Delayed{make(chan func() Exchange, 1)} }

// Fault delays the request that meets it.
func (d Delayed) Fault(ctx context.Context, send Sender) Exchange {
	d.sent <- func() Exchange { return send(context.WithoutCancel(ctx)) }
	return Lost(ctx, send)
}

// Land lets the request arrive, and reports whether the store applied it.
func (d Delayed) Land(t testing.TB) bool {
	t.Helper()
	e := (<-d.sent)()
	if e.err != nil {
		t.Fatal(e.err)
	}
	response := e.out.RawResponse.(*smithyhttp.Response)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	cancelled := response.StatusCode == http.StatusBadRequest &&
		strings.Contains(string(body), "TransactionCanceledException")
	if err != nil || response.StatusCode != http.StatusOK && !cancelled {
		t.Fatalf("what arrived late was answered by %d %s %v", response.StatusCode, body, err)
	}
	return !cancelled
}

// ClockOff moves the clock of all replies by d.
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
