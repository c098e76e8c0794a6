package wire_test

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

	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
	"ledger.example/ledger/wire/wiretest"
)

// cancelledFor is a cancelled transaction with these reasons.
func cancelledFor(codes ...string) wiretest.Reply {
	var reasons []string
	for _, code := range codes {
		reasons = append(reasons, `{"Code":"`+code+`"}`)
	}
	return wiretest.Reply{Status: 400, Body: `{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException",` +
		`"Message":"Transaction cancelled","CancellationReasons":[` + strings.Join(reasons, ",") + `]}`}
}

// sendError is how net/http reports that a request failed.
func sendError(op string, err error) wiretest.Reply {
	return wiretest.Reply{Err: &url.Error{Op: "Post", URL: "https://store", Err: &net.OpError{Op: op, Net: "tcp", Err: err}}}
}

// errAsItIs stands for an error that is none of package table's.
var errAsItIs = errors.New("as the SDK has it")

// Every failure that a write or a read can meet, and what it means. A write whose outcome is not proved is unknown.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		name        string
		reply       wiretest.Reply
		write, read error
	}{
		{"throttled on demand", wiretest.Refusal(400, "ThrottlingException", "slow"), table.ErrThrottled, table.ErrThrottled},
		{"throttled as provisioned", wiretest.Refusal(400, "ProvisionedThroughputExceededException", "slow"), table.ErrThrottled, table.ErrThrottled},
		{"throttled by the account", wiretest.Refusal(400, "RequestLimitExceeded", "slow"), table.ErrThrottled, table.ErrThrottled},
		{"conflict", wiretest.Refusal(400, "TransactionConflictException", "x"), table.ErrConflict, table.ErrConflict},
		{"conflict of Regions", wiretest.Refusal(400, "ReplicatedWriteConflictException", "x"), table.ErrConflict, table.ErrConflict},
		{"cancelled by a conflict", cancelledFor("None", "TransactionConflict"), table.ErrConflict, table.ErrConflict},
		{"cancelled by a condition", cancelledFor("ConditionalCheckFailed", "None"), table.ErrConflict, table.ErrConflict},
		{"cancelled by throttling", cancelledFor("None", "ThrottlingError"), table.ErrThrottled, table.ErrThrottled},
		{"cancelled by capacity", cancelledFor("ProvisionedThroughputExceeded"), table.ErrThrottled, table.ErrThrottled},
		{"a conflict before throttling", cancelledFor("ThrottlingError", "TransactionConflict"), table.ErrConflict, table.ErrConflict},
		{"cancelled by a fault of ours", cancelledFor("TransactionConflict", "ValidationError"), errAsItIs, errAsItIs},
		{"cancelled for no reason", cancelledFor("None"), errAsItIs, errAsItIs},

		{"another attempt under way", wiretest.Refusal(400, "TransactionInProgressException", "x"), table.ErrUnknownOutcome, table.ErrUnavailable},
		{"another request's token", wiretest.Refusal(400, "IdempotentParameterMismatchException", "x"), table.ErrUnknownOutcome, table.ErrUnavailable},
		{"internal error", wiretest.Refusal(500, "InternalServerError", "x"), table.ErrUnknownOutcome, table.ErrUnavailable},
		{"service unavailable", wiretest.Refusal(503, "ServiceUnavailable", "x"), table.ErrUnknownOutcome, table.ErrUnavailable},
		{"a proxy's 502", wiretest.Reply{Status: 502, Body: "<html>"}, table.ErrUnknownOutcome, table.ErrUnavailable},
		{"a proxy's 408", wiretest.Reply{Status: 408, Body: "{}"}, table.ErrUnknownOutcome, table.ErrUnavailable},
		{"half a reply", wiretest.Reply{Status: 200, Body: `{"Item":{"PK":`}, table.ErrUnknownOutcome, table.ErrUnavailable},
		{"connection reset", sendError("read", syscall.ECONNRESET), table.ErrUnknownOutcome, table.ErrUnavailable},
		{"broken pipe", sendError("write", syscall.EPIPE), table.ErrUnknownOutcome, table.ErrUnavailable},
		{"end of file", wiretest.Reply{Err: io.ErrUnexpectedEOF}, table.ErrUnknownOutcome, table.ErrUnavailable},
		{"no answer in time", wiretest.Reply{Err: context.DeadlineExceeded}, table.ErrUnknownOutcome, table.ErrUnavailable},

		{"connection refused", sendError("dial", syscall.ECONNREFUSED), table.ErrUnavailable, table.ErrUnavailable},
		{"no such host", sendError("dial", &net.DNSError{IsNotFound: true}), table.ErrUnavailable, table.ErrUnavailable},

		{"condition failed", wiretest.Refusal(400, "ConditionalCheckFailedException", "x"), errAsItIs, errAsItIs},
		{"no table", wiretest.Refusal(400, "ResourceNotFoundException", "x"), errAsItIs, errAsItIs},
		{"access denied", wiretest.Refusal(400, "AccessDeniedException", "x"), errAsItIs, errAsItIs},
		{"malformed request", wiretest.Refusal(400, "ValidationException", "x"), errAsItIs, errAsItIs},
		{"too large a collection", wiretest.Refusal(400, "ItemCollectionSizeLimitExceededException", "x"), errAsItIs, errAsItIs},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			store, client := wiretest.New(t, wiretest.Always(c.reply))
			_, err := client.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{
				TransactItems: []types.TransactWriteItem{{Put: &types.Put{TableName: aws.String("t"), Item: wire.Item{}}}},
			}, wire.Once)
			means(t, "write", wire.WriteError(err), err, c.write)
			if n := len(store.Requests()); n != 1 {
				t.Errorf("a write was sent %d times", n)
			}
			_, err = client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("t"), Key: wire.Item{}})
			means(t, "read", wire.ReadError(err), err, c.read)
		})
	}
}

// means fails unless err is the wanted one of package table's errors, and none of the others.
func means(t *testing.T, what string, err, cause, wanted error) {
	t.Helper()
	if cause == nil {
		t.Fatalf("%s: no error", what)
	}
	if !errors.Is(err, cause) {
		t.Errorf("%s: %v hides its cause", what, err)
	}
	for _, one := range []error{
		table.ErrThrottled, table.ErrConflict, table.ErrUnavailable, table.ErrUnknownOutcome, table.ErrAbsent, table.ErrExists,
	} {
		if errors.Is(err, one) != (one == wanted) {
			t.Errorf("%s: %v, wanted %v", what, err, wanted)
		}
	}
}

func TestNoErrorIsNone(t *testing.T) {
	if wire.ReadError(nil) != nil || wire.WriteError(nil) != nil {
		t.Error("an error of none")
	}
}

// What was never sent was not written; what ended while it was under way may have been.
func TestContexts(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := wire.Ready(over); !errors.Is(err, table.ErrUnavailable) {
		t.Errorf("a context that is over: %v", err)
	}
	if err := wire.Ready(t.Context()); err != nil {
		t.Error(err)
	}

	sent, cancelSent := context.WithCancel(t.Context())
	_, client := wiretest.New(t, func(wiretest.Request) wiretest.Reply {
		cancelSent()
		return wiretest.Reply{Err: sent.Err()}
	})
	_, err := client.PutItem(sent, &dynamodb.PutItemInput{TableName: aws.String("t"), Item: wire.Item{}}, wire.Once)
	means(t, "write", wire.WriteError(err), err, table.ErrUnknownOutcome)
	means(t, "read", wire.ReadError(err), err, table.ErrUnavailable)
}

// Reads are tried again, a few times; a client that was told to try writes often doesn't.
func TestAttempts(t *testing.T) {
	store, client := wiretest.New(t, wiretest.Always(wiretest.Refusal(500, "InternalServerError", "x")))
	_, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("t"), Key: wire.Item{}})
	means(t, "read", wire.ReadError(err), err, table.ErrUnavailable)
	if n := len(store.Requests()); n != 3 {
		t.Errorf("a read was sent %d times", n)
	}

	often, _ := wiretest.New(t, wiretest.Always(wiretest.Refusal(500, "InternalServerError", "x")))
	stubborn := dynamodb.New(client.Options(), func(o *dynamodb.Options) {
		o.HTTPClient, o.RetryMaxAttempts = often, 5
	})
	_, err = stubborn.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("t"), Item: wire.Item{}}, wire.Once)
	means(t, "write", wire.WriteError(err), err, table.ErrUnknownOutcome)
	if n := len(often.Requests()); n != 1 {
		t.Errorf("a write was sent %d times", n)
	}
}

func TestStoreTime(t *testing.T) {
	clock, err := time.Parse(time.RFC1123, wiretest.Clock)
	if err != nil {
		t.Fatal(err)
	}
	reply := wiretest.OK("{}")
	_, client := wiretest.New(t, func(wiretest.Request) wiretest.Reply { return reply })
	put := func() (*dynamodb.PutItemOutput, error) {
		return client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("t"), Item: wire.Item{}}, wire.Once)
	}
	out, err := put()
	if err != nil {
		t.Fatal(err)
	}
	if got := wire.StoreTime(out.ResultMetadata); !got.Equal(clock) || got.Location() != time.UTC {
		t.Errorf("of a reply: %v", got)
	}
	reply = wiretest.Refusal(400, "ThrottlingException", "x")
	_, err = put()
	if got := wire.ErrorTime(err); !got.Equal(clock) || got.Location() != time.UTC {
		t.Errorf("of a refusal: %v", got)
	}
	reply = sendError("read", syscall.ECONNRESET)
	_, err = put()
	if got := wire.ErrorTime(err); !got.IsZero() {
		t.Errorf("of no reply: %v", got)
	}
}
