package table

import (
	"net"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

const (
	// requestTimeout is the timeout of one attempt of one request, from dialling to the end of its reply. DynamoDB
	// answers in milliseconds. A command has 8 seconds: after a write with an unknown outcome, it needs time to read
	// the outcome and to write again.
	requestTimeout = 3 * time.Second
	// dialTimeout is shorter than requestTimeout, to distinguish a store that cannot be reached from one that does not
	// answer. Only the former proves that nothing was written.
	dialTimeout = time.Second
	// idleConnections is how many idle connections are kept open: more than a process has requests in flight. The SDK
	// keeps 10 by default, and opens and closes a connection for each request beyond that.
	idleConnections = 128
	// idleTimeout is how long they are kept open. A frozen Lambda function resumes with connections that the store has
	// closed, and a write on one of those has an unknown outcome.
	idleTimeout = 30 * time.Second

	// readAttempts is how many attempts the SDK makes for a read. It never retries a write: see Once.
	readAttempts = 3
)

// NewClient returns a client for the ledger's table, with timeouts and retries as above. The optFns may add
// middleware.
func NewClient(cfg aws.Config, optFns ...func(*dynamodb.Options)) *dynamodb.Client {
	tuned := func(o *dynamodb.Options) {
		o.HTTPClient = awshttp.NewBuildableClient().
			WithTimeout(requestTimeout).
			WithDialerOptions(func(d *net.Dialer) { d.Timeout = dialTimeout }).
			WithTransportOptions(func(t *http.Transport) {
				t.MaxIdleConns = idleConnections
				t.MaxIdleConnsPerHost = idleConnections
				t.IdleConnTimeout = idleTimeout
			})
		o.Retryer = retry.NewStandard(func(r *retry.StandardOptions) {
			r.MaxAttempts = readAttempts
			r.Backoff = retry.BackoffDelayerFunc(func(attempt int, _ error) (time.Duration, error) {
				return backoff.Delay(attempt), nil // the SDK's own is up to 20 seconds
			})
		})
	}
	return dynamodb.NewFromConfig(cfg, append([]func(*dynamodb.Options){tuned}, optFns...)...)
}

// Once is the option of every write: the SDK does not retry it. A retry by the SDK would hide the outcome of the first
// attempt, which may have been applied.
func Once(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }
