package acceptance

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/functions/api"
	"ledger.example/functions/app"
	"ledger.example/functions/stream/streamtest"
	"ledger.example/internal/local/memdb"
	"ledger.example/internal/table"
	"ledger.example/ledger"
	"ledger.example/tests/gateway"
	"ledger.example/tests/harness/caller"
	"ledger.example/tests/harness/setup"
)

// serve starts a gateway with the functions for t, and returns its URL.
func serve(t *testing.T, functions map[string]gateway.Function) string {
	t.Helper()
	return gateway.New(t, clerk, func(ctx context.Context, e lambdaevents.APIGatewayV2HTTPRequest) (
		lambdaevents.APIGatewayV2HTTPResponse, error,
	) {
		method, path := e.RequestContext.HTTP.Method, e.RawPath
		name := functionFor(method, path)
		var x exchange
		out, err := functions[name](x.within(ctx), e)
		if err != nil {
			t.Errorf("%s %s: %s failed: %v", method, path, name, err)
			return out, err
		}
		x.check(t, method, path, caller.Reply{Status: out.StatusCode, Body: []byte(out.Body)})
		return out, nil
	}).URL
}

// clerk is the identity that sends the requests of the suite.
var clerk = gateway.Everybody{IAM: &lambdaevents.APIGatewayV2HTTPRequestContextAuthorizerIAMDescription{
	UserARN: "arn:aws:iam::111122223333:user/acceptance", UserID: "AIDACKCEVSQ6C2EXAMPLE",
}}

// functionFor returns the function to which template.yaml routes a request. Package documents compares the routes.
func functionFor(method, path string) string {
	switch method {
	case http.MethodPut, http.MethodPost, http.MethodPatch, http.MethodDelete:
		if strings.HasPrefix(path, "/v1/") {
			return commandFunction
		}
	}
	return queryFunction
}

// The names of the functions in template.yaml.
const (
	commandFunction   = "CommandFunction"
	queryFunction     = "QueryFunction"
	projectorFunction = "ProjectorFunction"
	listerFunction    = "ListerFunction"
	sweeperFunction   = "SweeperFunction"
	forwarderFunction = "ForwarderFunction"
)

// function is a function as Lambda would run it. It shares only the table with the others.
type function struct {
	service *app.Service
	sent    *recorder
}

// TestFunctions runs the suite against the functions behind a gateway that routes as template.yaml does. Then it
// compares the IAM roles in template.yaml with the requests that the functions sent to the table.
func TestFunctions(t *testing.T) {
	t.Parallel()
	const books = "books"
	db := setup.Memory(memdb.Options{})
	stream := setup.Table(t, db.Client(), books)
	functions := make(map[string]function)
	for _, name := range []string{commandFunction, queryFunction, projectorFunction, listerFunction, sweeperFunction,
		forwarderFunction} {
		sent := &recorder{table: books, used: make(map[permission]bool), writes: make(map[write]bool)}
		functions[name] = function{setup.Service(t, db.Client(sent.record), books, api.GatewayCaller(api.Callers{Local: false})), sent}
	}
	setup.Pump(t, db.Streams, stream, functions[projectorFunction].service, functions[listerFunction].service)
	url := serve(t, map[string]gateway.Function{
		commandFunction: api.Gateway(functions[commandFunction].service.Commands()),
		queryFunction:   api.Gateway(functions[queryFunction].service.Queries()),
	})
	if suite(t, url) {
		sweep(t, db.Client(), books, functions[sweeperFunction].service)
		forwardOne(t, db.Client(), books, functions[forwarderFunction].service)
		// A stream record without an image: the lister reads the item.
		streamtest.Deliver(t, functions[listerFunction].service.List(), streamtest.Keys(table.Transaction.Key("due")))
		checkRoles(t, functions)
		checkPolicies(t, functions)
	}
}

// forwardOne makes the forwarder deliver an event, and move its cursor twice.
func forwardOne(t *testing.T, c *dynamodb.Client, name string, forwarder *app.Service) {
	t.Helper()
	for _, account := range []string{"told-1", "told-2"} {
		id, isTold := setup.Listed(t, c, name, time.Minute, account)[0], false
		run := forwarder.Forward("events", func(_ context.Context, all []client.JournalEntry) ([]bool, error) {
			isTold = isTold || slices.ContainsFunc(all, func(e client.JournalEntry) bool { return e.ID == id })
			return slices.Repeat([]bool{true}, len(all)), nil
		})
		if _, err := run(t.Context(), app.Forwarding{Rewind: time.Now().Add(-time.Hour)}); err != nil || !isTold {
			t.Errorf("%s is forwarded: %t, %v", id, isTold, err)
		}
	}
}

// sweep makes the sweeper expire a hold, and then find a stale entry for the same hold.
func sweep(t *testing.T, client *dynamodb.Client, name string, sweeper *app.Service) {
	t.Helper()
	hold := setup.DueHold(t, client, name, "due", time.Minute)
	if swept, err := sweeper.Sweep(t.Context(), nil); err != nil || swept.Expired != 1 {
		t.Errorf("swept %+v, %v", swept, err)
	}
	caller.Eventually(t, 10*time.Second, "the hold is listed as ended", func() bool {
		swept, err := sweeper.Sweep(t.Context(), nil)
		return err == nil && swept.Due == 0
	})
	entry := table.KeyItem(table.OpenHold.Key(events.FormatTime(hold.ExpiresAt.Add(time.Second)), hold.ID))
	entry[table.AttrPK2] = table.String(table.OpenHold.PK2("0"))
	if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: entry}); err != nil {
		t.Fatal(err)
	}
	if swept, err := sweeper.Sweep(t.Context(), nil); err != nil || swept != (ledger.Swept{Due: 1, Ended: 1}) {
		t.Errorf("swept again: %+v, %v", swept, err)
	}
}
