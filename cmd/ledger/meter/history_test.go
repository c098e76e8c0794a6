package meter_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	template "ledger.example"
	"ledger.example/cmd/ledger/local"
	"ledger.example/cmd/ledger/memory"
	"ledger.example/cmd/ledger/meter"
	"ledger.example/events"
	"ledger.example/functions/api"
	"ledger.example/functions/service"
	"ledger.example/functions/stream/streamtest"
	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
	"ledger.example/ledger/wire/wiretest"
)

const books = "books"

// request is one that was sent, and what came back.
type request struct {
	input, output any
	err           error
}

// system is a ledger in memory: commands and reads by one client, projections by another, each with its meter.
type system struct {
	t                   testing.TB
	store               *memory.Store
	commands, projector *meter.Meter
	client              *dynamodb.Client // that of commands
	api                 http.Handler
	stream              func(context.Context, lambdaevents.DynamoDBEvent) (lambdaevents.DynamoDBEventResponse, error)
	mu                  sync.Mutex
	requests            []request // by either; a page is read by several at once
	changes             int       // that the store told of
	contents            map[table.Key]wire.Item
}

func newSystem(t testing.TB) *system {
	s := &system{t: t, store: memory.New(memory.Options{}), commands: meter.New(books), contents: make(map[table.Key]wire.Item)}
	s.projector = s.commands.Beside()
	in, err := local.TableFromTemplate(template.YAML)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := local.CreateTable(t.Context(), s.store.DynamoDB(), in, books); err != nil {
		t.Fatal(err)
	}
	s.client = s.store.DynamoDB(s.commands.Count, s.record)
	s.api = s.service(s.client).API()
	s.stream = s.service(s.store.DynamoDB(s.projector.Count, s.record)).Stream()
	return s
}

func (s *system) service(client *dynamodb.Client) *service.Service {
	made, err := service.New(service.Config{
		Client: client, Table: books, Actor: api.LocalActor, Version: "test", Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return made
}

func (s *system) record(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("record",
			func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
				out, metadata, err := next.HandleInitialize(ctx, in)
				s.mu.Lock()
				defer s.mu.Unlock()
				s.requests = append(s.requests, request{in.Parameters, out.Result, err})
				return out, metadata, err
			}), middleware.After)
	})
}

// send returns the status of a request to the API.
func (s *system) send(method, path, body string) int {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	s.api.ServeHTTP(w, r)
	return w.Code
}

func (s *system) must(status int, method, path, body string) {
	s.t.Helper()
	if got := s.send(method, path, body); got != status {
		s.t.Fatalf("%s %s %s: %d", method, path, body, got)
	}
}

// deliver projects some of the postings and grants that there are.
func (s *system) deliver(keys []table.Key) {
	s.t.Helper()
	streamtest.Deliver(s.t, s.stream, streamtest.Keys(keys...))
}

// reckoned is what the requests since the last call consumed, by the whole contents of the table before and after them.
func (s *system) reckoned() (t meter.Tally) {
	s.t.Helper()
	transactional := make(map[table.Key]bool)
	for _, r := range s.requests {
		s.reckonRead(&t, r)
		switch in := r.input.(type) {
		case *dynamodb.PutItemInput:
			if r.err != nil {
				t.Cancelled++
				k, _ := wire.KeyOf(in.Item)
				t.WriteUnits += int64(table.TableUnits(wiretest.Sized(s.t, s.contents[k]).Bytes(), false))
			}
		case *dynamodb.TransactWriteItemsInput:
			if r.err != nil {
				t.Cancelled++
			}
			for _, a := range in.TransactItems {
				var put, key wire.Item
				if key = put; a.Put != nil {
					put, key = a.Put.Item, a.Put.Item
				} else {
					key = a.Update.Key
				}
				k, _ := wire.KeyOf(key)
				if r.err == nil {
					transactional[k] = true
					continue
				}
				largest := max(wiretest.Sized(s.t, s.contents[k]).Bytes(), wiretest.Sized(s.t, put).Bytes())
				t.WriteUnits += int64(table.TableUnits(largest, true))
			}
		}
	}
	for _, c := range s.store.Since(s.changes) {
		t.ItemsWritten++
		t.WriteUnits += int64(table.WriteUnits(table.Write{
			Before: wiretest.Sized(s.t, c.Before), After: wiretest.Sized(s.t, c.After), Transactional: transactional[c.Key],
		}, table.Indexes()...))
		s.contents[c.Key] = c.After
		s.changes++
	}
	s.requests = nil
	return t
}

// reckonRead adds up what a read consumed: of whole items, however they are shown. Only postings and keys are shown in part,
// and what has those doesn't become larger or smaller meanwhile.
func (s *system) reckonRead(t *meter.Tally, r request) {
	as := func(strong *bool) table.Consistency {
		if aws.ToBool(strong) {
			return table.Strong
		}
		return table.Eventual
	}
	whole := func(partition string, shown wire.Item) wire.Item {
		pk, _ := shown[table.AttrPK].(*types.AttributeValueMemberS)
		if pk == nil {
			pk = &types.AttributeValueMemberS{Value: partition}
		}
		item, _ := s.store.Item(table.Key{PK: pk.Value, SK: shown[table.AttrSK].(*types.AttributeValueMemberS).Value})
		return item
	}
	switch out := r.output.(type) {
	case *dynamodb.GetItemOutput:
		if out.Item != nil {
			t.ItemsRead++
		}
		t.ReadHalves += int64(table.GetHalves(wiretest.Sized(s.t, out.Item), as(r.input.(*dynamodb.GetItemInput).ConsistentRead)))
	case *dynamodb.BatchGetItemOutput:
		asked := r.input.(*dynamodb.BatchGetItemInput).RequestItems[books]
		items := out.Responses[books]
		t.ItemsRead += int64(len(items))
		for _, item := range slices.Concat(items, make([]wire.Item, len(asked.Keys)-len(items))) {
			t.ReadHalves += int64(table.GetHalves(wiretest.Sized(s.t, item), as(asked.ConsistentRead)))
		}
	case *dynamodb.TransactGetItemsOutput:
		for i, response := range out.Responses {
			item := response.Item
			if item != nil {
				t.ItemsRead++
				if get := r.input.(*dynamodb.TransactGetItemsInput).TransactItems[i].Get; get.ProjectionExpression != nil {
					item = whole("", get.Key)
				}
			}
			t.ReadHalves += int64(table.GetHalves(wiretest.Sized(s.t, item), table.Transactional))
		}
	case *dynamodb.QueryOutput:
		in := r.input.(*dynamodb.QueryInput)
		t.ItemsRead += int64(len(out.Items))
		var items []table.Item
		for _, item := range out.Items {
			if in.ProjectionExpression != nil {
				item = whole(in.ExpressionAttributeValues[":partition"].(*types.AttributeValueMemberS).Value, item)
			}
			one := wiretest.Sized(s.t, item)
			if in.IndexName != nil {
				at := slices.IndexFunc(table.Indexes(), func(x table.Index) bool { return x.Name == *in.IndexName })
				one = table.Indexes()[at].Entry(one)
			}
			items = append(items, one)
		}
		t.ReadHalves += int64(table.QueryHalves(items, as(in.ConsistentRead)))
	}
}

// What the meters count while a ledger is used is what the contents of its table before and after say, to the unit:
// whatever is posted, refused, repeated, projected and read.
func TestUnitsOfAHistory(t *testing.T) {
	t.Parallel()
	s := newSystem(t)
	chance := rand.New(rand.NewPCG(1, 2))
	accounts, assets, users := []string{"a", "b", "c", strings.Repeat("d", 64)}, []string{"x", "y"}, []string{"u", "v"}
	pick := func(of []string) string { return of[chance.IntN(len(of))] }
	text := func(most int) string { return strings.Repeat("t", chance.IntN(most)) }
	metadata := func() string {
		var pairs []string
		for i := range chance.IntN(16) {
			pairs = append(pairs, fmt.Sprintf(`"k%d":"%s"`, i, text(250)))
		}
		return "{" + strings.Join(pairs, ",") + "}"
	}
	fields := func(id int) string { return fmt.Sprintf(`"id":"t-%d","metadata":%s,`, id, metadata()) }
	posted, sum := 0, meter.Tally{}
	operations := map[string]func(){
		"asset": func() {
			s.send("PUT", "/v1/assets/"+pick(assets), fmt.Sprintf(`{"name":"A","scale":2,"description":"%s"}`, text(256)))
		},
		"account": func() {
			s.send("PUT", fmt.Sprint("/v1/accounts/more-", chance.IntN(20)), fmt.Sprintf(`{"name":"M","profile":{"note":"%s"}}`, text(4000)))
		},
		"transfer": func() {
			posted++
			s.send("POST", "/v1/transfers", fmt.Sprintf(`{%s"from":"%s","to":"%s","asset":"%s","quantity":"%d"}`,
				fields(posted), pick(accounts), pick(accounts), pick(assets), 1+chance.Int64N(10)))
		},
		"transaction": func() {
			posted++
			legs := []string{fmt.Sprintf(`{"account":"source","asset":"x","quantity":"-%d"}`, 4*(1+posted%7))}
			for _, account := range accounts {
				legs = append(legs, fmt.Sprintf(`{"account":"%s","asset":"x","quantity":"%d"}`, account, 1+posted%7))
			}
			s.must(201, "POST", "/v1/transactions", fmt.Sprintf(`{%s"postings":[%s]}`, fields(posted), strings.Join(legs, ",")))
		},
		"again": func() {
			body := fmt.Sprintf(`{"id":"again-%d","from":"source","to":"a","asset":"y","quantity":"500000"}`, chance.IntN(5))
			s.send("POST", "/v1/transfers", body)
		},
		"grant": func() {
			s.send("PUT", "/v1/accounts/"+pick(accounts)+"/members/"+pick(users), fmt.Sprintf(`{"role":"%s"}`, pick([]string{"viewer", "owner"})))
		},
		"revoke": func() { s.send("DELETE", "/v1/accounts/"+pick(accounts)+"/members/"+pick(users), "") },
		"project": func() {
			keys := slices.SortedFunc(maps.Keys(s.contents), func(a, b table.Key) int { return strings.Compare(a.PK+a.SK, b.PK+b.SK) })
			keys = slices.DeleteFunc(keys, func(k table.Key) bool {
				return !table.IsPosting(k.SK) && !table.IsGrant(k.SK) || chance.IntN(10) > 0
			})
			s.deliver(keys)
		},
		"read": func() {
			account := "/v1/accounts/" + pick(accounts)
			s.must(200, "GET", pick([]string{
				account, account + "/summary", account + "/summary?newest=100", account + "/balances", account + "/balances?consistency=strong",
				account + "/balances/x", account + "/balances/x?consistency=strong", account + "/postings?limit=100", account + "/postings?asset=y",
				account + "/members", "/v1/assets/x/holders", "/v1/accounts?limit=100", "/v1/assets", "/v1/users/u/accounts",
			}), "")
		},
	}
	names := slices.Sorted(maps.Keys(operations))
	check := func(name string) {
		t.Helper()
		got := s.commands.Take()
		got.Add(s.projector.Take())
		sum.Add(got)
		requests := len(s.requests)
		want := s.reckoned()
		want.Requests, want.Guessed = got.Requests, got.Guessed
		if fmt.Sprint(got) != fmt.Sprint(want) || got.Total() != int64(requests) {
			t.Fatalf("%s: counted %+v of %d requests, reckoned %+v", name, got, requests, want)
		}
	}
	s.must(201, "PUT", "/v1/accounts/source", `{"name":"Source","overdraft":"unlimited"}`)
	for _, asset := range assets {
		s.must(201, "PUT", "/v1/assets/"+asset, `{"name":"A","scale":2}`)
	}
	for _, account := range accounts {
		s.must(201, "PUT", "/v1/accounts/"+account, `{"name":"A"}`)
	}
	check("opening")
	// A stretch that is long settled, so that segments are made.
	for i := range 600 {
		id := events.FirstKSUID(time.Now().Add(time.Duration(i)*time.Millisecond - time.Hour))
		old := events.PostingRecorded{
			Leg:         events.Leg{ID: id, Account: "a", Asset: "x", Quantity: events.NewAmount(int64(i) * 1_000_000)},
			Transaction: fmt.Sprint("old-", i), Kind: events.KindTransaction, Description: text(256),
		}
		if _, err := s.client.PutItem(t.Context(), &dynamodb.PutItemInput{
			TableName: aws.String(books), Item: wire.EventItem(old), ConditionExpression: aws.String(wire.IfAbsent),
		}); err != nil {
			t.Fatal(err)
		}
	}
	check("old postings")
	for range 400 {
		name := pick(names)
		operations[name]()
		check(name)
	}
	if sum.Cancelled == 0 || sum.Requests["BatchGetItem"] == 0 || sum.Requests["TransactGetItems"] == 0 || sum.Requests["PutItem"] == 0 {
		t.Errorf("not everything happened: %+v", sum)
	}
	// A membership that is made is not looked for before.
	if most := int64(len(accounts) * len(users)); sum.Guessed > most {
		t.Errorf("%d were guessed, of %d memberships", sum.Guessed, most)
	}
	t.Logf("%d changes: %+v", s.changes, sum)
}
