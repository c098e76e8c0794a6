package acceptance

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
	"go.yaml.in/yaml/v3"

	template "ledger.example"
	"ledger.example/internal/table"
	"ledger.example/tests/harness/caller"
)

// stackResource is a resource in template.yaml. Short-form intrinsic functions appear as their arguments.
type stackResource struct {
	Type       string         `yaml:"Type"`
	Condition  string         `yaml:"Condition"`
	Properties map[string]any `yaml:"Properties"`
}

func stackResources(t *testing.T) map[string]stackResource {
	t.Helper()
	var stack struct {
		Resources map[string]stackResource `yaml:"Resources"`
	}
	if err := yaml.Unmarshal(template.YAML, &stack); err != nil {
		t.Fatal(err)
	}
	return stack.Resources
}

// Names of resources in a permission. The table itself is "".
const (
	onStream = "stream"
	onAll    = "*"
)

// byLambda returns the permissions that Lambda itself uses to read the stream for a function. They are in the
// function's role, but its code never uses them (AWS Lambda Developer Guide, "Process Amazon DynamoDB records with
// Lambda").
func byLambda() map[string][]permission {
	reads := []permission{
		{"dynamodb:DescribeStream", onStream}, {"dynamodb:GetRecords", onStream},
		{"dynamodb:GetShardIterator", onStream},
		{"dynamodb:ListStreams", onAll},
	}
	return map[string][]permission{projectorFunction: reads, listerFunction: reads}
}

// checkRoles compares the permissions of each function with the requests that it sent. A role has exactly the
// permissions that were used. No function may delete or scan, and the query function may not write.
func checkRoles(t *testing.T, functions map[string]function) {
	t.Helper()
	resources := stackResources(t)
	for name, resource := range resources {
		if _, ok := functions[name]; !ok && resource.Type == "AWS::Serverless::Function" {
			t.Errorf("%s was not run", name)
		}
	}
	for name, f := range functions {
		for _, fault := range f.sent.faults {
			t.Errorf("%s sent %s", name, fault)
		}
		needed := f.sent.used
		for _, p := range byLambda()[name] {
			needed[p] = true
		}
		granted := make(map[permission]bool)
		grantedBy(t, name, statementsOf(resources, roleOf(resources, name)), granted)
		for p := range needed {
			if !granted[p] {
				t.Errorf("%s needs %v, which its role doesn't allow", name, p)
			}
		}
		for p := range granted {
			if !needed[p] {
				t.Errorf("%s may %v, but never does", name, p)
			}
			writes := p.action == "dynamodb:PutItem" || p.action == "dynamodb:UpdateItem"
			switch {
			case p.action == "dynamodb:DeleteItem", p.action == "dynamodb:Scan", writes && name == queryFunction:
				t.Errorf("%s must not %v", name, p)
			}
		}
	}
}

// roleOf returns the logical id of a function's role.
func roleOf(resources map[string]stackResource, function string) string {
	role, _ := resources[function].Properties["Role"].(string)
	return strings.TrimSuffix(role, ".Arn")
}

// statementsOf returns the statements of all policies of a role.
func statementsOf(resources map[string]stackResource, role string) (all []any) {
	for _, r := range resources {
		if r.Type == "AWS::IAM::Policy" && slices.Contains(flat(r.Properties["Roles"]), role) {
			all = append(all, listOf(document(r.Properties["PolicyDocument"])["Statement"])...)
		}
	}
	return all
}

func document(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// flat returns the texts in v, also those in lists of lists, which !If makes.
func flat(v any) (all []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, one := range v {
			all = append(all, flat(one)...)
		}
	}
	return all
}

// grantedBy collects the DynamoDB permissions of all statements in a role's policies, including those inside !If.
func grantedBy(t *testing.T, function string, in any, granted map[permission]bool) {
	t.Helper()
	switch in := in.(type) {
	case []any:
		for _, one := range in {
			grantedBy(t, function, one, granted)
		}
	case map[string]any:
		effect, isStatement := in["Effect"]
		if !isStatement {
			for _, one := range in {
				grantedBy(t, function, one, granted)
			}
			return
		}
		if effect != "Allow" || in["NotAction"] != nil || in["NotResource"] != nil {
			t.Errorf("%s: unsupported statement: %v", function, in)
		}
		for _, action := range listOf(in["Action"]) {
			action, _ := action.(string)
			if !strings.HasPrefix(action, "dynamodb:") && action != "*" {
				continue
			}
			for _, on := range listOf(in["Resource"]) {
				on, _ := on.(string)
				granted[permission{action, resourceName(on)}] = true
			}
		}
	}
}

// resourceName returns the name of a statement's resource in a permission. Unknown resources keep their name, so that
// checkRoles reports them as unused.
func resourceName(resource string) string {
	index, isIndex := strings.CutPrefix(resource, "${LedgerTable.Arn}/index/")
	switch {
	case resource == "LedgerTable.Arn":
		return ""
	case isIndex:
		return index
	case resource == "LedgerTable.StreamArn":
		return onStream
	}
	return resource
}

// listOf returns v, or a list with v if it is not a list.
func listOf(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}

// permission is an IAM action on a resource: the table (""), an index by its name, onStream or onAll.
type permission struct{ action, on string }

func (p permission) String() string { return strings.TrimSpace(p.action + " " + p.on) }

// recorder records the permissions that a client's requests need. It is safe for concurrent use.
type recorder struct {
	table string

	mu     sync.Mutex
	used   map[permission]bool
	writes map[write]bool
	faults []string // unexpected requests
}

// write is a put or an update of an item: the action, and the item's PK.
type write struct{ action, pk string }

// record is a client option that adds the recorder to the SDK's middleware.
func (r *recorder) record(o *dynamodb.Options) {
	table.Observe("permissions", func(ctx context.Context, in, _ any, err error) {
		needed, fault := permissionsOf(in, r.table)
		r.mu.Lock()
		for _, w := range writesOf(in) {
			r.writes[w] = true
		}
		for _, p := range needed {
			r.used[p] = true
		}
		if fault != "" {
			r.faults = append(r.faults, fault)
		}
		r.mu.Unlock()
		if x, ok := ctx.Value(exchangeKey{}).(*exchange); ok {
			x.note(middleware.GetOperationName(ctx), err, isGuard(in))
		}
	})(o)
}

// permissionsOf returns the permissions that a request needs. A transaction needs those of its actions (Amazon DynamoDB
// Developer Guide, "Using IAM with DynamoDB transactions"). Conditions and returned values need none.
func permissionsOf(input any, tableName string) (needed []permission, fault string) {
	need := func(action string, name, index *string) {
		if aws.ToString(name) != tableName {
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
				fault = "an unexpected transaction action"
			}
		}
	default:
		fault = fmt.Sprintf("an unexpected %T", in)
	}
	return needed, fault
}

// writesOf returns the puts and updates of a request.
func writesOf(input any) (all []write) {
	note := func(action string, item table.Item) {
		key, _ := table.KeyOf(item)
		all = append(all, write{"dynamodb:" + action, key.PK})
	}
	switch in := input.(type) {
	case *dynamodb.PutItemInput:
		note("PutItem", in.Item)
	case *dynamodb.UpdateItemInput:
		note("UpdateItem", in.Key)
	case *dynamodb.TransactWriteItemsInput:
		for _, action := range in.TransactItems {
			switch {
			case action.Put != nil:
				note("PutItem", action.Put.Item)
			case action.Update != nil:
				note("UpdateItem", action.Update.Key)
			}
		}
	}
	return all
}

// exchange records the requests to the table for one HTTP request. It is safe for concurrent use.
type exchange struct {
	mu   sync.Mutex
	sent []string // operations
	done []string // successful writes
}

type exchangeKey struct{}

func (x *exchange) within(ctx context.Context) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

// isGuard reports whether a request creates or refreshes a guard. That happens before the first debit of an account and
// asset, even if the debit is then refused. It does not change what the account has spent.
func isGuard(input any) bool {
	isSpend := func(item table.Item) bool {
		key, err := table.KeyOf(item)
		_, _, ok := table.Spend.Parse(key)
		return err == nil && ok
	}
	switch in := input.(type) {
	case *dynamodb.PutItemInput:
		return isSpend(in.Item)
	case *dynamodb.UpdateItemInput:
		return isSpend(in.Key) && !strings.Contains(aws.ToString(in.UpdateExpression), "ADD")
	}
	return false
}

func (x *exchange) note(operation string, err error, isGuard bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sent = append(x.sent, operation)
	switch operation {
	case "GetItem", "BatchGetItem", "TransactGetItems", "Query":
	default:
		if err == nil && !isGuard {
			x.done = append(x.done, operation)
		}
	}
}

// check fails t if a refused request or a GET wrote, or if an error that depends only on the request needed a read of
// the table.
func (x *exchange) check(t *testing.T, method, path string, r caller.Reply) {
	x.mu.Lock()
	defer x.mu.Unlock()
	code := r.Code()
	// These checks need reads: times are checked after the id, parts against their transaction, changes against the
	// account, and read-only fields against the stored values.
	reads := method == http.MethodPatch || strings.Contains(string(r.Body), `hold.expires_at"`) ||
		strings.Contains(string(r.Body), `"effective_at","rule":"must be at least 15 seconds in the past"`) ||
		strings.Contains(string(r.Body), `"rule":"must be equal to the stored value"`) ||
		strings.HasSuffix(path, "/capture") || strings.HasSuffix(path, "/reversals")
	if caller.ByRequestAlone(code) && len(x.sent) > 0 && !reads {
		t.Errorf("%s %s: %s after the requests %q", method, path, code, x.sent)
	}
	refused := r.Status >= http.StatusBadRequest && r.Status < http.StatusInternalServerError
	if refused && len(x.done) > 0 && code != "hold_expired" { // hold_expired is answered after the expiry is written
		t.Errorf("%s %s: %d %s, but it wrote %q", method, path, r.Status, code, x.done)
	}
	if isRead := method == http.MethodGet || method == http.MethodHead; isRead && len(x.done) > 0 {
		t.Errorf("%s %s wrote: %q", method, path, x.done)
	}
}
