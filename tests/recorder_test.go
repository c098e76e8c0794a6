package tests

import (
	"bytes"
	"context"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
)

// request is one request that was sent to the table.
type request struct {
	operation string // TransactWriteItems, Query, …
	input     any    // the SDK's input, *dynamodb.QueryInput for example
	output    any    // the SDK's output, nil on an error
	err       error
}

// recorder keeps the requests that a client sends to the table. It is safe for concurrent use.
type recorder struct {
	mu       sync.Mutex
	requests []request
}

// record is a client option that puts the recorder into the SDK's middleware.
func (r *recorder) record(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("record",
			func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
				out, metadata, err := next.HandleInitialize(ctx, in)
				r.mu.Lock()
				defer r.mu.Unlock()
				r.requests = append(r.requests, request{middleware.GetOperationName(ctx), in.Parameters, out.Result, err})
				return out, metadata, err
			}), middleware.After)
	})
}

// take returns the requests since the last take, in the order in which they were answered.
func (r *recorder) take() []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := r.requests
	r.requests = nil
	return taken
}

// operations names the requests' operations in order.
func operations(requests []request) []string {
	names := make([]string, len(requests))
	for i, r := range requests {
		names[i] = r.operation
	}
	return names
}

// lockedBuffer keeps what is written to it. It is safe for concurrent use.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String returns all that was written so far.
func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
