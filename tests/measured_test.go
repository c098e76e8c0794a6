package tests

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"
	"golang.org/x/sync/errgroup"

	"ledger.example/events"
	"ledger.example/functions/metrics/metricstest"
	"ledger.example/ledger/table"
	"ledger.example/tests/caller"
)

// namespace stands for the stack's, in these tests.
const namespace = "Ledger/books"

// measured is what CloudWatch would take from a log: values by metric, or "metric dimension=value".
type measured map[string][]float64

func (s *system) measured(t testing.TB) measured {
	t.Helper()
	all := make(measured)
	for series, values := range metricstest.Read(t, s.log.String()) {
		if series.Namespace != namespace {
			t.Errorf("measured for %q", series.Namespace)
		}
		all[strings.TrimSpace(series.Name+" "+series.Dimensions)] = values
	}
	return all
}

// fires tells whether an alarm on one of our metrics would go off by what was measured, all of it within a period.
func fires(t testing.TB, alarm map[string]any, w watched, m measured) bool {
	t.Helper()
	threshold, err := number(alarm["Threshold"])
	if err != nil || alarm["ComparisonOperator"] != "GreaterThanOrEqualToThreshold" {
		t.Fatalf("%v: %v %v", w, alarm["ComparisonOperator"], alarm["Threshold"])
	}
	values := m[w.name]
	if len(values) == 0 {
		return false
	}
	switch w.stat {
	case "Maximum":
		return slices.Max(values) >= threshold
	case "Sum":
		sum := 0.0
		for _, v := range values {
			sum += v
		}
		return sum >= threshold
	}
	t.Fatalf("%v: statistic %q", w, w.stat)
	return false
}

// A situation is something that happens to a ledger which is measured.
type situation struct {
	name   string
	happen func(t *testing.T, p payment)
	want   measured // nil values: any, but some
	fires  string   // the alarm that goes off, "" for none
}

func situations() []situation {
	one := []float64{1}
	refuse := func(status int, method, path, body string) func(*testing.T, payment) {
		return func(_ *testing.T, p payment) { p.Must(status, method, path, body) }
	}
	// A leg that nobody posted is put into the table past everything.
	leg := func(t *testing.T, p payment, account string, quantity int64) events.PostingRecorded {
		id := events.FirstKSUID(time.Now().Add(-time.Minute))
		e := events.PostingRecorded{
			Leg:         events.Leg{ID: id, Account: account, Asset: "USD", Quantity: events.NewAmount(quantity)},
			Transaction: "past-everything", Kind: events.KindTransaction,
		}
		putEvents(t, p.system, []events.PostingRecorded{e})
		return e
	}
	record := func(name lambdaevents.DynamoDBOperationType, k table.Key) lambdaevents.DynamoDBEvent {
		return lambdaevents.DynamoDBEvent{Records: []lambdaevents.DynamoDBEventRecord{{
			EventName: string(name),
			Change: lambdaevents.DynamoDBStreamRecord{SequenceNumber: "100000000000000000001", Keys: map[string]lambdaevents.DynamoDBAttributeValue{
				table.AttrPK: lambdaevents.NewStringAttribute(k.PK), table.AttrSK: lambdaevents.NewStringAttribute(k.SK),
			}},
		}}}
	}
	return []situation{
		{"posted and replayed", func(t *testing.T, p payment) {
			for _, status := range []int{201, 200, 200} {
				if got := p.post(p.id()); got.Status != status {
					t.Errorf("%d %s", got.Status, got.Body)
				}
			}
			// What changes no books is no transaction, and what is only asked is no refusal.
			p.Must(200, "PUT", "/v1/accounts/"+p.payer(), `{}`)
			p.Must(200, "GET", "/v1/transactions/"+p.id(), "")
			p.Must(404, "GET", "/v1/accounts/nobody", "")
			p.Must(404, "GET", "/nowhere", "")
			p.Must(405, "DELETE", "/v1/accounts", "")
		}, measured{"TransactionsPosted": one, "TransactionsReplayed": {1, 1}}, ""},
		{"not covered", func(_ *testing.T, p payment) {
			p.Must(422, "POST", "/v1/transfers", fmt.Sprintf(`{"from":%q,"to":%q,"asset":"USD","quantity":"101"}`, p.payer(), p.payee()))
		}, measured{"Refusals Code=insufficient_funds": one}, ""},
		{
			"another asset there", refuse(409, "PUT", "/v1/assets/USD", `{"name":"Another","scale":3}`),
			measured{"Refusals Code=asset_exists": one}, "",
		},
		{
			"unbalanced", refuse(422, "POST", "/v1/transactions", `{"postings":[{"account":"source","asset":"USD","quantity":"1"},{"account":"source","asset":"USD","quantity":"1"}]}`),
			measured{"Refusals Code=unbalanced": one}, "",
		},
		{"malformed", refuse(400, "POST", "/v1/trades", `{`), measured{"Refusals Code=malformed_body": one}, ""},
		{"throttled", func(t *testing.T, p payment) {
			p.faults.all(opPost, refuses(400, "ThrottlingException"))
			if got := p.post(p.id()); got.Status != 503 {
				t.Errorf("%d %s", got.Status, got.Body)
			}
		}, measured{"Throttled": one}, ""},
		{"outcomes unknown", func(t *testing.T, p payment) {
			p.faults.all(opPost, done(refuses(500, "InternalServerError")))
			p.faults.all(opHeader, unreachable)
			var posts errgroup.Group
			for i := range 5 {
				posts.Go(func() error {
					if got := p.post(fmt.Sprint(p.id(), i)); got.Status != 504 {
						return fmt.Errorf("%d %s", got.Status, got.Body)
					}
					return nil
				})
			}
			if err := posts.Wait(); err != nil {
				t.Error(err)
			}
		}, measured{"UnknownOutcomes": {1, 1, 1, 1, 1}}, "UnknownOutcomesAlarm"},
		{"not foreseen", func(t *testing.T, p payment) {
			p.faults.all(opPost, refuses(400, "AccessDeniedException"))
			if got := p.post(p.id()); got.Status != 500 {
				t.Errorf("%d %s", got.Status, got.Body)
			}
		}, measured{"InternalErrors": one}, "InternalErrorsAlarm"},
		{"clock off", func(t *testing.T, p payment) {
			p.faults.all(anyOperation, clockOff(time.Hour))
			p.Send("GET", "/v1/transactions/none", "") // tells the clock
			if got := p.post(p.id()); got.Status != 503 {
				t.Errorf("%d %s", got.Status, got.Body)
			}
		}, measured{"ClockOff": one, "Throttled": one}, "ClockOffAlarm"},
		{"below the limit", func(t *testing.T, p payment) {
			leg(t, p, p.payee(), -1)
			p.Must(200, "GET", "/v1/accounts/"+p.payee()+"/balances/USD?consistency=strong", "")
		}, measured{"BelowLimit": one}, "BelowLimitAlarm"},
		{"projected", func(t *testing.T, p payment) {
			var keys []table.Key
			for k := range p.partition(table.AccountKey(p.payer()).PK) {
				if table.IsPosting(k.SK) {
					keys = append(keys, k)
				}
			}
			deliver(t, p.service, append(keys, table.PostingKey("source", "USD", string(leg(t, p, "source", -1).ID)))...)
			deliver(t, p.service, keys...) // again: read, and not written
		}, measured{"RefoldDepth": nil, "ProjectionLag": nil}, ""},
		{"others come first", func(t *testing.T, p payment) {
			p.faults.all(opPost, cancels("ConditionalCheckFailed", none))
			p.faults.all(opPut, refuses(400, "ConditionalCheckFailedException"))
			posting := leg(t, p, p.payee(), 1)
			if _, err := p.service.Stream()(t.Context(), record(lambdaevents.DynamoDBOperationTypeInsert, table.PostingKey(p.payee(), "USD", string(posting.ID)))); err == nil {
				t.Error("projected all the same")
			}
		}, measured{"RefoldDepth": {12}, "ProjectionConflicts": {12}}, "RefoldsStarvedAlarm"},
		{"an event deleted", func(t *testing.T, p payment) {
			k := table.PostingKey(p.payee(), "USD", string(events.FirstKSUID(time.Now())))
			if _, err := p.service.Stream()(t.Context(), record(lambdaevents.DynamoDBOperationTypeRemove, k)); err != nil {
				t.Error(err)
			}
		}, measured{"EventsDeleted": one}, "EventsDeletedAlarm"},
	}
}

// What the alarms and the dashboard say of us is emitted by the real handlers when it happens, in the dimensions that are
// watched, and sets off the alarm that is meant for it and no other; and nothing is emitted that nobody watches.
func TestWhatIsWatchedIsMeasured(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	watchedAlarms := make(map[string]func(testing.TB, measured) bool)
	for id, alarm := range alarms(t, stack(t)) {
		if uses := watchedBy(t, id, alarm); len(uses) == 1 && uses[0].namespace == ownNamespace {
			watchedAlarms[id] = func(t testing.TB, m measured) bool { return fires(t, alarm, uses[0], m) }
		}
	}

	var mu sync.Mutex
	emitted := make(map[string]bool) // name, and names of dimensions
	fired := make(map[string]bool)
	t.Run("situations", func(t *testing.T) {
		for i, s := range situations() {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				p := b.payment(t, fmt.Sprint("m", i))
				// A process that measures, and has measured nothing of what made the payment possible.
				p.system = serve(t, b.table, withClient(p.faults.inject), withoutPump, withMetrics(namespace))
				p.Must(200, "GET", "/v1/accounts/"+p.payer(), "")
				s.happen(t, p)
				p.faults.clear()
				caller.Eventually(t, timeToLog, "everything is logged", func() bool {
					return len(p.measured(t)) >= len(s.want)
				})
				got := p.measured(t)
				for key, values := range s.want {
					if values == nil && len(got[key]) > 0 {
						values = got[key]
					}
					if !slices.Equal(got[key], values) || values == nil {
						t.Errorf("%s: %v, want %v", key, got[key], values)
					}
				}
				for key := range got {
					if _, ok := s.want[key]; !ok {
						t.Errorf("%s: %v, which didn't happen", key, got[key])
					}
				}
				mu.Lock()
				defer mu.Unlock()
				for key := range got {
					name, dimensions, _ := strings.Cut(key, " ")
					dimension, _, _ := strings.Cut(dimensions, "=")
					emitted[strings.TrimSpace(name+" "+dimension)] = true
				}
				for id, fires := range watchedAlarms {
					if fires(t, got) != (id == s.fires) {
						t.Errorf("%s goes off: %t", id, id != s.fires)
					}
				}
				fired[s.fires] = true
			})
		}
	})

	watched := make(map[string]bool)
	for _, w := range allWatched(t) {
		if w.namespace == ownNamespace {
			watched[strings.TrimSpace(w.name+" "+w.dimensionNames())] = true
		}
	}
	if !maps.Equal(emitted, watched) {
		t.Errorf("emitted: %q\nwatched: %q", slices.Sorted(maps.Keys(emitted)), slices.Sorted(maps.Keys(watched)))
	}
	for id := range watchedAlarms {
		if !fired[id] {
			t.Errorf("nothing sets off %s", id)
		}
	}
}

// What a batch measures: how many postings each refold read, and how long the newest of them had waited.
func TestWhatAProjectionMeasures(t *testing.T) {
	t.Parallel()
	s := newSystem(t, withoutPump, withMetrics(namespace))
	postings := old("jane", "USD", 300) // an hour old
	putEvents(t, s, postings)
	other := old("john", "USD", 2)
	putEvents(t, s, other)
	deliver(t, s.service, append(keysOf(postings[:150]), keysOf(other)...)...)
	got := s.measured(t)
	if depths := got["RefoldDepth"]; !slices.Equal(depths, []float64{300, 2}) {
		t.Errorf("depths %v", depths)
	}
	lags := got["ProjectionLag"]
	for _, lag := range lags {
		if d := time.Duration(lag) * time.Millisecond; d < time.Hour-time.Minute || d > time.Hour+time.Minute {
			t.Errorf("lag %v", d)
		}
	}
	if len(lags) != 2 || len(got) != 2 {
		t.Errorf("measured %v", got)
	}
	// The rest was read along, which this projector remembers: nothing of it is read again, and it waited for nothing.
	deliver(t, s.service, keysOf(postings[150:])...)
	if got := s.measured(t); len(got["ProjectionLag"]) != 2 || len(got["RefoldDepth"]) != 2 {
		t.Errorf("measured %v", got)
	}
}

// Nobody who didn't ask for metrics gets lines for CloudWatch.
func TestNothingIsMeasuredUnasked(t *testing.T) {
	t.Parallel()
	s := newSystem(t, withoutPump)
	s.Must(422, "POST", "/v1/transactions", `{"postings":[]}`)
	deliver(t, s.service, keysOf(old("jane", "USD", 1))...)
	caller.Eventually(t, timeToLog, "the request is logged", func() bool { return strings.Contains(s.log.String(), `"msg":"request"`) })
	if log := s.log.String(); strings.Contains(log, "_aws") {
		t.Error(log)
	}
}
