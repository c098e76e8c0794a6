package app

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
)

// Main is the main of a function. It opens the service that the environment describes, and start is to call Start. If
// the service cannot be opened, the process ends with the reason in its log.
func Main(start func(*Service)) {
	log := lambdacontext.NewLogger()
	s, err := Open(context.Background(), os.Getenv, log)
	if err != nil {
		log.Error("the function cannot start", "error", err)
		os.Exit(1)
	}
	start(s)
}

// Start hands invocations to handle until the process gets SIGTERM. Then it waits until Lambda has taken the answers of
// the running invocations, starts no more, and returns. Nothing is buffered, so nothing else needs to be closed.
//
// Lambda sends SIGTERM only if an extension is registered, and only between invocations. The functions register none,
// because that is a request at every cold start. sam local stops its containers at any time.
func Start[In, Out any](handle func(context.Context, In) (Out, error)) {
	listening := make(chan struct{}) // closed once signals are caught
	var running sync.RWMutex         // read-locked by each invocation until its answer was taken
	go lambda.StartWithOptions(func(ctx context.Context, in In) (*answer, error) {
		<-listening
		running.RLock()
		out, err := handle(ctx, in)
		a := &answer{taken: running.RUnlock}
		if err == nil {
			e := json.NewEncoder(&a.text)
			e.SetEscapeHTML(false)
			err = e.Encode(out)
		}
		if err != nil {
			running.RUnlock()
			return nil, err
		}
		return a, nil
	})
	// While Lambda prepares the first invocation: this takes the Go runtime up to a millisecond.
	terminate := make(chan os.Signal, 1)
	signal.Notify(terminate, syscall.SIGTERM)
	close(listening)
	<-terminate
	running.Lock()
}

// answer is the answer to an invocation. The Lambda library reads and closes it, and sends its content type.
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

// ContentType is what the Lambda library calls to learn the media type.
func (a *answer) ContentType() string { return "application/json" }
