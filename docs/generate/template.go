package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// template is template.yaml. Intrinsic functions in short form are parsed as their arguments.
type template struct {
	tree       map[string]any
	parameters []string // in the order of the file
}

func readTemplate(file string) (t template) {
	text, err := os.ReadFile(file)
	check(err)
	check(yaml.Unmarshal(text, &t.tree))
	var ordered struct {
		Parameters yaml.Node `yaml:"Parameters"`
	}
	check(yaml.Unmarshal(text, &ordered))
	for pair := range slices.Chunk(ordered.Parameters.Content, 2) {
		t.parameters = append(t.parameters, pair[0].Value)
	}
	return t
}

// at returns the value at a path of names, nil if there is none.
func (t template) at(names ...string) any {
	var found any = t.tree
	for _, name := range names {
		members, _ := found.(map[string]any)
		found = members[name]
	}
	return found
}

// resources returns the names of the resources of a type, sorted.
func (t template) resources(kind string) (names []string) {
	all, _ := t.at("Resources").(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if t.at("Resources", name, "Type") == kind {
			names = append(names, name)
		}
	}
	return names
}

// listOf returns a copy of a list. Any other value becomes a list of one, and nil an empty list.
func listOf(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return slices.Clone(v)
	}
	return []any{v}
}

func parameterTable(t template) markdown {
	result := markdown{head: "parameter|default|meaning"}
	for _, name := range t.parameters {
		value := code(t.at("Parameters", name, "Default"))
		switch value {
		case "":
			value = "required"
		case "``":
			value = "empty"
		}
		result.add(code(name), value, strings.TrimSpace(fmt.Sprint(t.at("Parameters", name, "Description"))))
	}
	return result
}

// permissionTable shows the permissions of the stack's roles.
func permissionTable(t template) markdown {
	result := markdown{head: "role|actions|on"}
	var walk func(role string, in any) // adds all Allow statements, also those under Fn::If
	walk = func(role string, in any) {
		switch in := in.(type) {
		case []any:
			for _, one := range in {
				walk(role, one)
			}
		case map[string]any:
			if in["Effect"] == "Allow" {
				result.add(code(role), code(in["Action"]), code(in["Resource"])+leadingKeys(in["Condition"]))
			}
			walk(role, in["PolicyDocument"])
			walk(role, in["Statement"])
		}
	}
	for _, role := range t.resources("AWS::IAM::Role") {
		for _, policy := range t.resources("AWS::IAM::Policy") {
			properties := t.at("Resources", policy, "Properties")
			if slices.Contains(listOf(t.at("Resources", policy, "Properties", "Roles")), any(role)) {
				walk(role, properties)
			}
		}
		for _, policy := range listOf(t.at("Resources", role, "Properties", "ManagedPolicyArns")) {
			result.add(code(role), "of the managed policy", code(policy))
		}
	}
	return result
}

// leadingKeys shows the PKs to which a condition restricts a statement, "" if there are none.
func leadingKeys(condition any) string {
	operators, _ := condition.(map[string]any)
	for _, operator := range operators {
		keys, _ := operator.(map[string]any)
		if of := keys["dynamodb:LeadingKeys"]; of != nil {
			return ", PK " + code(of)
		}
	}
	return ""
}

// code formats a value, or each value of a list, as code.
func code(v any) string {
	var parts []string
	for _, one := range listOf(v) {
		parts = append(parts, fmt.Sprintf("`%v`", one))
	}
	return strings.Join(parts, ", ")
}
