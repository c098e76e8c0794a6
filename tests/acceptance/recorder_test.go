package acceptance

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"

	"ledger.example/tests/caller"
)

// permission is what IAM must allow: an action, and the table (""), one of its indexes by name, or what else it is on.
type permission struct{ action, on string }

func (p permission) String() string { return strings.TrimSpace(p.action + " " + p.on) }

// recorder keeps which permissions the requests of one client need. It is safe for concurrent use.
type recorder struct {
	table string

	mu     sync.Mutex
	used   map[permission]bool
	faults []string // requests of which it cannot tell
}

// record is a client option that puts the recorder into the SDK's middleware.
func (r *recorder) record(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("permissions",
			func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
				out, metadata, err := next.HandleInitialize(ctx, in)
				needed, fault := permissionsOf(in.Parameters, r.table)
				r.mu.Lock()
				for _, p := range needed {
					r.used[p] = true
				}
				if fault != "" {
					r.faults = append(r.faults, fault)
				}
				r.mu.Unlock()
				if x, ok := ctx.Value(exchangeKey{}).(*exchange); ok {
					x.note(middleware.GetOperationName(ctx), err)
				}
				return out, metadata, err
			}), middleware.After)
	})
}

// permissionsOf are what a request needs. A transaction is authorized by the actions in it (Amazon DynamoDB Developer
// Guide, IAM and transactions); conditions and returned values need nothing of their own.
func permissionsOf(input any, table string) (needed []permission, fault string) {
	need := func(action string, name, index *string) {
		if aws.ToString(name) != table {
			fault = fmt.Sprintf("%s on table %q", action, aws.ToString(name))
		}
		needed = append(needed, permission{"dynamodb:" + action, aws.ToString(index)})
	}
	switch in := input.(type) {
	case *dynamodb.GetItemInput:
		need("GetItem", in.TableName, nil)
	case *dynamodb.BatchGetItemInput:
		for name := range in.RequestItems {
			need("BatchGetItem", &name, nil)
		}
	case *dynamodb.TransactGetItemsInput:
		for _, get := range in.TransactItems {
			need("GetItem", get.Get.TableName, nil)
		}
	case *dynamodb.QueryInput:
		need("Query", in.TableName, in.IndexName)
	case *dynamodb.PutItemInput:
		need("PutItem", in.TableName, nil)
	case *dynamodb.UpdateItemInput:
		need("UpdateItem", in.TableName, nil)
	case *dynamodb.TransactWriteItemsInput:
		for _, action := range in.TransactItems {
			switch {
			case action.Put != nil:
				need("PutItem", action.Put.TableName, nil)
			case action.Update != nil:
				need("UpdateItem", action.Update.TableName, nil)
			case action.ConditionCheck != nil:
				need("ConditionCheckItem", action.ConditionCheck.TableName, nil)
			default:
				fault = "an action of a transaction that no function may send"
			}
		}
	default:
		fault = fmt.Sprintf("%T, which no function may send", in)
	}
	return needed, fault
}

// exchange is what was asked of the table to answer one HTTP request. It is safe for concurrent use.
type exchange struct {
	mu   sync.Mutex
	sent []string // operations
	done []string // those that wrote
}

type exchangeKey struct{}

func (x *exchange) within(ctx context.Context) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

func (x *exchange) note(operation string, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sent = append(x.sent, operation)
	switch operation {
	case "GetItem", "BatchGetItem", "TransactGetItems", "Query":
	default:
		if err == nil {
			x.done = append(x.done, operation)
		}
	}
}

// check fails t if an answer says something else than was done: whatever is refused has written nothing, and what a
// request shows by itself is told without a look at the table.
func (x *exchange) check(t *testing.T, request *http.Request, r caller.Reply) {
	x.mu.Lock()
	defer x.mu.Unlock()
	code := r.Code()
	if caller.ToldByItself(code) && len(x.sent) > 0 {
		t.Errorf("%s %s: %s only after %q", request.Method, request.URL, code, x.sent)
	}
	if r.Status >= http.StatusBadRequest && r.Status < http.StatusInternalServerError && len(x.done) > 0 {
		t.Errorf("%s %s: %d %s, but %q was done", request.Method, request.URL, r.Status, code, x.done)
	}
	if reads := request.Method == http.MethodGet || request.Method == http.MethodHead; reads && len(x.done) > 0 {
		t.Errorf("%s %s wrote: %q", request.Method, request.URL, x.done)
	}
}
