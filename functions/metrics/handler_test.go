package metrics_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"testing/slogtest"

	"ledger.example/functions/metrics"
	"ledger.example/functions/metrics/metricstest"
)

const namespace = "Ledger/books"

func logger(w io.Writer) *slog.Logger {
	return slog.New(metrics.NewHandler(slog.NewJSONHandler(w, nil), namespace))
}

func series(name, dimensions string) metricstest.Series {
	return metricstest.Series{Namespace: namespace, Name: name, Dimensions: dimensions}
}

func oneTo(n int) (list []int64, values []float64) {
	for i := range n {
		list, values = append(list, int64(i+1)), append(values, float64(i+1))
	}
	return list, values
}

// CloudWatch extracts the values of metrics and no other attributes.
func TestValues(t *testing.T) {
	list100, values100 := oneTo(100)
	list101, values101 := oneTo(101)
	list250, values250 := oneTo(250)
	for name, c := range map[string]struct {
		log  func(*slog.Logger)
		want map[metricstest.Series][]float64
	}{
		"none": {func(l *slog.Logger) { l.Info("request", "status", 200, "posted", 1) }, nil},
		"one": {
			func(l *slog.Logger) { l.Info("request", "TransactionsPosted", 1) },
			map[metricstest.Series][]float64{series("TransactionsPosted", ""): {1}},
		},
		"by code": {
			func(l *slog.Logger) {
				l.Info("request", "Code", "unbalanced", "Refusals", 1)
				l.Info("request", "Refusals", 1, "Code", "insufficient_funds")
			},
			map[metricstest.Series][]float64{
				series("Refusals", "Code=unbalanced"): {1}, series("Refusals", "Code=insufficient_funds"): {1},
			},
		},
		"several, of different dimensions": {
			func(l *slog.Logger) {
				l.Warn("m", "BelowLimit", 1, "Refusals", 1, "Code", "unbalanced", "RefoldDepth", []int64{3, 4},
					"ProjectionLag", []int64{0})
			},
			map[metricstest.Series][]float64{
				series("BelowLimit", ""): {1}, series("Refusals", "Code=unbalanced"): {1},
				series("RefoldDepth", ""): {3, 4}, series("ProjectionLag", ""): {0},
			},
		},
		"as many as a line may have": {
			func(l *slog.Logger) { l.Info("batch", "RefoldDepth", list100) },
			map[metricstest.Series][]float64{series("RefoldDepth", ""): values100},
		},
		"more than a line may have": {
			func(l *slog.Logger) {
				l.Info("batch", "RefoldDepth", list250, "ProjectionLag", list101, "ClockOff", 1)
			},
			map[metricstest.Series][]float64{
				series("RefoldDepth", ""): values250, series("ProjectionLag", ""): values101, series("ClockOff",
					""): {1},
			},
		},
		"with attributes of the logger": {
			func(l *slog.Logger) { l.With("function", "command").Info("request", "TransactionsPosted", 1) },
			map[metricstest.Series][]float64{series("TransactionsPosted", ""): {1}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			c.log(logger(&log))
			got := metricstest.Read(t, log.String())
			if len(got) != len(c.want) || len(c.want) > 0 && !reflect.DeepEqual(got, c.want) {
				t.Errorf("taken: %v\nwanted: %v\n%s", got, c.want, log.String())
			}
		})
	}
}

// A line without a valid value has no directive: CloudWatch would drop the line, or count it without its dimension.
func TestInvalidValues(t *testing.T) {
	var log bytes.Buffer
	l := logger(&log)
	l.Info("m", "TransactionsPosted", "1")
	l.Info("m", "TransactionsPosted", nil)
	l.Info("m", "RefoldDepth", []int64{})
	l.Info("m", "RefoldDepth", []string{"1"})
	l.Info("m", "Refusals", 1)
	l.Info("m", "Refusals", 1, "Code", "")
	l.Info("m", "Refusals", 1, "Code", 5)
	l.Info("m", "Refusals", []int64{1}, "Code", "unbalanced")
	l.WithGroup("g").Info("m", "TransactionsPosted", 1)
	l.Info("m", slog.Group("g", "TransactionsPosted", 1))
	l.Debug("m", "TransactionsPosted", 1)
	if strings.Contains(log.String(), "_aws") || strings.Count(log.String(), "\n") != 10 {
		t.Error(log.String())
	}
}

func TestHandlerFollowsSlogRules(t *testing.T) {
	var log bytes.Buffer
	slogtest.Run(t, func(*testing.T) slog.Handler {
		log.Reset()
		return metrics.NewHandler(slog.NewJSONHandler(&log, nil), namespace)
	}, func(t *testing.T) map[string]any {
		var line map[string]any
		if err := json.Unmarshal(log.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		return line
	})
}

func TestNamespaces(t *testing.T) {
	for _, good := range []string{"Ledger/books", "a", "Ledger/my-stack-2", "a b", "." + strings.Repeat("x", 254)} {
		if err := metrics.CheckNamespace(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", " ", "AWS/Lambda", ":a", "Ledger/bücher", "a\nb", "a\n", "${AWS::StackName}",
		strings.Repeat("x", 256)} {
		if metrics.CheckNamespace(bad) == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
