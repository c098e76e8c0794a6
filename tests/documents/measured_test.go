package documents

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"

	"ledger.example/tests/harness/full"
	"ledger.example/tests/harness/inject"
	"ledger.example/tests/harness/setup"
	"ledger.example/tests/harness/system"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/functions/app"
	"ledger.example/functions/metrics/metricstest"
	"ledger.example/functions/stream/streamtest"
	"ledger.example/internal/table"
	"ledger.example/tests/harness/caller"
)

// namespace is that of the stack's metrics, in these tests.
const namespace = "Ledger/books"

// measured has the metrics that CloudWatch would extract from a log: values by metric, or by "metric dimension=value".
type measured map[string][]float64

// read returns the metrics in the log from a byte offset on.
func read(s *system.System, from int) measured {
	s.T.Helper()
	all := make(measured)
	for series, values := range metricstest.Read(s.T, s.Log.String()[from:]) {
		if series.Namespace != namespace {
			s.T.Errorf("namespace %q", series.Namespace)
		}
		all[strings.TrimSpace(series.Name+" "+series.Dimensions)] = values
	}
	return all
}

// fires reports whether the metrics would set off an alarm, if all of them were in each period.
func fires(t *testing.T, alarm map[string]any, w metricUse, m measured) bool {
	t.Helper()
	now := period{}
	for _, v := range m[w.name] {
		switch w.stat {
		case "Maximum":
			now[w.name] = max(now[w.name], v)
		case "Sum":
			now[w.name] += v
		default:
			t.Fatalf("%v: statistic %q", w, w.stat)
		}
	}
	return breaches(t, alarm, now.times(alarm["EvaluationPeriods"].(int)))
}

// bank is a ledger with metrics and injected faults. payer has 100 USD and no overdraft. payee has nothing.
type bank struct {
	*system.System
	faults *inject.Set
}

func openBank(t *testing.T) bank {
	t.Helper()
	s := system.New(t)
	s.Must(201, "PUT", "/v1/assets/USD", `{"name":"US dollar","scale":2}`)
	s.Must(201, "PUT", "/v1/accounts/source", `{"overdraft":"unlimited"}`)
	s.Must(201, "PUT", "/v1/accounts/payer", `{}`)
	s.Must(201, "PUT", "/v1/accounts/payee", `{}`)
	s.Must(201, "POST", "/v1/transfers", `{"id":"fund","from":"source","to":"payer","asset":"USD","quantity":"100"}`)
	f := inject.NewSet()
	b := bank{s.NewProcess(system.WithFaults(f), system.Metrics(namespace)), f}
	// A refusal makes the process cache the payer's credits. The tests ignore its metrics.
	b.Must(422, "POST", "/v1/transfers", `{"from":"payer","to":"payee","asset":"USD","quantity":"101"}`)
	return b
}

// pay posts 10 USD from payer to payee, and fails the test if the status differs.
func (b bank) pay(id string, status int) {
	b.T.Helper()
	if got := b.Send("POST", "/v1/transfers",
		fmt.Sprintf(`{"id":%q,"from":"payer","to":"payee","asset":"USD","quantity":"10"}`, id)); got.Status != status {
		b.T.Errorf("%d %s", got.Status, got.Body)
	}
}

// leg puts a posting without a transaction directly into the table.
func (b bank) leg(account string, quantity int64) table.Key {
	b.T.Helper()
	p := events.PostingRecorded{
		Leg: events.Leg{ID: events.FirstKSUID(time.Now().Add(-time.Minute)), Account: account, Asset: "USD",
			Quantity: events.NewAmount(quantity)},
		Transaction: "past-the-ledger", Kind: events.KindTransaction,
	}
	b.PutPostings([]events.PostingRecorded{p})
	return table.Posting.Key(account, "USD", string(p.ID))
}

// record passes one record to the stream's handler, and checks whether the handler fails.
func (b bank) record(name lambdaevents.DynamoDBOperationType, k table.Key, fails bool) {
	b.T.Helper()
	batch := streamtest.Keys(k)
	batch.Records[0].EventName = string(name)
	if _, err := b.Service.Stream()(b.T.Context(), batch); (err != nil) != fails {
		b.T.Errorf("the projector answered %v", err)
	}
}

// sweep invokes the sweeper.
func (b bank) sweep() {
	b.T.Helper()
	if _, err := b.Service.Sweep(b.T.Context(), nil); err != nil {
		b.T.Error(err)
	}
}

// forward invokes the forwarder, whose bus fails or takes everything.
func (b bank) forward(failure error) {
	b.T.Helper()
	_, err := b.Service.Forward("events", func(_ context.Context, all []client.JournalEntry) ([]bool, error) {
		if failure != nil {
			return nil, failure
		}
		return slices.Repeat([]bool{true}, len(all)), nil
	})(b.T.Context(), app.Forwarding{})
	if !errors.Is(err, failure) {
		b.T.Error(err)
	}
}

// situation is an event in a ledger, and the metrics and the alarm that it must cause.
type situation struct {
	name   string
	happen func(b bank)
	want   measured // with nil values, any values, but at least one
	fires  string   // the alarm that is set off, "" for none
}

func situations() []situation {
	one := []float64{1}
	refuse := func(status int, method, path, body string) func(bank) {
		return func(b bank) { b.Must(status, method, path, body) }
	}
	deleted, altered := lambdaevents.DynamoDBOperationTypeRemove, lambdaevents.DynamoDBOperationTypeModify
	posting := table.Posting.Key("payee", "USD", string(events.FirstKSUID(time.Now())))
	return []situation{
		{"posted and replayed", func(b bank) {
			for _, status := range []int{201, 200, 200} {
				b.pay("p", status)
			}
			// These are neither transactions nor refusals.
			b.Must(200, "PUT", "/v1/accounts/payer", `{}`)
			b.Must(200, "GET", "/v1/transactions/p", "")
			b.Must(404, "GET", "/v1/accounts/nobody", "")
			b.Must(404, "GET", "/nowhere", "")
			b.Must(405, "DELETE", "/v1/accounts", "")
		}, measured{"TransactionsPosted": one, "TransactionsReplayed": {1, 1}}, ""},
		{
			"not covered", refuse(422, "POST", "/v1/transfers",
				`{"from":"payer","to":"payee","asset":"USD","quantity":"101"}`),
			measured{"Refusals Code=insufficient_funds": one}, "",
		},
		{
			"asset exists", refuse(409, "PUT", "/v1/assets/USD", `{"name":"Another","scale":3}`),
			measured{"Refusals Code=asset_exists": one}, "",
		},
		{
			"unbalanced", refuse(422, "POST", "/v1/transactions",
				`{"postings":[{"account":"source","asset":"USD","quantity":"1"},{"account":"source","asset":"USD",`+
					`"quantity":"1"}]}`),
			measured{"Refusals Code=unbalanced": one}, "",
		},
		{"malformed", refuse(400, "POST", "/v1/trades", `{`), measured{"Refusals Code=malformed_body": one}, ""},
		{"throttled", func(b bank) {
			b.faults.All("TransactWriteItems", inject.Refuses(400, "ThrottlingException"))
			b.pay("p", 503)
		}, measured{"Throttled": one}, ""},
		{"outcomes unknown", func(b bank) {
			b.faults.All("TransactWriteItems", inject.Applied(inject.Refuses(500, "InternalServerError")))
			b.faults.All("GetItem", inject.Unreachable)
			var posts sync.WaitGroup
			for i := range 5 {
				posts.Go(func() { b.pay(fmt.Sprint("p", i), 504) })
			}
			posts.Wait()
		}, measured{"UnknownOutcomes": {1, 1, 1, 1, 1}}, "UnknownOutcomesAlarm"},
		{"internal error", func(b bank) {
			b.faults.All("TransactWriteItems", inject.Refuses(400, "AccessDeniedException"))
			b.pay("p", 500)
		}, measured{"InternalErrors": one}, "InternalErrorsAlarm"},
		{"clock off", func(b bank) {
			b.faults.All(inject.AnyOperation, inject.ClockOff(time.Hour))
			b.Send("GET", "/v1/transactions/none", "") // its answer has the store's clock
			b.pay("p", 503)
		}, measured{"ClockOff": one, "Throttled": one}, "ClockOffAlarm"},
		{"below the limit", func(b bank) {
			b.leg("payee", -1)
			b.Must(200, "GET", "/v1/accounts/payee/balances/USD?consistency=strong", "")
		}, measured{"BelowLimit": one}, "BelowLimitAlarm"},
		{"a credit after the close", func(b bank) {
			b.pay("p", 201) // now the process caches the payee
			b.Must(201, "POST", "/v1/transactions/p/reversals", `{"id":"back"}`)
			b.NewProcess().Must(200, "PATCH", "/v1/accounts/payee", `{"state":"closed"}`)
			b.pay("late", 201)
			b.Deliver(b.Projected()...)
		}, measured{"TransactionsPosted": nil, "CreditsAfterClose": one, "RefoldDepth": nil, "ProjectionLag": nil},
			"CreditsAfterCloseAlarm"},
		{"projected", func(b bank) {
			keys := append(b.Projected(), b.leg("source", -1))
			b.Deliver(keys...)
			b.Deliver(keys...) // redelivered: reads, but no writes
		}, measured{"RefoldDepth": nil, "ProjectionLag": nil}, ""},
		{"listed", func(b bank) {
			b.pay("p", 201)
			streamtest.Deliver(b.T, b.Service.List(), streamtest.Keys(table.Transaction.Key("p")))
		}, measured{"TransactionsPosted": one, "ListingLag": nil}, ""},
		{"concurrent writes in every attempt", func(b bank) {
			b.faults.All("TransactWriteItems", inject.Cancels("ConditionalCheckFailed", "None"))
			b.faults.All("PutItem", inject.Refuses(400, "ConditionalCheckFailedException"))
			b.record(lambdaevents.DynamoDBOperationTypeInsert, b.leg("payee", 1), true)
		}, measured{"RefoldDepth": {12}, "ProjectionConflicts": {12}}, "RefoldsStarvedAlarm"},
		{"an event deleted", func(b bank) { b.record(deleted, posting, false) }, measured{"EventsDeleted": one},
			"EventsDeletedAlarm"},
		{"an event altered", func(b bank) { b.record(altered, table.Transaction.Key("p"), false) },
			measured{"EventsAltered": one}, "EventsAlteredAlarm"},
		{"an item deleted", func(b bank) { b.record(deleted, table.Balance.Key("payee", "USD"), false) },
			measured{"ItemsDeleted": one}, "ItemsDeletedAlarm"},
		{"nothing to sweep", func(b bank) { b.sweep() }, measured{}, ""}, // costs nothing
		{"holds swept in time", func(b bank) {
			setup.DueHold(b.T, b.Plain, b.Table, "h-1", time.Minute)
			setup.DueHold(b.T, b.Plain, b.Table, "h-2", 2*time.Second)
			b.sweep()
		}, measured{"HoldsExpired": one, "ExpiryDelay": nil}, ""},
		{"a hold long overdue", func(b bank) {
			setup.DueHold(b.T, b.Plain, b.Table, "h-1", 11*time.Minute)
			b.sweep()
		}, measured{"HoldsExpired": one, "ExpiryDelay": nil}, "HoldsOverdueAlarm"},
		{"nothing to forward", func(b bank) { b.forward(nil) }, measured{"ForwardingLag": {0}}, ""},
		{"a bus that refuses events", func(b bank) {
			setup.Listed(b.T, b.Plain, b.Table, 11*time.Minute, "told")
			b.forward(errors.New("refused"))
		}, measured{"ForwardingLag": nil}, "ForwarderBehindAlarm"},
		{"a malformed record", func(b bank) {
			b.record(lambdaevents.DynamoDBOperationTypeInsert, table.Posting.Key("payee", "USD", "bad"), false)
		}, measured{"RecordsMalformed": one}, "RecordsMalformedAlarm"},
	}
}

// The real handlers emit every own metric that an alarm or the dashboard uses, with the same dimensions, and no other
// metric. Each situation sets off its alarm and no other alarm.
func TestWatchedMetricsAreEmitted(t *testing.T) {
	ownAlarms := make(map[string]func(*testing.T, measured) bool)
	for id, alarm := range alarms(t, stack(t)) {
		if uses := metricsOfAlarm(id, alarm); len(uses) == 1 && uses[0].namespace == ownNamespace {
			ownAlarms[id] = func(t *testing.T, m measured) bool { return fires(t, alarm, uses[0], m) }
		}
	}
	emitted := make(map[string]bool) // name, and names of dimensions
	fired := make(map[string]bool)
	t.Run("situations", func(t *testing.T) {
		for _, s := range situations() {
			fired[s.fires] = true
			for key := range s.want {
				name, dimensions, _ := strings.Cut(key, " ")
				dimension, _, _ := strings.Cut(dimensions, "=")
				emitted[strings.TrimSpace(name+" "+dimension)] = true
			}
			t.Run(s.name, func(t *testing.T) {
				if s.fires == "UnknownOutcomesAlarm" {
					full.Only(t, "waits for the command timeout")
				}
				t.Parallel()
				b := openBank(t)
				caller.Eventually(t, system.LogTimeout, "earlier requests are logged",
					func() bool { return len(read(b.System, 0)) > 0 })
				from := len(b.Log.String())
				s.happen(b)
				caller.Eventually(t, system.LogTimeout, "everything is logged",
					func() bool { return len(read(b.System, from)) >= len(s.want) })
				got := read(b.System, from)
				if !maps.EqualFunc(got, s.want, func(got, want []float64) bool {
					return want == nil && len(got) > 0 || slices.Equal(got, want)
				}) {
					t.Errorf("measured %v, want %v", got, s.want)
				}
				for id, fires := range ownAlarms {
					if fires(t, got) != (id == s.fires) {
						t.Errorf("%s goes off: %t", id, id != s.fires)
					}
				}
			})
		}
	})

	watched, filters := make(map[string]bool), filtered(stack(t))
	for _, w := range allMetricUses(t) {
		if w.namespace == ownNamespace && !filters[w.name] {
			watched[strings.TrimSpace(w.name+" "+w.dimensionNames())] = true
		}
	}
	if !maps.Equal(emitted, watched) {
		t.Errorf("emitted: %q\nwatched: %q", slices.Sorted(maps.Keys(emitted)), slices.Sorted(maps.Keys(watched)))
	}
	for id := range ownAlarms {
		if !fired[id] {
			t.Errorf("nothing sets off %s", id)
		}
	}
}
