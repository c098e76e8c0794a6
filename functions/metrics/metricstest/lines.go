// Package metricstest reads the lines of a log as CloudWatch does, for tests of what is measured.
package metricstest

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"ledger.example/functions/metrics"
)

// Series is one time series: a metric of a namespace, and the value of its dimension.
type Series struct {
	Namespace, Name string
	Dimensions      string // name=value, separated by commas, in the order of the names; "" for none
}

// valuesMax is the most values that the format lets a line have of one metric.
const valuesMax = 100

//go:embed emf.schema.json
var schema []byte

// Read returns the values that CloudWatch takes out of a log, in the order of its lines, and fails t when a line claims to
// be of the format and isn't: it must validate against the format's schema, and have each value that it names.
func Read(t testing.TB, log string) map[Series][]float64 {
	t.Helper()
	format := compile(t)
	taken := make(map[Series][]float64)
	lines := bufio.NewScanner(strings.NewReader(log))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var root map[string]any
		if err := json.Unmarshal(lines.Bytes(), &root); err != nil {
			t.Fatalf("line is not JSON: %v\n%s", err, lines.Text())
		}
		if root["_aws"] == nil {
			// Whoever names one of ours wants it taken.
			for _, m := range metrics.Metrics() {
				if _, ok := root[m.Name]; ok {
					t.Errorf("%s is not taken from %s", m.Name, lines.Text())
				}
			}
			continue
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(lines.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if err := format.Validate(value); err != nil {
			t.Errorf("%v\n%s", err, lines.Text())
			continue
		}
		if err := take(lines.Bytes(), root, taken); err != nil {
			t.Errorf("%v: %s", err, lines.Text())
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return taken
}

func compile(t testing.TB) *jsonschema.Schema {
	t.Helper()
	whole, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("emf.schema.json", whole); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("emf.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

// take adds the values that a line's directive names.
func take(line []byte, root map[string]any, taken map[Series][]float64) error {
	var document struct {
		Directive struct {
			CloudWatchMetrics []struct {
				Namespace  string
				Dimensions [][]string
				Metrics    []metrics.Metric
			}
		} `json:"_aws"`
	}
	if err := json.Unmarshal(line, &document); err != nil {
		return err
	}
	for _, set := range document.Directive.CloudWatchMetrics {
		for _, names := range set.Dimensions {
			dimensions := make(map[string]string)
			for _, name := range names {
				value, ok := root[name].(string)
				if !ok || value == "" {
					return fmt.Errorf("dimension %s has no value", name)
				}
				dimensions[name] = value
			}
			for _, m := range set.Metrics {
				values, ok := root[m.Name].([]any)
				if !ok {
					values = []any{root[m.Name]}
				}
				if len(values) == 0 || len(values) > valuesMax {
					return fmt.Errorf("%d values of %s", len(values), m.Name)
				}
				s := Series{Namespace: set.Namespace, Name: m.Name, Dimensions: text(dimensions)}
				for _, v := range values {
					number, ok := v.(float64)
					if !ok {
						return fmt.Errorf("%v as a value of %s", v, m.Name)
					}
					taken[s] = append(taken[s], number)
				}
			}
		}
	}
	return nil
}

// text writes dimensions as Series has them.
func text(dimensions map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(dimensions)) {
		parts = append(parts, name+"="+dimensions[name])
	}
	return strings.Join(parts, ",")
}
