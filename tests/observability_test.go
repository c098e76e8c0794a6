package tests

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ledger.example/functions/metrics"
)

// ownNamespace is where our metrics are, as template.yaml tells the functions.
const ownNamespace = "Ledger/${AWS::StackName}"

// awsMetrics are those of AWS's own metrics that we watch, by namespace, each with the sets of dimensions in which AWS
// publishes it. Sources, under docs.aws.amazon.com:
//   - AWS/ApiGateway: apigateway/latest/developerguide/http-api-metrics.html
//   - AWS/DynamoDB: amazondynamodb/latest/developerguide/metrics-dimensions.html
//   - AWS/Lambda: lambda/latest/dg/monitoring-metrics-types.html, and monitoring-metrics-view.html for dimensions
//   - AWS/Logs: AmazonCloudWatch/latest/logs/CloudWatch-Logs-Monitoring-CloudWatch-Metrics.html
func awsMetrics() map[string]map[string][]string {
	const (
		api      = "ApiId"
		function = "FunctionName"
		alias    = "FunctionName Resource"
		mapping  = "EventSourceMappingUUID"
		table    = "TableName"
		index    = "GlobalSecondaryIndexName TableName"
		group    = "LogGroupName"
	)
	return map[string]map[string][]string{
		"AWS/ApiGateway": {"Count": {api}, "4xx": {api}, "5xx": {api}, "Latency": {api}, "IntegrationLatency": {api}},
		"AWS/DynamoDB": {
			"ConsumedReadCapacityUnits": {table, index}, "ConsumedWriteCapacityUnits": {table, index},
			"ReadThrottleEvents": {table, index}, "WriteThrottleEvents": {table, index},
			"ReadMaxOnDemandThroughputThrottleEvents": {table, index}, "WriteMaxOnDemandThroughputThrottleEvents": {table, index},
			"ReadKeyRangeThroughputThrottleEvents": {table, index}, "WriteKeyRangeThroughputThrottleEvents": {table, index},
			"ReadAccountLimitThrottleEvents": {table, index}, "WriteAccountLimitThrottleEvents": {table, index},
			"TransactionConflict": {table},
		},
		"AWS/Lambda": {
			"Invocations": {function, alias}, "Errors": {function, alias}, "Throttles": {function, alias}, "Duration": {function, alias},
			"ConcurrentExecutions": {function, alias}, "IteratorAge": {function, alias}, "DestinationDeliveryFailures": {function, alias},
			"OnFailureDestinationDeliveredEventCount": {mapping}, "DroppedEventCount": {mapping},
		},
		"AWS/Logs": {"IncomingBytes": {group}, "EMFParsingErrors": {group}, "EMFValidationErrors": {group}},
	}
}

// Every line of an alarm or of the dashboard is of a metric that there is, in the dimensions in which it is published: of
// another, CloudWatch would show nothing, and never alarm. That ours are emitted is another test's.
func TestWatchedMetricsExist(t *testing.T) {
	whole := stack(t)
	ours := make(map[string]string) // to the names of dimensions
	for _, m := range metrics.Metrics() {
		ours[m.Name] = m.Dimension
	}
	used := make(map[string]bool)
	for _, w := range allWatched(t) {
		if w.namespace == ownNamespace {
			used[w.name] = true
			if dimension, ok := ours[w.name]; !ok || w.dimensionNames() != dimension {
				t.Errorf("%v: not one of ours", w)
			}
		} else if !slices.Contains(awsMetrics()[w.namespace][w.name], w.dimensionNames()) {
			t.Errorf("%v: not one of AWS's", w)
		}
		for name, value := range w.dimensions {
			if problem := wrongDimension(whole, w, name, value); problem != "" {
				t.Errorf("%v: %s", w, problem)
			}
		}
		if !regexp.MustCompile(`^(Sum|Maximum|p[0-9]{2})$`).MatchString(w.stat) {
			t.Errorf("%v: statistic %q", w, w.stat)
		}
	}
	for name := range ours {
		if !used[name] {
			t.Errorf("%s is paid for, and nobody looks at it", name)
		}
	}
}

// wrongDimension says what is wrong with the value of a dimension, "" when it names what it should in this stack.
func wrongDimension(whole map[string]any, w watched, name, value string) string {
	id := strings.TrimSuffix(strings.TrimPrefix(value, "${"), "}")
	kind, _ := valueAt(whole, "Resources", id, "Type").(string)
	switch name {
	case "ApiId":
		if kind != "AWS::Serverless::HttpApi" && kind != "AWS::ApiGatewayV2::Api" {
			return "no API"
		}
	case "FunctionName":
		if kind != "AWS::Serverless::Function" {
			return "no function"
		}
	case "Resource": // function and alias, as Lambda writes it
		function, alias, _ := strings.Cut(value, ":")
		if function != w.dimensions["FunctionName"] {
			return "another function's"
		}
		if valueAt(whole, "Globals", "Function", "AutoPublishAlias") != alias {
			return "no alias"
		}
	case "TableName":
		if kind != "AWS::DynamoDB::Table" {
			return "no table"
		}
	case "GlobalSecondaryIndexName":
		for _, index := range listOf(valueAt(whole, "Resources", "LedgerTable", "Properties", "GlobalSecondaryIndexes")) {
			if index.(map[string]any)["IndexName"] == value {
				return ""
			}
		}
		return "no index"
	case "LogGroupName":
		if kind != "AWS::Logs::LogGroup" {
			return "no log group"
		}
	case "EventSourceMappingUUID":
		// SAM names the mapping after its function and the function's event, and counts events only when asked.
		const function, event = "ProjectorFunction", "Postings"
		mapping, _ := valueAt(whole, "Resources", function, "Properties", "Events", event, "Properties").(map[string]any)
		if id != function+event || valueAt(whole, "Resources", function, "Properties", "Events", event, "Type") != "DynamoDB" {
			return "no mapping"
		}
		if !slices.Contains(listOf(valueAt(mapping, "MetricsConfig", "Metrics")), any("EventCount")) {
			return "a mapping that doesn't count events"
		}
	case "Code":
		if value != "*" {
			return "one code among many"
		}
	}
	return ""
}

// metricID is what an expression calls a metric by.
var metricID = regexp.MustCompile(`\b[a-z][a-z0-9]*\b`)

// Somebody is told of every alarm, and what to do.
func TestAlarms(t *testing.T) {
	whole := stack(t)
	operations, err := os.ReadFile(filepath.Join(moduleRoot, "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	for id, alarm := range alarms(t, whole) {
		description, _ := alarm["AlarmDescription"].(string)
		if !strings.HasSuffix(description, "What to do: docs/operations.md#"+strings.ToLower(id)) {
			t.Errorf("%s: description %q", id, description)
		}
		if !regexp.MustCompile(`(?m)^#+ ` + id + `$`).Match(operations) {
			t.Errorf("docs/operations.md doesn't say what to do about %s", id)
		}
		if told := listOf(alarm["AlarmActions"]); !slices.Equal(told, []any{"${AlarmTopic}"}) {
			t.Errorf("%s tells %v", id, told)
		}
		if told := listOf(alarm["OKActions"]); alarm["OKActions"] != nil && !slices.Equal(told, []any{"${AlarmTopic}"}) {
			t.Errorf("%s tells %v that it is over", id, told)
		}
		if alarm["TreatMissingData"] != "notBreaching" {
			t.Errorf("%s of an idle ledger: %v", id, alarm["TreatMissingData"])
		}
		if alarm["AlarmName"] != nil {
			t.Errorf("%s has a name of its own: two stacks would share it", id)
		}
		for _, number := range []string{"Threshold", "EvaluationPeriods"} {
			if n, ok := alarm[number].(int); !ok || n < 1 {
				t.Errorf("%s: %s %v", id, number, alarm[number])
			}
		}
		if alarm["Metrics"] == nil {
			continue
		}
		var expression, returned string
		stats := make(map[string]bool)
		for _, m := range listOf(alarm["Metrics"]) {
			m := m.(map[string]any)
			name := m["Id"].(string)
			if metricID.FindString(name) != name {
				t.Errorf("%s: metric %q", id, name)
			}
			if m["ReturnData"] != false {
				returned += name
				expression, _ = m["Expression"].(string)
				continue
			}
			stats[name] = true
		}
		asked := make(map[string]bool)
		for _, name := range metricID.FindAllString(expression, -1) {
			asked[name] = true
		}
		if !maps.Equal(asked, stats) || expression == "" {
			t.Errorf("%s: %s is %q of %q", id, returned, expression, slices.Sorted(maps.Keys(stats)))
		}
	}
	topic, _ := valueAt(whole, "Resources", "AlarmTopic", "Properties").(map[string]any)
	if topic["KmsMasterKeyId"] != "${AlarmKey.Arn}" || topic["TopicName"] != nil {
		t.Errorf("topic %v", topic)
	}
	// Without this, alarms go nowhere, and nobody is told that either.
	statements := fmt.Sprint(valueAt(whole, "Resources", "AlarmKey", "Properties", "KeyPolicy", "Statement"))
	for _, needed := range []string{"cloudwatch.amazonaws.com", "kms:Decrypt", "kms:GenerateDataKey*"} {
		if !strings.Contains(statements, needed) {
			t.Errorf("the topic's key lets nobody %s", needed)
		}
	}
}

// A bad version takes itself back: by crashes and time-outs of its own alias, and where it answers requests by 500s,
// which are no errors to Lambda.
func TestDeploymentsRollBack(t *testing.T) {
	whole := stack(t)
	for function, want := range map[string][]string{
		"CommandFunction":   {"CommandErrorsAlarm", "InternalErrorsAlarm"},
		"QueryFunction":     {"InternalErrorsAlarm", "QueryErrorsAlarm"},
		"ProjectorFunction": {"ProjectorErrorsAlarm"},
	} {
		preference := valueAt(whole, "Resources", function, "Properties", "DeploymentPreference")
		for _, id := range want {
			if !strings.Contains(fmt.Sprint(preference), "${"+id+"}") {
				t.Errorf("%s doesn't roll back on %s: %v", function, id, preference)
			}
		}
	}
}

// The dashboard shows all alarms and hides nothing behind something else.
func TestDashboard(t *testing.T) {
	whole := stack(t)
	all := widgets(t, whole)
	var shown []string
	for i, w := range all {
		p := w.Properties
		switch w.Type {
		case "alarm":
			shown = append(shown, p.Alarms...)
		case "text":
			if p.Markdown == "" {
				t.Errorf("widget %d says nothing", i)
			}
		case "metric":
			if p.Title == "" || p.Region != "${AWS::Region}" || p.Period != 60 || len(p.Metrics) == 0 {
				t.Errorf("widget %d: %+v", i, p)
			}
		default:
			t.Errorf("widget %d is a %q", i, w.Type)
		}
		if w.X < 0 || w.Y < 0 || w.Width < 1 || w.Height < 1 || w.X+w.Width > 24 {
			t.Errorf("widget %d is off the grid", i)
		}
		for j, other := range all[:i] {
			if w.X < other.X+other.Width && other.X < w.X+w.Width && w.Y < other.Y+other.Height && other.Y < w.Y+w.Height {
				t.Errorf("widgets %d and %d overlap", j, i)
			}
		}
	}
	var want []string
	for id := range alarms(t, whole) {
		want = append(want, "${"+id+".Arn}")
	}
	if slices.Sort(shown); !slices.Equal(shown, slices.Sorted(slices.Values(want))) {
		t.Errorf("alarms shown: %q", shown)
	}
	body, _ := valueAt(whole, "Resources", "Dashboard", "Properties", "DashboardBody").(string)
	for _, reference := range regexp.MustCompile(`\$\{([^}.]+)(\.[A-Za-z]+)?\}`).FindAllStringSubmatch(body, -1) {
		id := reference[1]
		if !strings.HasPrefix(id, "AWS::") && id != "ProjectorFunctionPostings" && valueAt(whole, "Resources", id) == nil {
			t.Errorf("the dashboard speaks of %s, which is nothing", reference[0])
		}
	}
	if valueAt(whole, "Resources", "Dashboard", "Properties", "DashboardName") != nil {
		t.Error("the dashboard has a name of its own: two stacks would share it")
	}
}

// The functions measure, and what they log comes whole to where metrics are taken from it.
func TestFunctionsAreToldToMeasure(t *testing.T) {
	whole := stack(t)
	for id := range whole["Resources"].(map[string]any) {
		if valueAt(whole, "Resources", id, "Type") != "AWS::Serverless::Function" {
			continue
		}
		namespace := valueAt(whole, "Resources", id, "Properties", "Environment", "Variables", "LEDGER_METRICS")
		if namespace == nil {
			namespace = valueAt(whole, "Globals", "Function", "Environment", "Variables", "LEDGER_METRICS")
		}
		if namespace != ownNamespace {
			t.Errorf("%s measures for %v", id, namespace)
		}
		if format := valueAt(whole, "Resources", id, "Properties", "LoggingConfig", "LogFormat"); format != "JSON" {
			t.Errorf("%s logs %v: metrics are taken from JSON", id, format)
		}
		// Most lines with metrics are of level INFO: at a higher one, Lambda drops them.
		level := valueAt(whole, "Resources", id, "Properties", "LoggingConfig", "ApplicationLogLevel")
		if level != nil && !slices.Contains([]any{"INFO", "DEBUG", "TRACE"}, level) {
			t.Errorf("%s logs from level %v on", id, level)
		}
	}
}
