package audit

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Only reads with transient errors are retried.
func TestTransientErrorsAreRetried(t *testing.T) {
	status := func(code int) error {
		return &smithyhttp.ResponseError{Response: &smithyhttp.Response{Response: &http.Response{StatusCode: code}},
			Err: io.EOF}
	}
	for err, want := range map[error]bool{
		&types.ProvisionedThroughputExceededException{}:                                   true,
		&types.TransactionCanceledException{}:                                             true,
		&types.TransactionConflictException{}:                                             true,
		&types.ResourceNotFoundException{}:                                                false,
		&smithy.GenericAPIError{Code: "ThrottlingException", Fault: smithy.FaultClient}:   true,
		&smithy.GenericAPIError{Code: "AccessDeniedException", Fault: smithy.FaultClient}: false,
		status(503): true, status(400): false,
		&url.Error{Op: "Post", Err: os.ErrDeadlineExceeded}: true,
	} {
		if got := transient.IsErrorRetryable(err); got != want {
			t.Errorf("%v: %v", err, got)
		}
	}
}

// The consumed units stay within the rate over the whole audit, however large single pages are.
func TestLimiterKeepsRate(t *testing.T) {
	var mu sync.Mutex
	now, units := time.Unix(1_800_000_000, 0), 0.0
	began := now
	m := limiter{
		rate: 100,
		now:  func() time.Time { mu.Lock(); defer mu.Unlock(); return now },
		pause: func(_ context.Context, d time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			now = now.Add(d)
		},
	}
	for _, used := range []float64{128, 0.5, 300, 1, 1, 64} {
		if !m.wait(t.Context()) {
			t.Fatal("the audit has ended")
		}
		m.use(&types.ConsumedCapacity{CapacityUnits: &used})
		units += used
	}
	if !m.wait(t.Context()) {
		t.Fatal("the audit has ended")
	}
	if took := now.Sub(began).Seconds(); took < units/m.rate-.001 || took > units/m.rate+.001 {
		t.Errorf("%v units took %v s at %v a second", units, took, m.rate)
	}
}
