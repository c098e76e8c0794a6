package store_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/store"
	"ledger.example/internal/store/storetest"
)

// cancelledFor is a cancelled transaction with these reasons.
func cancelledFor(codes ...string) storetest.Reply {
	var reasons []string
	for _, code := range codes {
		reasons = append(reasons, `{"Code":"`+code+`"}`)
	}
	const kind = "com.amazonaws.dynamodb.v20120810#TransactionCanceledException"
	return storetest.Reply{Status: 400, Body: `{"__type":"` + kind + `",` +
		`"Message":"Transaction cancelled","CancellationReasons":[` + strings.Join(reasons, ",") + `]}`}
}

// sendError is how net/http reports that a request failed.
func sendError(op string, err error) storetest.Reply {
	return storetest.Reply{Err: &url.Error{Op: "Post", URL: "https://store",
		Err: &net.OpError{Op: op, Net: "tcp", Err: err}}}
}

// errAsItIs is an error that does not wrap an error of package store.
var errAsItIs = errors.New("as the SDK has it")

// The translation of all errors of writes and reads. A write without a proof is an unknown outcome.
func TestErrors(t *testing.T) {
	type replies map[string]storetest.Reply
	refused := func(code string) storetest.Reply { return storetest.Refusal(400, code, "x") }
	for _, c := range []struct {
		write, read error
		replies
	}{
		{store.ErrThrottled, store.ErrThrottled, replies{
			"throttled on demand":      refused("ThrottlingException"),
			"throttled as provisioned": refused("ProvisionedThroughputExceededException"),
			"throttled by the account": refused("RequestLimitExceeded"),
			"cancelled by throttling":  cancelledFor("None", "ThrottlingError"),
			"cancelled by capacity":    cancelledFor("ProvisionedThroughputExceeded"),
		}},
		{store.ErrConflict, store.ErrConflict, replies{
			"conflict":                     refused("TransactionConflictException"),
			"conflict of Regions":          refused("ReplicatedWriteConflictException"),
			"cancelled by a conflict":      cancelledFor("None", "TransactionConflict"),
			"cancelled by a condition":     cancelledFor("ConditionalCheckFailed", "None"),
			"a conflict before throttling": cancelledFor("ThrottlingError", "TransactionConflict"),
		}},
		{errAsItIs, errAsItIs, replies{
			"cancelled by a fault of ours":              cancelledFor("TransactionConflict", "ValidationError"),
			"cancelled by a full collection":            cancelledFor("ItemCollectionSizeLimitExceeded"),
			"a bug of the caller and an unknown reason": cancelledFor("SomethingNew", "ValidationError"),
			"condition failed":                          refused("ConditionalCheckFailedException"),
			"no table":                                  refused("ResourceNotFoundException"),
			"access denied":                             refused("AccessDeniedException"),
			"malformed request":                         refused("ValidationException"),
			"too large a collection":                    refused("ItemCollectionSizeLimitExceededException"),
		}},
		{store.ErrUnknownOutcome, store.ErrUnavailable, replies{
			"cancelled for no reason":               cancelledFor("None"),
			"cancelled without reasons":             cancelledFor(),
			"cancelled for a reason without a code": cancelledFor(""),
			"cancelled for an unknown reason":       cancelledFor("TransactionConflict", "SomethingNew"),
			"another attempt under way":             refused("TransactionInProgressException"),
			"another request's token":               refused("IdempotentParameterMismatchException"),
			"internal error":                        storetest.Refusal(500, "InternalServerError", "x"),
			"service unavailable":                   storetest.Refusal(503, "ServiceUnavailable", "x"),
			"a proxy's 502":                         storetest.Reply{Status: 502, Body: "<html>"},
			"a proxy's 408":                         storetest.Reply{Status: 408, Body: "{}"},
			"half a reply":                          storetest.Reply{Status: 200, Body: `{"Item":{"PK":`},
			"connection reset":                      sendError("read", syscall.ECONNRESET),
			"broken pipe":                           sendError("write", syscall.EPIPE),
			"end of file":                           storetest.Reply{Err: io.ErrUnexpectedEOF},
			"no answer in time":                     storetest.Reply{Err: context.DeadlineExceeded},
		}},
		{store.ErrUnavailable, store.ErrUnavailable, replies{
			"connection refused": sendError("dial", syscall.ECONNREFUSED),
			"no such host":       sendError("dial", &net.DNSError{IsNotFound: true}),
		}},
	} {
		for name, reply := range c.replies {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				fake, client := storetest.New(t, storetest.Always(reply))
				_, err := client.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{
					TransactItems: []types.TransactWriteItem{{Put: &types.Put{TableName: aws.String("t"),
						Item: store.Item{}}}},
				}, store.Once)
				means(t, "write", store.WriteError(err), err, c.write)
				if n := len(fake.Requests()); n != 1 {
					t.Errorf("a write was sent %d times", n)
				}
				_, err = client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("t"), Key: store.Item{}})
				means(t, "read", store.ReadError(err), err, c.read)
			})
		}
	}
}

// means fails unless err wraps the wanted error of package store, and no other.
func means(t *testing.T, what string, err, cause, wanted error) {
	t.Helper()
	if cause == nil {
		t.Fatalf("%s: no error", what)
	}
	if !errors.Is(err, cause) {
		t.Errorf("%s: %v hides its cause", what, err)
	}
	for _, one := range []error{
		store.ErrThrottled, store.ErrConflict, store.ErrUnavailable, store.ErrUnknownOutcome, store.ErrAbsent,
		store.ErrExists,
	} {
		if errors.Is(err, one) != (one == wanted) {
			t.Errorf("%s: %v, wanted %v", what, err, wanted)
		}
	}
}

// A write that was never sent was not applied. One whose context ended in flight may have been.
func TestContexts(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := store.Ready(over); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a context that is over: %v", err)
	}
	if err := store.Ready(t.Context()); err != nil {
		t.Error(err)
	}

	sent, cancelSent := context.WithCancel(t.Context())
	_, client := storetest.New(t, func(storetest.Request) storetest.Reply {
		cancelSent()
		return storetest.Reply{Err: sent.Err()}
	})
	_, err := client.PutItem(sent, &dynamodb.PutItemInput{TableName: aws.String("t"), Item: store.Item{}}, store.Once)
	means(t, "write", store.WriteError(err), err, store.ErrUnknownOutcome)
	means(t, "read", store.ReadError(err), err, store.ErrUnavailable)
}

// The SDK retries reads a few times, and never writes, whatever the client's settings.
func TestAttempts(t *testing.T) {
	fake, client := storetest.New(t, storetest.Always(storetest.Refusal(500, "InternalServerError", "x")))
	_, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("t"), Key: store.Item{}})
	means(t, "read", store.ReadError(err), err, store.ErrUnavailable)
	if n := len(fake.Requests()); n != 3 {
		t.Errorf("a read was sent %d times", n)
	}

	often, _ := storetest.New(t, storetest.Always(storetest.Refusal(500, "InternalServerError", "x")))
	stubborn := dynamodb.New(client.Options(), func(o *dynamodb.Options) {
		o.HTTPClient, o.RetryMaxAttempts = often, 5
	})
	_, err = stubborn.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("t"), Item: store.Item{}},
		store.Once)
	means(t, "write", store.WriteError(err), err, store.ErrUnknownOutcome)
	if n := len(often.Requests()); n != 1 {
		t.Errorf("a write was sent %d times", n)
	}
}

func TestStoreTime(t *testing.T) {
	clock, err := time.Parse(time.RFC1123, storetest.Clock)
	if err != nil {
		t.Fatal(err)
	}
	reply := storetest.OK("{}")
	_, client := storetest.New(t, func(storetest.Request) storetest.Reply { return reply })
	put := func() (*dynamodb.PutItemOutput, error) {
		return client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("t"), Item: store.Item{}},
			store.Once)
	}
	out, err := put()
	if err != nil {
		t.Fatal(err)
	}
	if got := store.StoreTime(out.ResultMetadata); !got.Equal(clock) || got.Location() != time.UTC {
		t.Errorf("of a reply: %v", got)
	}
	reply = storetest.Refusal(400, "ThrottlingException", "x")
	_, err = put()
	if got := store.ErrorTime(err); !got.Equal(clock) || got.Location() != time.UTC {
		t.Errorf("of a refusal: %v", got)
	}
	reply = sendError("read", syscall.ECONNRESET)
	_, err = put()
	if got := store.ErrorTime(err); !got.IsZero() {
		t.Errorf("of no reply: %v", got)
	}
}
