package documents

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// stackResource is one resource of a template. Intrinsic functions have their long form.
type stackResource struct {
	Type       string
	Properties map[string]any
}

// valueAt returns the value at a path of names in nested maps, nil if there is none.
func valueAt(properties map[string]any, names ...string) any {
	var at any = properties
	for _, name := range names {
		at = asMap(at)[name]
	}
	return at
}

// listOf returns v as a list. Any other value becomes a list of one.
func listOf(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}

// switches are groups of parameters that change the resources of a stack, with values.
var switches = []map[string]any{
	{"JwtIssuer": "https://issuer.example.com", "JwtAudience": "ledger,other", "JwtAdminScope": "ledger/admin"},
	{"JwtReadScope": "ledger/read", "JwtWriteScope": "ledger/write"},
	{"CorsOrigins": "https://app.example.com"},
	{"DomainName": "ledger.example.com", "CertificateArn": "arn:aws:acm:eu-central-1:123456789012:certificate/0a"},
	{"HostedZoneId": "Z123"},
	{"EventBus": "events"},
	{"BackupCopyVaultArn": "arn:aws:backup:eu-central-1:123456789012:backup-vault:copies"},
}

// combinations calls check with the stack of each combination of the switches.
func combinations(t *testing.T, check func(t *testing.T, given map[string]any, resources map[string]stackResource)) {
	t.Helper()
	template := readTemplate(t)
	for on := range 1 << len(switches) {
		given := make(map[string]any)
		for i, parameters := range switches {
			if on&(1<<i) != 0 {
				maps.Copy(given, parameters)
			}
		}
		check(t, given, template.with(t, given).resources())
		if t.Failed() {
			t.Fatalf("with %v", given)
		}
	}
}

// breakGlass and key are example values of BreakGlassRoleArn and KmsKeyArn.
const (
	breakGlass = "arn:aws:iam::123456789012:role/break-glass"
	key        = "arn:aws:kms:eu-central-1:123456789012:key/0a"
)

func ref(id string) map[string]any           { return map[string]any{"Ref": id} }
func getAtt(attribute string) map[string]any { return map[string]any{"Fn::GetAtt": attribute} }
func sub(text string) map[string]any         { return map[string]any{"Fn::Sub": text} }

// mapAt is valueAt for a value that is a map.
func mapAt(properties map[string]any, names ...string) map[string]any {
	return asMap(valueAt(properties, names...))
}

// These properties protect the data of every stack. Lint does not check them.
func TestDataIsProtected(t *testing.T) {
	template := readTemplate(t)
	resources := template.section("Resources")
	mapping := map[string]any{ // of the lister
		"EventSourceArn": getAtt("LedgerTable.StreamArn"), "FunctionName": ref("ListerFunction.Alias"),
		"StartingPosition": "TRIM_HORIZON",
		// Retries outlast an outage. A failing record blocks its shard for at most half of the stream's retention.
		"MaximumRetryAttempts": 1000, "MaximumRecordAgeInSeconds": int((12 * time.Hour).Seconds()),
		"BisectBatchOnFunctionError": true, "FunctionResponseTypes": []any{"ReportBatchItemFailures"},
		"BatchSize": 100, "MaximumBatchingWindowInSeconds": 1, "ParallelizationFactor": 1,
		// Only S3 gets the record itself.
		"DestinationConfig": map[string]any{"OnFailure": map[string]any{"Destination": getAtt("FailedRecords.Arn")}},
	}
	projector := maps.Clone(mapping)
	projector["BatchSize"], projector["FunctionName"] = 1000, ref("ProjectorFunction.Alias")
	everyMinute := func(function string) map[string]any {
		return map[string]any{"ScheduleExpression": "rate(1 minute)", "Targets": []any{map[string]any{
			"Id": function, "Arn": ref(function + "Function.Alias"),
			"RetryPolicy": map[string]any{"MaximumRetryAttempts": 0, "MaximumEventAgeInSeconds": 60},
		}}}
	}
	for path, want := range map[string]any{
		"LedgerTable DeletionPolicy": "Retain", "LedgerTable UpdateReplacePolicy": "Retain",
		"LedgerTable Properties DeletionProtectionEnabled": true,
		"LedgerTable Properties PointInTimeRecoverySpecification": map[string]any{
			"PointInTimeRecoveryEnabled": true, "RecoveryPeriodInDays": ref("RecoveryDays")},
		"LedgerTable Properties StreamSpecification StreamViewType": "NEW_IMAGE",
		"LedgerTable Properties SSESpecification SSEType":           "KMS",
		"ProjectorFunctionPostings Properties":                      projector,
		"ListerFunctionTransactions Properties":                     mapping,
		// The next sweep follows within a minute, so a failed one is not retried.
		"SweeperFunctionMinute Properties":                        everyMinute("Sweeper"),
		"ForwarderFunctionMinute Properties":                      everyMinute("Forwarder"),
		"FailedRecords Properties PublicAccessBlockConfiguration": map[string]any{"BlockPublicAcls": true, "BlockPublicPolicy": true, "IgnorePublicAcls": true, "RestrictPublicBuckets": true},
	} {
		got := valueAt(template, append([]string{"Resources"}, strings.Fields(path)...)...)
		if m, ok := got.(map[string]any); ok { // these properties of event sources are not compared
			delete(m, "FilterCriteria")
			delete(m, "MetricsConfig")
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
	// A throttled index also throttles the table's writes, and reads of an index cost the same.
	books := mapAt(resources["LedgerTable"], "Properties")
	for _, part := range append([]any{books}, listOf(books["GlobalSecondaryIndexes"])...) {
		want := map[string]any{"MaxReadRequestUnits": ref("MaxReadUnits"), "MaxWriteRequestUnits": ref("MaxWriteUnits")}
		if got := asMap(part)["OnDemandThroughput"]; !reflect.DeepEqual(got, any(want)) {
			t.Errorf("%v is capped at %v", asMap(part)["IndexName"], got)
		}
		warm := map[string]any{"ReadUnitsPerSecond": ref("WarmReadUnits"), "WriteUnitsPerSecond": ref("WarmWriteUnits")}
		if got := valueAt(asMap(part), "WarmThroughput", "Fn::If"); !slices.ContainsFunc(listOf(got),
			func(v any) bool { return reflect.DeepEqual(v, any(warm)) }) {
			t.Errorf("%v is warmed to %v", asMap(part)["IndexName"], got)
		}
	}
	// Logs show who posted what, so they remain when the stack is deleted, and are encrypted with the table's key.
	// Remaining resources must not block the next stack of the same name.
	for id, r := range resources {
		// This is W3011 of cfn-lint, except for functions: their DeletionPolicy would keep them when the stack is deleted.
		if (r["DeletionPolicy"] == nil) != (r["UpdateReplacePolicy"] == nil) && r["Type"] != "AWS::Serverless::Function" {
			t.Errorf("%s has only one of the two policies", id)
		}
		logs := r["Type"] == "AWS::Logs::LogGroup"
		if (logs || strings.HasPrefix(id, "FailedRecords")) &&
			(r["DeletionPolicy"] != "RetainExceptOnCreate" || r["UpdateReplacePolicy"] != "Retain") {
			t.Errorf("%s: deletion policy %v, replace policy %v", id, r["DeletionPolicy"], r["UpdateReplacePolicy"])
		}
		if name := valueAt(r, "Properties", "LogGroupName"); logs &&
			(!strings.Contains(fmt.Sprint(valueAt(r, "Properties", "KmsKeyId")), "KmsKeyArn") ||
				name != nil && !strings.Contains(fmt.Sprint(name), "AWS::StackId")) {
			t.Errorf("%s: %v", id, r["Properties"])
		}
	}
}

// A replaced event source must not live on: it would feed old records to the function. SAM would pass on the policy of
// the function, so functions have no events.
func TestEventSourcesAreNotRetained(t *testing.T) {
	found := 0
	for id, r := range readTemplate(t).section("Resources") {
		switch r["Type"] {
		case "AWS::Serverless::Function":
			if valueAt(r, "Properties", "Events") != nil {
				t.Errorf("%s has events", id)
			}
		case "AWS::Lambda::EventSourceMapping", "AWS::Events::Rule":
			if found++; r["UpdateReplacePolicy"] != nil || r["DeletionPolicy"] != nil {
				t.Errorf("%s is retained", id)
			}
		}
	}
	if found != 4 {
		t.Errorf("%d event sources", found)
	}
}

// A function starts only with its permissions, which are not part of its role.
func TestFunctionsDependOnTheirPolicies(t *testing.T) {
	resources := readTemplate(t).section("Resources")
	for id, r := range resources {
		if r["Type"] != "AWS::Serverless::Function" && r["Type"] != "AWS::Lambda::EventSourceMapping" {
			continue
		}
		function := id
		if r["Type"] == "AWS::Lambda::EventSourceMapping" {
			function, _ = strings.CutSuffix(mapAt(r, "Properties", "FunctionName")["Ref"].(string), ".Alias")
		}
		policy := strings.TrimSuffix(function, "Function") + "Policy"
		if !slices.Contains(listOf(r["DependsOn"]), any(policy)) || resources[policy] == nil {
			t.Errorf("%s depends on %v, not on %s", id, r["DependsOn"], policy)
		}
	}
}

// Only the break-glass role can delete items, with any action that deletes.
func TestNothingIsDeletedFromTheTable(t *testing.T) {
	template := readTemplate(t)
	for _, role := range []any{"", breakGlass} { // without OperatorRoleArn it is the only statement
		want := map[string]any{"Sid": "NothingIsDeleted", "Effect": "Deny", "Principal": "*", "Resource": "*",
			"Action": []any{ // every action that can delete items
				"dynamodb:BatchWriteItem", "dynamodb:DeleteItem", "dynamodb:PartiQLDelete", "dynamodb:PartiQLInsert",
				"dynamodb:PartiQLSelect", "dynamodb:PartiQLUpdate", "dynamodb:UpdateTimeToLive",
			}}
		if role != "" {
			want["Condition"] = map[string]any{"ArnNotEquals": map[string]any{"aws:PrincipalArn": role}}
		}
		books := template.with(t, map[string]any{"BreakGlassRoleArn": role}).resources()["LedgerTable"].Properties
		got := valueAt(books, "ResourcePolicy", "PolicyDocument", "Statement")
		if !reflect.DeepEqual(got, any([]any{want})) {
			t.Errorf("with %q the table's policy is %v, want %v", role, got, want)
		}
	}
}

// A gradual deployment rolls back on alarms. No parameter can set LEDGER_LOCAL in a deployed function. Metrics need
// logs in JSON, with level INFO.
func TestFunctionsAsDeployed(t *testing.T) {
	template := readTemplate(t)
	for name, want := range map[string]any{
		"LEDGER_LOCAL": "", "AWS_ENDPOINT_URL_DYNAMODB": "",
		"LEDGER_TABLE": ref("LedgerTable"), "LEDGER_METRICS": sub(ownNamespace),
		"LEDGER_JWT_USER_CLAIM":   ref("JwtUserClaim"),
		"LEDGER_JWT_ADMIN_SCOPE":  ref("JwtAdminScope"),
		"LEDGER_INDEXED_METADATA": ref("IndexedMetadata"),
	} {
		got := valueAt(template, "Globals", "Function", "Environment", "Variables", name)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	resources := template.with(t, map[string]any{"Deployment": "Canary10Percent5Minutes", "EventBus": "events"}).resources()
	for name, alarms := range map[string][]any{
		"CommandFunction":   {ref("CommandErrorsAlarm"), ref("InternalErrorsAlarm")},
		"QueryFunction":     {ref("QueryErrorsAlarm"), ref("InternalErrorsAlarm")},
		"ProjectorFunction": {ref("ProjectorErrorsAlarm")},
		"ListerFunction":    {ref("ListerErrorsAlarm")},
		"SweeperFunction":   {ref("SweeperErrorsAlarm")},
		"ForwarderFunction": {nil}, // it deploys at once, as SAM cannot make a gradual deployment depend on a condition
	} {
		f := resources[name].Properties
		if got := listOf(valueAt(f, "DeploymentPreference", "Alarms")); !reflect.DeepEqual(got, alarms) {
			t.Errorf("%s rolls back on %v, want %v", name, got, alarms)
		}
		// SAM gives the policy to the versions. Otherwise an update deletes the version before, and with it the way back.
		if policy := valueAt(template, "Resources", name, "UpdateReplacePolicy"); policy != "Retain" {
			t.Errorf("%s: the version before an update: %v", name, policy)
		}
		// A trace of each sweep would cost more than the sweeps.
		isScheduled := name == "SweeperFunction" || name == "ForwarderFunction"
		if tracing := f["Tracing"]; isScheduled && tracing != "PassThrough" || !isScheduled && tracing != nil {
			t.Errorf("%s: tracing %v", name, tracing)
		}
		level := valueAt(f, "LoggingConfig", "ApplicationLogLevel")
		if valueAt(f, "LoggingConfig", "LogFormat") != "JSON" ||
			level != nil && !slices.Contains([]any{"INFO", "DEBUG", "TRACE"}, level) {
			t.Errorf("%s logs %v", name, f["LoggingConfig"])
		}
	}
}

// Each route of the dearest requests has limits of its own, and they exist before the stage that sets them. At the
// defaults, pages of balances leave read units to everybody else.
func TestTheDearestRoutesAreLimited(t *testing.T) {
	template := readTemplate(t)
	resources := template.section("Resources")
	stage := resources["ApiStage"]
	settings := mapAt(stage, "Properties", "RouteSettings")
	costly := map[string]any{"ThrottlingRateLimit": ref("CostlyRateLimit"), "ThrottlingBurstLimit": ref("CostlyBurstLimit")}
	const heads = 5
	wanted := map[string]any{
		"POST /v1/batches": costly, "GET /v1/accounts/{account}/balances": costly,
		"HEAD /v1/accounts/{account}/balances": map[string]any{"ThrottlingRateLimit": heads, "ThrottlingBurstLimit": 10},
	}
	found := 0
	for id, r := range resources {
		key, _ := valueAt(r, "Properties", "RouteKey").(string)
		if settings[key] == nil {
			continue
		}
		if found++; !reflect.DeepEqual(settings[key], wanted[key]) || !slices.Contains(listOf(stage["DependsOn"]), any(id)) {
			t.Errorf("%s has the limits %v, and the stage depends on %v", id, settings[key], stage["DependsOn"])
		}
	}
	if found != len(wanted) || len(settings) != found {
		t.Errorf("%d routes have limits, of %d settings", found, len(settings))
	}
	number := func(parameter string) int {
		n, _ := valueAt(template, "Parameters", parameter, "Default").(int)
		return n
	}
	pages := number("CostlyRateLimit") + heads
	if units, most := 200*pages, number("MaxReadUnits"); pages == heads || units >= most {
		t.Errorf("%d pages a second take %d of %d read units", pages, units, most)
	}
}

// The trail has writes of items by everybody but the roles that write for the ledger.
func TestTheTrailLeavesOutTheLedger(t *testing.T) {
	for _, bus := range []string{"", "events"} {
		stack := readTemplate(t).with(t, map[string]any{"Trail": "Enabled", "EventBus": bus}).resources()
		selectors := listOf(stack["AuditTrail"].Properties["AdvancedEventSelectors"])
		fields := make(map[string]map[string]any)
		for _, f := range listOf(asMap(selectors[0])["FieldSelectors"]) {
			name, _ := asMap(f)["Field"].(string)
			fields[name] = asMap(f)
		}
		var roles []any
		for _, role := range []string{"Command", "Projector", "Lister", "Sweeper", "Forwarder"} {
			if role != "Forwarder" || bus != "" {
				roles = append(roles, sub("arn:${AWS::Partition}:sts::${AWS::AccountId}:assumed-role/${"+role+"Role}/"))
			}
		}
		if got := fields["userIdentity.arn"]["NotStartsWith"]; !reflect.DeepEqual(got, any(roles)) {
			t.Errorf("with the bus %q it leaves out %v", bus, got)
		}
		if got := fields["resources.ARN"]["Equals"]; !reflect.DeepEqual(got, any([]any{getAtt("LedgerTable.Arn")})) {
			t.Errorf("it has writes of %v", got)
		}
	}
	if readTemplate(t).with(t, nil).resources()["AuditTrail"].Type != "" {
		t.Error("there is a trail that nobody asked for")
	}
}

// The access log has the request's id, which the functions also log, and the user by the claim that the functions read.
// It has no paths and queries, because they contain ids of accounts and users.
func TestAccessLogHasNoPaths(t *testing.T) {
	format, _ := valueAt(readTemplate(t).with(t, nil).resources()["ApiStage"].Properties, "AccessLogSettings",
		"Format", "Fn::Sub").(string)
	if !strings.Contains(format, `"gateway_request_id":"$context.requestId"`) ||
		!strings.Contains(format, `"user":"$context.authorizer.claims.${JwtUserClaim}"`) ||
		strings.Contains(strings.ToLower(format), "path") || strings.Contains(strings.ToLower(format), "querystring") {
		t.Errorf("the gateway logs %s", format)
	}
}

// Two stacks can exist in one account: explicit names contain the stack's name.
func TestNamesContainTheStack(t *testing.T) {
	named := regexp.MustCompile(`^(Table|Bucket|Role|Function|LogGroup|Alarm|Dashboard|Topic|Queue|Policy|Alias)Name$`)
	for id, r := range readTemplate(t).with(t, nil).resources() {
		for property, value := range r.Properties {
			text := fmt.Sprint(value) // a Ref is the name of a resource of this stack
			if r.Type == "AWS::IAM::Policy" && property == "PolicyName" {
				continue // the name is unique in its role
			}
			if named.MatchString(property) && !strings.Contains(text, "AWS::Stack") && !strings.HasPrefix(text, "map[Ref:") {
				t.Errorf("%s has the %s %v", id, property, value)
			}
		}
	}
}

// Pages of other origins can read every header of the API's answers.
func TestBrowsersSeeAllHeaders(t *testing.T) {
	var api struct {
		Paths map[string]map[string]struct {
			Responses map[string]struct{ Headers map[string]any }
		}
	}
	text, err := os.ReadFile("../../functions/api/openapi.json")
	if err == nil {
		err = json.Unmarshal(text, &api)
	}
	if err != nil {
		t.Fatal(err)
	}
	stack := readTemplate(t).with(t, map[string]any{"CorsOrigins": "https://app.example.com"}).resources()
	exposed := listOf(valueAt(stack["LedgerApi"].Properties, "CorsConfiguration", "ExposeHeaders"))
	for path, operations := range api.Paths {
		for _, o := range operations {
			for status, response := range o.Responses {
				for name := range response.Headers {
					if !slices.Contains(exposed, any(strings.ToLower(name))) {
						t.Errorf("%s, %s: %s is not exposed", path, status, name)
					}
				}
			}
		}
	}
}
