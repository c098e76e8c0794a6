package documents

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// stackResource is one resource of a template. Intrinsic functions in short form come as their arguments.
type stackResource struct {
	Type           string         `yaml:"Type"`
	DeletionPolicy string         `yaml:"DeletionPolicy"`
	Properties     map[string]any `yaml:"Properties"`
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
	{"JwtIssuer": "https://issuer.example.com", "JwtAudience": "ledger,other", "JwtAdminScope": "ledger/admin"},
	{"JwtReadScope": "ledger/read", "JwtWriteScope": "ledger/write"},
	{"CorsOrigins": "https://app.example.com"},
	{"DomainName": "ledger.example.com", "CertificateArn": "arn:aws:acm:eu-central-1:123456789012:certificate/0a"},
	{"HostedZoneId": "Z123"},
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

// breakGlass is a role that may delete, key one's own key, for tests of what they change.
const (
	breakGlass = "arn:aws:iam::123456789012:role/break-glass"
	key        = "arn:aws:kms:eu-central-1:123456789012:key/0a"
)

func ref(id string) map[string]any           { return map[string]any{"Ref": id} }
func getAtt(attribute string) map[string]any { return map[string]any{"Fn::GetAtt": attribute} }
func sub(text string) map[string]any         { return map[string]any{"Fn::Sub": text} }

// mapAt is valueAt for a map.
func mapAt(properties map[string]any, names ...string) map[string]any {
	m, _ := valueAt(properties, names...).(map[string]any)
	return m
}

// What must hold of every stack, by resource and path. What is written here keeps the books, and lint doesn't ask for
// it.
func TestTheBooksAreKept(t *testing.T) {
	whole := readTemplate(t)
	resources := whole.section("Resources")
	mapping := map[string]any{
		"Stream": getAtt("LedgerTable.StreamArn"), "StartingPosition": "TRIM_HORIZON",
		// an outage is ridden out, and one failing record stops its shard for half the stream's retention at most
		"MaximumRetryAttempts": 1000, "MaximumRecordAgeInSeconds": int((12 * time.Hour).Seconds()),
		"BisectBatchOnFunctionError": true, "FunctionResponseTypes": []any{"ReportBatchItemFailures"},
		"BatchSize": 100, "MaximumBatchingWindowInSeconds": 1, "ParallelizationFactor": 1,
		// only S3 keeps the record itself
		"DestinationConfig": map[string]any{"OnFailure": map[string]any{"Type": "S3",
			"Destination": getAtt("FailedRecords.Arn")}},
	}
	for path, want := range map[string]any{
		"LedgerTable DeletionPolicy": "Retain", "LedgerTable UpdateReplacePolicy": "Retain",
		"LedgerTable Properties DeletionProtectionEnabled": true,
		"LedgerTable Properties PointInTimeRecoverySpecification": map[string]any{
			"PointInTimeRecoveryEnabled": true, "RecoveryPeriodInDays": ref("RecoveryDays")},
		"LedgerTable Properties StreamSpecification StreamViewType": "NEW_IMAGE",
		"LedgerTable Properties SSESpecification SSEType":           "KMS",
		"ProjectorFunction Properties Events Postings Properties":   mapping,
		"ListerFunction Properties Events Transactions Properties":  mapping,
		// what a minute leaves undone, the next one does
		"SweeperFunction Properties Events Minute": map[string]any{"Type": "Schedule", "Properties": map[string]any{
			"Schedule":    "rate(1 minute)",
			"RetryPolicy": map[string]any{"MaximumRetryAttempts": 0, "MaximumEventAgeInSeconds": 60},
		}},
		"FailedRecords Properties PublicAccessBlockConfiguration": map[string]any{"BlockPublicAcls": true,
			"BlockPublicPolicy": true, "IgnorePublicAcls": true, "RestrictPublicBuckets": true},
	} {
		got := valueAt(whole, append([]string{"Resources"}, strings.Fields(path)...)...)
		if m, ok := got.(map[string]any); ok { // not compared: what else the streams of functions have
			delete(m, "FilterCriteria")
			delete(m, "MetricsConfig")
			delete(m, "Enabled")
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
	// An index that is throttled holds up the table's writes, and its reads cost as much.
	books := mapAt(resources["LedgerTable"], "Properties")
	for _, part := range append([]any{books}, listOf(books["GlobalSecondaryIndexes"])...) {
		want := map[string]any{"MaxReadRequestUnits": ref("MaxReadUnits"), "MaxWriteRequestUnits": ref("MaxWriteUnits")}
		if got := mapAt(part.(map[string]any), "OnDemandThroughput"); !reflect.DeepEqual(got, want) {
			t.Errorf("%v is capped at %v", part.(map[string]any)["IndexName"], got)
		}
	}
	// Logs say who posted what. They outlive their stack, and are encrypted by the table's key. What outlives its stack
	// must not be in the way of the next of that name.
	for id, r := range resources {
		logs := r["Type"] == "AWS::Logs::LogGroup"
		if (logs || strings.HasPrefix(id, "FailedRecords")) &&
			(r["DeletionPolicy"] != "RetainExceptOnCreate" || r["UpdateReplacePolicy"] != "Retain") {
			t.Errorf("%s: deletion policy %v, when replaced %v", id, r["DeletionPolicy"], r["UpdateReplacePolicy"])
		}
		if name := valueAt(r, "Properties", "LogGroupName"); logs &&
			(!strings.Contains(fmt.Sprint(valueAt(r, "Properties", "KmsKeyId")), "KmsKeyArn") ||
				name != nil && !strings.Contains(fmt.Sprint(name), "AWS::StackId")) {
			t.Errorf("%s: %v", id, r["Properties"])
		}
	}
}

// Nobody in the account can delete an item, by no way that there is, but the one role that may be named.
func TestNothingIsDeletedFromTheTable(t *testing.T) {
	whole := readTemplate(t)
	for _, role := range []any{"", breakGlass} {
		want := map[string]any{"Sid": "NothingIsDeleted", "Effect": "Deny", "Principal": "*", "Resource": "*",
			"Action": []any{ // every action by which items go, or that look like those
				"dynamodb:BatchWriteItem", "dynamodb:DeleteItem", "dynamodb:PartiQLDelete", "dynamodb:PartiQLInsert",
				"dynamodb:PartiQLSelect", "dynamodb:PartiQLUpdate", "dynamodb:UpdateTimeToLive",
			}}
		if role != "" {
			want["Condition"] = map[string]any{"ArnNotEquals": map[string]any{"aws:PrincipalArn": role}}
		}
		books := whole.with(t, map[string]any{"BreakGlassRoleArn": role}).resources()["LedgerTable"].Properties
		got := valueAt(books, "ResourcePolicy", "PolicyDocument", "Statement")
		if !reflect.DeepEqual(got, any([]any{want})) {
			t.Errorf("with %q the table's policy is %v, want %v", role, got, want)
		}
	}
}

// A new version takes over step by step, and only while no alarm goes off. No parameter can make a deployed function
// believe that it is a local one. Metrics are taken from logs in JSON, of level INFO.
func TestFunctionsAsDeployed(t *testing.T) {
	whole := readTemplate(t)
	for name, want := range map[string]any{
		"LEDGER_LOCAL": "", "AWS_ENDPOINT_URL_DYNAMODB": "",
		"LEDGER_TABLE": ref("LedgerTable"), "LEDGER_METRICS": sub(ownNamespace),
		"LEDGER_NEWEST_FORM": ref("NewestForm"), "LEDGER_JWT_USER_CLAIM": ref("JwtUserClaim"),
		"LEDGER_JWT_ADMIN_SCOPE":  ref("JwtAdminScope"),
		"LEDGER_INDEXED_METADATA": ref("IndexedMetadata"),
	} {
		if got := valueAt(whole, "Globals", "Function", "Environment", "Variables", name); !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	resources := whole.with(t, map[string]any{"Deployment": "Canary10Percent5Minutes"}).resources()
	for name, alarms := range map[string][]any{
		"CommandFunction":   {ref("CommandErrorsAlarm"), ref("InternalErrorsAlarm")},
		"QueryFunction":     {ref("QueryErrorsAlarm"), ref("InternalErrorsAlarm")},
		"ProjectorFunction": {ref("ProjectorErrorsAlarm")},
		"ListerFunction":    {ref("ListerErrorsAlarm")},
		"SweeperFunction":   {ref("SweeperErrorsAlarm")},
	} {
		f := resources[name].Properties
		if got := valueAt(f, "DeploymentPreference", "Alarms"); !reflect.DeepEqual(got, any(alarms)) {
			t.Errorf("%s is deployed by %v, want %v", name, got, alarms)
		}
		level := valueAt(f, "LoggingConfig", "ApplicationLogLevel")
		if valueAt(f, "LoggingConfig", "LogFormat") != "JSON" ||
			level != nil && !slices.Contains([]any{"INFO", "DEBUG", "TRACE"}, level) {
			t.Errorf("%s logs %v", name, f["LoggingConfig"])
		}
	}
}

// The gateway's log and the functions' have the id of a request in common, and neither has what was asked: paths and
// queries hold the ids of accounts and users.
func TestAccessLogHasNoPaths(t *testing.T) {
	format, _ := valueAt(readTemplate(t).with(t, nil).resources()["ApiStage"].Properties, "AccessLogSettings",
		"Format").(string)
	if !strings.Contains(format, `"gateway_request_id":"$context.requestId"`) ||
		strings.Contains(strings.ToLower(format), "path") || strings.Contains(strings.ToLower(format), "querystring") {
		t.Errorf("the gateway logs %s", format)
	}
}

// Two stacks live side by side in one account: what has a name of its own has it from the stack.
func TestNamesAreTheStacks(t *testing.T) {
	named := regexp.MustCompile(`^(Table|Bucket|Role|Function|LogGroup|Alarm|Dashboard|Topic|Queue|Policy|Alias)Name$`)
	for id, r := range readTemplate(t).with(t, nil).resources() {
		for property, value := range r.Properties {
			text := fmt.Sprint(value) // a reference to something else's name is the stack's own
			if named.MatchString(property) && !strings.Contains(text, "AWS::Stack") && !strings.HasPrefix(text, "map[Ref:") {
				t.Errorf("%s has the %s %v", id, property, value)
			}
		}
	}
}
