// Package setup creates the parts of a ledger in a test process: a store with the table of template.yaml, the service,
// and a pump that projects. Everything stops when the test ends.
package setup

import (
	"context"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"ledger.example/functions/access"
	"ledger.example/functions/app"
	"ledger.example/internal/local/dynamolocal"
	"ledger.example/internal/local/dynamolocal/dynamolocaltest"
	"ledger.example/internal/local/memdb"
	"ledger.example/internal/local/pump"
	"ledger.example/internal/table"
)

// Store has tables, in memory or in DynamoDB Local.
type Store struct {
	Streams *dynamodbstreams.Client
	Memory  *memdb.Store // nil: DynamoDB Local

	client func(...func(*dynamodb.Options)) *dynamodb.Client
}

// Client returns a new client of the store, configured as in the functions.
func (s Store) Client(options ...func(*dynamodb.Options)) *dynamodb.Client {
	return s.client(options...)
}

// Memory returns an in-memory store. Middleware that options add after the Initialize step does not run (see
// memdb.Store.DynamoDB).
func Memory(o memdb.Options) Store {
	db := memdb.New(o)
	return Store{client: db.DynamoDB, Streams: db.Streams(), Memory: db}
}

// DynamoDBLocal returns the DynamoDB Local that the test process shares.
func DynamoDBLocal(t testing.TB) Store {
	t.Helper()
	endpoint := dynamolocaltest.Shared(t).Endpoint
	client := func(options ...func(*dynamodb.Options)) *dynamodb.Client {
		return table.NewClient(aws.Config{
			Region:       dynamolocal.Region,
			BaseEndpoint: &endpoint,
			Credentials:  credentials.NewStaticCredentialsProvider("test", "test", ""),
		}, options...)
	}
	return Store{client: client, Streams: dynamolocal.Streams(endpoint)}
}

// Table creates the ledger's table, and returns the ARN of its stream.
func Table(t testing.TB, client *dynamodb.Client, name string) (stream string) {
	t.Helper()
	created, err := dynamolocal.CreateTable(t.Context(), client, name)
	if err != nil {
		t.Fatal(err)
	}
	return *created.LatestStreamArn
}

// Service returns the complete service of one process, on a table. It logs nothing.
func Service(t testing.TB, client *dynamodb.Client, table string,
	caller func(*http.Request) access.Caller) *app.Service {
	t.Helper()
	s, err := app.New(app.Config{
		Client: client, Table: table, Caller: caller, Version: "test", Log: slog.New(slog.DiscardHandler),
		Indexed: []string{"order", "tier"}, // as ledger up does
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Pumps deliver a stream to functions, one each.
type Pumps []*pump.Pump

// CaughtUp reports whether every function has consumed all records that were in the stream at t.
func (p Pumps) CaughtUp(t time.Time) bool {
	return !slices.ContainsFunc(p, func(p *pump.Pump) bool { return !p.CaughtUp(t) })
}

// Pump delivers a stream to a projector and a lister until t ends. It uses the settings of template.yaml, but no
// batching window, because tests often wait for projections.
func Pump(t testing.TB, streams *dynamodbstreams.Client, stream string, projector, lister *app.Service) Pumps {
	t.Helper()
	projecting, listing, err := dynamolocal.StreamSettings()
	if err != nil {
		t.Fatal(err)
	}
	start := func(handler pump.Handler, settings pump.Settings) *pump.Pump {
		settings.Window = 0
		p, err := pump.New(pump.Options{
			Stream: streams, StreamARN: stream, Handler: handler, Settings: settings,
			DeadLetters: filepath.Join(t.TempDir(), "dead-letters.jsonl"),
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
		return p
	}
	return Pumps{start(projector.Stream(), projecting), start(lister.List(), listing)}
}
