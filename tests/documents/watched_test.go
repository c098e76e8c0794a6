package documents

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// metricUse is one use of a metric by an alarm or by the dashboard.
type metricUse struct {
	by              string // logical id of the alarm, title of the widget
	namespace, name string
	dimensions      map[string]string // values as in the template; "*" for any
	stat            string
}

// dimensionNames returns the sorted names of w's dimensions, separated by spaces.
func (w metricUse) dimensionNames() string {
	return strings.Join(slices.Sorted(maps.Keys(w.dimensions)), " ")
}

func (w metricUse) String() string {
	return fmt.Sprintf("%s: %s %s %v", w.by, w.namespace, w.name, w.dimensions)
}

// watchFile is the template of the alarms and the dashboard.
const watchFile = "watch.yaml"

// stack returns template.yaml merged with the resources of watch.yaml. Outputs of the first replace parameters of the
// second.
func stack(t *testing.T) map[string]any {
	t.Helper()
	template, watch := written(t, "template.yaml"), written(t, watchFile)
	var pairs []string
	for name := range mapAt(watch, "Parameters") {
		if output, ok := valueAt(template, "Outputs", name, "Value").(string); ok {
			pairs = append(pairs, "${"+name+"}", output)
		}
	}
	given := strings.NewReplacer(pairs...)
	resources := mapAt(template, "Resources")
	for id, resource := range mapAt(watch, "Resources") {
		if resources[id] != nil {
			t.Fatalf("both templates have a resource %s", id)
		}
		resources[id] = rewritten(resource, func(v any) (any, bool) {
			text, ok := v.(string)
			return given.Replace(text), ok
		})
	}
	return template
}

// written returns a template with references in the syntax of Fn::Sub: !Ref A is ${A}, !GetAtt A.B is ${A.B}.
func written(t *testing.T, file string) map[string]any {
	t.Helper()
	return asMap(rewritten(map[string]any(readFile(t, file)), func(v any) (any, bool) {
		for name, argument := range asMap(v) {
			text, ok := argument.(string)
			if format := map[string]string{"Ref": "${%s}", "Fn::GetAtt": "${%s}", "Fn::Sub": "%s"}[name]; ok && format != "" {
				return fmt.Sprintf(format, text), true
			}
		}
		return nil, false
	}))
}

func asMap(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// alarms returns the properties of every alarm by its logical id.
func alarms(t *testing.T, template map[string]any) map[string]map[string]any {
	t.Helper()
	all := make(map[string]map[string]any)
	for id, r := range mapAt(template, "Resources") {
		if asMap(r)["Type"] == "AWS::CloudWatch::Alarm" {
			all[id] = mapAt(asMap(r), "Properties")
		}
	}
	if len(all) < 10 {
		t.Fatalf("%d alarms", len(all))
	}
	return all
}

// metricsOfAlarm returns the metrics that an alarm uses.
func metricsOfAlarm(id string, alarm map[string]any) (all []metricUse) {
	stats := []any{map[string]any{"MetricStat": map[string]any{"Metric": alarm, "Stat": cmp.Or(alarm["Statistic"], alarm["ExtendedStatistic"])}}}
	if alarm["Metrics"] != nil {
		stats = listOf(alarm["Metrics"])
	}
	for _, m := range stats {
		metric := mapAt(asMap(m), "MetricStat", "Metric")
		if metric == nil {
			continue
		}
		w := metricUse{by: id, namespace: fmt.Sprint(metric["Namespace"]), name: fmt.Sprint(metric["MetricName"]),
			stat: fmt.Sprint(valueAt(asMap(m), "MetricStat", "Stat")), dimensions: make(map[string]string)}
		for _, d := range listOf(metric["Dimensions"]) {
			if d := asMap(d); d != nil {
				w.dimensions[fmt.Sprint(d["Name"])] = fmt.Sprint(d["Value"])
			}
		}
		all = append(all, w)
	}
	return all
}

// widget is one part of the dashboard.
type widget struct {
	Properties struct {
		Title, Stat string
		Metrics     [][]any
		Alarms      []string
	}
}

func widgets(t *testing.T, template map[string]any) []widget {
	t.Helper()
	body, _ := valueAt(template, "Resources", "Dashboard", "Properties", "DashboardBody").(string)
	var dashboard struct{ Widgets []widget }
	if err := json.Unmarshal([]byte(body), &dashboard); err != nil {
		t.Fatalf("dashboard: %v", err)
	}
	return dashboard.Widgets
}

// searched matches a search expression of the dashboard: namespace, names of dimensions, name of the metric, statistic.
var searched = regexp.MustCompile(`^SEARCH\('\{"([^"]+)",([A-Za-z,]+)\} MetricName="([A-Za-z]+)"', '([A-Za-z]+)', ` +
	`[0-9]+\)$`)

// metricsOfWidget returns the metrics that a widget shows.
func metricsOfWidget(t *testing.T, w widget) []metricUse {
	t.Helper()
	var all []metricUse
	for _, entry := range w.Properties.Metrics {
		use := metricUse{by: w.Properties.Title, stat: w.Properties.Stat, dimensions: make(map[string]string)}
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

// allMetricUses returns all uses of metrics by the alarms and the dashboard.
func allMetricUses(t *testing.T) []metricUse {
	t.Helper()
	template := stack(t)
	var all []metricUse
	for id, alarm := range alarms(t, template) {
		all = append(all, metricsOfAlarm(id, alarm)...)
	}
	for _, w := range widgets(t, template) {
		all = append(all, metricsOfWidget(t, w)...)
	}
	return all
}

// number converts a YAML number or string.
func number(v any) (float64, error) { return strconv.ParseFloat(fmt.Sprint(v), 64) }
