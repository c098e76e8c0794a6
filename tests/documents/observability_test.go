package documents

import (
	"fmt"
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
var awsMetrics = []struct{ namespace, metrics, dimensions string }{ // sets of dimensions are separated by bars
	{"AWS/ApiGateway", "Count 4xx 5xx Latency IntegrationLatency", "ApiId"},
	{"AWS/DynamoDB", "ConsumedReadCapacityUnits ConsumedWriteCapacityUnits ReadThrottleEvents WriteThrottleEvents " +
		"ReadMaxOnDemandThroughputThrottleEvents WriteMaxOnDemandThroughputThrottleEvents " +
		"ReadKeyRangeThroughputThrottleEvents WriteKeyRangeThroughputThrottleEvents " +
		"ReadAccountLimitThrottleEvents WriteAccountLimitThrottleEvents",
		"TableName|GlobalSecondaryIndexName TableName"},
	{"AWS/DynamoDB", "TransactionConflict", "TableName"},
	{"AWS/Lambda", "Invocations Errors Throttles Duration ConcurrentExecutions IteratorAge " +
		"DestinationDeliveryFailures", "FunctionName|FunctionName Resource"},
	{"AWS/Lambda", "OnFailureDestinationDeliveredEventCount DroppedEventCount", "EventSourceMappingUUID"},
	{"AWS/Logs", "IncomingBytes EMFParsingErrors EMFValidationErrors", "LogGroupName"},
}

// published reports whether AWS publishes such a metric.
func published(w watched) bool {
	for _, m := range awsMetrics {
		if m.namespace == w.namespace && slices.Contains(strings.Fields(m.metrics), w.name) &&
			slices.Contains(strings.Split(m.dimensions, "|"), w.dimensionNames()) {
			return true
		}
	}
	return false
}

// Every line of an alarm or of the dashboard is of a metric that there is, in the dimensions in which it is published:
// of another, CloudWatch would show nothing, and never alarm. That ours are emitted is another test's.
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
		} else if !published(w) {
			t.Errorf("%v: not one of AWS's", w)
		}
		for name, value := range w.dimensions {
			if !namesSomething(whole, name, value) {
				t.Errorf("%v: %s names nothing in this stack", w, value)
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

// namesSomething reports whether the value of a dimension names what it should in this stack.
func namesSomething(whole map[string]any, name, value string) bool {
	id := strings.TrimSuffix(strings.TrimPrefix(value, "${"), "}")
	kind, _ := valueAt(whole, "Resources", id, "Type").(string)
	switch name {
	case "ApiId":
		return kind == "AWS::Serverless::HttpApi" || kind == "AWS::ApiGatewayV2::Api"
	case "FunctionName":
		return kind == "AWS::Serverless::Function"
	case "Resource": // function and alias, as Lambda writes it
		_, alias, _ := strings.Cut(value, ":")
		return valueAt(whole, "Globals", "Function", "AutoPublishAlias") == alias
	case "TableName":
		return kind == "AWS::DynamoDB::Table"
	case "GlobalSecondaryIndexName":
		indexes := listOf(valueAt(whole, "Resources", "LedgerTable", "Properties", "GlobalSecondaryIndexes"))
		return slices.ContainsFunc(indexes,
			func(index any) bool { return index.(map[string]any)["IndexName"] == value })
	case "LogGroupName":
		return kind == "AWS::Logs::LogGroup"
	// SAM names the mapping after the function and its event, which counts only when asked
	case "EventSourceMappingUUID":
		function, event := "ProjectorFunction", "Postings"
		if strings.HasPrefix(id, "Lister") {
			function, event = "ListerFunction", "Transactions"
		}
		counted := valueAt(whole, "Resources", function, "Properties", "Events", event, "Properties", "MetricsConfig",
			"Metrics")
		return id == function+event && slices.Contains(listOf(counted), any("EventCount"))
	case "Code":
		return value == "*" // all codes
	}
	return false
}

// Every alarm notifies somebody and says what to do, an idle ledger raises none, and the dashboard shows all of them.
// No alarm has a name of its own: two stacks would share it.
func TestAlarms(t *testing.T) {
	whole := stack(t)
	operations, err := os.ReadFile(filepath.Join(root, "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	all := alarms(t, whole)
	all["RollbackAlarm"], _ = valueAt(whole, "Resources", "RollbackAlarm", "Properties").(map[string]any)
	shown := make(map[string]bool)
	for _, w := range widgets(t, whole) {
		for _, arn := range w.Properties.Alarms {
			shown[arn] = true
		}
	}
	for id, alarm := range all {
		description, _ := alarm["AlarmDescription"].(string)
		if !strings.HasSuffix(description, "docs/operations.md#"+strings.ToLower(id)) ||
			!strings.Contains(string(operations), "\n### "+id+"\n") {
			t.Errorf("%s: %q, which leads nowhere", id, description)
		}
		arn, topics := "${"+id+".Arn}", []any{"${AlarmTopic}"}
		if slices.Contains(rollbackAlarms, id) { // of the ledger's own stack, which may be alone
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
		case "HoldsOverdueAlarm": // the sweeper of an idle ledger measures, too
			missing = "breaching"
		}
		if alarm["TreatMissingData"] != missing {
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
	// Without this, alarms go nowhere, and nobody notices.
	statements := fmt.Sprint(valueAt(whole, "Resources", "AlarmKey", "Properties", "KeyPolicy", "Statement"))
	for _, needed := range []string{"cloudwatch.amazonaws.com", "kms:Decrypt", "kms:GenerateDataKey*"} {
		if !strings.Contains(statements, needed) {
			t.Errorf("the topic's key lets nobody %s", needed)
		}
	}
}

// rollbackAlarms are the alarms of the ledger's own stack, on which deployments roll back.
var rollbackAlarms = []string{"InternalErrorsAlarm", "CommandErrorsAlarm", "QueryErrorsAlarm", "ProjectorErrorsAlarm",
	"ListerErrorsAlarm", "SweeperErrorsAlarm"}

// watch.yaml is given each output of the ledger's stack as the parameter of that name: all of its parameters are there,
// and each is what it is called.
func TestWatchTakesTheLedgersOutputs(t *testing.T) {
	outputs, watch := mapAt(written(t, "template.yaml"), "Outputs"), written(t, watchFile)
	for name, parameter := range mapAt(watch, "Parameters") {
		parameter := parameter.(map[string]any)
		want := "${" + name + "}"
		switch name {
		case "AlarmEmail":
			if !accepts(t, parameter, "on-call@example.com") || accepts(t, parameter, "on-call") {
				t.Errorf("%s: %v", name, parameter)
			}
			continue
		case "MetricsNamespace":
			want = ownNamespace
		}
		if output, _ := outputs[name].(map[string]any); output["Value"] != want || output["Condition"] != nil ||
			parameter["Default"] != nil || parameter["MinLength"] != 1 {
			t.Errorf("%s: the output %v for the parameter %v", name, output, parameter)
		}
	}
	// The name of this stack is not the ledger's.
	if text := fmt.Sprint(watch["Resources"]); strings.Contains(text, "AWS::StackName") {
		t.Errorf("%s means the ledger's stack and names its own", watchFile)
	}
}
