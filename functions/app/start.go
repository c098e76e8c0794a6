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

// Main is the main of a function. It opens the service that the environment describes and passes it to start, which
// must call Start. If the service cannot be opened, or one of the variables is missing that start reads, Main logs the
// error and exits.
func Main(start func(*Service), variables ...string) {
	log := lambdacontext.NewLogger()
	s, err := Open(context.Background(), os.Getenv, log, variables...)
	if err != nil {
		log.Error("the function cannot start", "error", err)
		os.Exit(1)
	}
	start(s)
}

// Start passes invocations to handle until the process receives SIGTERM. Then it starts no more invocations, waits
// until Lambda has read the answers of the running ones, and returns. Nothing is buffered, so nothing else needs to be
// closed.
//
// Lambda sends SIGTERM only if an extension is registered, and only between invocations. The functions register none,
// because a registration is one more request in every cold start. sam local can stop its containers at any time.
func Start[In, Out any](handle func(context.Context, In) (Out, error)) {
	listening := make(chan struct{}) // closed once signals are caught
	var running sync.RWMutex         // read-locked by each invocation until Lambda has read its answer
	go lambda.StartWithOptions(func(ctx context.Context, in In) (*answer, error) {
		<-listening
		running.RLock()
		out, err := handle(ctx, in)
		a := &answer{onClose: running.RUnlock}
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
	// signal.Notify takes up to a millisecond. It runs while Lambda prepares the first invocation.
	terminate := make(chan os.Signal, 1)
	signal.Notify(terminate, syscall.SIGTERM)
	close(listening)
	<-terminate
	running.Lock()
}

// answer is the answer to an invocation. The Lambda library reads and closes it, and sends its content type.
type answer struct {
	text    bytes.Buffer
	onClose func()
}

// Read implements io.Reader.
func (a *answer) Read(b []byte) (int, error) { return a.text.Read(b) }

// Close implements io.Closer.
func (a *answer) Close() error {
	a.onClose()
	return nil
}

// ContentType returns the media type. The Lambda library calls it.
func (a *answer) ContentType() string { return "application/json" }
