package acceptance

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"

	lambdaevents "github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	template "ledger.example"
	"ledger.example/cmd/ledger/local"
	"ledger.example/cmd/ledger/pump"
	"ledger.example/functions/api"
	"ledger.example/functions/service"
	"ledger.example/ledger/wire"
)

// The functions, by their names in template.yaml.
const (
	commandFunction   = "CommandFunction"
	queryFunction     = "QueryFunction"
	projectorFunction = "ProjectorFunction"
)

// function is one of the functions, as Lambda would run it: it shares nothing with the others but the table.
type function struct {
	service *service.Service
	sent    *recorder
}

// newFunction makes a function with a client of its own, which records what it sends to the table.
func newFunction(t *testing.T, endpoint, table string) function {
	t.Helper()
	f := function{sent: &recorder{table: table, used: make(map[permission]bool)}}
	client := wire.NewClient(aws.Config{
		Region:       local.Region,
		BaseEndpoint: &endpoint,
		Credentials:  credentials.NewStaticCredentialsProvider("test", "test", ""),
	}, f.sent.record)
	var err error
	f.service, err = service.New(service.Config{
		Client: client, Table: table, Actor: api.GatewayActor(false), Version: "test", Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestFunctions runs the suite against the three functions as AWS would run them, behind a gateway with the routes of
// template.yaml, and then holds the roles in it to what the functions asked of the table.
func TestFunctions(t *testing.T) {
	const table = "books"
	store, err := local.Start(t.Context(), local.Options{})
	if err != nil {
		t.Fatal("this test needs DynamoDB Local, and it could not be started: ", err)
	}
	t.Cleanup(func() {
		if err := store.Stop(context.Background()); err != nil {
			t.Error("stopping DynamoDB Local:", err)
		}
	})
	in, err := local.TableFromTemplate(template.YAML)
	if err != nil {
		t.Fatal(err)
	}
	made, err := local.CreateTable(t.Context(), local.DynamoDB(store.Endpoint), in, table)
	if err != nil {
		t.Fatal(err)
	}
	functions := map[string]function{
		commandFunction:   newFunction(t, store.Endpoint, table),
		queryFunction:     newFunction(t, store.Endpoint, table),
		projectorFunction: newFunction(t, store.Endpoint, table),
	}
	project(t, store.Endpoint, *made.LatestStreamArn, functions[projectorFunction].service.Stream())
	url := serve(t, routesOfTemplate(t), map[string]invocation{
		commandFunction: api.Gateway(functions[commandFunction].service.Commands()),
		queryFunction:   api.Gateway(functions[queryFunction].service.Queries()),
	})
	if suite(t, url) {
		checkRoles(t, functions)
	}
}

// project pumps the table's stream into the projector until t ends, with the settings of template.yaml.
func project(t *testing.T, endpoint, stream string, handler func(context.Context, lambdaevents.DynamoDBEvent) (lambdaevents.DynamoDBEventResponse, error)) {
	t.Helper()
	settings, err := local.SettingsFromTemplate(template.YAML)
	if err != nil {
		t.Fatal(err)
	}
	settings.Window = 0 // the suite waits for projections all the time
	p, err := pump.New(pump.Options{
		Stream: local.Streams(endpoint), StreamARN: stream, Handler: handler, Settings: settings,
		SetAside: filepath.Join(t.TempDir(), "set-aside.jsonl"),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	t.Cleanup(func() {
		end()
		if err := <-ended; err != nil {
			t.Error("pump:", err)
		}
	})
}
