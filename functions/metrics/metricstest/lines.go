// Package metricstest extracts metrics from a log as CloudWatch does.
package metricstest

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
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

// valuesMax is the most values of one metric in a line.
const valuesMax = 100

//go:embed emf.schema.json
var schema []byte

// Read returns the values that CloudWatch extracts from a log, in the order of its lines. It fails t if a line has an
// attribute with the name of a metric but no directive, if it does not match the format's JSON schema, or if a value is
// missing.
func Read(t testing.TB, log string) map[Series][]float64 {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("emf.schema.json", document); err != nil {
		t.Fatal(err)
	}
	format := c.MustCompile("emf.schema.json")
	taken := make(map[Series][]float64)
	for line := range strings.Lines(log) {
		var root map[string]any
		if err := json.Unmarshal([]byte(line), &root); err != nil {
			t.Fatalf("line is not JSON: %v\n%s", err, line)
		}
		if root["_aws"] == nil {
			for _, m := range metrics.Metrics() {
				if _, ok := root[m.Name]; ok {
					t.Errorf("%s is not taken from %s", m.Name, line)
				}
			}
			continue
		}
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
		if err != nil {
			t.Fatal(err)
		}
		if err := format.Validate(value); err != nil {
			t.Errorf("%v\n%s", err, line)
		} else if err := take(line, root, taken); err != nil {
			t.Errorf("%v: %s", err, line)
		}
	}
	return taken
}

// take adds the values that a line's directive names.
func take(line string, root map[string]any, taken map[Series][]float64) error {
	var document struct {
		Directive struct {
			CloudWatchMetrics []struct {
				Namespace  string
				Dimensions [][]string
				Metrics    []metrics.Metric
			}
		} `json:"_aws"`
	}
	if err := json.Unmarshal([]byte(line), &document); err != nil {
		return err
	}
	for _, set := range document.Directive.CloudWatchMetrics {
		for _, names := range set.Dimensions {
			var dimensions []string
			for _, name := range slices.Sorted(slices.Values(names)) {
				value, ok := root[name].(string)
				if !ok || value == "" {
					return fmt.Errorf("dimension %s has no value", name)
				}
				dimensions = append(dimensions, name+"="+value)
			}
			for _, m := range set.Metrics {
				values, ok := root[m.Name].([]any)
				if !ok {
					values = []any{root[m.Name]}
				}
				if len(values) == 0 || len(values) > valuesMax {
					return fmt.Errorf("%d values of %s", len(values), m.Name)
				}
				s := Series{Namespace: set.Namespace, Name: m.Name, Dimensions: strings.Join(dimensions, ",")}
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
