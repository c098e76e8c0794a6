package documents

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// watched is one use of a metric by an alarm or by the dashboard.
type watched struct {
	by              string // logical id of the alarm, title of the widget
	namespace, name string
	dimensions      map[string]string // to values as the template writes them; "*" for any
	stat            string
}

// dimensionNames are those of w's dimensions in order, separated by spaces.
func (w watched) dimensionNames() string {
	return strings.Join(slices.Sorted(maps.Keys(w.dimensions)), " ")
}

func (w watched) String() string {
	return fmt.Sprintf("%s: %s %s %v", w.by, w.namespace, w.name, w.dimensions)
}

// watchFile is the template of the alarms and the dashboard.
const watchFile = "watch.yaml"

// stack is template.yaml and, among its resources, those of watch.yaml, with the outputs of the first for the
// parameters of the second.
func stack(t *testing.T) map[string]any {
	t.Helper()
	whole, watch := written(t, "template.yaml"), written(t, watchFile)
	var pairs []string
	for name := range watch["Parameters"].(map[string]any) {
		if output, ok := valueAt(whole, "Outputs", name, "Value").(string); ok {
			pairs = append(pairs, "${"+name+"}", output)
		}
	}
	given := strings.NewReplacer(pairs...)
	resources := whole["Resources"].(map[string]any)
	for id, resource := range watch["Resources"].(map[string]any) {
		if resources[id] != nil {
			t.Fatalf("both templates have a resource %s", id)
		}
		resources[id] = replaced(resource, given)
	}
	return whole
}

// replaced is v with every text in it as given makes it.
func replaced(v any, given *strings.Replacer) any {
	switch v := v.(type) {
	case string:
		return given.Replace(v)
	case map[string]any:
		m := make(map[string]any)
		for name, value := range v {
			m[name] = replaced(value, given)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, value := range v {
			list[i] = replaced(value, given)
		}
		return list
	}
	return v
}

// written is a template with intrinsic functions written as Fn::Sub would: !Ref A is ${A}, !GetAtt A.B is ${A.B}.
func written(t *testing.T, file string) map[string]any {
	t.Helper()
	return asText(map[string]any(readFile(t, file))).(map[string]any)
}

func asText(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, format := range map[string]string{"Ref": "${%s}", "Fn::GetAtt": "${%s}", "Fn::Sub": "%s"} {
			if text, ok := v[name].(string); ok {
				return fmt.Sprintf(format, text)
			}
		}
		m := make(map[string]any)
		for name, value := range v {
			m[name] = asText(value)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, value := range v {
			list[i] = asText(value)
		}
		return list
	}
	return v
}

// alarms returns the properties of every alarm by its logical id.
func alarms(t *testing.T, whole map[string]any) map[string]map[string]any {
	t.Helper()
	all := make(map[string]map[string]any)
	for id := range whole["Resources"].(map[string]any) {
		if valueAt(whole, "Resources", id, "Type") == "AWS::CloudWatch::Alarm" {
			all[id], _ = valueAt(whole, "Resources", id, "Properties").(map[string]any)
		}
	}
	if len(all) < 10 {
		t.Fatalf("%d alarms", len(all))
	}
	return all
}

// watchedBy returns the metrics that an alarm uses.
func watchedBy(t *testing.T, id string, alarm map[string]any) []watched {
	t.Helper()
	one := func(metric map[string]any, stat any) watched {
		w := watched{by: id, dimensions: make(map[string]string)}
		w.namespace, _ = metric["Namespace"].(string)
		w.name, _ = metric["MetricName"].(string)
		w.stat, _ = stat.(string)
		if metric["Dimensions"] != nil {
			for _, d := range listOf(metric["Dimensions"]) {
				d := d.(map[string]any)
				w.dimensions[d["Name"].(string)], _ = d["Value"].(string)
			}
		}
		return w
	}
	if alarm["Metrics"] == nil {
		stat := alarm["Statistic"]
		if stat == nil {
			stat = alarm["ExtendedStatistic"]
		}
		return []watched{one(alarm, stat)}
	}
	var all []watched
	for _, m := range listOf(alarm["Metrics"]) {
		if stat, ok := valueAt(m.(map[string]any), "MetricStat").(map[string]any); ok {
			all = append(all, one(stat["Metric"].(map[string]any), stat["Stat"]))
		}
	}
	return all
}

// widget is one part of the dashboard.
type widget struct {
	Type                string
	X, Y, Width, Height int
	Properties          struct {
		Title, Region, Stat, Markdown string
		Period                        int
		Metrics                       [][]any
		Alarms                        []string
	}
}

func widgets(t *testing.T, whole map[string]any) []widget {
	t.Helper()
	body, _ := valueAt(whole, "Resources", "Dashboard", "Properties", "DashboardBody").(string)
	var dashboard struct{ Widgets []widget }
	if err := json.Unmarshal([]byte(body), &dashboard); err != nil {
		t.Fatalf("dashboard: %v", err)
	}
	return dashboard.Widgets
}

// searched is a search expression of the dashboard: namespace, names of dimensions, name of the metric, statistic.
var searched = regexp.MustCompile(`^SEARCH\('\{"([^"]+)",([A-Za-z,]+)\} MetricName="([A-Za-z]+)"', '([A-Za-z]+)', ` +
	`[0-9]+\)$`)

// watchedOn returns the metrics that a widget shows.
func watchedOn(t *testing.T, w widget) []watched {
	t.Helper()
	var all []watched
	for _, entry := range w.Properties.Metrics {
		use := watched{by: w.Properties.Title, stat: w.Properties.Stat, dimensions: make(map[string]string)}
		options, _ := entry[len(entry)-1].(map[string]any)
		if options != nil {
			entry = entry[:len(entry)-1]
		}
		if stat, ok := options["stat"].(string); ok {
			use.stat = stat
		}
		if expression, ok := options["expression"].(string); ok {
			parts := searched.FindStringSubmatch(expression)
			if parts == nil {
				t.Fatalf("%s: expression %q", use.by, expression)
			}
			use.namespace, use.name, use.stat = parts[1], parts[3], parts[4]
			for name := range strings.SplitSeq(parts[2], ",") {
				use.dimensions[name] = "*"
			}
			all = append(all, use)
			continue
		}
		if len(entry) < 2 || len(entry)%2 != 0 {
			t.Fatalf("%s: metric %v", use.by, entry)
		}
		use.namespace, use.name = entry[0].(string), entry[1].(string)
		for i := 2; i < len(entry); i += 2 {
			use.dimensions[entry[i].(string)] = entry[i+1].(string)
		}
		all = append(all, use)
	}
	return all
}

// allWatched returns what the alarms and the dashboard use.
func allWatched(t *testing.T) []watched {
	t.Helper()
	whole := stack(t)
	var all []watched
	for id, alarm := range alarms(t, whole) {
		all = append(all, watchedBy(t, id, alarm)...)
	}
	for _, w := range widgets(t, whole) {
		all = append(all, watchedOn(t, w)...)
	}
	return all
}

// number reads what YAML may have made a whole number or a text.
func number(v any) (float64, error) { return strconv.ParseFloat(fmt.Sprint(v), 64) }
