package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	template "ledger.example"
	"ledger.example/cmd/ledger/local"
	"ledger.example/cmd/ledger/memory"
	"ledger.example/cmd/ledger/pump"
	"ledger.example/functions/api"
	"ledger.example/functions/service"
	"ledger.example/ledger/wire"
)

const (
	// defaultTable is the table's name unless --table gives another.
	defaultTable = "ledger"
	// storeStopTimeout is how long DynamoDB Local may take to end.
	storeStopTimeout = 10 * time.Second
)

// store is a DynamoDB on this machine: one that was started here, one that runs already, or the memory of this process.
type store struct {
	endpoint string                                                   // "": this process
	tables   *dynamodb.Client                                         // for looking at tables; one, as the pump looks all the time
	items    *dynamodb.Client                                         // for the ledger
	another  func(optFns ...func(*dynamodb.Options)) *dynamodb.Client // like items, and more
	streams  pump.Stream
	server   *local.Server // nil: it is somebody else's, or none
}

// newStore returns what runs at an endpoint; server is nil when it is somebody else's.
func newStore(endpoint string, server *local.Server) *store {
	another := func(optFns ...func(*dynamodb.Options)) *dynamodb.Client {
		return wire.NewClient(aws.Config{
			Region:       local.Region,
			BaseEndpoint: &endpoint,
			// DynamoDB Local checks no signature; an account's credentials are never sent to it.
			Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		}, optFns...)
	}
	return &store{
		endpoint: endpoint, tables: local.DynamoDB(endpoint), items: another(), another: another, streams: local.Streams(endpoint), server: server,
	}
}

// newMemory returns a store in the memory of this process, which no other can reach.
func newMemory() *store {
	m := memory.New(memory.Options{Shards: 1}) // one: what is posted together is projected together
	client := m.DynamoDB()
	return &store{tables: client, items: client, another: m.DynamoDB, streams: m.Streams()}
}

// place tells people where a table is.
func (s *store) place() string {
	if s.endpoint == "" {
		return "in memory: nothing is kept when this ends"
	}
	return "in DynamoDB at " + s.endpoint
}

// openStore starts DynamoDB Local on any free port, keeping its data in dataDir unless that is empty; or, with an endpoint,
// takes what runs there.
func openStore(ctx context.Context, endpoint, dataDir string, log *slog.Logger) (*store, error) {
	if endpoint != "" {
		return newStore(endpoint, nil), nil
	}
	return startStore(ctx, 0, dataDir, log)
}

// startStore starts DynamoDB Local on a port, 0 for any free one, keeping its data in dataDir unless that is empty.
func startStore(ctx context.Context, port int, dataDir string, log *slog.Logger) (*store, error) {
	server, err := local.Start(ctx, local.Options{DataDir: dataDir, Port: port, Log: log})
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("port %d is in use: something else listens there; choose another port with --port (0 takes any free one)", port)
	}
	if err != nil {
		return nil, err
	}
	return newStore(server.Endpoint, server), nil
}

// checkPort returns an error of wrong use unless port can be listened on; 0 stands for any free one.
func checkPort(port int) error {
	if port < 0 || port > portMax {
		return wrongUse("--port must be 0 to %d", portMax)
	}
	return nil
}

// checkEndpoint returns an error of wrong use unless endpoint is the URL of a server.
func checkEndpoint(endpoint string) error {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return wrongUse("--dynamodb-endpoint: %q is not an http or https URL", endpoint)
	}
	return nil
}

// stop ends a DynamoDB Local that was started here.
func (s *store) stop() error {
	if s.server == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeStopTimeout)
	defer cancel()
	return s.server.Stop(ctx)
}

// watch returns when ctx ends, or with an error when a DynamoDB Local that was started here ends before that.
func (s *store) watch(ctx context.Context) error {
	if s.server == nil {
		return nil
	}
	select {
	case <-ctx.Done():
		return nil
	case <-s.server.Done():
		return s.server.Err()
	}
}

// createTable makes the table of template.yaml, unless it is there, and names its stream. A store that somebody else runs must
// answer soon.
func (s *store) createTable(ctx context.Context, name string) (stream string, err error) {
	if s.server == nil {
		if stream, err := s.stream(ctx, name); !errors.Is(err, wire.ErrNoTable) {
			return stream, err
		}
	}
	in, err := local.TableFromTemplate(template.YAML)
	if err != nil {
		return "", err
	}
	described, err := local.CreateTable(ctx, s.tables, in, name)
	if err != nil {
		return "", err
	}
	return aws.ToString(described.LatestStreamArn), nil
}

// stream names the stream that a table has now, in a store that answers soon. Errors: wire.ErrNoTable, *wire.SchemaError, or
// why it did not answer.
func (s *store) stream(ctx context.Context, table string) (string, error) {
	described, err := wire.CheckTable(ctx, s.tables, table)
	if err != nil {
		return "", err
	}
	return aws.ToString(described.LatestStreamArn), nil
}

// open returns the ledger on a table of the store.
func (s *store) open(table string, log *slog.Logger) (*service.Service, error) {
	return service.New(service.Config{Client: s.items, Table: table, Actor: api.LocalActor, Version: version(), Log: log})
}
