package acceptance

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	template "ledger.example"
)

// stackResource is one resource of template.yaml. Intrinsic functions in short form come as their arguments.
type stackResource struct {
	Type       string         `yaml:"Type"`
	Condition  string         `yaml:"Condition"`
	Properties map[string]any `yaml:"Properties"`
}

func stackResources(t *testing.T) map[string]stackResource {
	t.Helper()
	var stack struct {
		Resources map[string]stackResource `yaml:"Resources"`
	}
	if err := yaml.Unmarshal(template.YAML, &stack); err != nil {
		t.Fatal(err)
	}
	return stack.Resources
}

// What the resources of a statement are called in a permission; the table itself is "".
const (
	onStream = "stream"
	onAll    = "*"
)

// byLambda are the permissions that Lambda needs to read the stream for a function: they are in its role, and its code
// never uses them (AWS Lambda Developer Guide, "Process Amazon DynamoDB records with Lambda", the execution role's
// permissions).
func byLambda() map[string][]permission {
	return map[string][]permission{
		projectorFunction: {
			{"dynamodb:DescribeStream", onStream}, {"dynamodb:GetRecords", onStream}, {"dynamodb:GetShardIterator", onStream},
			{"dynamodb:ListStreams", onAll},
		},
	}
}

// checkRoles compares what each function may do to the table with what it was seen doing: it may do that, and nothing
// else. Nobody deletes or scans, and who reads cannot write.
func checkRoles(t *testing.T, functions map[string]function) {
	t.Helper()
	resources := stackResources(t)
	for name, resource := range resources {
		if _, ok := functions[name]; !ok && resource.Type == "AWS::Serverless::Function" {
			t.Errorf("%s is none of the functions that were run", name)
		}
	}
	for name, f := range functions {
		for _, fault := range f.sent.faults {
			t.Errorf("%s sent %s", name, fault)
		}
		needed := f.sent.used
		for _, p := range byLambda()[name] {
			needed[p] = true
		}
		role, _ := resources[name].Properties["Role"].(string)
		granted := make(map[permission]bool)
		grantedBy(t, name, resources[strings.TrimSuffix(role, ".Arn")].Properties["Policies"], granted)
		for p := range needed {
			if !granted[p] {
				t.Errorf("%s needs %v, which its role doesn't allow", name, p)
			}
		}
		for p := range granted {
			if !needed[p] {
				t.Errorf("%s may %v, and never does", name, p)
			}
			writes := p.action == "dynamodb:PutItem" || p.action == "dynamodb:UpdateItem"
			switch {
			case p.action == "dynamodb:DeleteItem", p.action == "dynamodb:Scan", writes && name == queryFunction:
				t.Errorf("%s must not %v", name, p)
			}
		}
	}
}

// grantedBy collects the permissions on DynamoDB in the statements anywhere in a role's policies, also within conditions
// of the template.
func grantedBy(t *testing.T, function string, in any, granted map[permission]bool) {
	t.Helper()
	switch in := in.(type) {
	case []any:
		for _, one := range in {
			grantedBy(t, function, one, granted)
		}
	case map[string]any:
		effect, isStatement := in["Effect"]
		if !isStatement {
			for _, one := range in {
				grantedBy(t, function, one, granted)
			}
			return
		}
		if effect != "Allow" || in["NotAction"] != nil || in["NotResource"] != nil {
			t.Errorf("%s: a statement that this test cannot judge: %v", function, in)
		}
		for _, action := range listOf(in["Action"]) {
			action, _ := action.(string)
			if !strings.HasPrefix(action, "dynamodb:") && action != "*" {
				continue
			}
			for _, on := range listOf(in["Resource"]) {
				on, _ := on.(string)
				granted[permission{action, resourceName(on)}] = true
			}
		}
	}
}

// resourceName is what a permission calls a resource of a statement; one that it doesn't know keeps its own name, and is
// then nobody's need.
func resourceName(resource string) string {
	index, isIndex := strings.CutPrefix(resource, "${LedgerTable.Arn}/index/")
	switch {
	case resource == "LedgerTable.Arn":
		return ""
	case isIndex:
		return index
	case resource == "LedgerTable.StreamArn":
		return onStream
	}
	return resource
}

// listOf returns v as a list: one value stands for a list of one.
func listOf(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}
