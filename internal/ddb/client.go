package ddb

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
	// requestTimeout bounds one attempt of one request, from dialling to the end of its reply. DynamoDB answers in
	// milliseconds. A command has 8 seconds: after a write with an unknown outcome it must still be able to read what
	// became of it, and to write again.
	requestTimeout = 3 * time.Second
	// dialTimeout is shorter than requestTimeout, to distinguish a store that cannot be reached from one that does not
	// answer. Only the first proves that nothing was written.
	dialTimeout = time.Second
	// idleConnections is how many connections are kept open: more than one process has requests in flight. The SDK
	// keeps 10, and beyond that opens and closes a connection for each request.
	idleConnections = 128
	// idleTimeout is for how long. A frozen Lambda function resumes with connections that the store closed long ago,
	// and a write into one of those has an unknown outcome.
	idleTimeout = 30 * time.Second

	// readAttempts is how often the SDK tries a read. It never retries a write: see Once.
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

// Once is an option for every request that writes: the SDK sends it once. A retry by the SDK would report its own
// outcome, and hide that of the first attempt, which may have been applied.
func Once(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }
