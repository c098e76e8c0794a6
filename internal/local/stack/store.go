// Package stack is shared by the commands up, dynamodb and pump, and by ledger-bench. It has a DynamoDB with the
// ledger's table, the feed of the table's stream to the projector and the lister, and HTTP servers that answer only
// requests for this machine.
package stack

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/internal/local/dynamolocal"
	"ledger.example/internal/local/memdb"
	"ledger.example/internal/local/pump"
	"ledger.example/internal/table"
)

// StopTimeout bounds Store.Stop.
const StopTimeout = 10 * time.Second

// Store is a DynamoDB on this machine: a DynamoDB Local that Open started, one that runs already, or a memory store.
type Store struct {
	Endpoint string                                                   // "": a memory store
	Tables   *dynamodb.Client                                         // for describing tables, without retries
	Client   func(optFns ...func(*dynamodb.Options)) *dynamodb.Client // returns a new client for the ledger
	streams  pump.Stream
	server   *dynamolocal.Server // nil: Open did not start it
}

// Options of a store.
type Options struct {
	Memory   bool   // open a memory store, which no other process can reach
	Endpoint string // of a running DynamoDB; "": start a DynamoDB Local on a free port
	DataDir  string // of the started DynamoDB Local; "": in memory
	Log      *slog.Logger
}

// Open opens a store. The caller must call Stop.
func Open(ctx context.Context, o Options) (*Store, error) {
	if o.Memory {
		m := memdb.New(memdb.Options{Shards: 1}) // one shard: the postings of a transaction are projected together
		return &Store{Tables: m.DynamoDB(), Client: m.DynamoDB, streams: m.Streams()}, nil
	}
	if o.Endpoint != "" {
		return newStore(o.Endpoint, nil), nil
	}
	server, err := dynamolocal.Start(ctx, dynamolocal.Options{DataDir: o.DataDir, Log: o.Log})
	if err != nil {
		return nil, err
	}
	return newStore(server.Endpoint, server), nil
}

func newStore(endpoint string, server *dynamolocal.Server) *Store {
	client := func(optFns ...func(*dynamodb.Options)) *dynamodb.Client {
		return table.NewClient(dynamolocal.Config(endpoint), optFns...)
	}
	return &Store{
		Endpoint: endpoint, Tables: dynamolocal.DynamoDB(endpoint), Client: client,
		streams: dynamolocal.Streams(endpoint), server: server,
	}
}

// IsStarted reports whether Open started a DynamoDB Local.
func (s *Store) IsStarted() bool { return s.server != nil }

// Stop stops a DynamoDB Local that Open started.
func (s *Store) Stop() error {
	if s.server == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), StopTimeout)
	defer cancel()
	return s.server.Stop(ctx)
}

// Watch returns nil when ctx ends, or an error if a DynamoDB Local that Open started ends before that.
func (s *Store) Watch(ctx context.Context) error {
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

// CreateTable creates the table of template.yaml unless it exists. It returns the ARN of the table's stream. It does
// not wait long for a store that Open did not start.
func (s *Store) CreateTable(ctx context.Context, name string) (stream string, err error) {
	if s.server == nil {
		if stream, err := s.Stream(ctx, name); !errors.Is(err, table.ErrNoTable) {
			return stream, err
		}
	}
	described, err := dynamolocal.CreateTable(ctx, s.Tables, name)
	if err != nil {
		return "", err
	}
	return aws.ToString(described.LatestStreamArn), nil
}

// Stream returns the ARN of a table's current stream. Errors: table.ErrNoTable, *table.SchemaError, or the cause of a
// failed request.
func (s *Store) Stream(ctx context.Context, name string) (string, error) {
	described, err := table.CheckTable(ctx, s.Tables, name)
	if err != nil {
		return "", err
	}
	return aws.ToString(described.LatestStreamArn), nil
}
