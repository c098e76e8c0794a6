package tests

import (
	"fmt"
	"go/ast"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
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
				statement, ok := statement.(map[string]any)
				if !ok { // only with a key of one's own: see TestRolesAreNarrow
					continue
				}
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

// switches are parameters that change what a stack is made of, with a value each.
var switches = []map[string]any{
	{"JwtIssuer": "https://issuer.example.com", "JwtAudience": "ledger,other"},
	{"CorsOrigins": "https://app.example.com"},
	{"DomainName": "ledger.example.com", "CertificateArn": "arn:aws:acm:eu-central-1:123456789012:certificate/0a"},
	{"HostedZoneId": "Z123"},
	{"KmsKeyArn": "arn:aws:kms:eu-central-1:123456789012:key/0a"},
	{"CommandConcurrency": 5, "QueryConcurrency": 6, "ProjectorConcurrency": 7},
	{"AlarmEmail": "on-call@example.com"},
}

// combinations calls check with the stack of each combination of the switches.
func combinations(t *testing.T, check func(t *testing.T, given map[string]any, resources map[string]stackResource)) {
	t.Helper()
	whole := readTemplate(t)
	for on := range 1 << len(switches) {
		given := make(map[string]any)
		for i, parameters := range switches {
			if on&(1<<i) != 0 {
				maps.Copy(given, parameters)
			}
		}
		check(t, given, whole.with(t, given).resources())
		if t.Failed() {
			t.Fatalf("with %v", given)
		}
	}
}

func ref(id string) map[string]any           { return map[string]any{"Ref": id} }
func getAtt(attribute string) map[string]any { return map[string]any{"Fn::GetAtt": attribute} }
func sub(text string) map[string]any         { return map[string]any{"Fn::Sub": text} }

// An API that moves money asks everybody who they are, on every route, whatever the stack's parameters are. A browser's
// question beforehand, with OPTIONS, carries no signature: no route may take it, so that the gateway answers it.
func TestNoRouteIsOpen(t *testing.T) {
	combinations(t, func(t *testing.T, given map[string]any, resources map[string]stackResource) {
		authorization, authorizer := "AWS_IAM", any(nil)
		if given["JwtIssuer"] != nil {
			authorization, authorizer = "JWT", any(ref("TokenAuthorizer"))
			want := map[string]any{
				"Issuer":   given["JwtIssuer"],
				"Audience": map[string]any{"Fn::Split": []any{",", given["JwtAudience"]}},
			}
			tokens := resources["TokenAuthorizer"].Properties
			if tokens["AuthorizerType"] != "JWT" || !reflect.DeepEqual(tokens["JwtConfiguration"], want) {
				t.Errorf("tokens are judged by %v", tokens)
			}
		}
		routes := make(map[string]string) // to functions
		for id, r := range resources {
			switch r.Type {
			case "AWS::ApiGatewayV2::Route":
				if r.Properties["AuthorizationType"] != authorization || !reflect.DeepEqual(r.Properties["AuthorizerId"], authorizer) {
					t.Errorf("%s asks for %v by %v", id, r.Properties["AuthorizationType"], r.Properties["AuthorizerId"])
				}
				key, _ := r.Properties["RouteKey"].(string)
				routes[key] = target(resources, r)
			case "AWS::Serverless::HttpApi", "AWS::Serverless::Api", "AWS::ApiGateway::RestApi", "AWS::Lambda::Url":
				t.Errorf("%s is another way in", id)
			case "AWS::Serverless::Function":
				for _, event := range mapAt(r.Properties, "Events") {
					if kind := valueAt(event.(map[string]any), "Type"); kind != "DynamoDB" {
						t.Errorf("%s is called by %v", id, kind)
					}
				}
				if r.Properties["FunctionUrlConfig"] != nil {
					t.Errorf("%s has an address of its own", id)
				}
			case "AWS::Lambda::Permission":
				from := sub("arn:${AWS::Partition}:execute-api:${AWS::Region}:${AWS::AccountId}:${LedgerApi}/*")
				if r.Properties["Principal"] != "apigateway.amazonaws.com" || !reflect.DeepEqual(r.Properties["SourceArn"], any(from)) {
					t.Errorf("%s lets %v call from %v", id, r.Properties["Principal"], r.Properties["SourceArn"])
				}
			}
		}
		want := map[string]string{
			"PUT /v1/{proxy+}": "CommandFunction", "POST /v1/{proxy+}": "CommandFunction",
			"DELETE /v1/{proxy+}": "CommandFunction",
		}
		if given["CorsOrigins"] == nil {
			want["$default"] = "QueryFunction"
		} else {
			want["GET /{proxy+}"], want["HEAD /{proxy+}"] = "QueryFunction", "QueryFunction"
		}
		if !maps.Equal(routes, want) {
			t.Errorf("routes are %q, want %q", routes, want)
		}
		if cors := resources["LedgerApi"].Properties["CorsConfiguration"]; (cors != nil) != (given["CorsOrigins"] != nil) {
			t.Errorf("browsers may: %v", cors)
		}
		if closed := resources["LedgerApi"].Properties["DisableExecuteApiEndpoint"]; closed != (given["DomainName"] != nil) {
			t.Errorf("AWS's own address is closed: %v", closed)
		}
	})
}

// target is the function that a route's requests reach, "" unless they do by its alias and in format 2.0.
func target(resources map[string]stackResource, route stackResource) string {
	const arn = "arn:${AWS::Partition}:apigateway:${AWS::Region}:lambda:path/2015-03-31/functions/${"
	to, _ := valueAt(route.Properties, "Target", "Fn::Sub").(string)
	to = strings.TrimSuffix(strings.TrimPrefix(to, "integrations/${"), "}")
	integration := resources[to].Properties
	uri, _ := valueAt(integration, "IntegrationUri", "Fn::Sub").(string)
	function, ok := strings.CutSuffix(strings.TrimPrefix(uri, arn), ".Arn}:live/invocations")
	if !ok || integration["PayloadFormatVersion"] != "2.0" || integration["IntegrationType"] != "AWS_PROXY" {
		return ""
	}
	for _, r := range resources {
		if r.Type == "AWS::Lambda::Permission" && reflect.DeepEqual(r.Properties["FunctionName"], any(ref(function+".Alias"))) {
			return function
		}
	}
	return ""
}

// mapAt is valueAt for a map.
func mapAt(properties map[string]any, names ...string) map[string]any {
	m, _ := valueAt(properties, names...).(map[string]any)
	return m
}

// What every role may do beside the table, and with what: nothing of it is wide, and none of it is for anybody but the
// function.
func TestRolesAreNarrow(t *testing.T) {
	anywhere := []string{ // these actions know no resources
		"dynamodb:ListStreams", "xray:PutTelemetryRecords", "xray:PutTraceSegments",
	}
	reading := []string{"kms:Decrypt", "kms:DescribeKey"}
	writing := []string{"kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey",
		"kms:GenerateDataKeyWithoutPlaintext", "kms:ReEncryptFrom", "kms:ReEncryptTo"}
	keys := map[string][]string{"CommandRole": writing, "QueryRole": reading, "ProjectorRole": writing}
	combinations(t, func(t *testing.T, given map[string]any, resources map[string]stackResource) {
		for id, r := range resources {
			if r.Type != "AWS::IAM::Role" {
				continue
			}
			trust := listOf(valueAt(r.Properties, "AssumeRolePolicyDocument", "Statement"))
			if len(trust) != 1 || !reflect.DeepEqual(valueAt(trust[0].(map[string]any), "Principal"), any(map[string]any{"Service": "lambda.amazonaws.com"})) {
				t.Errorf("%s may be taken by %v", id, trust)
			}
			var onKey []string
			for _, policy := range listOf(r.Properties["Policies"]) {
				for _, statement := range listOf(valueAt(policy.(map[string]any), "PolicyDocument", "Statement")) {
					statement, _ := statement.(map[string]any)
					if statement["Effect"] != "Allow" || statement["NotAction"] != nil || statement["NotResource"] != nil {
						t.Errorf("%s: %v", id, statement)
					}
					for _, on := range listOf(statement["Resource"]) {
						for _, action := range listOf(statement["Action"]) {
							action, _ := action.(string)
							if on == "*" != slices.Contains(anywhere, action) {
								t.Errorf("%s allows %s on %v", id, action, on)
							}
							if text, _ := valueAt(map[string]any{"on": on}, "on", "Fn::Sub").(string); strings.Contains(text, "*") &&
								(action != "s3:PutObject" || text != "${FailedRecords.Arn}/*") {
								t.Errorf("%s allows %s on %s", id, action, text)
							}
							if strings.HasPrefix(action, "kms:") {
								onKey = append(onKey, action)
								if on != given["KmsKeyArn"] || valueAt(statement, "Condition", "StringEquals", "kms:ViaService") == nil {
									t.Errorf("%s allows %s on %v", id, action, on)
								}
							}
						}
					}
				}
			}
			var want []string
			if given["KmsKeyArn"] != nil {
				want = keys[id]
			}
			if slices.Sort(onKey); !slices.Equal(onKey, want) {
				t.Errorf("%s allows %q with the key, want %q", id, onKey, want)
			}
		}
	})
}

// The books outlive the stack and its mistakes.
func TestTableIsKept(t *testing.T) {
	whole := readTemplate(t)
	const key = "arn:aws:kms:eu-central-1:123456789012:key/0a"
	for _, given := range []map[string]any{{}, {"KmsKeyArn": key, "MaxReadUnits": 300, "MaxWriteUnits": 200, "RecoveryDays": 7}} {
		e := whole.with(t, given)
		books := e.resources()["LedgerTable"]
		if policy := whole.section("Resources")["LedgerTable"]["UpdateReplacePolicy"]; books.DeletionPolicy != "Retain" || policy != "Retain" {
			t.Errorf("deletion policy %q, when replaced %q", books.DeletionPolicy, policy)
		}
		if got := books.Properties["DeletionProtectionEnabled"]; got != true {
			t.Errorf("deletion protection: %v", got)
		}
		for name, want := range map[string]map[string]any{
			"PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true, "RecoveryPeriodInDays": e.parameters["RecoveryDays"]},
			"StreamSpecification":              {"StreamViewType": "NEW_IMAGE"},
		} {
			if got := mapAt(books.Properties, name); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %v, want %v", name, got, want)
			}
		}
		encryption := map[string]any{"SSEEnabled": true, "SSEType": "KMS"}
		if given["KmsKeyArn"] != nil {
			encryption["KMSMasterKeyId"] = key
		}
		if got := mapAt(books.Properties, "SSESpecification"); !reflect.DeepEqual(got, encryption) {
			t.Errorf("encryption: %v, want %v", got, encryption)
		}
		// An index that is throttled holds up the table's writes, and its reads cost as much.
		for _, part := range append([]any{books.Properties}, listOf(books.Properties["GlobalSecondaryIndexes"])...) {
			part, _ := part.(map[string]any)
			throughput := map[string]any{
				"MaxReadRequestUnits": e.parameters["MaxReadUnits"], "MaxWriteRequestUnits": e.parameters["MaxWriteUnits"],
			}
			if got := mapAt(part, "OnDemandThroughput"); !reflect.DeepEqual(got, throughput) {
				t.Errorf("%v is capped at %v, want %v", part["IndexName"], got, throughput)
			}
			insights := map[string]any{"Enabled": true, "Mode": "THROTTLED_KEYS"}
			if got := mapAt(part, "ContributorInsightsSpecification"); !reflect.DeepEqual(got, insights) {
				t.Errorf("%v: insights %v", part["IndexName"], got)
			}
		}
	}
}

// A new version takes over only while nothing goes wrong, and no parameter can make a deployed function believe that it is
// a local one.
func TestFunctionsAsDeployed(t *testing.T) {
	whole := readTemplate(t)
	globals := mapAt(whole, "Globals", "Function")
	variables := mapAt(globals, "Environment", "Variables")
	if globals["AutoPublishAlias"] != "live" || globals["Tracing"] != "Active" {
		t.Errorf("all functions have %v", globals)
	}
	for name, want := range map[string]any{
		"LEDGER_LOCAL": "", "AWS_ENDPOINT_URL_DYNAMODB": "",
		"LEDGER_TABLE": ref("LedgerTable"), "LEDGER_METRICS": sub("Ledger/${AWS::StackName}"),
	} {
		if got := variables[name]; !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	alarms := map[string][]any{
		"Command":   {ref("CommandErrorsAlarm"), ref("InternalErrorsAlarm")},
		"Query":     {ref("QueryErrorsAlarm"), ref("InternalErrorsAlarm")},
		"Projector": {ref("ProjectorErrorsAlarm")},
	}
	combinations(t, func(t *testing.T, given map[string]any, resources map[string]stackResource) {
		for name, alarms := range alarms {
			f := resources[name+"Function"].Properties
			if got := mapAt(f, "DeploymentPreference"); !reflect.DeepEqual(got, map[string]any{"Type": "AllAtOnce", "Alarms": alarms}) {
				t.Errorf("%s is deployed by %v", name, got)
			}
			if got, want := f["ReservedConcurrentExecutions"], given[name+"Concurrency"]; got != want {
				t.Errorf("%s has %v instances, want %v", name, got, want)
			}
			if f["AutoPublishAliasAllProperties"] != true || f["Environment"] != nil {
				t.Errorf("%s: %v", name, f)
			}
			if got := f["LoggingConfig"]; !reflect.DeepEqual(got, any(map[string]any{"LogFormat": "JSON", "LogGroup": ref(name + "Logs")})) {
				t.Errorf("%s logs to %v", name, got)
			}
			if got := resources[name+"Logs"].Properties["RetentionInDays"]; got != 90 {
				t.Errorf("logs of %s are kept %v days", name, got)
			}
		}
	})
	for _, alarms := range alarms {
		for _, alarm := range alarms {
			id, _ := valueAt(alarm.(map[string]any), "Ref").(string)
			if whole.section("Resources")[id]["Type"] != "AWS::CloudWatch::Alarm" {
				t.Errorf("there is no alarm %s", id)
			}
		}
	}
}

// No record is lost, and none stops its shard for as long as the stream remembers.
func TestStreamIsReadToTheEnd(t *testing.T) {
	const retention = 24 * time.Hour // of DynamoDB Streams
	mapping := mapAt(readTemplate(t).with(t, nil).resources()["ProjectorFunction"].Properties, "Events", "Postings", "Properties")
	if mapping == nil {
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
	// An outage is ridden out, and one failing record doesn't stop its shard.
	if retries, ok := mapping["MaximumRetryAttempts"].(int); !ok || retries < 1000 || retries > 10000 {
		t.Errorf("%v retries", mapping["MaximumRetryAttempts"])
	}
	age, _ := mapping["MaximumRecordAgeInSeconds"].(int)
	if age := time.Duration(age) * time.Second; age < 6*time.Hour || age > retention/2 {
		t.Errorf("records may grow %v old, of the %v that they are kept", age, retention)
	}
	if mapping["BatchSize"] != 100 || mapping["MaximumBatchingWindowInSeconds"] != 1 || mapping["ParallelizationFactor"] != 4 {
		t.Errorf("%v batches of %v in a window of %v s", mapping["ParallelizationFactor"], mapping["BatchSize"], mapping["MaximumBatchingWindowInSeconds"])
	}
	if got := mapAt(mapping, "DestinationConfig", "OnFailure"); !reflect.DeepEqual(got, map[string]any{"Type": "S3", "Destination": getAtt("FailedRecords.Arn")}) {
		t.Errorf("failed records go to %v: only S3 keeps the record itself", got)
	}
}

// What could not be projected is kept for a year, for nobody else's eyes.
func TestFailedRecordsAreKept(t *testing.T) {
	whole := readTemplate(t)
	const key = "arn:aws:kms:eu-central-1:123456789012:key/0a"
	for _, given := range []map[string]any{{}, {"KmsKeyArn": key}} {
		resources := whole.with(t, given).resources()
		bucket := resources["FailedRecords"]
		if policy := whole.section("Resources")["FailedRecords"]["UpdateReplacePolicy"]; bucket.DeletionPolicy != "Retain" || policy != "Retain" {
			t.Errorf("deletion policy %q, when replaced %v", bucket.DeletionPolicy, policy)
		}
		encryption := map[string]any{"ServerSideEncryptionByDefault": map[string]any{"SSEAlgorithm": "AES256"}}
		if given["KmsKeyArn"] != nil {
			encryption = map[string]any{"BucketKeyEnabled": true,
				"ServerSideEncryptionByDefault": map[string]any{"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": key}}
		}
		for name, want := range map[string]any{
			"PublicAccessBlockConfiguration": map[string]any{
				"BlockPublicAcls": true, "BlockPublicPolicy": true, "IgnorePublicAcls": true, "RestrictPublicBuckets": true},
			"OwnershipControls":       map[string]any{"Rules": []any{map[string]any{"ObjectOwnership": "BucketOwnerEnforced"}}},
			"VersioningConfiguration": map[string]any{"Status": "Enabled"},
			"BucketEncryption":        map[string]any{"ServerSideEncryptionConfiguration": []any{encryption}},
		} {
			if got := bucket.Properties[name]; !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %v, want %v", name, got, want)
			}
		}
		rules := listOf(valueAt(bucket.Properties, "LifecycleConfiguration", "Rules"))
		if len(rules) != 1 || valueAt(rules[0].(map[string]any), "Status") != "Enabled" || valueAt(rules[0].(map[string]any), "ExpirationInDays") != 365 {
			t.Errorf("lifecycle %v", rules)
		}
		policy := resources["FailedRecordsPolicy"].Properties
		want := []any{map[string]any{
			"Sid": "TlsOnly", "Effect": "Deny", "Principal": "*", "Action": "s3:*",
			"Resource":  []any{getAtt("FailedRecords.Arn"), sub("${FailedRecords.Arn}/*")},
			"Condition": map[string]any{"Bool": map[string]any{"aws:SecureTransport": false}},
		}}
		if got := valueAt(policy, "PolicyDocument", "Statement"); !reflect.DeepEqual(got, any(want)) || !reflect.DeepEqual(policy["Bucket"], any(ref("FailedRecords"))) {
			t.Errorf("policy of %v: %v", policy["Bucket"], got)
		}
	}
}

// Two stacks live side by side in one account: whatever has a name that must be the only one of its kind has it from
// CloudFormation or carries the stack's.
func TestNamesAreTheStacks(t *testing.T) {
	// Names within something that is the stack's own already.
	inner := map[string]bool{"AWS::ApiGatewayV2::Authorizer.Name": true}
	named := regexp.MustCompile(`^(Name|[A-Za-z]*(Table|Bucket|Role|Function|Group|Alarm|Dashboard|Topic|Queue|Policy|Alias|Key|Api)Name)$`)
	combinations(t, func(t *testing.T, _ map[string]any, resources map[string]stackResource) {
		for id, r := range resources {
			for property, value := range r.Properties {
				if !named.MatchString(property) || inner[r.Type+"."+property] || property == "GroupName" {
					continue
				}
				switch at, _ := value.(map[string]any); {
				case at != nil && at["Ref"] != nil: // the stack's name, or something else's that is the stack's own
				case at != nil && strings.Contains(fmt.Sprint(at["Fn::Sub"]), "${AWS::StackName}"):
				case r.Type == "AWS::Route53::RecordSet" || r.Type == "AWS::ApiGatewayV2::DomainName" || property == "MetricName":
				default:
					t.Errorf("%s has the %s %v", id, property, value)
				}
			}
		}
	})
	for id, output := range readTemplate(t).section("Outputs") {
		if output["Export"] != nil {
			t.Errorf("output %s has a name in all of the Region", id)
		}
	}
}
