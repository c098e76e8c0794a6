package tests

import (
	"encoding/json"
	"fmt"
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

// switches are parameters that change what a stack is made of, with a value each.
var switches = []map[string]any{
	{"JwtIssuer": "https://issuer.example.com", "JwtAudience": "ledger,other"},
	{"CorsOrigins": "https://app.example.com"},
	{"DomainName": "ledger.example.com", "CertificateArn": "arn:aws:acm:eu-central-1:123456789012:certificate/0a"},
	{"HostedZoneId": "Z123"},
	{"KmsKeyArn": "arn:aws:kms:eu-central-1:123456789012:key/0a"},
	{"CommandConcurrency": 5, "QueryConcurrency": 6, "ProjectorConcurrency": 7},
	{"AlarmEmail": "on-call@example.com"},
	{"Deployment": "Canary10Percent5Minutes"},
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

// mapAt is valueAt for a map.
func mapAt(properties map[string]any, names ...string) map[string]any {
	m, _ := valueAt(properties, names...).(map[string]any)
	return m
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

// The table that the document tells CloudFormation to take over is the template's, in all that cannot be changed afterwards,
// and in nothing that a restored table lacks: what the template of a takeover says is believed, and never made so.
func TestRestoredTableIsTheTemplates(t *testing.T) {
	var taken struct{ Resources map[string]map[string]any }
	blocks := documentJSON(t, "Restore")
	if len(blocks) != 1 {
		t.Fatalf("%d blocks of JSON, want the table's template", len(blocks))
	}
	if err := json.Unmarshal([]byte(blocks[0]), &taken); err != nil {
		t.Fatal(err)
	}
	template := readTemplate(t).with(t, nil).resources()["LedgerTable"]
	properties := make(map[string]any)
	for _, name := range []string{"BillingMode", "SSESpecification", "AttributeDefinitions", "KeySchema"} {
		properties[name] = template.Properties[name]
	}
	var indexes []any
	for _, index := range listOf(template.Properties["GlobalSecondaryIndexes"]) {
		index := index.(map[string]any)
		indexes = append(indexes, map[string]any{
			"IndexName": index["IndexName"], "KeySchema": index["KeySchema"], "Projection": index["Projection"],
		})
	}
	properties["GlobalSecondaryIndexes"] = indexes
	want := map[string]map[string]any{"LedgerTable": {
		"Type": template.Type, "DeletionPolicy": "Retain", "UpdateReplacePolicy": "Retain", "Properties": properties,
	}}
	if !reflect.DeepEqual(taken.Resources, want) {
		t.Errorf("%s takes over %v, want %v", operationsFile, taken.Resources, want)
	}
}

// A new version takes over by and by only while nothing goes wrong; and no parameter can make a deployed function believe
// that it is a local one.
func TestFunctionsAsDeployed(t *testing.T) {
	whole := readTemplate(t)
	globals := mapAt(whole, "Globals", "Function")
	variables := mapAt(globals, "Environment", "Variables")
	if globals["AutoPublishAlias"] != "live" || !reflect.DeepEqual(globals["Tracing"], any(ref("Tracing"))) {
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
			want := map[string]any{"Type": "AllAtOnce", "Alarms": []any{}}
			if given["Deployment"] != nil {
				want = map[string]any{"Type": given["Deployment"], "Alarms": alarms}
			}
			if got := mapAt(f, "DeploymentPreference"); !reflect.DeepEqual(got, want) {
				t.Errorf("%s is deployed by %v, want %v", name, got, want)
			}
			if got, want := f["ReservedConcurrentExecutions"], given[name+"Concurrency"]; got != want {
				t.Errorf("%s has %v instances, want %v", name, got, want)
			}
			if f["AutoPublishAliasAllProperties"] != true || f["Environment"] != nil {
				t.Errorf("%s: %v", name, f)
			}
			// SAM makes a new version, which callers get, when the text of the function changes, and doesn't look at parameters.
			if got := f["VersionDescription"]; !reflect.DeepEqual(got, any(sub("Tracing ${Tracing}"))) {
				t.Errorf("another Tracing makes no new version of %s: %v", name, got)
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
	if mapping["BatchSize"] != 100 || mapping["MaximumBatchingWindowInSeconds"] != 1 || mapping["ParallelizationFactor"] != 1 {
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
