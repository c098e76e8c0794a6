package documents

import (
	"fmt"
	"go/constant"
	"go/token"
	"go/types"
	"regexp"
	"strings"
	"testing"
)

// period has the values of an alarm's metrics in one period, by their id in the template. A missing one has no data.
type period map[string]float64

// times returns p n times.
func (p period) times(n int) (all []period) {
	for range n {
		all = append(all, p)
	}
	return all
}

// mathAlarms are situations of alarms on metric math, oldest period first.
var mathAlarms = []struct {
	alarm, situation string
	periods          []period
	fires            bool
}{
	{"ApiErrorsAlarm", "a busy ledger answers 2 percent 503", period{"requests": 1000, "errors": 20}.times(1), true},
	{"ApiErrorsAlarm", "four of five requests fail", period{"requests": 5, "errors": 4}.times(1), false},
	{"ApiDownAlarm", "a quiet ledger answers only 503", []period{{"requests": 1, "errors": 1}, {}, {}, {"requests": 2, "errors": 2}}, true},
	{"ApiDownAlarm", "a single request fails", []period{{"requests": 1, "errors": 1}, {}, {}}, false},
	{"ApiDownAlarm", "the retries of requests succeed", period{"requests": 2, "errors": 1}.times(12), false},
	{"ApiDownAlarm", "no requests", period{}.times(12), false},
	{"CallersRefusedAlarm", "a token has expired", period{"requests": 25, "refused": 25}.times(1), true},
	{"CallersRefusedAlarm", "users try what they may not", period{"requests": 1000, "refused": 50}.times(2), false},
	{"CallersRefusedAlarm", "one request without a token", period{"requests": 1, "refused": 1}.times(2), false},
	{"CallersRefusedAlarm", "nobody is refused", period{"requests": 1000}.times(2), false},
	{"FunctionThrottlesAlarm", "only the sweeper is throttled", period{"sweeper": 10}.times(1), true},
	{"FunctionThrottlesAlarm", "each is throttled a little", period{"command": 3, "query": 3, "projector": 3}.times(1), false},
	{"MetricsLostAlarm", "a line of the sweeper is invalid", []period{{"invalid5": 1}, {}, {}, {}, {}}, true},
	{"MetricsLostAlarm", "a line of the sweeper is malformed", []period{{"parsing5": 1}, {}}, true},
	{"MetricsLostAlarm", "nothing is logged", period{}.times(5), false},
	{"SetAsideAlarm", "a record of the lister", period{"lister": 1}.times(1), true},
	{"RecordsLostAlarm", "a record of the lister", period{"unlisted": 1}.times(1), true},
	{"ProjectorStoppedAlarm", "it is not invoked", period{"posted": 1}.times(3), true},
	{"ProjectorStoppedAlarm", "it is invoked", period{"posted": 1, "invocations": 1}.times(12), false},
	{"ListerStoppedAlarm", "it is not invoked", period{"posted": 1}.times(3), true},
	{"ProjectorLoopAlarm", "800 invocations without a posting", period{"invocations": 800}.times(2), true},
	{"ProjectorLoopAlarm", "many postings", period{"invocations": 4000, "posted": 1000}.times(2), false},
	{"TableThrottlesAlarm", "an index is throttled", period{"writes2": 100}.times(1), true},
	{"SweeperStoppedAlarm", "the schedule is off", period{}.times(3), true},
	{"SweeperStoppedAlarm", "it runs", period{"Invocations": 5}.times(3), false},
	{"HoldsOverdueAlarm", "no hold is due", period{}.times(3), false},
	{"HoldsOverdueAlarm", "a hold cannot be ended", period{"ExpiryDelay": 700000}.times(3), true},
}

func TestAlarmsOnMath(t *testing.T) {
	all := alarms(t, stack(t))
	tried := make(map[string]bool)
	for _, c := range mathAlarms {
		tried[c.alarm] = true
		if alarm := all[c.alarm]; alarm == nil {
			t.Errorf("%s does not exist", c.alarm)
		} else if got := breaches(t, alarm, c.periods); got != c.fires {
			t.Errorf("%s fires when %s: %t", c.alarm, c.situation, got)
		}
	}
	for id, alarm := range all {
		if alarm["Metrics"] == nil {
			continue
		}
		if !tried[id] {
			t.Errorf("no situation sets off %s", id)
		}
		// CloudWatch's limit for an alarm on math, without the expression.
		if n := len(metricsOfAlarm(id, alarm)); n > 10 {
			t.Errorf("%s has %d metrics", id, n)
		}
	}
}

// breaches reports whether an alarm goes off after the periods. The periods before them have no data.
func breaches(t *testing.T, alarm map[string]any, periods []period) bool {
	t.Helper()
	bound, err := number(alarm["Threshold"])
	if err != nil {
		t.Fatal(err)
	}
	evaluated := alarm["EvaluationPeriods"].(int)
	needed, ok := alarm["DatapointsToAlarm"].(int)
	if !ok {
		needed = evaluated
	}
	count := 0
	for i := range evaluated {
		now := period{}
		if at := len(periods) - 1 - i; at >= 0 {
			now = periods[at]
		}
		value, ok := now[fmt.Sprint(alarm["MetricName"])]
		for _, m := range listOf(alarm["Metrics"]) {
			if expression, is := valueAt(asMap(m), "Expression").(string); is {
				value, ok = calculated(t, expression, now)
			}
		}
		breach := alarm["TreatMissingData"] == "breaching"
		if ok {
			breach = map[any]bool{"GreaterThanThreshold": value > bound, "GreaterThanOrEqualToThreshold": value >= bound,
				"LessThanThreshold": value < bound}[alarm["ComparisonOperator"]]
		}
		if breach {
			count++
		}
	}
	return count >= needed
}

var (
	filled    = regexp.MustCompile(`FILL\((\w+), (\d+)\)`)
	decided   = regexp.MustCompile(`^IF\((.+), (.+), (.+)\)$`)
	variables = regexp.MustCompile(`[a-z]\w*`)
)

// calculated is the value of an expression of metric math, false if a metric that it needs has no data. Its syntax is
// that of a constant in Go, but for FILL, IF, AND and OR.
func calculated(t *testing.T, expression string, now period) (value float64, ok bool) {
	t.Helper()
	text := filled.ReplaceAllStringFunc(expression, func(call string) string {
		part := filled.FindStringSubmatch(call)
		if _, ok := now[part[1]]; ok {
			return part[1]
		}
		return part[2]
	})
	ok = true
	text = variables.ReplaceAllStringFunc(text, func(name string) string {
		_, known := now[name]
		ok = ok && known
		return fmt.Sprintf("%.1f", now[name])
	})
	if !ok {
		return 0, false
	}
	constantOf := func(text string) constant.Value {
		v, err := types.Eval(token.NewFileSet(), nil, token.NoPos, strings.NewReplacer(" AND ", " && ", " OR ", " || ").Replace(text))
		if err != nil {
			t.Fatalf("%s: %v", expression, err)
		}
		return v.Value
	}
	if parts := decided.FindStringSubmatch(text); parts != nil {
		text = parts[3]
		if constant.BoolVal(constantOf(parts[1])) {
			text = parts[2]
		}
	}
	value, _ = constant.Float64Val(constantOf(text))
	return value, true
}
