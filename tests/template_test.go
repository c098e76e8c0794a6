package tests

import (
	"go/ast"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// stackResource is one resource of template.yaml. Intrinsic functions in short form come as their arguments.
type stackResource struct {
	Type           string         `yaml:"Type"`
	DeletionPolicy string         `yaml:"DeletionPolicy"`
	Properties     map[string]any `yaml:"Properties"`
}

func stackResources(t *testing.T) map[string]stackResource {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(moduleRoot, "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var stack struct {
		Resources map[string]stackResource `yaml:"Resources"`
	}
	if err := yaml.Unmarshal(text, &stack); err != nil {
		t.Fatal(err)
	}
	return stack.Resources
}

// valueAt follows names into nested maps; nil if there is nothing.
func valueAt(properties map[string]any, names ...string) any {
	var at any = properties
	for _, name := range names {
		m, _ := at.(map[string]any)
		at = m[name]
	}
	return at
}

// listOf returns v as a list: one value stands for a list of one.
func listOf(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}

// What each function may do to the table is what its code calls. Nobody deletes, nobody scans, and who reads cannot
// write.
func TestRolesAllowNoMoreThanTheFunctionsDo(t *testing.T) {
	allowed := map[string][]string{
		"CommandFunction": {"GetItem", "BatchGetItem", "Query", "PutItem", "UpdateItem"},
		"QueryFunction":   {"GetItem", "BatchGetItem", "Query"},
		"ProjectorFunction": {
			"GetItem", "Query", "PutItem",
			"DescribeStream", "GetShardIterator", "GetRecords", "ListStreams",
		},
	}
	resources := stackResources(t)
	var functions, roles []string
	used := make(map[string]string) // role to function
	for name, resource := range resources {
		switch resource.Type {
		case "AWS::Serverless::Function":
			functions = append(functions, name)
			role, _ := resource.Properties["Role"].(string)
			role = strings.TrimSuffix(role, ".Arn")
			if other, taken := used[role]; taken {
				t.Errorf("%s and %s share the role %s", name, other, role)
			}
			used[role] = name
			if _, ok := resource.Properties["Policies"]; ok {
				t.Errorf("%s has policies beside its role", name)
			}
		case "AWS::IAM::Role":
			roles = append(roles, name)
			if _, ok := resource.Properties["ManagedPolicyArns"]; ok {
				t.Errorf("%s has managed policies, which are broad", name)
			}
		}
	}
	if want := slices.Sorted(maps.Keys(allowed)); !slices.Equal(slices.Sorted(slices.Values(functions)), want) {
		t.Fatalf("functions are %q, want %q", functions, want)
	}
	for _, role := range roles {
		function := used[role]
		granted := make(map[string]bool)
		for _, policy := range listOf(resources[role].Properties["Policies"]) {
			document, _ := policy.(map[string]any)
			for _, statement := range listOf(valueAt(document, "PolicyDocument", "Statement")) {
				statement, _ := statement.(map[string]any)
				for _, action := range listOf(statement["Action"]) {
					action, _ := action.(string)
					if strings.Contains(action, "*") || action == "" {
						t.Errorf("%s allows %q", role, action)
					}
					operation, onTable := strings.CutPrefix(action, "dynamodb:")
					if !onTable {
						continue
					}
					granted[operation] = true
					if !slices.Contains(allowed[function], operation) {
						t.Errorf("%s lets %s %s", role, function, operation)
					}
					for _, on := range listOf(statement["Resource"]) {
						if on == "*" && operation != "ListStreams" {
							t.Errorf("%s allows %s on every table", role, operation)
						}
						if on, _ := on.(string); function != "QueryFunction" && strings.Contains(on, "/index/") {
							t.Errorf("%s lets %s read an index, which lags", role, function)
						}
					}
				}
			}
		}
		for _, operation := range allowed[function] {
			if !granted[operation] {
				t.Errorf("%s doesn't let %s %s", role, function, operation)
			}
		}
	}
}

// The adapters send what the roles allow, all of it and nothing else: a request that no role allows would only fail once
// deployed, and one that nobody sends has no business in a role.
func TestRolesAllowWhatTheAdaptersSend(t *testing.T) {
	actions := map[string]string{ // by what names an operation, or an action of a transaction, in the SDK
		"GetItem": "GetItem", "TransactGetItems": "GetItem", "BatchGetItem": "BatchGetItem", "Query": "Query", "Scan": "Scan",
		"PutItem": "PutItem", "Put": "PutItem", "UpdateItem": "UpdateItem", "Update": "UpdateItem",
		"DeleteItem": "DeleteItem", "Delete": "DeleteItem", "ConditionCheck": "ConditionCheckItem",
		"BatchWriteItem": "BatchWriteItem", "ExecuteStatement": "PartiQL", "ExecuteTransaction": "PartiQL",
	}
	writers := map[string][]string{
		"ledger/wire":        {"BatchGetItem", "Query"},
		"ledger/dynamo":      {"GetItem", "PutItem", "UpdateItem"},
		"projections/dynamo": {"GetItem", "PutItem", "Query"},
	}
	sent := make(map[string]map[string]bool)
	for _, s := range goSources(t) {
		if _, adapter := writers[s.folder()]; !adapter || s.test {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			expression, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if action, ok := actions[expression.Sel.Name]; ok {
				if sent[s.folder()] == nil {
					sent[s.folder()] = make(map[string]bool)
				}
				sent[s.folder()][action] = true
			}
			return true
		})
	}
	for folder, want := range writers {
		if got := slices.Sorted(maps.Keys(sent[folder])); !slices.Equal(got, want) {
			t.Errorf("%s sends %q; the roles were written for %q", folder, got, want)
		}
	}
}

// The books outlive the stack and its mistakes.
func TestTableIsKept(t *testing.T) {
	books := stackResources(t)["LedgerTable"]
	if books.DeletionPolicy != "Retain" {
		t.Errorf("deletion policy %q", books.DeletionPolicy)
	}
	for name, got := range map[string]any{
		"deletion protection":    valueAt(books.Properties, "DeletionProtectionEnabled"),
		"point-in-time recovery": valueAt(books.Properties, "PointInTimeRecoverySpecification", "PointInTimeRecoveryEnabled"),
		"encryption":             valueAt(books.Properties, "SSESpecification", "SSEEnabled"),
	} {
		if got != true {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := valueAt(books.Properties, "StreamSpecification", "StreamViewType"); got != "NEW_IMAGE" {
		t.Errorf("stream of %v", got)
	}
}

// An API that moves money asks everybody who they are, on every route.
func TestAPIAsksForASignature(t *testing.T) {
	resources := stackResources(t)
	api := resources["LedgerApi"].Properties
	if valueAt(api, "Auth", "DefaultAuthorizer") != "AWS_IAM" || valueAt(api, "Auth", "EnableIamAuthorizer") != true {
		t.Errorf("authorisation of the API: %v", api["Auth"])
	}
	routes := make(map[string]string) // method and path to function
	for name, resource := range resources {
		events, _ := resource.Properties["Events"].(map[string]any)
		for event := range events {
			if valueAt(events, event, "Type") != "HttpApi" {
				continue
			}
			if valueAt(events, event, "Properties", "ApiId") != "LedgerApi" {
				t.Errorf("%s's event %s makes an API of its own", name, event)
			}
			if auth := valueAt(events, event, "Properties", "Auth"); auth != nil {
				t.Errorf("%s's event %s has its own authorisation: %v", name, event, auth)
			}
			method, _ := valueAt(events, event, "Properties", "Method").(string)
			path, _ := valueAt(events, event, "Properties", "Path").(string)
			routes[method+" "+path] = name
		}
	}
	want := map[string]string{
		"PUT /v1/{proxy+}": "CommandFunction", "POST /v1/{proxy+}": "CommandFunction",
		"DELETE /v1/{proxy+}": "CommandFunction",
		" ":                   "QueryFunction", // the default route
	}
	if !maps.Equal(routes, want) {
		t.Errorf("routes are %q, want %q", routes, want)
	}
}

// No record is lost, and none stops its shard for as long as the stream remembers.
func TestStreamIsReadToTheEnd(t *testing.T) {
	const retention = 24 * time.Hour // of DynamoDB Streams
	mapping, ok := valueAt(stackResources(t)["ProjectorFunction"].Properties, "Events", "Postings", "Properties").(map[string]any)
	if !ok {
		t.Fatal("the projector has no stream")
	}
	if got := mapping["StartingPosition"]; got != "TRIM_HORIZON" {
		t.Errorf("starts at %v", got)
	}
	if got := listOf(mapping["FunctionResponseTypes"]); !slices.Equal(got, []any{"ReportBatchItemFailures"}) {
		t.Errorf("response types %v", got)
	}
	if mapping["BisectBatchOnFunctionError"] != true {
		t.Error("a failing batch isn't halved")
	}
	if retries, ok := mapping["MaximumRetryAttempts"].(int); !ok || retries < 1 {
		t.Errorf("%v retries: one failing record would stop its shard", mapping["MaximumRetryAttempts"])
	}
	age, _ := mapping["MaximumRecordAgeInSeconds"].(int)
	if age := time.Duration(age) * time.Second; age <= 0 || age >= retention {
		t.Errorf("records may grow %v old, of the %v that they are kept", age, retention)
	}
	if mapping["BatchSize"] != 100 || mapping["MaximumBatchingWindowInSeconds"] != 1 {
		t.Errorf("batches of %v in a window of %v s", mapping["BatchSize"], mapping["MaximumBatchingWindowInSeconds"])
	}
	if got := valueAt(mapping, "DestinationConfig", "OnFailure", "Type"); got != "S3" {
		t.Errorf("failed records go to %v: only S3 keeps the record itself", got)
	}
}
