package tests

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Each function has a role of its own, whose actions are named one by one. What they let it do to the table is held to what
// it was seen doing, by package acceptance.
func TestEachFunctionHasItsOwnRole(t *testing.T) {
	used := make(map[string]string) // role to function
	for name, resource := range stackResources(t) {
		switch resource.Type {
		case "AWS::Serverless::Function":
			role, _ := resource.Properties["Role"].(string)
			if other, taken := used[role]; taken || role == "" {
				t.Errorf("%s and %s share the role %q", name, other, role)
			}
			used[role] = name
			if _, ok := resource.Properties["Policies"]; ok {
				t.Errorf("%s has policies beside its role", name)
			}
		case "AWS::IAM::Role":
			if _, ok := resource.Properties["ManagedPolicyArns"]; ok {
				t.Errorf("%s has managed policies, which are broad", name)
			}
			for _, policy := range listOf(resource.Properties["Policies"]) {
				document, _ := policy.(map[string]any)
				for _, statement := range listOf(valueAt(document, "PolicyDocument", "Statement")) {
					statement, ok := statement.(map[string]any)
					if !ok { // only with a key of one's own: see TestRolesAreNarrow
						continue
					}
					for _, action := range listOf(statement["Action"]) {
						if action, _ := action.(string); strings.Contains(action, "*") || action == "" {
							t.Errorf("%s allows %q", name, action)
						}
					}
				}
			}
		}
	}
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
