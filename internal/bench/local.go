package bench

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"ledger.example/functions/api"
	"ledger.example/functions/app"
	"ledger.example/internal/local/pump"
	"ledger.example/internal/meter"
)

// Local configures a ledger in this process. It runs the handlers that a deployed ledger runs.
type Local struct {
	// Client returns a new client of the store.
	Client func(optFns ...func(*dynamodb.Options)) *dynamodb.Client
	Table  string
	// Twin is an empty table with the same schema, for the STORE ceiling.
	Twin string
	// Serve serves on a port of the loopback interface until stop is called. stop waits for requests in flight.
	Serve func(handler http.Handler) (url string, stop func() error, err error)
	// Project delivers the table's stream to a projector and a lister until ctx ends. nil: no projection.
	Project func(ctx context.Context, projector, lister pump.Handler) error
	// Watch returns when ctx ends, or with an error if the store stops before that.
	Watch   func(ctx context.Context) error
	IsCold  bool // the store is a DynamoDB Local that was just started
	Version string
	Log     *slog.Logger
}

// inside is a ledger that runs in this process: an API and a projector with separate clients, so that their requests
// are counted separately, and a second API for reads of the bench, which are not counted.
type inside struct {
	Local
	command, projection *meter.Meter
	store               *dynamodb.Client // not counted
	captured            *capture         // transactions of the API
	url, observeURL     string
	stops               []func() error
}

// open starts the ledger. The caller must call stop, also after an error.
func (l Local) open(ctx context.Context) (i *inside, err error) {
	i = &inside{Local: l, command: new(meter.Meter), projection: new(meter.Meter), captured: new(capture),
		store: l.Client()}
	if i.url, err = i.serve(i.command.Count, i.captured.option); err != nil {
		return i, err
	}
	if i.observeURL, err = i.serve(); err != nil || l.Project == nil {
		return i, err
	}
	projector, err := i.service(i.projection.Count)
	if err != nil {
		return i, err
	}
	lister, err := i.service()
	if err != nil {
		return i, err
	}
	// The projection outlives ctx, because the checks wait for it.
	ctx, end := context.WithCancel(context.WithoutCancel(ctx))
	var projecting errgroup.Group
	projecting.Go(func() error { return l.Project(ctx, projector.Stream(), lister.List()) })
	i.stops = append(i.stops, func() error { end(); return projecting.Wait() })
	return i, nil
}

// reset forgets what was counted and captured so far.
func (i *inside) reset() {
	i.command.Take()
	i.projection.Take()
	i.captured.take()
}

// service returns a service with a new client.
func (i *inside) service(optFns ...func(*dynamodb.Options)) (*app.Service, error) {
	return app.New(app.Config{
		Client: i.Client(optFns...), Table: i.Table, Caller: api.LocalCaller, Version: i.Version, Log: i.Log,
	})
}

// serve creates an API and serves it until stop.
func (i *inside) serve(optFns ...func(*dynamodb.Options)) (string, error) {
	service, err := i.service(optFns...)
	if err != nil {
		return "", err
	}
	url, stop, err := i.Serve(service.API())
	if err == nil {
		i.stops = append(i.stops, stop)
	}
	return url, err
}

// stop stops the parts in the order in which they were started: the APIs first, then the projector.
func (i *inside) stop() (err error) {
	for _, stop := range i.stops {
		err = errors.Join(err, stop())
	}
	return err
}
