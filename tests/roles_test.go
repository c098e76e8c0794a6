package tests

import (
	"go/ast"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

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
