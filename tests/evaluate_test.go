package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// noValue is what { "Ref": "AWS::NoValue" } stands for: what has it is left out.
type noValue struct{}

// stackTemplate is template.yaml with CloudFormation's functions in their long form: !Ref X as {"Ref": "X"}.
type stackTemplate map[string]any

func readTemplate(t *testing.T) stackTemplate {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(moduleRoot, "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	whole, ok := longForm(t, root.Content[0]).(map[string]any)
	if !ok {
		t.Fatal("template.yaml is no map")
	}
	return whole
}

func longForm(t *testing.T, n *yaml.Node) any {
	t.Helper()
	if n.Kind == yaml.AliasNode {
		t.Fatalf("template.yaml, line %d: CloudFormation knows no aliases", n.Line)
	}
	var v any
	switch n.Kind {
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
		if strings.HasPrefix(n.Tag, "!!") {
			if err := n.Decode(&v); err != nil {
				t.Fatal(err)
			}
		} else {
			v = n.Value
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

// section returns one of the template's sections: what it names by logical id.
func (s stackTemplate) section(name string) map[string]map[string]any {
	section := make(map[string]map[string]any)
	all, _ := s[name].(map[string]any)
	for id, v := range all {
		section[id], _ = v.(map[string]any)
	}
	return section
}

// evaluation is a template with values for its parameters.
type evaluation struct {
	t          *testing.T
	template   stackTemplate
	parameters map[string]any
}

// with gives values to parameters; the others have their defaults.
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

// resources are those that CloudFormation would make, without what is conditional and doesn't apply. References to
// anything but parameters stay what they are.
func (e evaluation) resources() map[string]stackResource {
	e.t.Helper()
	made := make(map[string]stackResource)
	for id, resource := range e.template.section("Resources") {
		if condition, ok := resource["Condition"].(string); ok && !e.condition(condition) {
			continue
		}
		r := stackResource{}
		r.Type, _ = resource["Type"].(string)
		r.DeletionPolicy, _ = resource["DeletionPolicy"].(string)
		r.Properties, _ = e.value(resource["Properties"]).(map[string]any)
		made[id] = r
	}
	return made
}

func (e evaluation) condition(name string) bool {
	e.t.Helper()
	conditions, _ := e.template["Conditions"].(map[string]any)
	definition, ok := conditions[name]
	if !ok {
		e.t.Fatalf("there is no condition %s", name)
	}
	return e.truth(definition)
}

// truth evaluates a function that is true or false.
func (e evaluation) truth(v any) bool {
	e.t.Helper()
	m, _ := v.(map[string]any)
	for name, argument := range m {
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

// value evaluates what parameters decide of v.
func (e evaluation) value(v any) any {
	e.t.Helper()
	switch v := v.(type) {
	case map[string]any:
		if name, ok := v["Ref"].(string); ok {
			if name == "AWS::NoValue" {
				return noValue{}
			}
			if value, ok := e.parameters[name]; ok {
				return value
			}
		}
		if choice, ok := v["Fn::If"].([]any); ok {
			if e.condition(choice[0].(string)) {
				return e.value(choice[1])
			}
			return e.value(choice[2])
		}
		m := make(map[string]any)
		for name, argument := range v {
			if value := e.value(argument); value != any(noValue{}) {
				m[name] = value
			}
		}
		return m
	case []any:
		list := []any{}
		for _, item := range v {
			if value := e.value(item); value != any(noValue{}) {
				list = append(list, value)
			}
		}
		return list
	}
	return v
}

// The evaluation is what other tests believe in.
func TestEvaluation(t *testing.T) {
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(`
Parameters:
  Key: {Default: ""}
  Size: {Default: 0}
Conditions:
  HasKey: !Not [!Equals [!Ref Key, ""]]
  HasBoth: !And [!Condition HasKey, !Not [!Equals [!Ref Size, 0]]]
  HasNeither: !Not [!Or [!Condition HasKey, !Condition HasBoth]]
Resources:
  Always:
    Type: A
    Properties: {Key: !If [HasKey, !Ref Key, !Ref "AWS::NoValue"], Size: !Ref Size, List: [!If [HasBoth, 1, !Ref "AWS::NoValue"], 2], Arn: !GetAtt A.Arn}
  Both: {Type: B, Condition: HasBoth}
  Neither: {Type: C, Condition: HasNeither}
`), &root); err != nil {
		t.Fatal(err)
	}
	s := stackTemplate(longForm(t, root.Content[0]).(map[string]any))
	arn := map[string]any{"Fn::GetAtt": "A.Arn"}
	for _, c := range []struct {
		given map[string]any
		want  map[string]stackResource
	}{
		{nil, map[string]stackResource{
			"Always":  {Type: "A", Properties: map[string]any{"Size": 0, "List": []any{2}, "Arn": arn}},
			"Neither": {Type: "C"}}},
		{map[string]any{"Key": "k"}, map[string]stackResource{
			"Always": {Type: "A", Properties: map[string]any{"Key": "k", "Size": 0, "List": []any{2}, "Arn": arn}}}},
		{map[string]any{"Key": "k", "Size": 3}, map[string]stackResource{
			"Always": {Type: "A", Properties: map[string]any{"Key": "k", "Size": 3, "List": []any{1, 2}, "Arn": arn}},
			"Both":   {Type: "B"}}},
	} {
		if got := s.with(t, c.given).resources(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v: got %v, want %v", c.given, got, c.want)
		}
	}
}
