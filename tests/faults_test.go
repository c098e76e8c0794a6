package tests

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	"golang.org/x/sync/errgroup"
)

// exchange is one request to the store and its reply, as the SDK's transport gives it to what reads replies.
type exchange struct {
	out      middleware.DeserializeOutput
	metadata middleware.Metadata
	err      error
}

// sender sends a request to the store.
type sender func(context.Context) exchange

// A fault stands between the SDK and the store for one request. nil is none.
type fault func(ctx context.Context, send sender) exchange

// faults are what a client's requests meet, by the name of their operation. It is safe for concurrent use.
type faults struct {
	mu     sync.Mutex
	coming map[string][]fault
	always map[string]fault
	slow   time.Duration // that the store took at the most for a request that was passed on
}

func newFaults() *faults {
	f := &faults{}
	f.clear()
	return f
}

// next lets the next requests of an operation meet one fault each, before those that all of them meet.
func (f *faults) next(operation string, coming ...fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.coming[operation] = append(f.coming[operation], coming...)
}

// all lets all further requests of an operation meet a fault.
func (f *faults) all(operation string, always fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.always[operation] = always
}

// clear ends all faults.
func (f *faults) clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.coming, f.always = make(map[string][]fault), make(map[string]fault)
}

func (f *faults) take(operation string) fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	if coming := f.coming[operation]; len(coming) > 0 {
		f.coming[operation] = coming[1:]
		return coming[0]
	}
	if always, ok := f.always[operation]; ok {
		return always
	}
	return f.always[anyOperation]
}

func (f *faults) took(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.slow = max(f.slow, d)
}

// longest returns how long the store took at the most for a request that was passed on.
func (f *faults) longest() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.slow
}

// anyOperation stands for all that have no fault of their own.
const anyOperation = ""

// inject is a client option that puts the faults into the SDK's middleware, beneath everything but the transport.
func (f *faults) inject(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("faults",
			func(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (middleware.DeserializeOutput, middleware.Metadata, error) {
				send := func(ctx context.Context) (e exchange) {
					start := time.Now()
					e.out, e.metadata, e.err = next.HandleDeserialize(ctx, in)
					f.took(time.Since(start))
					return e
				}
				met := f.take(middleware.GetOperationName(ctx))
				if met == nil {
					met = pass
				}
				e := met(ctx, send)
				return e.out, e.metadata, e.err
			}), middleware.After)
	})
}

func pass(ctx context.Context, send sender) exchange { return send(ctx) }

// broken is a connection that breaks while the reply is waited for: nobody knows whether the request came through.
func broken() exchange {
	return exchange{err: &smithyhttp.RequestSendError{Err: &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}}}
}

// storeReply is one that the store, or something before it, makes up.
func storeReply(status int, mediaType, body string) exchange {
	return exchange{out: middleware.DeserializeOutput{RawResponse: &smithyhttp.Response{Response: &http.Response{
		StatusCode: status,
		Header:     http.Header{"Content-Type": {mediaType}, "Date": {time.Now().UTC().Format(http.TimeFormat)}},
		Body:       io.NopCloser(strings.NewReader(body)),
	}}}}
}

// storeError is a reply that refuses the request, with more members as JSON has them: "" or `,"name":value`.
func storeError(status int, code, more string) exchange {
	return storeReply(status, "application/x-amz-json-1.0", `{"__type":"com.amazonaws.dynamodb.v20120810#`+code+`","message":"made up"`+more+`}`)
}

// refuses is a store that does nothing of what it is asked, and says so by an error.
func refuses(status int, code string) fault {
	return func(context.Context, sender) exchange { return storeError(status, code, "") }
}

// cancels is a store that cancels a transaction for reasons, one for each of its actions.
func cancels(reasons ...string) fault {
	return func(context.Context, sender) exchange {
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
			return exchange{err: err}
		}
		return storeError(400, "TransactionCanceledException", `,"CancellationReasons":`+string(text))
	}
}

// unreachable is a store to which no connection can be made.
func unreachable(context.Context, sender) exchange {
	return exchange{err: &smithyhttp.RequestSendError{Err: &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}}}
}

// undone loses the request on its way, and the connection breaks.
func undone(context.Context, sender) exchange { return broken() }

// hangs loses the request, and no reply ever comes.
func hangs(ctx context.Context, _ sender) exchange {
	<-ctx.Done()
	return exchange{err: &smithyhttp.RequestSendError{Err: ctx.Err()}}
}

// done lets the store carry out the request, and then something else be its reply.
func done(instead fault) fault {
	return func(ctx context.Context, send sender) exchange {
		e := send(context.WithoutCancel(ctx))
		if response, ok := e.out.RawResponse.(*smithyhttp.Response); ok {
			_, err := io.Copy(io.Discard, response.Body)
			if err := errors.Join(err, response.Body.Close()); err != nil {
				return exchange{err: err}
			}
		}
		return instead(ctx, send)
	}
}

// answers is a reply by something that is not the store.
func answers(status int, mediaType, body string) fault {
	return func(context.Context, sender) exchange { return storeReply(status, mediaType, body) }
}

// held keeps a request on its way until it lands; its connection breaks at once.
type held struct {
	sent chan sender
}

func newHeld() held { return held{make(chan sender, 1)} }

func (h held) fault(_ context.Context, send sender) exchange {
	h.sent <- send
	return broken()
}

// land lets the request arrive, and returns whether the store carried it out.
func (h held) land(t testing.TB) bool {
	t.Helper()
	e := (<-h.sent)(context.WithoutCancel(t.Context()))
	if e.err != nil {
		t.Fatal(e.err)
	}
	response := e.out.RawResponse.(*smithyhttp.Response)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	cancelled := response.StatusCode == http.StatusBadRequest && strings.Contains(string(body), "TransactionCanceledException")
	if err != nil || response.StatusCode != http.StatusOK && !cancelled {
		t.Fatalf("what arrived late was answered by %d %s %v", response.StatusCode, body, err)
	}
	return !cancelled
}

// clockOff sets the clock of all replies that are passed on off by d.
func clockOff(d time.Duration) fault {
	return func(ctx context.Context, send sender) exchange {
		e := send(ctx)
		if response, ok := e.out.RawResponse.(*smithyhttp.Response); ok {
			at, err := http.ParseTime(response.Header.Get("Date"))
			if err != nil {
				return exchange{err: err}
			}
			response.Header.Set("Date", at.Add(d).Format(http.TimeFormat))
		}
		return e
	}
}

// sideBySide is how many subtests run at a time: the store must not become the slowest of all.
const sideBySide = 24

// A store that takes long for a request is a fault of its own, which the machine made.
const (
	takesLong = time.Second
	tentative = 3 // times that a subtest is tried that met it
)

// together runs subtests side by side, however many processors there are: they wait more than they compute. Each says
// which faults it used; one that fails when the store took long besides is tried again, as number try.
func together(t *testing.T, names []string, run func(t testing.TB, i, try int) *faults) {
	t.Helper()
	var all errgroup.Group
	all.SetLimit(sideBySide)
	for i, name := range names {
		all.Go(func() error {
			t.Run(name, func(t *testing.T) {
				for try := 1; ; try++ {
					attempt := &attemptedTest{TB: t}
					longest := run(attempt, i, try).longest()
					if len(attempt.failures) == 0 {
						return
					}
					if try == tentative || longest < takesLong {
						t.Error(strings.Join(attempt.failures, "\n"))
						return
					}
					t.Logf("once more, as the store took %v for a request: %s", longest, attempt.failures)
				}
			})
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		t.Error(err)
	}
}

// attemptedTest keeps failures until it is known whether they count.
type attemptedTest struct {
	testing.TB
	failures []string
}

func (a *attemptedTest) Errorf(format string, values ...any) {
	a.failures = append(a.failures, fmt.Sprintf(format, values...))
}

func (a *attemptedTest) Error(values ...any) { a.failures = append(a.failures, fmt.Sprint(values...)) }
