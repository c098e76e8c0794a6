package documents

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ledger.example/functions/metrics"
)

// ownNamespace is the namespace of the ledger's metrics in template.yaml.
const ownNamespace = "Ledger/${AWS::StackName}"

// awsMetrics are the AWS metrics that the alarms and the dashboard use, by namespace, with the sets of dimensions in
// which AWS publishes them. Sources, under docs.aws.amazon.com:
//   - AWS/ApiGateway: apigateway/latest/developerguide/http-api-metrics.html
//   - AWS/DynamoDB: amazondynamodb/latest/developerguide/metrics-dimensions.html
//   - AWS/Lambda: lambda/latest/dg/monitoring-metrics-types.html, and monitoring-metrics-view.html for dimensions
//   - AWS/Logs: AmazonCloudWatch/latest/logs/CloudWatch-Logs-Monitoring-CloudWatch-Metrics.html
var awsMetrics = []struct{ namespace, metrics, dimensions string }{ // sets of dimensions are separated by bars
	{"AWS/ApiGateway", "Count 4xx 5xx Latency IntegrationLatency", "ApiId"},
	{"AWS/DynamoDB", "ConsumedReadCapacityUnits ConsumedWriteCapacityUnits ReadThrottleEvents WriteThrottleEvents " +
		"ReadMaxOnDemandThroughputThrottleEvents WriteMaxOnDemandThroughputThrottleEvents " +
		"ReadKeyRangeThroughputThrottleEvents WriteKeyRangeThroughputThrottleEvents " +
		"ReadAccountLimitThrottleEvents WriteAccountLimitThrottleEvents",
		"TableName|GlobalSecondaryIndexName TableName"},
	{"AWS/DynamoDB", "TransactionConflict", "TableName"},
	{"AWS/Lambda", "Invocations Errors Throttles Duration ConcurrentExecutions IteratorAge " + "DestinationDeliveryFailures", "FunctionName|FunctionName Resource"},
	{"AWS/Lambda", "OnFailureDestinationDeliveredEventCount DroppedEventCount", "EventSourceMappingUUID"},
	{"AWS/Logs", "IncomingBytes EMFParsingErrors EMFValidationErrors", "LogGroupName"},
}

// published reports whether AWS publishes the metric with these dimensions.
func published(w metricUse) bool {
	for _, m := range awsMetrics {
		if m.namespace == w.namespace && slices.Contains(strings.Fields(m.metrics), w.name) &&
			slices.Contains(strings.Split(m.dimensions, "|"), w.dimensionNames()) {
			return true
		}
	}
	return false
}

// Every metric of an alarm or of the dashboard exists, with dimensions in which it is published. Otherwise CloudWatch
// would show nothing, and the alarm would never be set off. TestWatchedMetricsAreEmitted checks the ledger's own
// metrics.
func TestWatchedMetricsExist(t *testing.T) {
	template := stack(t)
	ours := make(map[string]string) // to the names of dimensions
	for _, m := range metrics.Metrics() {
		ours[m.Name] = m.Dimension
	}
	filters := filtered(template)
	used := make(map[string]bool)
	for _, w := range allMetricUses(t) {
		if w.namespace == ownNamespace {
			used[w.name] = true
			if filters[w.name] && len(w.dimensions) == 0 {
				continue
			}
			if dimension, ok := ours[w.name]; !ok || w.dimensionNames() != dimension {
				t.Errorf("%v: the ledger has no such metric", w)
			}
		} else if !published(w) {
			t.Errorf("%v: AWS has no such metric", w)
		}
		for name, value := range w.dimensions {
			if !dimensionExists(template, name, value) {
				t.Errorf("%v: %s does not exist in this stack", w, value)
			}
		}
		if !regexp.MustCompile(`^(Sum|Maximum|p[0-9]{2})$`).MatchString(w.stat) {
			t.Errorf("%v: statistic %q", w, w.stat)
		}
	}
	for name := range ours {
		if !used[name] {
			t.Errorf("nothing uses the metric %s", name)
		}
	}
}

// filtered returns the names of the metrics that a filter takes from a log.
func filtered(template map[string]any) map[string]bool {
	names := make(map[string]bool)
	for _, resource := range template["Resources"].(map[string]any) {
		if r := asMap(resource); r["Type"] == "AWS::Logs::MetricFilter" {
			for _, m := range listOf(valueAt(r, "Properties", "MetricTransformations")) {
				if m := asMap(m); m["MetricNamespace"] == ownNamespace && m["MetricValue"] == "1" && m["Dimensions"] == nil {
					names[fmt.Sprint(m["MetricName"])] = true
				}
			}
		}
	}
	return names
}

// The filter of refused callers matches lines that the gateway writes: "status" is a text there.
func TestRefusedCallersAreCounted(t *testing.T) {
	template := stack(t)
	format, _ := valueAt(template, "Resources", "ApiStage", "Properties", "AccessLogSettings", "Format").(string)
	filter := mapAt(template, "Resources", "RefusedCallers", "Properties")
	var line map[string]string
	if err := json.Unmarshal([]byte(format), &line); err != nil || line["status"] != "$context.status" ||
		filter["FilterPattern"] != `{ ($.status = "401") || ($.status = "403") }` || filter["LogGroupName"] != "${ApiLogs}" {
		t.Errorf("the filter %v for lines as %v, %v", filter, format, err)
	}
}

// dimensionExists reports whether the value of a dimension is a resource of the right type in this stack.
func dimensionExists(template map[string]any, name, value string) bool {
	id := strings.TrimSuffix(strings.TrimPrefix(value, "${"), "}")
	kind, _ := valueAt(template, "Resources", id, "Type").(string)
	switch name {
	case "ApiId":
		return kind == "AWS::Serverless::HttpApi" || kind == "AWS::ApiGatewayV2::Api"
	case "FunctionName":
		return kind == "AWS::Serverless::Function"
	case "Resource": // function:alias
		_, alias, _ := strings.Cut(value, ":")
		return valueAt(template, "Globals", "Function", "AutoPublishAlias") == alias
	case "TableName":
		return kind == "AWS::DynamoDB::Table"
	case "GlobalSecondaryIndexName":
		indexes := listOf(valueAt(template, "Resources", "LedgerTable", "Properties", "GlobalSecondaryIndexes"))
		return slices.ContainsFunc(indexes,
			func(index any) bool { return index.(map[string]any)["IndexName"] == value })
	case "LogGroupName":
		return kind == "AWS::Logs::LogGroup"
	case "EventSourceMappingUUID": // it has metrics only if MetricsConfig enables them
		counted := valueAt(template, "Resources", id, "Properties", "MetricsConfig", "Metrics")
		return kind == "AWS::Lambda::EventSourceMapping" && slices.Contains(listOf(counted), any("EventCount"))
	case "Code":
		return value == "*" // all codes
	}
	return false
}

// Every alarm says whether it wakes somebody, notifies the topic of that, links to its instructions and is on the dashboard. An idle ledger sets off no alarm.
// Alarms have no fixed names, because two stacks would share them.
func TestAlarms(t *testing.T) {
	template := stack(t)
	instructions, err := os.ReadFile(filepath.Join(root, "docs", "alarms.md"))
	if err != nil {
		t.Fatal(err)
	}
	all := alarms(t, template)
	all["RollbackAlarm"], _ = valueAt(template, "Resources", "RollbackAlarm", "Properties").(map[string]any)
	_, wakes, _ := strings.Cut(string(instructions), "\n## Alarms that wake you\n")
	wakes, waits, _ := strings.Cut(wakes, "\n## Alarms that wait till morning\n")
	waits, _, _ = strings.Cut(waits, "\n## ")
	shown := make(map[string]bool)
	for _, w := range widgets(t, template) {
		for _, arn := range w.Properties.Alarms {
			shown[arn] = true
		}
	}
	for id, alarm := range all {
		description, _ := alarm["AlarmDescription"].(string)
		if !strings.HasSuffix(description, "docs/alarms.md#"+strings.ToLower(id)) ||
			!strings.Contains(string(instructions), "\n### "+id+"\n") {
			t.Errorf("%s: the link in %q does not exist", id, description)
		}
		arn, topics, section := "${"+id+".Arn}", []any{"${AlarmTopic}"}, waits
		if strings.HasPrefix(description, "Wakes you. ") {
			topics, section = []any{"${UrgentTopic}"}, wakes
		} else if !strings.HasPrefix(description, "Waits till morning. ") {
			t.Errorf("%s does not say whether it wakes somebody: %q", id, description)
		}
		if !strings.Contains(section, "\n### "+id+"\n") {
			t.Errorf("alarms.md has %s under the wrong heading", id)
		}
		if slices.Contains(rollbackAlarms, id) { // in the ledger's stack, which has no topic
			arn = "arn:${AWS::Partition}:cloudwatch:${AWS::Region}:${AWS::AccountId}:alarm:${" + id + "}"
			topics = []any{nil}
		}
		if !slices.Equal(listOf(alarm["AlarmActions"]), topics) || alarm["AlarmName"] != nil || !shown[arn] {
			t.Errorf("%s notifies %v, is called %v, and is shown: %t", id, alarm["AlarmActions"], alarm["AlarmName"],
				shown[arn])
		}
		missing := any("notBreaching")
		switch id {
		case "RollbackAlarm":
			missing = nil
		case "SweeperStoppedAlarm": // the sweeper of an idle ledger is invoked, too
			missing = "breaching"
		case "ForwarderBehindAlarm": // likewise, if there is one
			missing = map[string]any{"Fn::If": []any{"HasEventBus", "breaching", "notBreaching"}}
		}
		if !reflect.DeepEqual(alarm["TreatMissingData"], missing) {
			t.Errorf("%s of an idle ledger: %v", id, alarm["TreatMissingData"])
		}
	}
	var rule []string
	for _, id := range rollbackAlarms {
		rule = append(rule, `ALARM("${`+id+`}")`)
	}
	if composite := all["RollbackAlarm"]; composite["AlarmRule"] != strings.Join(rule, " OR ") {
		t.Errorf("RollbackAlarm watches %v, want %v", composite["AlarmRule"], rule)
	}
	// Without these permissions, alarms are silently not delivered.
	statements := fmt.Sprint(valueAt(template, "Resources", "AlarmKey", "Properties", "KeyPolicy", "Statement"))
	for _, needed := range []string{"cloudwatch.amazonaws.com", "kms:Decrypt", "kms:GenerateDataKey*"} {
		if !strings.Contains(statements, needed) {
			t.Errorf("the key policy of the topic lacks %s", needed)
		}
	}
}

// rollbackAlarms are the alarms in the ledger's stack that roll back deployments.
var rollbackAlarms = []string{"InternalErrorsAlarm", "CommandErrorsAlarm", "QueryErrorsAlarm", "ProjectorErrorsAlarm",
	"ListerErrorsAlarm", "SweeperErrorsAlarm"}

// The parameters of watch.yaml are outputs of the ledger's stack: each has an output with the same name and the right
// value.
func TestWatchTakesTheLedgersOutputs(t *testing.T) {
	outputs, watch := mapAt(written(t, "template.yaml"), "Outputs"), written(t, watchFile)
	for name, parameter := range mapAt(watch, "Parameters") {
		parameter := parameter.(map[string]any)
		want := any("${" + name + "}")
		switch name {
		case "AlarmEmail":
			if !accepts(t, parameter, "on-call@example.com") || accepts(t, parameter, "on-call") {
				t.Errorf("%s: %v", name, parameter)
			}
			continue
		case "MetricsNamespace":
			want = ownNamespace
		case "EventBus": // a parameter that the stack need not have
			want = map[string]any{"Fn::If": []any{"HasEventBus", want, "none"}}
		}
		if output, _ := outputs[name].(map[string]any); !reflect.DeepEqual(output["Value"], want) || output["Condition"] != nil ||
			parameter["Default"] != nil || parameter["MinLength"] != 1 {
			t.Errorf("%s: the output %v for the parameter %v", name, output, parameter)
		}
	}
	// AWS::StackName would be the name of the second stack.
	if text := fmt.Sprint(watch["Resources"]); strings.Contains(text, "AWS::StackName") {
		t.Errorf("%s refers to its own stack name instead of the ledger's", watchFile)
	}
}
