// Package service puts the ledger together: a client of the store, the adapters, the domain, and the handlers around it.
// Every way of running the ledger is made of it: the Lambda functions, a server on one machine, tests.
package service

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	lambdaevents "github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/functions/api"
	"ledger.example/functions/metrics"
	"ledger.example/functions/stream"
	"ledger.example/ledger"
	journal "ledger.example/ledger/dynamo"
	"ledger.example/projections"
	views "ledger.example/projections/dynamo"
)

// Config is what a service is made of.
type Config struct {
	Client  *dynamodb.Client // see wire.NewClient
	Table   string
	Actor   func(*http.Request) string // see api.Config
	Version string
	Log     *slog.Logger // nil: slog.Default()
	Metrics string       // CloudWatch namespace of the metrics that are taken from Log, which must write JSON; "": none are
}

// Service is the ledger on one table. It is safe for concurrent use, and needs no closing.
type Service struct {
	config    Config
	ledger    *ledger.Ledger
	lists     projections.Lists
	reader    *projections.Reader
	projector *projections.Projector
}

// New returns the service. It sends nothing to the store.
func New(c Config) (*Service, error) {
	if c.Client == nil || c.Table == "" || c.Actor == nil {
		return nil, errors.New("service: Client, Table and Actor are needed")
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Metrics != "" {
		c.Log = slog.New(metrics.NewHandler(c.Log.Handler(), c.Metrics))
	}
	v := views.NewViews(c.Client, c.Table)
	reader := projections.NewReader(v, c.Log)
	return &Service{
		config:    c,
		ledger:    ledger.New(ledger.Config{Journal: journal.NewJournal(c.Client, c.Table), Projections: reader, Log: c.Log}),
		lists:     views.NewLists(c.Client, c.Table),
		reader:    reader,
		projector: projections.NewProjector(v, nil, c.Log),
	}, nil
}

// API serves every route.
func (s *Service) API() http.Handler {
	c := s.part()
	c.Commands, c.Facts, c.Lists, c.Strong = s.ledger, s.ledger, s.lists, s.reader
	return api.New(c)
}

// Commands serves the routes that write.
func (s *Service) Commands() http.Handler {
	c := s.part()
	c.Commands = s.ledger
	return api.New(c)
}

// Queries serves the routes that read.
func (s *Service) Queries() http.Handler {
	c := s.part()
	c.Facts, c.Lists, c.Strong = s.ledger, s.lists, s.reader
	return api.New(c)
}

func (s *Service) part() api.Config {
	return api.Config{Actor: s.config.Actor, Version: s.config.Version, Log: s.config.Log}
}

// Stream handles batches of the table's stream.
func (s *Service) Stream() func(context.Context, lambdaevents.DynamoDBEvent) (lambdaevents.DynamoDBEventResponse, error) {
	return stream.Handler(s.projector)
}

// Projector returns what folds, for those who fold without a stream.
func (s *Service) Projector() *projections.Projector { return s.projector }
