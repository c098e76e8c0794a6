package documents

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// others are parameters that change no resource, but what their properties refer to.
var others = map[string]any{
	"KmsKeyArn": key, "BreakGlassRoleArn": breakGlass, "Deployment": "Canary10Percent5Minutes", "HotKeys": "Enabled",
	"CommandConcurrency": 5, "QueryConcurrency": 5, "ProjectorConcurrency": 5, "ListerConcurrency": 5,
}

// With all parameters, each reference of the stack is to a resource that exists, and there is no circle of references.
// CloudFormation would refuse the stack, but lint accepts a reference to a resource whose condition is false.
func TestReferencesExist(t *testing.T) {
	template := readTemplate(t)
	conditions := template.section("Resources")
	for _, more := range []map[string]any{nil, others} {
		combinations(t, func(t *testing.T, given map[string]any, _ map[string]stackResource) {
			given = maps.Clone(given)
			maps.Copy(given, more)
			e := template.with(t, given)
			live := e.resources()
			to := make(map[string][]string)
			for id := range live {
				to[id] = e.references(conditions[id]["Properties"], live)
			}
			for id, output := range template.section("Outputs") {
				if condition, ok := output["Condition"].(string); !ok || e.condition(condition) {
					to["output "+id] = e.references(output["Value"], live)
				}
			}
			for id, ids := range to {
				for _, other := range ids {
					if _, ok := live[other]; !ok {
						t.Errorf("%s refers to %s, which does not exist", id, other)
					}
				}
				if circle := circle(to, []string{id}); circle != nil {
					t.Errorf("circle: %q", circle)
				}
			}
		})
	}
}

var substituted = regexp.MustCompile(`\$\{([^!}]+)\}`)

// references returns the resources to which a value refers, with the parameters of e. SAM makes some of them from
// functions, which stand for them.
func (e evaluation) references(v any, live map[string]stackResource) (ids []string) {
	e.t.Helper()
	add := func(name string) {
		id, _, _ := strings.Cut(name, ".")
		for function, r := range live {
			for event := range mapAt(r.Properties, "Events") {
				if id == function+event {
					id = function
				}
			}
		}
		if _, is := e.parameters[id]; !is && !strings.HasPrefix(id, "AWS::") {
			ids = append(ids, id)
		}
	}
	rewritten(e.value(v), func(v any) (any, bool) {
		for name, argument := range asMap(v) {
			text, _ := argument.(string)
			local := map[string]any{}
			if list, ok := argument.([]any); ok && name == "Fn::Sub" {
				text, local = list[0].(string), asMap(list[1])
			}
			switch name {
			case "Ref", "Fn::GetAtt":
				add(text)
			case "Fn::Sub":
				for _, found := range substituted.FindAllStringSubmatch(text, -1) {
					if local[found[1]] == nil {
						add(found[1])
					}
				}
			case "DeploymentPreference": // SAM makes a resource of it
				delete(asMap(v), name)
			}
		}
		return nil, false
	})
	return ids
}

// circle returns a path that ends where it begins, nil if the path so far leads to none.
func circle(to map[string][]string, path []string) []string {
	for _, next := range to[path[len(path)-1]] {
		if next == path[0] {
			return append(path, next)
		}
		if !slices.Contains(path, next) {
			if found := circle(to, append(slices.Clone(path), next)); found != nil {
				return found
			}
		}
	}
	return nil
}
