package store_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

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

// The error of a throttled or cancelled write says what AWS says: of which table or index, by which limit, and which
// actions.
func TestReasonsAreKept(t *testing.T) {
	const keyRange, index = "IndexWriteKeyRangeThroughputExceeded", "arn:aws:dynamodb:eu-west-1:1:table/books/index/GSI2"
	throttled := func(kind, reasons string) storetest.Reply { // the API spells the member in two ways
		return storetest.Reply{Status: 400, Body: `{"__type":"com.amazonaws.dynamodb.v20120810#` + kind + `",` +
			`"message":"too fast","` + reasons + `":[{"reason":"` + keyRange + `","resource":"` + index + `"}]}`}
	}
	cancelled := storetest.Reply{Status: 400,
		Body: `{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","Message":"x","CancellationReasons":[` +
			`{"Code":"ThrottlingError","Message":"too fast for ` + index + `"},` +
			`{"Code":"ThrottlingError","Message":"too fast for ` + index + `"}]}`}
	for name, c := range map[string]struct {
		reply storetest.Reply
		want  string
	}{
		"on demand":   {throttled("ThrottlingException", "throttlingReasons"), keyRange + " of " + index},
		"provisioned": {throttled("ProvisionedThroughputExceededException", "ThrottlingReasons"), keyRange + " of " + index},
		"account":     {throttled("RequestLimitExceeded", "ThrottlingReasons"), keyRange + " of " + index},
		"cancelled":   {cancelled, "; action 0, 1: ThrottlingError: too fast for " + index},
		"conflict":    {cancelledFor("None", "TransactionConflict"), "; action 1: TransactionConflict"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, client := storetest.New(t, storetest.Always(c.reply))
			books, key := store.NewTable(client, "books"), store.Key{PK: "p", SK: "s"}
			put := store.Write{Item: store.KeyItem(key)}
			_, posted := books.Transact(t.Context(), []store.Write{put, put})
			_, _, read := books.Snapshot(t.Context(), []store.Key{key})
			for what, err := range map[string]error{"write": posted, "read": read} {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s: %v; it lacks %q", what, err, c.want)
				}
			}
		})
	}
}

// errAsItIs is an error that does not wrap an error of package store.
var errAsItIs = errors.New("as the SDK has it")

// The translation of all errors of writes and reads. A write without a proof is an unknown outcome, and is never sent
// again. The SDK sends a read that failed three times.
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
			"cancelled by capacity":    cancelledFor("ProvisionedThroughputExceeded", "None"),
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
			"cancelled by a full collection":            cancelledFor("ItemCollectionSizeLimitExceeded", "None"),
			"a bug of the caller and an unknown reason": cancelledFor("SomethingNew", "ValidationError"),
			"no table":               refused("ResourceNotFoundException"),
			"access denied":          refused("AccessDeniedException"),
			"malformed request":      refused("ValidationException"),
			"too large a collection": refused("ItemCollectionSizeLimitExceededException"),
		}},
		{store.ErrUnknownOutcome, store.ErrUnavailable, replies{
			"cancelled for no reason":               cancelledFor("None", "None"),
			"cancelled for too few reasons":         cancelledFor("TransactionConflict"),
			"cancelled for too many reasons":        cancelledFor("TransactionConflict", "None", "None"),
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
				books, at := store.NewTable(client, "books"), store.Key{PK: "p", SK: "s"}
				put := store.Write{Item: store.KeyItem(at)}
				update := store.Write{Key: at, Update: "SET N = :n", Values: store.Item{":n": store.Integer(1)}}
				_, err := books.Transact(t.Context(), []store.Write{put, update})
				means(t, "transaction", err, err, c.write)
				codes := reasonCodes.FindAllStringSubmatch(reply.Body, -1)
				if cancelled, ok := errors.AsType[*store.Cancelled](err); ok {
					for i, reason := range cancelled.Reasons {
						if reason.Is != causes[codes[i][1]] {
							t.Errorf("cause %d is %v for %v", i, reason.Is, codes)
						}
					}
				}
				if n := len(codes); n == 1 || n == 3 { // what is wrong with them is that there were two writes
					return
				}
				for _, w := range []store.Write{put, update} {
					_, err = books.Write(t.Context(), w)
					means(t, "write", err, err, c.write)
				}
				wide := strings.Contains(reply.Body, "AccessDenied") || strings.Contains(reply.Body, "ResourceNotFound")
				if store.IsTableWide(nil) || store.IsTableWide(err) != (wide || c.write == store.ErrUnavailable) {
					t.Errorf("%v is of the whole table: %v", err, !wide)
				}
				if n := len(fake.Requests()); n != 3 {
					t.Errorf("writes were sent %d times", n)
				}
				for what, read := range map[string]func() error{
					"Get":      func() error { _, _, err := books.Get(t.Context(), at, store.Strong); return err },
					"BatchGet": func() error { _, _, err := books.BatchGet(t.Context(), []store.Key{at}, store.Strong); return err },
					"Snapshot": func() error { _, _, err := books.Snapshot(t.Context(), []store.Key{at}); return err },
					"Query":    func() error { _, err := books.Query(t.Context(), store.Query{Partition: "p"}); return err },
					"Scan":     func() error { _, err := books.Scan(t.Context(), store.Scan{}); return err },
				} {
					sent, err := len(fake.Requests()), read()
					means(t, what, err, err, c.read)
					if n := len(fake.Requests()) - sent; c.read == store.ErrUnavailable && reply.Status == 500 && n != 3 {
						t.Errorf("%s was sent %d times", what, n)
					}
				}
			})
		}
	}
}

var reasonCodes = regexp.MustCompile(`"Code":"(\w*)"`)

// causes are what reasons of a cancelled transaction mean.
var causes = map[string]store.Cause{
	"None": store.CauseNone, "ConditionalCheckFailed": store.CauseCondition, "TransactionConflict": store.CauseConflict,
	"ThrottlingError": store.CauseThrottled, "ProvisionedThroughputExceeded": store.CauseThrottled,
}

// Each transaction has its own client request token: else the store would not apply the second one, and repeat the
// answer to the first.
func TestTransactionsHaveTokens(t *testing.T) {
	fake, client := storetest.New(t, storetest.Always(storetest.OK("{}")))
	tokens := map[any]bool{nil: true}
	for n := range 3 {
		_, err := store.NewTable(client, "books").Transact(t.Context(), []store.Write{{Item: store.Item{}}})
		if tokens[fake.Requests()[n].Body["ClientRequestToken"]] = true; err != nil {
			t.Fatal(err)
		}
	}
	if len(tokens) != 4 {
		t.Errorf("tokens %v", tokens)
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
	fake, client := storetest.New(t, func(storetest.Request) storetest.Reply {
		cancelSent()
		return storetest.Reply{Err: sent.Err()}
	})
	books, put := store.NewTable(client, "books"), store.Write{Item: store.Item{}}
	_, alone := books.Write(over, put)
	_, together := books.Transact(over, []store.Write{put})
	if means(t, "write", alone, alone, store.ErrUnavailable); len(fake.Requests()) > 0 {
		t.Error("a write was sent after its context")
	}
	means(t, "transaction", together, together, store.ErrUnavailable)
	_, err := client.PutItem(sent, &dynamodb.PutItemInput{TableName: aws.String("t"), Item: store.Item{}}, store.Once)
	means(t, "write", store.WriteError(err), err, store.ErrUnknownOutcome)
	means(t, "read", store.ReadError(err), err, store.ErrUnavailable)
}
