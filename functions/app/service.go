// Package app wires the ledger together: the DynamoDB client, the adapters, the domain and the handlers. The Lambda
// functions, `ledger up` and the tests all use its Service. Open reads a function's environment. Start runs a function
// until Lambda or sam local ends it.
package app

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/functions/api"
	"ledger.example/functions/metrics"
	"ledger.example/functions/stream"
	"ledger.example/internal/access"
	"ledger.example/internal/store"
	"ledger.example/ledger"
	"ledger.example/projections"
	"ledger.example/projections/repair"
)

// Config configures a Service. Client, Table and Caller are required.
type Config struct {
	Client *dynamodb.Client // see store.NewClient
	Table  string
	Caller func(*http.Request) access.Caller // see api.Config
	// Local refuses requests for hosts of other machines: see api.OwnHost. It is for callers that no gateway has
	// authenticated.
	Local   bool
	Version string
	Console string       // see api.Config
	Log     *slog.Logger // nil: slog.Default()
	Indexed []string     // metadata keys by which transactions are listed: see projections.ParseIndexed
	Metrics string       // CloudWatch namespace for metrics, "" for none; with metrics, Log must write JSON
}

// Service is the ledger on one table. It is safe for concurrent use, and needs no closing.
type Service struct {
	config    Config
	ledger    *ledger.Ledger
	lists     *projections.Lists
	reader    *projections.Reader
	past      *projections.Past
	journal   *projections.JournalReader
	projector *projections.Projector
	lister    *projections.Lister
}

// New returns the service. It sends nothing to the store.
func New(c Config) (*Service, error) {
	if c.Client == nil || c.Table == "" || c.Caller == nil {
		return nil, errors.New("service: Client, Table and Caller are required")
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Metrics != "" {
		c.Log = slog.New(metrics.NewHandler(c.Log.Handler(), c.Metrics))
	}
	t := store.NewTable(c.Client, c.Table)
	reader := projections.NewReader(t, c.Log)
	projector := projections.NewProjector(t, nil, c.Log)
	projector.RepairWith(repair.NewRebuilder(t, nil, c.Log))
	return &Service{
		config: c,
		ledger: ledger.New(ledger.Config{
			Table: store.NewTable(c.Client, c.Table), Projections: reader, Log: c.Log,
		}),
		lists:     projections.NewLists(t),
		reader:    reader,
		past:      projections.NewPast(t, nil),
		journal:   projections.NewJournalReader(t, nil),
		projector: projector,
		lister:    projections.NewLister(t, c.Indexed, nil, c.Log),
	}, nil
}

// API returns a handler for every route.
func (s *Service) API() http.Handler { return s.serve(true, true) }

// Commands returns a handler for the routes that write.
func (s *Service) Commands() http.Handler { return s.serve(true, false) }

// Queries returns a handler for the routes that read.
func (s *Service) Queries() http.Handler { return s.serve(false, true) }

func (s *Service) serve(writes, reads bool) http.Handler {
	c := api.Config{
		Caller: s.config.Caller, Resources: s.ledger, Grants: s.ledger, Version: s.config.Version, Log: s.config.Log,
		Console: s.config.Console,
		Ledger:  s.config.Table, IndexedMetadata: s.config.Indexed,
	}
	if writes {
		c.Commands = s.ledger
	}
	if reads {
		c.Lists, c.Strong, c.Past = s.lists, s.reader, s.past
		c.Journal = s.journal
	}
	if s.config.Local {
		return api.OwnHost(api.New(c))
	}
	return api.New(c)
}

// Stream returns the projector's Lambda function for the table's stream.
func (s *Service) Stream() stream.Function { return stream.Handler(s.projector.Project) }

// List returns the lister's Lambda function for the table's stream.
func (s *Service) List() stream.Function { return stream.Handler(s.lister.List) }

// Sweep is the Lambda function that a schedule invokes. It ends the holds that are due.
func (s *Service) Sweep(ctx context.Context, _ json.RawMessage) (ledger.Swept, error) {
	return s.ledger.Sweep(ctx)
}

// Projector returns the projector, for programs that call it without Lambda.
func (s *Service) Projector() *projections.Projector { return s.projector }

// Lister returns the lister, for programs that call it without Lambda.
func (s *Service) Lister() *projections.Lister { return s.lister }
