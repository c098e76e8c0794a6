package tests

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"go.yaml.in/yaml/v3"

	"ledger.example/cmd/ledger/price"
	"ledger.example/functions/metrics"
	"ledger.example/functions/service"
	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
	"ledger.example/ledger/wire/wiretest"
	"ledger.example/projections"
)

// The tables of docs/cost.md are computed here, from the cost model, from what is really sent, stored and logged, and from
// the template. Money is exact: fractions, rounded to cents once for each line.

const costFile = "../docs/cost.md"

// What is assumed where nothing here can measure it. A GB is 10⁹ bytes, the dearer reading.
const (
	trades               = 1_000_000
	gigabyte             = 1_000_000_000
	storedOverheadBytes  = 100 // of an item, in the table and in each index (AWS, "DynamoDB item sizes and formats")
	commandMilliseconds  = 30
	projectMilliseconds  = 30
	lambdaLogBytes       = 900 // Lambda's own two JSON lines of an invocation
	replyHeaderBytes     = 500 // of an answer, as the gateway sends them
	logEventBytes        = 26  // counted for each line besides its text (AWS, PutLogEvents)
	requestIDBytes       = 52  // that Lambda's logger adds to a line
	commandLogBytes      = 600 // of the lines of the command, the projector and the gateway, at most: tested below
	projectorLogBytes    = 500
	accessLogBytes       = 350
	accuracyBytes        = 100 // how far above what is measured these may be
	megabytesOfAGigabyte = 1024
)

// tradeCost is what one kind of trade takes: as measured by TestWhatAMillionTradesCost.
type tradeCost struct {
	postings    int64
	writeUnits  int64 // of the command
	refoldUnits int64 // written by one refold
	refoldHalf  int64 // halves of read units of one refold, by a projector that didn't make the last
	refoldLog   int64 // bytes of the projector's line
	tableBytes  int64 // stored in the table, overhead included
	indexBytes  int64 // and in the indexes
	replyBytes  int64
	logBytes    int64 // of the command's line

	historyUnits int64 // of the command's write units, in the index of histories
	buyerUnits   int64 // and in the table, in the buyer's partition
	sellerUnits  int64
	records      int64 // of the stream, that the command's items make
	recordBytes  int64
}

// measureTrade posts a trade between two limited accounts with ids of everyday length, and projects each of its postings by
// itself.
func measureTrade(t *testing.T, settle bool) tradeCost {
	t.Helper()
	s := newSystem(t, withoutPump)
	s.serveAs("arn:aws:sts::123456789012:assumed-role/trading-desk/i-0123456789abcdef0")
	s.Must(201, "PUT", "/v1/assets/USD", `{"name":"US dollar","scale":2}`)
	s.Must(201, "PUT", "/v1/assets/AAPL", `{"name":"Apple Inc.","scale":0,"currency":"USD"}`)
	s.Must(201, "PUT", "/v1/accounts/market", `{"name":"Market","overdraft":"unlimited"}`)
	const buyer, seller = "customers:00000017", "customers:00000042"
	for _, account := range []string{buyer, seller} {
		s.Must(201, "PUT", "/v1/accounts/"+account, `{"name":"Limited"}`)
		for _, asset := range []string{"USD", "AAPL"} {
			s.Must(201, "POST", "/v1/transfers", fmt.Sprintf(`{"from":"market","to":"%s","asset":"%s","quantity":"100000000"}`, account, asset))
		}
	}
	// One more trade first: guards and balances are there, as they are for all but the first of a million.
	trade := fmt.Sprintf(`{"asset":"AAPL","buyer":"%s","seller":"%s","quantity":"10","cost":"150000","settle":%t}`, buyer, seller, settle)
	back := fmt.Sprintf(`{"asset":"AAPL","buyer":"%s","seller":"%s","quantity":"10","cost":"150000","settle":%t}`, seller, buyer, settle)
	s.Must(201, "POST", "/v1/trades", trade)
	s.Must(201, "POST", "/v1/trades", back)
	s.deliverAll()

	var cost tradeCost
	var before map[table.Key]wire.Item
	requests := promptly(t, func(int) []request {
		before = s.contents()
		s.requests.take()
		logged := len(s.log.String())
		r := s.Must(201, "POST", "/v1/trades", trade)
		cost.replyBytes = int64(len(r.Body))
		cost.logBytes = int64(len(s.log.String()) - logged - 1)
		return s.requests.take()
	})
	after := s.contents()
	other := s.beside(withMetrics(namespace)) // a projector that made no refold yet
	units, _ := writeUnits(t, requests, before, after)
	cost.writeUnits = int64(units)
	cost.divide(t, buyer, seller, before, after)
	for key, item := range after {
		if _, was := before[key]; was {
			continue
		}
		whole := wiretest.Sized(t, item)
		cost.tableBytes += int64(whole.Bytes() + storedOverheadBytes)
		for _, index := range table.Indexes() {
			if entry := index.Entry(whole); entry != nil {
				cost.indexBytes += int64(entry.Bytes() + storedOverheadBytes)
			}
		}
		if !table.IsPosting(key.SK) {
			continue
		}
		cost.postings++
		balances := s.contents()
		other.requests.take()
		logged := len(other.log.String())
		deliverImages(t, other.service, item)
		cost.refoldLog = max(cost.refoldLog, int64(len(other.log.String())-logged-1))
		requests := other.requests.take()
		refolded := s.contents()
		units, _ := writeUnits(t, requests, balances, refolded)
		cost.refoldUnits = max(cost.refoldUnits, int64(units))
		cost.refoldHalf = max(cost.refoldHalf, int64(readHalves(t, requests, refolded)))
	}
	return cost
}

// divide tells where the units of the command went, which wrote all that changed, in one transaction.
func (cost *tradeCost) divide(t *testing.T, buyer, seller string, before, after map[table.Key]wire.Item) {
	t.Helper()
	var all int64
	for key, item := range after {
		if reflect.DeepEqual(before[key], item) {
			continue
		}
		w := table.Write{Before: wiretest.Sized(t, before[key]), After: wiretest.Sized(t, item), Transactional: true}
		units := int64(table.WriteUnits(w))
		all += units
		switch key.PK {
		case table.AccountKey(buyer).PK:
			cost.buyerUnits += units
		case table.AccountKey(seller).PK:
			cost.sellerUnits += units
		}
		for _, index := range table.Indexes() {
			n := int64(table.WriteUnits(w, index)) - units
			all += n
			if index.Name == table.IndexHistory {
				cost.historyUnits += n
			}
		}
		cost.records++
		cost.recordBytes += int64(w.After.Bytes())
	}
	if all != cost.writeUnits {
		t.Fatalf("%d write units by what changed, %d by what was sent", all, cost.writeUnits)
	}
}

// measuredOnce holds what the tests of both documents reckon with: it takes seconds to measure.
var measuredOnce struct {
	sync.Once
	kinds   [2]tradeCost
	closing int64
}

// measuredTrades returns what a trade takes, and a settled one, and the units of closingUnits.
func measuredTrades(t *testing.T) (kinds [2]tradeCost, closing int64) {
	t.Helper()
	measuredOnce.Do(func() {
		closing := closingUnits(t)
		measuredOnce.kinds = [2]tradeCost{measureTrade(t, false), measureTrade(t, true)}
		measuredOnce.closing = closing
	})
	if measuredOnce.closing == 0 {
		t.Fatal("the trades were not measured: another test tells why")
	}
	return measuredOnce.kinds, measuredOnce.closing
}

// serveAs serves the system's API to a caller of that name, as a gateway would give it.
func (s *system) serveAs(actor string) {
	s.t.Helper()
	deployed, err := service.New(service.Config{
		Client: s.client, Table: s.table, Version: "test",
		Actor: func(*http.Request) string { return actor },
		Log:   slog.New(slog.NewJSONHandler(s.log, nil)), Metrics: "Ledger/ledger-prod",
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.service = deployed
	s.listen(deployed.API())
}

// memoryMegabytes is the memory of a function, in the template or in what it says of all functions.
func memoryMegabytes(t *testing.T, function string) int64 {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(moduleRoot, "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var stack struct {
		Globals struct {
			Function map[string]any `yaml:"Function"`
		} `yaml:"Globals"`
	}
	if err := yaml.Unmarshal(text, &stack); err != nil {
		t.Fatal(err)
	}
	for _, properties := range []map[string]any{stackResources(t)[function].Properties, stack.Globals.Function} {
		if size, ok := properties["MemorySize"].(int); ok {
			return int64(size)
		}
	}
	t.Fatalf("the template gives %s no size", function)
	return 0
}

// accessLogLine is a line of the gateway's log, with what its format asks for filled in.
func accessLogLine(t *testing.T) string {
	t.Helper()
	format, _ := valueAt(stackResources(t)["ApiStage"].Properties, "AccessLogSettings", "Format").(string)
	samples := map[string]string{
		"requestId": "JKJaXmPLvHcESHA=", "requestTime": "21/Nov/2026:09:06:39 +0000", "status": "201",
		"identity.userArn": "arn:aws:sts::123456789012:assumed-role/trading-desk/i-0123456789abcdef0",
		"routeKey":         "POST /v1/{proxy+}", "path": "/v1/trades", "httpMethod": "POST", "protocol": "HTTP/1.1",
		"responseLatency": "23", "integrationLatency": "21", "responseLength": "597", "identity.sourceIp": "203.0.113.17",
		"error.message": "-", "authorizer.claims.sub": "-", "authorizer.error": "-", "integrationErrorMessage": "-", "integration.error": "-", "integrationStatus": "200",
	}
	line := regexp.MustCompile(`\$context\.([A-Za-z.]+)`).ReplaceAllStringFunc(format, func(name string) string {
		sample, ok := samples[strings.TrimPrefix(name, "$context.")]
		if !ok {
			t.Errorf("no sample of %s", name)
		}
		return sample
	})
	// What a request doesn't have, the gateway writes as -, without quotes of its own.
	if line == format || !json.Valid([]byte(line)) {
		t.Fatalf("the gateway's log has the format %q", format)
	}
	return line
}

// readHalves adds up what reads of the table consumed, by the cost model, in halves of a read unit. A read that asks for some
// attributes consumes the whole item: stored has it.
func readHalves(t testing.TB, requests []request, stored map[table.Key]wire.Item) (halves int) {
	t.Helper()
	as := func(strong *bool) table.Consistency {
		if strong != nil && *strong {
			return table.Strong
		}
		return table.Eventual
	}
	for _, r := range requests {
		switch in := r.input.(type) {
		case *dynamodb.GetItemInput:
			if in.ProjectionExpression != nil {
				t.Fatalf("%s is not counted", r.line())
			}
			items := append(r.found(), nil)
			halves += table.GetHalves(wiretest.Sized(t, items[0]), as(in.ConsistentRead))
		case *dynamodb.QueryInput:
			if in.IndexName != nil {
				t.Fatalf("%s is not counted", r.line())
			}
			var items []table.Item
			for _, item := range r.found() {
				if in.ProjectionExpression != nil {
					partition, _ := in.ExpressionAttributeValues[":partition"].(*types.AttributeValueMemberS)
					sort, _ := item[table.AttrSK].(*types.AttributeValueMemberS)
					if partition == nil || sort == nil {
						t.Fatalf("%s tells no keys", r.line())
					}
					if item = stored[table.Key{PK: partition.Value, SK: sort.Value}]; item == nil {
						t.Fatalf("%s found what is not there", r.line())
					}
				}
				items = append(items, wiretest.Sized(t, item))
			}
			halves += table.QueryHalves(items, as(in.ConsistentRead))
		case *dynamodb.TransactGetItemsInput:
			out, _ := r.output.(*dynamodb.TransactGetItemsOutput)
			for i, one := range out.Responses {
				if in.TransactItems[i].Get.ProjectionExpression != nil {
					t.Fatalf("%s is not counted", r.line())
				}
				halves += table.GetHalves(wiretest.Sized(t, one.Item), table.Transactional)
			}
		default:
			if !r.writes() {
				t.Fatalf("%s is not counted", r.line())
			}
		}
	}
	return halves
}

// closingUnits are the write units of a refold that closes a segment.
func closingUnits(t *testing.T) int64 {
	t.Helper()
	s := newSystem(t, withoutPump)
	s.OpenRegister()
	all := old("jane", "USD", projections.StretchPostings)
	most := 0
	for _, batch := range [][]int{{0, len(all) - 1}, {len(all) - 1, len(all)}} {
		some := all[batch[0]:batch[1]]
		putEvents(t, s, some)
		before := s.contents()
		s.requests.take()
		deliver(t, s.service, keysOf(some)...)
		most, _ = writeUnits(t, s.requests.take(), before, s.contents())
	}
	return int64(most)
}

// costLine is one line of the document's table: two kinds of trade.
type costLine struct {
	what, howMany string
	usd           [2]*big.Rat
}

func (l costLine) String() string {
	return fmt.Sprintf("| %s | %s | %s | %s |", l.what, l.howMany, l.usd[0].FloatString(2), l.usd[1].FloatString(2))
}

// TestWhatAMillionTradesCost computes the document's table anew.
func TestWhatAMillionTradesCost(t *testing.T) {
	t.Parallel()
	kinds, closing := measuredTrades(t)
	memory := map[string]int64{}
	for _, name := range []string{"CommandFunction", "ProjectorFunction"} {
		memory[name] = memoryMegabytes(t, name)
	}
	var lines []costLine
	line := func(what, howMany string, usd func(k tradeCost) *big.Rat) {
		l := costLine{what: what, howMany: howMany}
		for i, k := range kinds {
			l.usd[i] = price.Cents(usd(k))
		}
		lines = append(lines, l)
	}
	both := func(of func(k tradeCost) int64) string {
		a, b := of(kinds[0]), of(kinds[1])
		if a == b {
			return fmt.Sprint(a)
		}
		return fmt.Sprintf("%d, %d", a, b)
	}
	t.Logf("%+v, %d units close a segment", kinds, closing)
	for name, of := range map[string]struct{ measured, told int64 }{
		"command":   {kinds[1].logBytes + requestIDBytes, commandLogBytes},
		"projector": {kinds[1].refoldLog + requestIDBytes, projectorLogBytes},
		"gateway":   {int64(len(accessLogLine(t))), accessLogBytes},
	} {
		if of.measured > of.told || of.measured+accuracyBytes < of.told {
			t.Errorf("a line of the %s has %d bytes, not about %d", name, of.measured, of.told)
		}
	}

	line("DynamoDB: header, postings and guards written", both(func(k tradeCost) int64 { return k.writeUnits })+" write units a trade",
		func(k tradeCost) *big.Rat { return price.Dollars(price.WriteUnits, trades*k.writeUnits, 1e6) })
	line("DynamoDB: balances written", both(func(k tradeCost) int64 { return k.postings * k.refoldUnits })+" write units a trade",
		func(k tradeCost) *big.Rat {
			return price.Dollars(price.WriteUnits, trades*k.postings*k.refoldUnits, 1e6)
		})
	line("DynamoDB: segments closed", fmt.Sprintf("%d write units more for every %d postings", closing-kinds[0].refoldUnits, projections.StretchPostings),
		func(k tradeCost) *big.Rat {
			return price.Dollars(price.WriteUnits, trades*k.postings*(closing-k.refoldUnits), 1e6*projections.StretchPostings)
		})
	line("DynamoDB: balances and postings read by refolds", both(func(k tradeCost) int64 { return k.postings * k.refoldHalf / 2 })+" read units a trade",
		func(k tradeCost) *big.Rat { return price.Dollars(price.ReadUnits, trades*k.postings*k.refoldHalf, 2e6) })
	line("DynamoDB Streams, read by Lambda", "free of charge", func(tradeCost) *big.Rat { return new(big.Rat) })
	line("DynamoDB: stored, each month", both(func(k tradeCost) int64 { return k.tableBytes + k.indexBytes })+" bytes a trade",
		func(k tradeCost) *big.Rat {
			return price.Dollars(price.Stored, trades*(k.tableBytes+k.indexBytes), gigabyte)
		})
	line("Point-in-time recovery, each month", both(func(k tradeCost) int64 { return k.tableBytes })+" bytes a trade",
		func(k tradeCost) *big.Rat { return price.Dollars(price.Recovery, trades*k.tableBytes, gigabyte) })
	line("HTTP API", "1 request a trade", func(tradeCost) *big.Rat { return price.Dollars(price.Gateway, trades, 1e6) })
	line("Lambda: requests", both(func(k tradeCost) int64 { return 1 + k.postings })+" a trade",
		func(k tradeCost) *big.Rat { return price.Dollars(price.Invocations, trades*(1+k.postings), 1e6) })
	duration := func(milliseconds, megabytes, times int64) *big.Rat {
		return price.Dollars(price.GBSeconds, trades*times*milliseconds*megabytes, 1000*megabytesOfAGigabyte)
	}
	line("Lambda: command's time", fmt.Sprintf("%d ms of %d MB a trade", commandMilliseconds, memory["CommandFunction"]),
		func(tradeCost) *big.Rat { return duration(commandMilliseconds, memory["CommandFunction"], 1) })
	line("Lambda: projector's time", fmt.Sprintf("%d ms of %d MB a posting", projectMilliseconds, memory["ProjectorFunction"]),
		func(k tradeCost) *big.Rat {
			return duration(projectMilliseconds, memory["ProjectorFunction"], k.postings)
		})
	logs := func(k tradeCost) int64 {
		return commandLogBytes + accessLogBytes + 2*logEventBytes + projectorLogBytes*k.postings +
			(1+k.postings)*(lambdaLogBytes+2*logEventBytes)
	}
	line("CloudWatch Logs", both(logs)+" bytes a trade", func(k tradeCost) *big.Rat { return price.Dollars(price.Logs, trades*logs(k), gigabyte) })
	sent := func(k tradeCost) int64 { return k.replyBytes + replyHeaderBytes }
	line("Sent to the internet", both(sent)+" bytes a trade", func(k tradeCost) *big.Rat { return price.Dollars(price.Sent, trades*sent(k), gigabyte) })

	total := costLine{what: "**a million trades**", usd: [2]*big.Rat{new(big.Rat), new(big.Rat)}}
	for _, l := range lines {
		for i := range total.usd {
			total.usd[i].Add(total.usd[i], l.usd[i])
		}
	}
	lines = append(lines, total)
	line("X-Ray besides", "at most "+both(func(k tradeCost) int64 { return 1 + k.postings })+" traces a trade",
		func(k tradeCost) *big.Rat { return price.Dollars(price.Traces, trades*(1+k.postings), 1e6) })
	wantTable(t, costFile, "What a million trades cost", lines)
}

// TestWhatAnIdleMonthCosts computes from the template what is paid when nobody posts, and what metrics cost when somebody does.
func TestWhatAnIdleMonthCosts(t *testing.T) {
	var alarms, metricsOfAlarms, dashboards, keys, rules int64
	for name, resource := range stackResources(t) {
		switch resource.Type {
		case "AWS::CloudWatch::Alarm":
			alarms++
			metricsOfAlarms += alarmMetrics(resource.Properties)
		case "AWS::CloudWatch::CompositeAlarm", "AWS::CloudWatch::AnomalyDetector", "AWS::Synthetics::Canary":
			t.Errorf("the price of %s, a %s, is not in the document", name, resource.Type)
		case "AWS::CloudWatch::Dashboard":
			dashboards++
		case "AWS::KMS::Key":
			keys++
		case "AWS::DynamoDB::Table":
			rules += insightsRules(resource.Properties)
		}
	}
	own := int64(len(metrics.Metrics()))
	var rows []row
	total := new(big.Rat)
	line := func(what, howMany, each string, n int64) {
		usd := price.Cents(price.Dollars(each, n, 1))
		total.Add(total, usd)
		rows = append(rows, row(fmt.Sprintf("| %s | %s | %s |", what, howMany, usd.FloatString(2))))
	}
	line("CloudWatch alarms", fmt.Sprintf("%d, on %d metrics", alarms, metricsOfAlarms), price.Alarm, metricsOfAlarms)
	line("CloudWatch dashboard", fmt.Sprint(dashboards), price.Dashboard, dashboards)
	line("Contributor Insights", fmt.Sprintf("%d rules", rules), price.InsightsRule, rules)
	line("KMS key", fmt.Sprint(keys), price.Key, keys)
	rows = append(rows, row(fmt.Sprintf("| **a month** |  | %s |", total.FloatString(2))))
	line("Custom metrics, in months with postings", fmt.Sprintf("%d, and one for each code of refusals", own-1), price.Metric, own-1)
	wantTable(t, costFile, "What it costs when nobody posts", rows)
}

// alarmMetrics counts the metrics that an alarm looks at: it is paid for each.
func alarmMetrics(properties map[string]any) (n int64) {
	list, ok := properties["Metrics"].([]any)
	if !ok {
		return 1
	}
	for _, query := range list {
		if query, _ := query.(map[string]any); query["MetricStat"] != nil {
			n++
		}
	}
	return n
}

// insightsRules counts the rules that Contributor Insights makes for a table and its indexes: of keys that are throttled,
// partition keys and whole keys, for each of those that it is switched on for.
func insightsRules(properties map[string]any) (n int64) {
	const rulesOfThrottledKeys = 2
	of := []any{properties}
	of = append(of, listOf(properties["GlobalSecondaryIndexes"])...)
	for _, one := range of {
		one, _ := one.(map[string]any)
		if valueAt(one, "ContributorInsightsSpecification", "Enabled") == true {
			n += rulesOfThrottledKeys
		}
	}
	return n
}

// TestPricesAreDocumented, each as it is reckoned with here.
func TestPricesAreDocumented(t *testing.T) {
	told := make(map[string]string)
	for _, line := range documentRows(t, costFile, "Prices") {
		fields := strings.Split(line, "|")
		if len(fields) != 6 || strings.TrimSpace(fields[4]) == "" {
			t.Fatalf("%s: a price, what of, dollars, where it was seen", line)
		}
		told[strings.TrimSpace(fields[1])] = strings.TrimSpace(fields[3])
	}
	want := map[string]string{
		"DynamoDB write request units": price.WriteUnits, "DynamoDB read request units": price.ReadUnits,
		"DynamoDB storage": price.Stored, "Point-in-time recovery": price.Recovery, "HTTP API": price.Gateway,
		"Lambda requests": price.Invocations, "Lambda on arm64": price.GBSeconds, "CloudWatch Logs": price.Logs,
		"X-Ray": price.Traces, "Sent to the internet": price.Sent, "Custom metric": price.Metric, "Alarm": price.Alarm,
		"Provisioned write capacity": price.WriteCapacity, "Provisioned read capacity": price.ReadCapacity,
		"Dashboard": price.Dashboard, "Contributor Insights rule": price.InsightsRule, "KMS key": price.Key,
	}
	if !maps.Equal(told, want) {
		t.Errorf("%s tells of the prices\n%v\nthese are reckoned with\n%v", costFile, told, want)
	}
}
