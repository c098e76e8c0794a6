package service

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/aws/aws-lambda-go/lambda"
)

// Start hands invocations to handle, until the process is asked to end: then it lets those under way be answered, takes
// no more, and returns. Nothing else needs an end: nothing is buffered.
//
// Lambda asks by SIGTERM only where an extension is registered, and between invocations; else it kills the frozen process.
// We register none for it: that is a request at every cold start. An emulation stops its containers when it likes.
func Start[In, Out any](handle func(context.Context, In) (Out, error)) {
	listening := make(chan struct{}) // closed when asked is told of signals
	var underWay sync.RWMutex        // read-locked by each invocation until its answer was taken
	go lambda.StartWithOptions(func(ctx context.Context, in In) (*answer, error) {
		<-listening
		underWay.RLock()
		out, err := handle(ctx, in)
		if err != nil {
			underWay.RUnlock() // one that is cut off now has failed all the same
			return nil, err
		}
		a := &answer{taken: underWay.RUnlock}
		e := json.NewEncoder(&a.text)
		e.SetEscapeHTML(false)
		if err := e.Encode(out); err != nil {
			underWay.RUnlock()
			return nil, err
		}
		return a, nil
	})
	// Beside the first request for an invocation, as it takes the Go runtime up to a millisecond.
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	close(listening)
	<-asked
	underWay.Lock()
}

// answer is an invocation's answer as the Lambda library sends it: a reader whose closing tells that it was taken.
type answer struct {
	text  bytes.Buffer
	taken func()
}

// Read implements io.Reader.
func (a *answer) Read(b []byte) (int, error) { return a.text.Read(b) }

// Close implements io.Closer.
func (a *answer) Close() error {
	a.taken()
	return nil
}

// ContentType tells the Lambda library what the text is.
func (a *answer) ContentType() string { return "application/json" }
