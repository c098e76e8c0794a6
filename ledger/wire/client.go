package wire

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
	// requestTimeout bounds one attempt of one request, from dialling to the end of its reply. The store answers in
	// milliseconds; a command lives 8 seconds, and after a write whose outcome is unknown it must still be able to read
	// what became of it, and to write again.
	requestTimeout = 3 * time.Second
	// dialTimeout is below requestTimeout, so that a store that cannot be reached is told from one that doesn't answer:
	// only the first proves that nothing was written.
	dialTimeout = time.Second
	// idleConnections is how many connections are kept open: more than the requests that one process makes at once.
	// The SDK keeps 10, and with more requests than that opens and closes a connection for each.
	idleConnections = 128
	// idleTimeout is how long. A frozen Lambda wakes up with connections that the store closed long ago; a write sent
	// into one of those has an unknown outcome.
	idleTimeout = 30 * time.Second

	// readAttempts is how often the SDK tries a read. It never repeats a write: see Once.
	readAttempts = 3
)

// NewClient returns a client for the ledger's store. The optFns may add middleware.
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
				return backoff(attempt), nil // the SDK's own is up to 20 seconds
			})
		})
	}
	return dynamodb.NewFromConfig(cfg, append([]func(*dynamodb.Options){tuned}, optFns...)...)
}

// Once is the option of every request that writes: the SDK sends it once. It would repeat a write whose outcome is
// unknown and report the outcome of the repetition, which is not that of the write.
func Once(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }
