package documents

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// matchesRule reports whether an event matches a pattern of EventBridge. It knows the operators that watch.yaml uses.
func matchesRule(t *testing.T, pattern, event map[string]any) bool {
	t.Helper()
	for name, want := range pattern {
		if name == "$or" {
			if !slices.ContainsFunc(want.([]any), func(one any) bool { return matchesRule(t, asMap(one), event) }) {
				return false
			}
			continue
		}
		is, exists := event[name]
		switch want := want.(type) {
		case map[string]any:
			if below, ok := is.(map[string]any); !ok || !matchesRule(t, want, below) {
				return false
			}
		case []any:
			if !slices.ContainsFunc(want, func(one any) bool {
				if operator, ok := one.(map[string]any); ok {
					if len(operator) != 1 || operator["exists"] == nil {
						t.Fatalf("unknown operator %v", operator)
					}
					return operator["exists"] == exists
				}
				return exists && one == is
			}) {
				return false
			}
		default:
			t.Fatalf("the pattern has %v", want)
		}
	}
	return true
}

// The rules that send mails themselves match what they are for, and nothing of another table. Each says whether it
// wakes somebody, notifies the topic of that, and has instructions under the right heading.
func TestRules(t *testing.T) {
	const arn = "arn:${AWS::Partition}:dynamodb:${AWS::Region}:${AWS::AccountId}:table/"
	call := func(name, parameter, table string, more ...string) map[string]any {
		detail := map[string]any{
			"eventSource": "dynamodb.amazonaws.com", "eventName": name,
			"requestParameters": map[string]any{parameter: table},
		}
		if len(more) > 0 {
			detail["errorCode"] = more[0]
		}
		return map[string]any{"source": "aws.dynamodb", "detail-type": "AWS API Call via CloudTrail", "detail": detail}
	}
	job := func(kind, state, table string) map[string]any {
		return map[string]any{"source": "aws.backup", "detail-type": kind, "detail": map[string]any{
			"state": state, "resourceArn": arn + table,
		}}
	}
	const table = "${LedgerTable}"
	watch := written(t, watchFile)
	instructions, err := os.ReadFile(filepath.Join(root, "docs", "alarms.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, wakes, _ := strings.Cut(string(instructions), "\n## Alarms that wake you\n")
	wakes, waits, _ := strings.Cut(wakes, "\n## Alarms that wait till morning\n")
	waits, _, _ = strings.Cut(waits, "\n## ")
	for id, c := range map[string]struct {
		section, severity, topic string
		yes, no                  []map[string]any
	}{
		"ProtectionAlarm": {wakes, "Wakes you. ", "${UrgentTopic}", []map[string]any{
			call("UpdateContinuousBackups", "tableName", table), call("UpdateContinuousBackups", "tableName", arn+table),
			call("PutResourcePolicy", "resourceArn", arn+table), call("DeleteResourcePolicy", "resourceArn", arn+table),
			call("UpdateTable", "tableName", table), call("DeleteTable", "tableName", table),
			call("UpdateTimeToLive", "tableName", table),
		}, []map[string]any{
			call("DeleteTable", "tableName", table+"-2"), call("PutResourcePolicy", "resourceArn", arn+"other"),
			call("DeleteTable", "tableName", table, "AccessDenied"), call("CreateBackup", "tableName", table),
			job("Backup Job State Change", "FAILED", table),
		}},
		"BackupFailedAlarm": {waits, "Waits till morning. ", "${AlarmTopic}", []map[string]any{
			job("Backup Job State Change", "FAILED", table), job("Copy Job State Change", "FAILED", table),
			job("Copy Job State Change", "ABORTED", table), job("Backup Job State Change", "EXPIRED", table),
		}, []map[string]any{
			job("Copy Job State Change", "COMPLETED", table), job("Copy Job State Change", "FAILED", "other"),
			call("DeleteTable", "tableName", table),
		}},
	} {
		rule := mapAt(watch, "Resources", id, "Properties")
		pattern := asMap(rule["EventPattern"])
		for _, event := range c.yes {
			if !matchesRule(t, pattern, event) {
				t.Errorf("%s does not match %v", id, event)
			}
		}
		for _, event := range c.no {
			if matchesRule(t, pattern, event) {
				t.Errorf("%s matches %v", id, event)
			}
		}
		description, link := fmt.Sprint(rule["Description"]), "docs/alarms.md#"+strings.ToLower(id)
		target := asMap(listOf(rule["Targets"])[0])
		if !strings.HasPrefix(description, c.severity) || !strings.HasSuffix(description, link) ||
			!strings.Contains(c.section, "\n### "+id+"\n") || target["Arn"] != c.topic ||
			!strings.Contains(fmt.Sprint(target["InputTransformer"]), link) {
			t.Errorf("%s: %v, %v", id, description, target)
		}
	}
	// EventBridge publishes only to a topic whose policy and key let it, and its own default policy lets the alarms.
	for _, topic := range []string{"UrgentTopic", "AlarmTopic"} {
		statements := fmt.Sprint(valueAt(watch, "Resources", topic+"Policy", "Properties", "PolicyDocument", "Statement"))
		for _, needed := range []string{"events.amazonaws.com", "sns:Publish", "SourceOwner", "${" + topic + "}"} {
			if !strings.Contains(statements, needed) {
				t.Errorf("the policy of %s lacks %s", topic, needed)
			}
		}
	}
	key := fmt.Sprint(valueAt(watch, "Resources", "AlarmKey", "Properties", "KeyPolicy", "Statement"))
	if !strings.Contains(key, "events.amazonaws.com") {
		t.Error("EventBridge may not use the key of the topics")
	}
}
