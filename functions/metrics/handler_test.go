package metrics_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/slogtest"

	"github.com/aws/aws-lambda-go/lambdacontext"

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

func oneTo(n int) []int64 {
	list := make([]int64, n)
	for i := range list {
		list[i] = int64(i + 1)
	}
	return list
}

func floats(list []int64) []float64 {
	var out []float64
	for _, v := range list {
		out = append(out, float64(v))
	}
	return out
}

// What a line has of our metrics is taken, everything else is left alone.
func TestValues(t *testing.T) {
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
				l.Warn("m", "BelowLimit", 1, "Refusals", 1, "Code", "unbalanced", "RefoldDepth", []int64{3, 4}, "ProjectionLag", []int64{0})
			},
			map[metricstest.Series][]float64{
				series("BelowLimit", ""): {1}, series("Refusals", "Code=unbalanced"): {1},
				series("RefoldDepth", ""): {3, 4}, series("ProjectionLag", ""): {0},
			},
		},
		"as many as a line may have": {
			func(l *slog.Logger) { l.Info("batch", "RefoldDepth", oneTo(100)) },
			map[metricstest.Series][]float64{series("RefoldDepth", ""): floats(oneTo(100))},
		},
		"more than a line may have": {
			func(l *slog.Logger) {
				l.Info("batch", "RefoldDepth", oneTo(250), "ProjectionLag", oneTo(101), "ClockOff", 1)
			},
			map[metricstest.Series][]float64{
				series("RefoldDepth", ""): floats(oneTo(250)), series("ProjectionLag", ""): floats(oneTo(101)), series("ClockOff", ""): {1},
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

// What the format doesn't take makes no line of the format: it would be lost, or worse, without its dimension be another
// metric.
func TestWhatIsNoValue(t *testing.T) {
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

// The line that carries a value is the line that was written anyway, with all that it says.
func TestLineStaysWhole(t *testing.T) {
	var log bytes.Buffer
	logger(&log).Error("balance is below its limit", "account", "jane", "BelowLimit", 1)
	var line struct {
		Level, Msg, Account string
		BelowLimit          int
	}
	if err := json.Unmarshal(log.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	line.Level += " " + line.Msg + " " + line.Account
	if line.Level != "ERROR balance is below its limit jane" || line.BelowLimit != 1 || strings.Count(log.String(), "\n") != 1 {
		t.Error(log.String())
	}
}

func TestHandlerKeepsSlogsRules(t *testing.T) {
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

// childVariable makes a run of this test's binary write a line, as a function does.
const childVariable = "METRICS_TEST_CHILD"

// The functions log through Lambda's own handler, which renames members and adds one: the directive and the values stay at
// the root of one JSON line on standard output.
func TestThroughLambdasHandler(t *testing.T) {
	if os.Getenv(childVariable) != "" {
		ctx := lambdacontext.NewContext(context.Background(), &lambdacontext.LambdaContext{AwsRequestID: "r-1"})
		l := slog.New(metrics.NewHandler(lambdacontext.NewLogger().Handler(), namespace))
		l.LogAttrs(ctx, slog.LevelInfo, "request", slog.Int("Refusals", 1), slog.String("Code", "unbalanced"))
		os.Exit(0)
	}
	child := exec.Command(os.Args[0], "-test.run=^TestThroughLambdasHandler$")
	child.Env = append(os.Environ(), childVariable+"=1", "AWS_LAMBDA_LOG_FORMAT=JSON", "AWS_LAMBDA_LOG_LEVEL=INFO")
	out, err := child.Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := metricstest.Read(t, string(out)); !reflect.DeepEqual(got, map[metricstest.Series][]float64{series("Refusals", "Code=unbalanced"): {1}}) {
		t.Errorf("taken: %v", got)
	}
	var line map[string]any
	if err := json.Unmarshal(out, &line); err != nil {
		t.Fatal(err)
	}
	// By level Lambda filters, by timestamp it dates the line, by requestId it is found.
	for _, name := range []string{"level", "timestamp", "message", "requestId", "_aws"} {
		if line[name] == nil {
			t.Errorf("no %s in %s", name, out)
		}
	}
}

func TestNamespaces(t *testing.T) {
	for _, good := range []string{"Ledger/books", "a", "Ledger/my-stack-2", "a b", "." + strings.Repeat("x", 254)} {
		if err := metrics.CheckNamespace(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", " ", "AWS/Lambda", ":a", "Ledger/bücher", "a\nb", "a\n", "${AWS::StackName}", strings.Repeat("x", 256)} {
		if metrics.CheckNamespace(bad) == nil {
			t.Errorf("%q is let pass", bad)
		}
	}
}

// A metric's name is a member of a line among others, which are in lower case.
func TestNames(t *testing.T) {
	var names []string
	for _, m := range metrics.Metrics() {
		if m.Name == "" || m.Name[0] < 'A' || m.Name[0] > 'Z' || slices.Contains(names, m.Name) {
			t.Errorf("metric %q", m.Name)
		}
		names = append(names, m.Name)
	}
}

func BenchmarkHandler(b *testing.B) {
	line := func(l *slog.Logger, more ...slog.Attr) func(*testing.B) {
		return func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				l.LogAttrs(context.Background(), slog.LevelInfo, "request", append([]slog.Attr{
					slog.String("request_id", "r"), slog.String("method", "POST"), slog.Int("status", 201),
					slog.Float64("duration_ms", 12.5), slog.String("route", "/v1/trades"), slog.String("actor", "a"),
				}, more...)...)
			}
		}
	}
	b.Run("plain", line(slog.New(slog.NewJSONHandler(io.Discard, nil)), slog.Int("TransactionsPosted", 1)))
	b.Run("unmeasured", line(logger(io.Discard)))
	b.Run("measured", line(logger(io.Discard), slog.Int("TransactionsPosted", 1)))
}
