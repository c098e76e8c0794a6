package table_test

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

	"ledger.example/internal/table"
	"ledger.example/internal/table/tabletest"
)

// cancelledFor is a cancelled transaction with these reasons.
func cancelledFor(codes ...string) tabletest.Reply {
	var reasons []string
	for _, code := range codes {
		reasons = append(reasons, `{"Code":"`+code+`"}`)
	}
	const kind = "com.amazonaws.dynamodb.v20120810#TransactionCanceledException"
	return tabletest.Reply{Status: 400, Body: `{"__type":"` + kind + `",` +
		`"Message":"Transaction cancelled","CancellationReasons":[` + strings.Join(reasons, ",") + `]}`}
}

// sendError is how net/http reports that a request failed.
func sendError(op string, err error) tabletest.Reply {
	return tabletest.Reply{Err: &url.Error{Op: "Post", URL: "https://store",
		Err: &net.OpError{Op: op, Net: "tcp", Err: err}}}
}

// The error of a throttled or cancelled write says what AWS says: of which table or index, by which limit, and which
// actions.
func TestReasonsAreKept(t *testing.T) {
	const keyRange, index = "IndexWriteKeyRangeThroughputExceeded", "arn:aws:dynamodb:eu-west-1:1:table/books/index/GSI2"
	throttled := func(kind, reasons string) tabletest.Reply { // the API spells the member in two ways
		return tabletest.Reply{Status: 400, Body: `{"__type":"com.amazonaws.dynamodb.v20120810#` + kind + `",` +
			`"message":"too fast","` + reasons + `":[{"reason":"` + keyRange + `","resource":"` + index + `"}]}`}
	}
	cancelled := tabletest.Reply{Status: 400,
		Body: `{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","Message":"x","CancellationReasons":[` +
			`{"Code":"ThrottlingError","Message":"too fast for ` + index + `"},` +
			`{"Code":"ThrottlingError","Message":"too fast for ` + index + `"}]}`}
	for name, c := range map[string]struct {
		reply tabletest.Reply
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
			_, client := tabletest.New(t, tabletest.Always(c.reply))
			books, key := table.NewTable(client, "books"), table.Key{PK: "p", SK: "s"}
			put := table.Write{Item: table.KeyItem(key)}
			_, posted := books.Transact(t.Context(), []table.Write{put, put})
			_, _, read := books.Snapshot(t.Context(), []table.Key{key})
			for what, err := range map[string]error{"write": posted, "read": read} {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s: %v; it lacks %q", what, err, c.want)
				}
			}
		})
	}
}

// errAsItIs is an error that does not wrap an error of package table.
var errAsItIs = errors.New("as the SDK has it")

// The translation of all errors of writes and reads. A write without a proof is an unknown outcome, and is never sent
// again. The SDK sends a read that failed three times.
func TestErrors(t *testing.T) {
	type replies map[string]tabletest.Reply
	refused := func(code string) tabletest.Reply { return tabletest.Refusal(400, code, "x") }
	for _, c := range []struct {
		write, read error
		replies
	}{
		{table.ErrThrottled, table.ErrThrottled, replies{
			"throttled on demand":      refused("ThrottlingException"),
			"throttled as provisioned": refused("ProvisionedThroughputExceededException"),
			"throttled by the account": refused("RequestLimitExceeded"),
			"cancelled by throttling":  cancelledFor("None", "ThrottlingError"),
			"cancelled by capacity":    cancelledFor("ProvisionedThroughputExceeded", "None"),
		}},
		{table.ErrConflict, table.ErrConflict, replies{
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
		{table.ErrUnknownOutcome, table.ErrUnavailable, replies{
			"cancelled for no reason":               cancelledFor("None", "None"),
			"cancelled for too few reasons":         cancelledFor("TransactionConflict"),
			"cancelled for too many reasons":        cancelledFor("TransactionConflict", "None", "None"),
			"cancelled without reasons":             cancelledFor(),
			"cancelled for a reason without a code": cancelledFor(""),
			"cancelled for an unknown reason":       cancelledFor("TransactionConflict", "SomethingNew"),
			"another attempt under way":             refused("TransactionInProgressException"),
			"another request's token":               refused("IdempotentParameterMismatchException"),
			"internal error":                        tabletest.Refusal(500, "InternalServerError", "x"),
			"service unavailable":                   tabletest.Refusal(503, "ServiceUnavailable", "x"),
			"a proxy's 502":                         tabletest.Reply{Status: 502, Body: "<html>"},
			"a proxy's 408":                         tabletest.Reply{Status: 408, Body: "{}"},
			"half a reply":                          tabletest.Reply{Status: 200, Body: `{"Item":{"PK":`},
			"connection reset":                      sendError("read", syscall.ECONNRESET),
			"broken pipe":                           sendError("write", syscall.EPIPE),
			"end of file":                           tabletest.Reply{Err: io.ErrUnexpectedEOF},
			"no answer in time":                     tabletest.Reply{Err: context.DeadlineExceeded},
		}},
		{table.ErrUnavailable, table.ErrUnavailable, replies{
			"connection refused": sendError("dial", syscall.ECONNREFUSED),
			"no such host":       sendError("dial", &net.DNSError{IsNotFound: true}),
		}},
	} {
		for name, reply := range c.replies {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				fake, client := tabletest.New(t, tabletest.Always(reply))
				books, at := table.NewTable(client, "books"), table.Key{PK: "p", SK: "s"}
				put := table.Write{Item: table.KeyItem(at)}
				update := table.Write{Key: at, Update: "SET N = :n", Values: table.Item{":n": table.Integer(1)}}
				_, err := books.Transact(t.Context(), []table.Write{put, update})
				means(t, "transaction", err, err, c.write)
				codes := reasonCodes.FindAllStringSubmatch(reply.Body, -1)
				if cancelled, ok := errors.AsType[*table.Cancelled](err); ok {
					for i, reason := range cancelled.Reasons {
						if reason.Is != causes[codes[i][1]] {
							t.Errorf("cause %d is %v for %v", i, reason.Is, codes)
						}
					}
				}
				if n := len(codes); n == 1 || n == 3 { // what is wrong with them is that there were two writes
					return
				}
				for _, w := range []table.Write{put, update} {
					_, err = books.Write(t.Context(), w)
					means(t, "write", err, err, c.write)
				}
				wide := strings.Contains(reply.Body, "AccessDenied") || strings.Contains(reply.Body, "ResourceNotFound")
				if table.IsTableWide(nil) || table.IsTableWide(err) != (wide || c.write == table.ErrUnavailable) {
					t.Errorf("%v is of the whole table: %v", err, !wide)
				}
				if n := len(fake.Requests()); n != 3 {
					t.Errorf("writes were sent %d times", n)
				}
				for what, read := range map[string]func() error{
					"Get":      func() error { _, _, err := books.Get(t.Context(), at, table.Strong); return err },
					"BatchGet": func() error { _, _, err := books.BatchGet(t.Context(), []table.Key{at}, table.Strong); return err },
					"Snapshot": func() error { _, _, err := books.Snapshot(t.Context(), []table.Key{at}); return err },
					"Query":    func() error { _, err := books.Query(t.Context(), table.Query{Partition: "p"}); return err },
					"Scan":     func() error { _, err := books.Scan(t.Context(), table.Scan{}); return err },
				} {
					sent, err := len(fake.Requests()), read()
					means(t, what, err, err, c.read)
					if n := len(fake.Requests()) - sent; c.read == table.ErrUnavailable && reply.Status == 500 && n != 3 {
						t.Errorf("%s was sent %d times", what, n)
					}
				}
			})
		}
	}
}

var reasonCodes = regexp.MustCompile(`"Code":"(\w*)"`)

// causes are what reasons of a cancelled transaction mean.
var causes = map[string]table.Cause{
	"None": table.CauseNone, "ConditionalCheckFailed": table.CauseCondition, "TransactionConflict": table.CauseConflict,
	"ThrottlingError": table.CauseThrottled, "ProvisionedThroughputExceeded": table.CauseThrottled,
}

// Each transaction has its own client request token: else the store would not apply the second one, and repeat the
// answer to the first.
func TestTransactionsHaveTokens(t *testing.T) {
	fake, client := tabletest.New(t, tabletest.Always(tabletest.OK("{}")))
	tokens := map[any]bool{nil: true}
	for n := range 3 {
		_, err := table.NewTable(client, "books").Transact(t.Context(), []table.Write{{Item: table.Item{}}})
		if tokens[fake.Requests()[n].Body["ClientRequestToken"]] = true; err != nil {
			t.Fatal(err)
		}
	}
	if len(tokens) != 4 {
		t.Errorf("tokens %v", tokens)
	}
}

// means fails unless err wraps the wanted error of package table, and no other.
func means(t *testing.T, what string, err, cause, wanted error) {
	t.Helper()
	if cause == nil {
		t.Fatalf("%s: no error", what)
	}
	if !errors.Is(err, cause) {
		t.Errorf("%s: %v hides its cause", what, err)
	}
	for _, one := range []error{
		table.ErrThrottled, table.ErrConflict, table.ErrUnavailable, table.ErrUnknownOutcome, table.ErrAbsent,
		table.ErrExists,
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
	if err := table.Ready(over); !errors.Is(err, table.ErrUnavailable) {
		t.Errorf("a context that is over: %v", err)
	}
	if err := table.Ready(t.Context()); err != nil {
		t.Error(err)
	}

	sent, cancelSent := context.WithCancel(t.Context())
	fake, client := tabletest.New(t, func(tabletest.Request) tabletest.Reply {
		cancelSent()
		return tabletest.Reply{Err: sent.Err()}
	})
	books, put := table.NewTable(client, "books"), table.Write{Item: table.Item{}}
	_, alone := books.Write(over, put)
	_, together := books.Transact(over, []table.Write{put})
	if means(t, "write", alone, alone, table.ErrUnavailable); len(fake.Requests()) > 0 {
		t.Error("a write was sent after its context")
	}
	means(t, "transaction", together, together, table.ErrUnavailable)
	_, err := client.PutItem(sent, &dynamodb.PutItemInput{TableName: aws.String("t"), Item: table.Item{}}, table.Once)
	means(t, "write", table.WriteError(err), err, table.ErrUnknownOutcome)
	means(t, "read", table.ReadError(err), err, table.ErrUnavailable)
}
