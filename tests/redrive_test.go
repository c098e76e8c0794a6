package tests

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	template "ledger.example"
	"ledger.example/cmd/ledger/local"
	"ledger.example/cmd/ledger/pump"
	"ledger.example/events"
	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
	"ledger.example/tests/caller"
	"ledger.example/tests/process"
)

// redriven is the summary that redrive prints with --json.
type redriven struct {
	DryRun                              bool `json:"dry_run"`
	Files, Records, Skipped             int64
	Balances, Refolded, Counted, Failed int64
	Memberships                         int64
}

// redrive runs the command on the system's table, and returns its summary, the lines before that, what it told and its status.
func (s *system) redrive(arguments ...string) (sum redriven, behind []string, told string, status int) {
	s.t.Helper()
	arguments = append([]string{"redrive", "--json", "--dynamodb-endpoint", store.Endpoint, "--table", s.table}, arguments...)
	out, told, status := process.Run(s.t, "", arguments...)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &sum); err != nil {
		s.t.Fatalf("redrive printed %q: %v: %s", out, err, told)
	}
	return sum, lines[:len(lines)-1], told, status
}

// projected returns the keys of the events that are projected, in order.
func (s *system) projected() []table.Key {
	s.t.Helper()
	keys := slices.Collect(maps.Keys(s.contents()))
	keys = slices.DeleteFunc(keys, func(k table.Key) bool { return !table.IsPosting(k.SK) && !table.IsGrant(k.SK) })
	slices.SortFunc(keys, func(a, b table.Key) int { return strings.Compare(a.PK+" "+a.SK, b.PK+" "+b.SK) })
	return keys
}

// wantProjected fails the test unless a default read of each of the balances shows what a strong one does.
func (s *system) wantProjected(balances ...string) {
	s.t.Helper()
	for _, b := range balances {
		account, asset, _ := strings.Cut(b, " ")
		path := "/v1/accounts/" + account + "/balances/" + asset
		projected, exact := s.Must(200, "GET", path, ""), s.Must(200, "GET", path+"?consistency=strong", "")
		for _, field := range []string{"quantity", "net_expenditure", "credits", "debits", "postings", "as_of"} {
			if got, want := projected.Value(field), exact.Value(field); got != want {
				s.t.Errorf("%s of %s is %v, want %v", field, b, got, want)
			}
		}
	}
}

// setAside pumps the table's stream into a projector that cannot read the table, until all of its events are set aside. It
// returns the file.
func (s *system) setAside() string {
	s.t.Helper()
	broken := newFaults()
	broken.all(anyOperation, refuses(400, "AccessDeniedException"))
	projector := s.beside(withClient(broken.inject)).service.Stream()
	settings, err := local.SettingsFromTemplate(template.YAML)
	if err != nil {
		s.t.Fatal(err)
	}
	settings.Window, settings.MaximumRetryAttempts = 0, 0
	described, err := s.plain.DescribeTable(s.t.Context(), &dynamodb.DescribeTableInput{TableName: &s.table})
	if err != nil {
		s.t.Fatal(err)
	}
	file := filepath.Join(s.t.TempDir(), "set-aside.jsonl")
	p, err := pump.New(pump.Options{
		Stream: local.Streams(store.Endpoint), StreamARN: *described.Table.LatestStreamArn,
		Handler: projector, Settings: settings, SetAside: file,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, end := context.WithCancel(s.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	want := int64(len(s.projected()))
	caller.Eventually(s.t, 30*time.Second, "all is set aside", func() bool { return p.Stats().SetAside == want })
	end()
	if err := <-ended; err != nil {
		s.t.Fatal(err)
	}
	return file
}

// What the pump set aside is brought up to date, once, and the file stays as it is.
func TestWhatThePumpSetAsideIsRedriven(t *testing.T) {
	t.Parallel()
	s := newSystem(t, withoutPump)
	s.OpenBooks()
	s.Must(201, "PUT", "/v1/accounts/jane/members/u-17", `{"role":"viewer"}`)
	s.Must(200, "PUT", "/v1/accounts/jane/members/u-17", `{"role":"owner"}`)
	balances := []string{"jane USD", "jane AAPL", "market USD", "market AAPL", "bank USD"}
	file := s.setAside()
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Must(200, "GET", "/v1/accounts/jane/balances/USD", "").Value("postings"); got != 0.0 {
		t.Fatalf("%v postings are counted, and all should be set aside", got)
	}
	table := s.contents()
	want := redriven{DryRun: true, Files: 1, Records: 8, Balances: 5, Refolded: 5, Memberships: 1}
	sum, behind, told, status := s.redrive("--dry-run", file)
	if sum != want || len(behind) != 5 || !slices.Contains(behind, `{"account":"jane","asset":"USD"}`) || status != 0 {
		t.Errorf("dry run: %+v, behind %q, status %d: %s", sum, behind, status, told)
	}
	if !reflect.DeepEqual(s.contents(), table) {
		t.Error("the dry run changed the table")
	}
	want.DryRun = false
	if sum, behind, told, status := s.redrive(file); sum != want || len(behind) > 0 || status != 0 {
		t.Errorf("first run: %+v, %q, status %d: %s", sum, behind, status, told)
	}
	s.wantProjected(balances...)
	if members := s.All("/v1/accounts/jane/members", 10); len(members) != 1 || members[0]["role"] != "owner" {
		t.Errorf("members: %v", members)
	}
	if got := s.Must(200, "GET", "/v1/accounts/jane/summary", "").Value("summary", "holdings"); got != 2.0 {
		t.Errorf("jane holds %v assets", got)
	}
	table = s.contents()
	want.Refolded, want.Counted = 0, 5
	if sum, _, told, status := s.redrive(file); sum != want || status != 0 {
		t.Errorf("second run: %+v, status %d: %s", sum, status, told)
	}
	if !reflect.DeepEqual(s.contents(), table) {
		t.Error("the second run changed the table")
	}
	if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
		t.Errorf("the file was changed: %v", err)
	}
}

// objectOf is what Lambda puts into the bucket for a batch, by the Developer Guide: the event is text in it.
func objectOf(t *testing.T, keys ...table.Key) string {
	t.Helper()
	var batch lambdaevents.DynamoDBEvent
	for i, k := range keys {
		batch.Records = append(batch.Records, lambdaevents.DynamoDBEventRecord{EventName: "INSERT", Change: lambdaevents.DynamoDBStreamRecord{
			SequenceNumber: fmt.Sprintf("%021d", i+1),
			Keys: map[string]lambdaevents.DynamoDBAttributeValue{
				table.AttrPK: lambdaevents.NewStringAttribute(k.PK), table.AttrSK: lambdaevents.NewStringAttribute(k.SK),
			},
		}})
	}
	event, err := json.Marshal(batch)
	if err != nil {
		t.Fatal(err)
	}
	object, err := json.Marshal(map[string]any{
		"requestContext":     map[string]any{"requestId": "316aa6d0", "functionArn": "arn:aws:lambda:us-east-1:123456789012:function:p", "condition": "RetryAttemptsExhausted", "approximateInvokeCount": 1001},
		"responseContext":    map[string]any{"statusCode": 200, "executedVersion": "7", "functionError": "Unhandled"},
		"version":            "1.0",
		"timestamp":          "2026-11-21T09:26:39.717Z",
		"DDBStreamBatchInfo": map[string]any{"shardId": "shardId-1", "startSequenceNumber": "1", "endSequenceNumber": "2", "batchSize": len(keys), "streamArn": "arn:aws:dynamodb:us-east-1:123456789012:table/t/stream/s"},
		"payload":            string(event),
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(object)
}

// A bucket that was copied holds an object for each batch, deep below. One bad object, line, key or posting stops no other.
func TestABucketIsRedriven(t *testing.T) {
	t.Parallel()
	s := newSystem(t, withoutPump)
	s.OpenBooks()
	s.Must(201, "POST", "/v1/transfers", `{"id":"d-2","from":"bank","to":"shop","asset":"GOLD","quantity":"3"}`)
	bucket := t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(bucket, "aws/lambda/0b1c/shardId-1/2026/11/21", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	keys := s.projected()
	for i, k := range keys {
		put(fmt.Sprintf("2026-11-21T09.26.%02d-c1", i), objectOf(t, k, table.BalanceKey("jane", "USD")))
	}
	// A posting of the shop's that no fold can take.
	poison := old("shop", "USD", 1)
	item := wire.EventItem(poison[0])
	item[events.FigureQuantity] = wire.String("much")
	if _, err := s.plain.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &s.table, Item: item}); err != nil {
		t.Fatal(err)
	}
	last := objectOf(t, keys[0])
	malformed := table.PostingKey("jane", "USD", "not-a-ksuid")
	gone := table.PostingKey("jane", "USD", string(events.FirstKSUID(time.Now())))
	problems := []string{
		put("cut", last+"\n"+last[:200]+"\n"+last) + ":2: its end is missing",
		put("gone", objectOf(t, keys[0], gone)) + ":1, record 2: jane USD: 1 of its",
		put("malformed", objectOf(t, keys[0], malformed)) + ":1, record 2: the key is that of a posting",
		put("pointer", `{"DDBStreamBatchInfo":{"shardId":"s"}}`) + ":1: it names a stretch of the stream",
		put("poison", objectOf(t, keysOf(poison)...)) + ":1, record 1: shop USD: ",
	}
	sum, _, told, status := s.redrive(bucket)
	if status != 1 || sum.Files != int64(len(keys)+len(problems)) || sum.Skipped != int64(len(keys)) || sum.Failed != int64(len(problems)) {
		t.Errorf("%+v, status %d: %s", sum, status, told)
	}
	for _, problem := range problems {
		if !strings.Contains(told, problem) {
			t.Errorf("%q is not told: %s", problem, told)
		}
	}
	if !strings.Contains(told, "ledger rebuild") {
		t.Errorf("nothing leads to rebuild: %s", told)
	}
	s.wantProjected("jane USD", "jane AAPL", "market USD", "market AAPL", "bank USD", "bank GOLD", "shop GOLD")
}
