// Package app wires the ledger together: the DynamoDB client, the adapters, the domain and the handlers. The Lambda
// functions, `ledger up` and the tests all use its Service. Open reads a function's environment. Start runs a function
// until Lambda or sam local ends it.
package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/functions/access"
	"ledger.example/functions/api"
	"ledger.example/functions/metrics"
	"ledger.example/functions/stream"
	"ledger.example/internal/table"
	"ledger.example/ledger"
	"ledger.example/projections"
	"ledger.example/projections/rebuild"
)

// Config configures a Service. Client, Table and Caller are required.
type Config struct {
	Client *dynamodb.Client // see table.NewClient
	Table  string
	Caller func(*http.Request) access.Caller // see api.Config
	// Local refuses requests for hosts of other machines: see api.OwnHost. It is for callers that no gateway has
	// authenticated.
	Local   bool
	Version string
	Console string       // see api.Config
	Log     *slog.Logger // nil: slog.Default()
	Indexed []string     // metadata keys by which transactions and accounts are listed: see projections.ParseIndexed
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
	t := table.NewTable(c.Client, c.Table)
	reader := projections.NewReader(t, c.Log)
	projector := projections.NewProjector(t, nil, c.Log)
	projector.RepairWith(rebuild.NewRebuilder(t, nil, c.Log))
	return &Service{
		config: c,
		ledger: ledger.New(ledger.Config{
			Table: table.NewTable(c.Client, c.Table), Projections: reader, Log: c.Log,
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
		Console:         s.config.Console,
		IndexedMetadata: s.config.Indexed,
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

// Sweep is the Lambda function that a schedule invokes. It ends the holds that are due. It has no input.
func (s *Service) Sweep(ctx context.Context, payload json.RawMessage) (ledger.Swept, error) {
	if err := readScheduled(payload, nil); err != nil {
		return ledger.Swept{}, err
	}
	return s.ledger.Sweep(ctx)
}

// Projector returns the projector, for programs that call it without Lambda.
func (s *Service) Projector() *projections.Projector { return s.projector }

// Lister returns the lister, for programs that call it without Lambda.
func (s *Service) Lister() *projections.Lister { return s.lister }

// The variables that Lambda and sam local set for access to AWS. They have the SDK's names, but this package reads
// them. The SDK's config package also sets up single sign-on, role assumption and EC2 metadata, which takes a fifth of
// a cold start. No other variables of the SDK are read. To use a FIPS or dual-stack endpoint, set variableEndpoint.
const (
	variableRegion        = "AWS_REGION"
	variableDefaultRegion = "AWS_DEFAULT_REGION" // used if variableRegion is empty
	variableKeyID         = "AWS_ACCESS_KEY_ID"
	variableSecret        = "AWS_SECRET_ACCESS_KEY"
	variableSession       = "AWS_SESSION_TOKEN"
	variableEndpoint      = "AWS_ENDPOINT_URL_DYNAMODB" // empty for the endpoint of AWS
	variableBusEndpoint   = "AWS_ENDPOINT_URL_EVENTBRIDGE"
	variableAnyEndpoint   = "AWS_ENDPOINT_URL" // used if that of the service is empty
)

// isTable reports whether name is a valid table name (DynamoDB Developer Guide, "Naming rules").
func isTable(name string) bool {
	return regexp.MustCompile(`^[A-Za-z0-9_.-]{3,255}$`).MatchString(name)
}

func isRegion(name string) bool { return regexp.MustCompile(`^[A-Za-z0-9-]+$`).MatchString(name) }

// isEndpoint reports whether text is a URL of scheme, host and optionally a path.
func isEndpoint(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" &&
		u.User == nil && u.RawQuery == "" && u.Fragment == ""
}

// BusConfig returns the SDK's configuration for EventBridge. Open has checked the variables.
func BusConfig(getenv func(string) string) aws.Config {
	return awsConfig(getenv, variableBusEndpoint, func(string, string) {})
}

// awsConfig returns the SDK's configuration for a service, whose endpoint is in a variable. It calls fault for each
// variable that is missing or invalid.
func awsConfig(getenv func(string) string, name string, fault func(variable, what string)) aws.Config {
	region := cmp.Or(getenv(variableRegion), getenv(variableDefaultRegion))
	switch {
	case region == "":
		fault(variableRegion, "is missing: the region of the table")
	case !isRegion(region):
		fault(variableRegion, "is not the name of a region")
	}
	id, secret := getenv(variableKeyID), getenv(variableSecret)
	if id == "" {
		fault(variableKeyID, "is missing: the id of the access key")
	}
	if secret == "" {
		fault(variableSecret, "is missing: the key that signs requests")
	}
	c := aws.Config{
		Region:      region,
		Credentials: credentials.NewStaticCredentialsProvider(id, secret, getenv(variableSession)),
	}
	if getenv(name) == "" {
		name = variableAnyEndpoint
	}
	if endpoint := getenv(name); endpoint != "" {
		if !isEndpoint(endpoint) {
			fault(name, "is not an http or https URL")
		}
		c.BaseEndpoint = &endpoint
	}
	return c
}
