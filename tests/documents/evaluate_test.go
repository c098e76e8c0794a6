package documents

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// stackTemplate is template.yaml with CloudFormation's functions in their long form: !Ref X as {"Ref": "X"}.
type stackTemplate map[string]any

func readTemplate(t *testing.T) stackTemplate { return readFile(t, "template.yaml") }

func readFile(t *testing.T, file string) stackTemplate {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	template, ok := longForm(t, root.Content[0]).(map[string]any)
	if !ok {
		t.Fatalf("%s is not a map", file)
	}
	return template
}

func longForm(t *testing.T, n *yaml.Node) any {
	t.Helper()
	var v any
	switch n.Kind {
	case yaml.AliasNode:
		t.Fatalf("line %d: CloudFormation does not support aliases", n.Line)
	case yaml.MappingNode:
		m := make(map[string]any)
		for i := 0; i < len(n.Content); i += 2 {
			m[n.Content[i].Value] = longForm(t, n.Content[i+1])
		}
		v = m
	case yaml.SequenceNode:
		list := []any{}
		for _, item := range n.Content {
			list = append(list, longForm(t, item))
		}
		v = list
	default:
		if v = n.Value; strings.HasPrefix(n.Tag, "!!") && n.Decode(&v) != nil {
			t.Fatalf("line %d: %q", n.Line, n.Value)
		}
	}
	name, short := strings.CutPrefix(n.Tag, "!")
	switch {
	case !short || strings.HasPrefix(name, "!"):
		return v
	case name == "Ref" || name == "Condition":
		return map[string]any{name: v}
	default:
		return map[string]any{"Fn::" + name: v}
	}
}

// section returns a section of the template: its entries by logical id.
func (s stackTemplate) section(name string) map[string]map[string]any {
	section := make(map[string]map[string]any)
	for id, v := range asMap(s[name]) {
		section[id] = asMap(v)
	}
	return section
}

// evaluation is a template with values for its parameters.
type evaluation struct {
	t          *testing.T
	template   stackTemplate
	parameters map[string]any
}

// with sets values of parameters. All others have their defaults.
func (s stackTemplate) with(t *testing.T, given map[string]any) evaluation {
	t.Helper()
	e := evaluation{t: t, template: s, parameters: make(map[string]any)}
	for id, parameter := range s.section("Parameters") {
		e.parameters[id] = parameter["Default"]
	}
	for id, value := range given {
		if _, ok := e.parameters[id]; !ok {
			t.Fatalf("there is no parameter %s", id)
		}
		e.parameters[id] = value
	}
	return e
}

// resources returns the resources that CloudFormation would create, without those whose condition is false. Only
// references to parameters are evaluated.
func (e evaluation) resources() map[string]stackResource {
	e.t.Helper()
	made := make(map[string]stackResource)
	for id, r := range e.template.section("Resources") {
		if condition, ok := r["Condition"].(string); !ok || e.condition(condition) {
			made[id] = stackResource{fmt.Sprint(r["Type"]), asMap(e.value(r["Properties"]))}
		}
	}
	return made
}

func (e evaluation) condition(name string) bool {
	e.t.Helper()
	return e.truth(asMap(e.template["Conditions"])[name])
}

// truth evaluates a boolean function.
func (e evaluation) truth(v any) bool {
	e.t.Helper()
	for name, argument := range asMap(v) {
		arguments := listOf(argument)
		switch name {
		case "Condition":
			return e.condition(argument.(string))
		case "Fn::Equals":
			return fmt.Sprint(e.value(arguments[0])) == fmt.Sprint(e.value(arguments[1]))
		case "Fn::Not":
			return !e.truth(arguments[0])
		case "Fn::And", "Fn::Or":
			for _, a := range arguments {
				if e.truth(a) != (name == "Fn::And") {
					return name == "Fn::Or"
				}
			}
			return name == "Fn::And"
		}
	}
	e.t.Fatalf("%v is neither true nor false", v)
	return false
}

// value evaluates references to parameters and conditions in v.
func (e evaluation) value(v any) any {
	e.t.Helper()
	return rewritten(v, func(v any) (any, bool) {
		m, _ := v.(map[string]any)
		name, _ := m["Ref"].(string)
		if value, ok := e.parameters[name]; ok || name == "AWS::NoValue" {
			return value, true
		}
		choice, ok := m["Fn::If"].([]any)
		if !ok {
			return nil, false
		}
		if e.condition(choice[0].(string)) {
			return e.value(choice[1]), true
		}
		return e.value(choice[2]), true
	})
}

// rewritten returns v with each value replaced by what f returns for it, from the outside in. If f returns false, the
// value's members or items are rewritten. Those that become nil are left out.
func rewritten(v any, f func(any) (any, bool)) any {
	if to, ok := f(v); ok {
		return to
	}
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any)
		for name, value := range v {
			if to := rewritten(value, f); to != nil {
				m[name] = to
			}
		}
		return m
	case []any:
		list := []any{}
		for _, item := range v {
			if to := rewritten(item, f); to != nil {
				list = append(list, to)
			}
		}
		return list
	}
	return v
}

// accepts reports whether CloudFormation would accept a value for a parameter.
func accepts(t *testing.T, parameter map[string]any, value string) bool {
	t.Helper()
	if allowed, ok := parameter["AllowedValues"].([]any); ok {
		return slices.ContainsFunc(allowed, func(v any) bool { return fmt.Sprint(v) == value })
	}
	if parameter["Type"] == "Number" {
		n, err := strconv.ParseFloat(value, 64)
		least, ok := parameter["MinValue"].(int)
		most, ok2 := parameter["MaxValue"].(int)
		if !ok || !ok2 {
			t.Fatalf("a number without bounds: %v", parameter)
		}
		return err == nil && n >= float64(least) && n <= float64(most)
	}
	pattern, ok := parameter["AllowedPattern"].(string)
	if !ok || parameter["Type"] != "String" {
		t.Fatalf("there are no constraints on %v", parameter)
	}
	if most, ok := parameter["MaxLength"].(int); ok && utf8.RuneCountInString(value) > most {
		return false
	}
	return regexp.MustCompile(`^(?:` + pattern + `)$`).MatchString(value)
}

// CloudFormation refuses invalid parameters before it creates or changes a resource.
func TestParametersOutOfRangeAreRefused(t *testing.T) {
	values := map[string]struct{ accepted, refused string }{ // separated by spaces
		"JwtIssuer":   {"https://issuer.example.com", "http://issuer.example.com issuer.example.com https:// https://a?b=c"},
		"JwtAudience": {"ledger ledger,https://ledger.example.com", ", a, ,a " + strings.Repeat("a", 1025)},
		"CorsOrigins": {"https://app.example.com http://localhost:3000,https://app.example.com",
			"* https://* app.example.com https://app.example.com/ https://a:123456"},
		"JwtReadScope":       {"read ledger/read https://ledger.example.com/read", `a"b a\b é ` + strings.Repeat("a", 65)},
		"JwtAdminScope":      {"admin ledger/admin", `a"b a\b é ` + strings.Repeat("a", 65)},
		"JwtUserClaim":       {"sub cognito:username https://example.com/user", `é a"b ` + strings.Repeat("a", 129)},
		"JwtWriteScope":      {"write ledger/write", `a"b a\b é ` + strings.Repeat("a", 65)},
		"DomainName":         {"ledger.example.com", "ledger https://ledger.example.com Ledger.example.com -a.example.com a..b"},
		"CertificateArn":     {"arn:aws:acm:eu-central-1:123456789012:certificate/0a1b-2c", "0a1b-2c"},
		"HostedZoneId":       {"Z0123456789ABCDEFGHIJ", "example.com /hostedzone/Z01 z01"},
		"KmsKeyArn":          {key + " arn:aws-us-gov:kms:us-gov-west-1:123456789012:key/mrk-0a", "alias/aws/dynamodb arn:aws:kms:eu-central-1:123456789012:alias/x 0a1b"},
		"IndexedMetadata":    {"order order,customer.id,A_b,c-d,5", "order, , a,, a,b,c,d,e,f a#b é " + strings.Repeat("a", 41)},
		"EventBus":           {"default ledger.events-1", "arn:aws:events:eu-central-1:123456789012:event-bus/x a/b _a " + strings.Repeat("a", 65)},
		"EventSource":        {"ledger/books com.example.ledger urn:ledger:books", "/books é a,b _a " + strings.Repeat("a", 129)},
		"BackupCopyVaultArn": {"arn:aws:backup:eu-central-1:123456789012:backup-vault:ledger-copies", "ledger-copies arn:aws:backup:eu-central-1:123456789012:recovery-point:1"},
		"BreakGlassRoleArn":  {breakGlass + " arn:aws-us-gov:iam::123456789012:role/ops/break-glass", "break-glass arn:aws:iam::123456789012:user/jane arn:aws:iam::123456789012:role/* *"},
		"OperatorRoleArn":    {breakGlass + " arn:aws-us-gov:iam::123456789012:role/ops/break-glass", "break-glass arn:aws:iam::123456789012:user/jane arn:aws:iam::123456789012:role/* *"},
	}
	template := readTemplate(t)
	parameters := template.section("Parameters")
	for name, parameter := range parameters {
		tried, ok := values[name]
		if !ok && parameter["AllowedPattern"] != nil {
			t.Errorf("no test of the pattern of %s", name)
		}
		for v := range strings.FieldsSeq(tried.accepted) {
			if !accepts(t, parameter, v) {
				t.Errorf("%s refuses %q", name, v)
			}
		}
		for v := range strings.FieldsSeq(tried.refused) {
			if accepts(t, parameter, v) {
				t.Errorf("%s accepts %q", name, v)
			}
		}
		if d, ok := parameter["Default"]; !ok || !accepts(t, parameter, fmt.Sprint(d)) || parameter["Description"] == nil {
			t.Errorf("%s has the default %v, or no description", name, d)
		}
	}
}

// Parameters that need each other are refused alone.
func TestParametersThatNeedEachOther(t *testing.T) {
	template := readTemplate(t)
	for names, want := range map[string]bool{
		"": false, "JwtIssuer": true, "JwtAudience": true, "JwtIssuer JwtAudience": true, "JwtAdminScope": true,
		"JwtIssuer JwtAudience JwtAdminScope":                            false,
		"JwtIssuer JwtAudience JwtAdminScope JwtReadScope JwtWriteScope": false, "JwtReadScope JwtWriteScope": true,
		"JwtIssuer JwtAudience JwtAdminScope JwtReadScope": true, "DomainName": true, "CertificateArn": true,
		"DomainName CertificateArn": false, "HostedZoneId": true, "DomainName CertificateArn HostedZoneId": false,
	} {
		given := make(map[string]any)
		for name := range strings.FieldsSeq(names) {
			given[name] = "x"
		}
		e := template.with(t, given)
		refused := false
		for _, rule := range template.section("Rules") {
			if !e.truth(rule["RuleCondition"]) {
				continue
			}
			for _, assertion := range listOf(rule["Assertions"]) {
				refused = refused || !e.truth(valueAt(assertion.(map[string]any), "Assert"))
			}
		}
		if refused != want {
			t.Errorf("%q is refused: %v", names, refused)
		}
	}
}

// SAM passes only variables that the template declares, and silently drops others.
func TestLocalVariablesAreDeclared(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "functions", "local.json"))
	if err != nil {
		t.Fatal(err)
	}
	var local struct{ Parameters map[string]string }
	if err := json.Unmarshal(text, &local); err != nil {
		t.Fatal(err)
	}
	declared := mapAt(readTemplate(t), "Globals", "Function", "Environment", "Variables")
	for name := range declared {
		if _, ok := local.Parameters[name]; !ok {
			t.Errorf("functions/local.json lacks %s", name)
		}
	}
	for name := range local.Parameters {
		if _, ok := declared[name]; !ok {
			t.Errorf("template.yaml doesn't declare %s", name)
		}
	}
}
